"""Secrets that stand in files are found, are never shown, and what only looks like one is left alone.

The tokens are made by chance at every run, so that none stands in this file.
"""

import base64
import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

from toolcrib.cli._literals import literals
from toolcrib.cli._tokens import TOKENS

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
CHANCE = random.Random(11)


def made(size: int, alphabet: str = LETTERS) -> str:
    return "".join(CHANCE.choices(alphabet, k=size))


SECRETS = {
    "github-token": "ghp_" + made(36),
    "aws-access-key": "AKIA" + made(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
    "gitlab-token": "glpat-" + made(20),
    "slack-token": "xoxb-" + made(12, "0123456789") + "-" + made(12, "0123456789") + "-" + made(24),
    "stripe-key": "sk_live_" + made(24),
    "openai-key": "sk-proj-" + made(120),
    "anthropic-key": "sk-ant-api03-" + made(93) + "AA",
    "google-api-key": "AIza" + made(35),
    "npm-token": "npm_" + made(36),
    "pypi-token": "pypi-AgEIcHlwaS5vcmc" + made(90),
    "jwt": "eyJ" + made(33) + ".eyJ" + made(60) + "." + made(43),
    "private-key": "-----BEGIN RSA PRIVATE KEY-----\n" + made(64) + "\n" + made(64),
    "huggingface-token": "hf_" + made(34, LETTERS[:52]),
    "terraform-token": made(14) + ".atlasv1." + made(64),
    "slack-webhook": "https://hooks.slack.com/services/T" + made(10) + "/B" + made(10) + "/" + made(24),
    "groq-key": "gsk_" + made(52),
}
PLACES = {
    "yaml": "name: x\nheaders:\n  Authorization: Bearer {}\n",
    "json": '{{\n"headers":\n {{"X": "{}"}}}}',
    "shell": "#!/bin/sh\n# call\ncurl -H 'X-Key: {}' https://h.example\n",
    "python": "import os\n\nkey = '{}'\n",
    "markdown": "# Skill\n\nUse `{}` for it.\n",
    "in a url": "a\nb\ngit clone https://{}@h.example/x\n",
    "in a string": 'a\nb\nprintf "x\\n{}"\n',
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
@pytest.mark.parametrize("rule", SECRETS)
def test_a_token_is_found_on_its_line_and_not_shown(rule, place) -> None:
    secret = SECRETS[rule]
    (finding,) = literals(place.format(secret), "x.yaml")
    shown = str(finding.to_dict())
    assert f"({rule})" in finding.message
    assert finding.message.startswith(("line 2:", "line 3:"))
    assert finding.warning
    assert not any(secret[at : at + 8] in shown for at in range(4, len(secret) - 8)) or rule in (
        "private-key",
        "slack-webhook",
    )
    assert secret[5:] not in shown and secret[-16:] not in shown


def test_the_whole_finding() -> None:
    secret = SECRETS["github-token"]
    (finding,) = literals(f"a\n\nheaders: {{Authorization: Bearer {secret}}}\n", "tool.yaml")
    assert finding.message == "line 3: a GitHub token (ghp_…, 40 characters) stands here (github-token)"
    assert finding.fix.startswith(
        "write ${env:NAME} in its place, allow it in config.yaml with `tools: {TOOL: {secrets: [NAME]}}`"
    )
    (finding,) = literals(f"x = '{secret}'", "tool.py")
    assert finding.fix.startswith("read it from the environment variable NAME")


@pytest.mark.parametrize(
    "text",
    [
        'api_key = "{}"', "api_key: {}", "API_KEY={}", '"apiKey": "{}"', "secret_key => '{}'", "client-secret: '{}'",
        'password = "{}"', "PASSWORD={}", '{{"token": "{}"}}', "accessToken := `{}`", "db_passwd: {}",
        "SECRET_KEY_BASE={}", "Authorization: Bearer {}", "authorization: token {}", "private_key: {}",
        "export AUTH_TOKEN={}", 'headers["Authorization"] = "Bearer {}"', "credentials: {}",
    ],
)  # fmt: skip
def test_a_generated_value_beside_a_telling_name_is_found(text) -> None:
    for _ in range(20):
        secret = made(30) + "7Qx4"
        (finding,) = literals(text.format(secret), "x")
        assert "34 characters" in finding.message
        assert secret[:3] not in finding.message


def test_a_password_in_a_url_is_found_and_not_shown() -> None:
    (finding,) = literals("db: postgres://admin:Tr0ub4dor3@db.example:5432/x", "x.yaml")
    assert "(url-password)" in finding.message
    assert "Tr0u" not in str(finding.to_dict())


@pytest.mark.parametrize(
    "text",
    [
        "api_key: ${env:API_KEY}", "Authorization: Bearer ${env:TOKEN}", 'api_key = "your-api-key-here"', "token: <TOKEN>",
        "token: <your token>", 'password = "xxxxxxxxxxxxxxxx"', "token: xxxx", "api_key: ****************", "secret: changeme",
        "API_KEY=...", 'token = os.environ["GITHUB_TOKEN"]', "token = get_token(request.headers)", "password: ''",
        "api_key = config.api_key_from_environment", "token: {{ secrets.GITHUB_TOKEN }}", "token: $GITHUB_TOKEN",
        "sha256: " + "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "token: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        'key_id = "550e8400-e29b-41d4-a716-446655440000"', "token: 550e8400-e29b-41d4-a716-446655440000",
        "secret: sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "commit da39a3ee5e6b4b0d3255bfef95601890afd80709", "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "AKIAIOSFODNN7EXAMPLE", "sk_test_your_key_here", "ghp_000000000000000000000000000000000000",
        "sk-ant-api03-...", "glpat-xxxxxxxxxxxxxxxxxxxx", "npm_1234567890abcdefghijklmnopqrstuvwxyz",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----", "-----BEGIN PUBLIC KEY-----\n" + "Ab3" * 30,
        "postgres://user:password@localhost/db", "postgres://user:${PASSWORD}@localhost/db", "https://h.example:8080/a@b",
        "max_tokens: 4096", "tokenizer: bert-base-uncased", "the token is refreshed every 3600 seconds",
        "description: The API key of the service, see https://docs.example/keys", "keyboard: us-intl-with-dead-keys-2",
        "password_file: /etc/toolcrib/password.txt", 'token_url = "https://auth.example.com/oauth2/v2.0/token"',
        "key: value", "primary_key: user_id_2_and_created_at", "secrets: [API_KEY, OTHER_KEY]", "Bearer authentication is used",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
        "integrity: sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
    ],
)  # fmt: skip
def test_examples_digests_and_code_are_none(text) -> None:
    assert [finding.message for finding in literals(text, "x.yaml")] == []


def test_one_secret_is_one_finding() -> None:
    """A token beside a telling name is what it is, once."""
    text = f'github_token = "{SECRETS["github-token"]}"\nhttps://{SECRETS["stripe-key"]}:x1y2z3w4v5@h.example\n'
    assert [finding.message.split(":")[0] for finding in literals(text, "x")] == ["line 1", "line 2", "line 2"]


def test_a_file_of_nothing_else_is_cut_short() -> None:
    text = "\n".join("ghp_" + made(36) for _ in range(500))
    findings = literals(text, "x")
    assert len(findings) == 51
    assert "there is more" in findings[-1].message


def seconds(text: str) -> float:
    start = time.process_time()
    literals(text, "x.yaml")
    return time.process_time() - start


def test_a_mebibyte_takes_less_than_half_a_second() -> None:
    words = [made(CHANCE.randint(2, 9), "etaoinshrdlu") for _ in range(400)] + [
        "token",
        "key:",
        "secret",
        "password",
        "sk-",
        "ey",
    ]
    text = "\n".join(" ".join(CHANCE.choices(words, k=12)) for _ in range(17_000))
    assert len(text) > 1024 * 1024
    assert min(seconds(text) for _ in range(3)) < 0.5


HOSTILE = [piece for token in TOKENS for piece in token.starts] + [
    "key=",
    "api_key: ",
    "bearer ",
    "://a:",
    "eyA.ey",
    "passw",
]


@pytest.mark.parametrize("around", ["{}", "{}-", "{} ", "{}A", "{}" + "A" * 60, "{}a1" * 3 + "."])
def test_no_text_makes_the_search_slow(around) -> None:
    """Nothing that repeats a beginning, with a little after it, takes more than in proportion: 16 KiB of each."""
    for piece in HOSTILE:
        unit = around.format(*[piece] * around.count("{}"))
        assert seconds(unit * (16384 // len(unit))) < 0.3, piece


def test_one_endless_line_is_no_harder() -> None:
    for text in (
        "A" * 1048576,
        base64.b64encode(CHANCE.randbytes(786432)).decode(),
        "ey" + "a" * 1048576,
        "-----BEGIN " * 95000,
    ):
        assert min(seconds(text) for _ in range(2)) < 1.0


def test_check_warns_and_shows_no_value(home: Path, make_tool: Any, run_cli: Any) -> None:
    """A39: hard-coded secrets are found by `toolcrib check`; it is a warning, and the program is checked all the same."""
    token = "ghp_" + made(36)
    make_tool("leaky", TOOL.replace("# here", f'TOKEN="{token}"'))
    done = run_cli("check", "leaky", "--json")
    assert done.returncode == 0, done.stderr
    (checked,) = json.loads(done.stdout)["checked"]
    assert [(each["severity"], each["code"]) for each in checked["findings"]] == [("warning", "ENV_NOT_ALLOWED")]
    assert "line 3: a GitHub token" in checked["findings"][0]["message"]
    assert token not in done.stdout + done.stderr


TOOL = """#!/bin/sh
[ "$1" = description ] && echo '{"name": "leaky", "description": "Leak.", "input_schema": {"type": "object"}}' && exit
# here
[ "$1" = run ] || exit 1
"""
