"""A secret goes to the tool the user named, to the place that suits it and the host that was meant, and nowhere else."""

import json
import urllib.parse

import pytest

from toolcrib.core.errors import Refused
from toolcrib.policy.secrets import Grant, Secrets, canonical_host, looks_secret, mentioned

VALUE = "s3cr3t-Value/of+KEY=="
OTHER = "another-value-${env:KEY}"
ENVIRON = {"KEY": VALUE, "OTHER": OTHER, "UNLISTED": "unlisted-value", "EMPTY": "", "LINES": "abc\r\nX-Evil: 1"}


@pytest.fixture
def secrets() -> Secrets:
    return Secrets(
        {
            "fetch": [
                Grant("KEY"),
                Grant("OTHER", ("api.example.com",)),
                Grant("LINES"),
                Grant("EMPTY"),
                Grant("GONE"),
            ],
            "other": [Grant("OTHER")],
        },
        ENVIRON,
    )


def refused(work, *hints: str) -> None:
    """It is refused with the code for this, says what to do, and shows no value."""
    with pytest.raises(Refused) as caught:
        work()
    shown = f"{caught.value} {caught.value!r} {caught.value.details}"
    assert caught.value.code == "ENV_NOT_ALLOWED"
    assert [hint for hint in hints if hint not in shown] == []
    assert [value for value in ENVIRON.values() if value and value in shown] == []


def test_a_value_is_for_the_tool_that_was_allowed_it(secrets) -> None:
    assert secrets.value("fetch", "KEY") == VALUE
    assert secrets.names("fetch") == ("KEY", "OTHER", "LINES", "EMPTY", "GONE")
    assert secrets.names("nobody") == ()


@pytest.mark.parametrize(
    ("tool", "name"),
    [("other", "KEY"), ("nobody", "KEY"), ("fetch", "UNLISTED"), ("fetch", "key"), ("FETCH", "KEY"), ("fetch", "PATH")],
)
def test_what_was_not_allowed_is_refused_with_the_line_that_allows_it(secrets, tool, name) -> None:
    refused(lambda: secrets.value(tool, name), f"tools: {{{tool}: {{secrets: [{name}]}}}}", "config.yaml")


@pytest.mark.parametrize("name", ["EMPTY", "GONE"])
def test_what_is_not_set_is_refused(secrets, name) -> None:
    refused(lambda: secrets.value("fetch", name), f"{name}, which is not set")


def test_it_is_read_when_it_is_used() -> None:
    environ = {"KEY": "first-value"}
    secrets = Secrets({"fetch": [Grant("KEY")]}, environ)
    assert secrets.redactor().text("first-value") == "[redacted:KEY]"
    environ["KEY"] = "second-value"
    assert secrets.value("fetch", "KEY") == "second-value"
    assert secrets.redactor().text("second-value") == "[redacted:KEY]"
    del environ["KEY"]
    refused(lambda: secrets.value("fetch", "KEY"))
    assert not secrets.redactor()


SAME = ("api.example.com", "API.EXAMPLE.COM", "api.example.com.", "Api.Example.Com.")
OTHERS = (
    "example.com", "evil.api.example.com", "api.example.com.evil.com", "evilapi.example.com", "xapi.example.com",
    "api.example.co", "api.example.com@evil.com", "evil.com#api.example.com", "evil.com/api.example.com",
    "evil.com?api.example.com", "evil\0.api.example.com", "api.example.com\0.evil.com", "api.example.com\n", "",
    " api.example.com", "api.example.com:8443", "api.example.com..", "api\u3002example.com", "\uff41pi.example.com",
    "\u0430pi.example.com", "api.example.com\u200b", "*.example.com", "api.example.com,evil.com", "%61pi.example.com",
    "api-example.com", "api.example.com\\evil.com", ".", "[api.example.com]", "127.0.0.1", "user:pw@api.example.com",
)  # fmt: skip


@pytest.mark.parametrize("host", SAME)
def test_the_host_is_compared_without_case_and_final_dot(secrets, host) -> None:
    assert secrets.value("fetch", "OTHER", host=host) == OTHER
    assert secrets.value("fetch", "KEY", host=host, own="api.example.com") == VALUE


@pytest.mark.parametrize("host", OTHERS)
def test_no_other_host_gets_it(secrets, host) -> None:
    refused(lambda: secrets.value("fetch", "OTHER", host=host), "may not send the secret OTHER")
    refused(lambda: secrets.value("fetch", "KEY", host=host, own="api.example.com"), "may not send the secret KEY")
    refused(lambda: secrets.expand("${env:OTHER}", "fetch", place="header", host=host))


def test_without_hosts_it_goes_to_the_literal_host_of_the_tool_alone(secrets) -> None:
    refused(
        lambda: secrets.value("fetch", "KEY", host="api.example.com"),
        "tools: {fetch: {secrets: {KEY: [api.example.com]}}}",
    )
    refused(lambda: secrets.value("fetch", "KEY", host="elsewhere.example", own="api.example.com"))


def test_hosts_in_the_configuration_stand_before_the_tools_own(secrets) -> None:
    refused(lambda: secrets.value("fetch", "OTHER", host="own.example", own="own.example"))


@pytest.mark.parametrize("bad", ["api.example.com:443", "a@b", "bücher.example", ""])
def test_what_is_no_host_matches_nothing_not_even_itself(bad) -> None:
    secrets = Secrets({"fetch": [Grant("KEY", (bad,))]}, ENVIRON)
    refused(lambda: secrets.value("fetch", "KEY", host=bad))


def test_a_letter_whose_small_form_is_ours_is_not_ours() -> None:
    assert "\u212aey.example".lower() == "key.example"
    assert canonical_host("\u212aey.example") is None


def test_addresses_are_hosts() -> None:
    assert [canonical_host(text) for text in ("127.0.0.1", "[::1]", "[FE80::1]", "::1")] == [
        "127.0.0.1", "[::1]", "[fe80::1]", None,
    ]  # fmt: skip


@pytest.mark.parametrize("place", ["header", "url", "json", "env", "argv"])
@pytest.mark.parametrize(
    "text", ["", "plain", "$", "$$", "${HOME}", "$KEY", "${ENV:KEY}", "{env:KEY}", "$ {env:KEY}", "%(KEY)s"]
)
def test_text_without_a_placeholder_is_unchanged(secrets, place, text) -> None:
    assert secrets.expand(text, "fetch", place=place) is text


def test_it_is_expanded_once_and_a_value_is_never_looked_into(secrets) -> None:
    assert secrets.expand("a ${env:OTHER} b", "fetch", place="json") == f"a {OTHER} b"
    assert secrets.expand("${env:KEY}${env:KEY}", "fetch", place="env") == VALUE * 2


def test_a_dollar_before_it_makes_it_plain_text(secrets) -> None:
    assert secrets.expand("$${env:KEY}", "fetch", place="argv") == "${env:KEY}"
    assert secrets.expand("${env:KEY}$${env:KEY}", "fetch", place="json") == VALUE + "${env:KEY}"
    assert secrets.expand("$${env:", "fetch", place="json") == "${env:"


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("${env:", 1), ("ab ${env:}", 4), ("${env:KEY", 1), ("${env: KEY}", 1), ("${env:KEY }", 1), ("${env:1A}", 1),
        ("${env:${env:KEY}}", 1), ("${env:K-Y}", 1), ("${env:KEY}${env:a\x1b[2J}", 11), ("${env:KÉY}", 1),
        ("${env:" + "A" * 129 + "}", 1), ("${env:KEY:-default}", 1), ("${env:KEY\n}", 1), ("$${env:X} ${env:?}", 11),
    ],
)  # fmt: skip
def test_a_placeholder_that_is_not_well_formed_is_refused_with_its_place(secrets, text, at) -> None:
    refused(lambda: secrets.expand(text, "fetch", place="json"), f"at character {at} ")
    refused(lambda: mentioned(text), f"at character {at} ")


def test_the_names_that_a_text_mentions() -> None:
    assert mentioned("${env:B} ${env:A} $${env:C} ${env:B}") == ("B", "A")
    assert mentioned("plain") == ()


@pytest.mark.parametrize("end", ["\r", "\n", "\0", "\x0b", "\x1b", "\x7f", "\x85", "\t"])
def test_a_header_takes_no_control_character(end) -> None:
    secrets = Secrets({"fetch": [Grant("KEY")]}, {"KEY": f"abcd{end}X-Evil: 1"})
    refused(lambda: secrets.expand("Bearer ${env:KEY}", "fetch", place="header"), "control character")


def test_a_header_takes_what_is_one_line(secrets) -> None:
    assert secrets.expand("Bearer ${env:KEY}", "fetch", place="header") == f"Bearer {VALUE}"
    refused(lambda: secrets.expand("${env:LINES}", "fetch", place="header"))


@pytest.mark.parametrize("value", ["a/../b?c=d&e#f", "x@evil.com/", "é ☃", "%2e%2e", "a\r\nb", "\udce9\udcff"])
def test_in_a_url_it_is_one_component(value) -> None:
    secrets = Secrets({"fetch": [Grant("KEY")]}, {"KEY": value})
    url = secrets.expand("https://h.example/a/${env:KEY}/b?k=${env:KEY}", "fetch", place="url")
    seen = urllib.parse.urlsplit(url)
    assert (seen.netloc, seen.path.count("/"), seen.fragment) == ("h.example", 3, "")
    assert urllib.parse.unquote(seen.path.split("/")[2], errors="surrogateescape") == value
    assert urllib.parse.parse_qs(seen.query, errors="surrogateescape") == {"k": [value]}


@pytest.mark.parametrize("value", [".", ".."])
def test_in_a_url_it_does_not_climb(value) -> None:
    secrets = Secrets({"fetch": [Grant("KEY")]}, {"KEY": value})
    with pytest.raises(Refused, match="would change the path"):
        secrets.expand("https://h.example/${env:KEY}/x", "fetch", place="url")


def test_in_json_and_in_the_environment_it_is_as_it_is(secrets) -> None:
    value = '"}, {"evil": "\n'
    wild = Secrets({"fetch": [Grant("KEY")]}, {"KEY": value})
    assert wild.expand("${env:KEY}", "fetch", place="json") == value
    assert json.loads(json.dumps({"k": wild.expand("${env:KEY}", "fetch", place="json")})) == {"k": value}
    assert wild.expand("${env:KEY}", "fetch", place="env") == value
    nul = Secrets({"fetch": [Grant("KEY")]}, {"KEY": "abc\0def"})
    refused(lambda: nul.expand("${env:KEY}", "fetch", place="env"), "NUL")


@pytest.mark.parametrize("text", ["${env:KEY}", "--token=${env:KEY}", "$${env:A} ${env:KEY}", "${env:UNLISTED}"])
def test_no_secret_stands_in_a_command_line(secrets, text) -> None:
    refused(lambda: secrets.expand(text, "fetch", place="argv"), "command line", "stdin")


def test_an_unknown_place_is_a_mistake_of_the_caller(secrets) -> None:
    with pytest.raises(ValueError, match="no place for a secret"):
        secrets.expand("plain", "fetch", place="body")


def test_the_redactor_knows_all_that_is_allowed_and_nothing_else(secrets) -> None:
    text = secrets.redactor().text(f"{VALUE} {OTHER} {ENVIRON['UNLISTED']}")
    assert text == "[redacted:KEY] [redacted:OTHER] unlisted-value"
    assert secrets.redactor() is secrets.redactor()


def test_nothing_shows_a_value_by_itself(secrets) -> None:
    shown = f"{secrets!r} {secrets} {secrets.redactor()!r} {Grant('KEY')!r} {vars(secrets.redactor()).keys()}"
    assert [value for value in ENVIRON.values() if value and value in shown] == []


@pytest.mark.parametrize(
    "name",
    [
        "GITHUB_TOKEN", "token", "NPM_TOKEN_2", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "PGPASSWORD", "DB_PASS",
        "DB_PWD", "OPENAI_API_KEY", "APIKEY", "apiKey", "openaiApiKey", "PRIVATE_KEY", "SSH_PRIVATE_KEY", "STRIPE_KEY",
        "GOOGLE_CREDENTIALS", "BASIC_AUTH", "HTTP_AUTHORIZATION", "JWT", "GITHUB_PAT", "SENTRY_DSN", "DATABASE_URL",
        "SLACK_WEBHOOK_URL", "SESSION_COOKIE", "client-secret", "KEY_PASSPHRASE", "MYSQL_PASSWD", "CLIENT_SECRET",
    ],
)  # fmt: skip
def test_names_that_say_secret(name) -> None:
    assert looks_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        "PATH", "HOME", "LANG", "PWD", "OLDPWD", "GIT_AUTHOR_NAME", "AUTHOR", "KEYBOARD", "MONKEY", "XDG_SESSION_ID",
        "SSH_AUTH_SOCK", "TOKEN_FILE", "PASSWORD_PATH", "MAX_TOKENS", "COMPASS", "BYPASS", "TERM", "EDITOR", "PATTERN",
        "TOKEN_COUNT", "",
    ],
)  # fmt: skip
def test_names_that_do_not(name) -> None:
    assert not looks_secret(name)
