"""No form of a secret gets through, however the stream is cut, and nothing else is touched."""

import base64
import html
import json
import random
import re
import shlex
import time
import urllib.parse
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.policy.redact import Redactor

TOKEN = "ghp_AbCdEfGhIjKlMnOpQrStUvWxYz012345"
WILD = "p@ss w0rd/'\"\\<&>é€𝄞+=%\t$HOME`x`"
SHORT = "hunter2!"
KEY = "-----BEGIN PRIVATE KEY-----\n" + "\n".join(
    base64.b64encode(random.Random(seed).randbytes(48)).decode() for seed in range(6)
)  # fmt: skip
KEY += "\nAbC=\n-----END PRIVATE KEY-----\n"
VALUES = {"TOKEN": TOKEN, "WILD": WILD, "SHORT": SHORT, "SLASHES": "a/b+c/d?e=f&g>>?/~~///"}


def unicode_escaped(value: str, digits: str = "%04x") -> str:
    raw = value.encode("utf-16-be")
    return "".join("\\u" + digits % int.from_bytes(raw[at : at + 2]) for at in range(0, len(raw), 2))


def lower_percent(value: str) -> str:
    parts = urllib.parse.quote(value, safe="").split("%")
    return "%".join([parts[0], *(part[:2].lower() + part[2:] for part in parts[1:])])


SPELLINGS = {
    "as it is": str,
    "quote": urllib.parse.quote,
    "quote, all": partial(urllib.parse.quote, safe=""),
    "quote_plus": urllib.parse.quote_plus,
    "quote, lower case": lower_percent,
    "every byte percent": lambda value: "".join(f"%{byte:02X}" for byte in value.encode()),
    "every byte percent, lower": lambda value: "".join(f"%{byte:02x}" for byte in value.encode()),
    "encodeURIComponent": partial(urllib.parse.quote, safe="!*'()~"),
    "json": lambda value: json.dumps(value, ensure_ascii=False)[1:-1],
    "json, ascii": lambda value: json.dumps(value)[1:-1],
    "json, slashes": lambda value: json.dumps(value)[1:-1].replace("/", "\\/"),
    "json, for a page": lambda value: (
        json.dumps(value, ensure_ascii=False)[1:-1]
        .replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026").replace("'", "\\u0027")
    ),
    "every character \\u": unicode_escaped,
    "every character \\u, upper": partial(unicode_escaped, digits="%04X"),
    "html": html.escape,
    "html, no quotes": partial(html.escape, quote=False),
    "html, decimal": lambda value: html.escape(value).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
    "shell": lambda value: shlex.quote(value).strip("'"),
    "shell, backslash": lambda value: value.replace("'", "'\\''"),
    "shell, double quotes": lambda value: "".join("\\" + char if char in '$`"\\' else char for char in value),
    "python": lambda value: repr(value)[1:-1],
    "python bytes": lambda value: repr(value.encode())[2:-1],
    "hex": lambda value: value.encode().hex(),
    "hex, upper": lambda value: value.encode().hex().upper(),
    "every byte \\x": lambda value: "".join(f"\\x{byte:02x}" for byte in value.encode()),
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "base64, url": lambda value: base64.urlsafe_b64encode(value.encode()).decode(),
    "base64, no padding": lambda value: base64.b64encode(value.encode()).decode().rstrip("="),
    "base64, in a query": lambda value: urllib.parse.quote(base64.b64encode(value.encode()).decode(), safe=""),
    "base64, in json of php": lambda value: base64.b64encode(value.encode()).decode().replace("/", "\\/"),
}  # fmt: skip


@pytest.mark.parametrize("spell", SPELLINGS.values(), ids=SPELLINGS.keys())
@pytest.mark.parametrize("name", VALUES)
def test_every_form_is_taken_out_of_text_bytes_json_and_streams(name, spell) -> None:
    redactor = Redactor({name: VALUES[name]})
    form, label = spell(VALUES[name]), f"[redacted:{name}]"
    assert redactor.text(f"so: {form}.") == f"so: {label}."
    assert redactor.bytes(form.encode()) == label.encode()
    assert redactor.json({"a": [form, {form: 1}]}) == {"a": [label, {label: 1}]}
    stream = redactor.stream()
    assert b"".join(stream.feed(bytes((byte,))) for byte in form.encode()) + stream.end() == label.encode()


@pytest.mark.parametrize("before", range(7))
@pytest.mark.parametrize("after", range(4))
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("name", VALUES)
def test_inside_a_longer_base64_text_no_four_characters_of_it_are_left(name, encode, before, after) -> None:
    """A basic authorisation holds the user's name before the secret; what decodes is not the secret."""
    value = VALUES[name]
    text = encode(b"u" * before + value.encode() + b"z" * after)
    clean = Redactor({name: value}).bytes(text)
    left = clean.replace(f"[redacted:{name}]".encode(), b" ").split()
    assert clean != text
    kept = base64.b64encode(b"u" * before), base64.b64encode(b"z" * after)
    assert sum(map(len, left)) <= sum(map(len, kept)) + 4


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("width", [64, 76])
@pytest.mark.parametrize("before", range(0, 90, 7))
def test_base64_that_is_broken_into_lines(before, width, end) -> None:
    text = base64.b64encode(b"u" * before + TOKEN.encode() + b"z" * 100)
    lines = end.join(text[at : at + width] for at in range(0, len(text), width))
    clean = Redactor({"TOKEN": TOKEN}).bytes(lines)
    assert clean.count(b"[redacted:TOKEN]") == 1
    joined = clean.replace(end, b"").replace(b"[redacted:TOKEN]", b"")
    assert len(joined) <= len(text) - len(TOKEN)


@pytest.mark.parametrize(
    "encode", [bytes.hex, lambda raw: raw.hex().upper(), lambda raw: base64.urlsafe_b64encode(raw).decode()]
)
@pytest.mark.parametrize("width", [60, 64, 76])
def test_other_forms_that_programs_break_into_lines(width, encode) -> None:
    value = "".join(map(chr, range(0x3E, 0x7F)))  # has every digit of each of them
    text = encode(b"u" * 9 + value.encode() + b"z" * 90)
    lines = "\n".join(text[at : at + width] for at in range(0, len(text), width))
    clean = Redactor({"TOKEN": value}).text(lines)
    assert clean.count("[redacted:TOKEN]") == 1
    assert len(clean.replace("\n", "").replace("[redacted:TOKEN]", "")) <= len(text) - len(value)


def test_of_a_key_each_line_is_a_secret_and_its_markers_are_none() -> None:
    redactor = Redactor({"KEY": KEY})
    lines = KEY.splitlines()
    assert redactor.text(KEY) == "[redacted:KEY]"
    assert redactor.text(f"> {lines[3]} <") == "> [redacted:KEY] <"
    assert redactor.text(KEY.replace("\n", "\\n")) == "[redacted:KEY]"
    assert redactor.text("\n".join("    " + line for line in lines)).count("[redacted:KEY]") == 6
    assert redactor.text(lines[0]) == lines[0]
    encoded = base64.encodebytes(b"config: " + KEY.encode())
    clean = redactor.bytes(encoded)
    assert len(clean.replace(b"[redacted:KEY]", b"")) < 40


def test_a_line_end_after_the_value_belongs_to_the_file_it_came_from() -> None:
    assert Redactor({"T": TOKEN + "\n"}).text(f"Bearer {TOKEN}, {TOKEN}\n") == "Bearer [redacted:T], [redacted:T]"


def test_of_two_secrets_the_longer_is_named() -> None:
    redactor = Redactor({"PART": TOKEN[4:20], "WHOLE": TOKEN})
    assert redactor.text(TOKEN) == "[redacted:WHOLE]"
    assert redactor.text(f"{TOKEN[4:20]} {TOKEN}") == "[redacted:PART] [redacted:WHOLE]"
    assert Redactor({"WHOLE": TOKEN, "END": TOKEN[20:]}).text(TOKEN) == "[redacted:WHOLE]"
    assert redactor.text(TOKEN[4:21]) == "[redacted:PART]" + TOKEN[20]


def test_of_secrets_that_overlap_nothing_is_left() -> None:
    redactor = Redactor({"ONE": "abcdefgh", "TWO": "efghijkl", "SIX": "ijklmnop"})
    assert redactor.text("-abcdefghijkl-") == "-[redacted:ONE+TWO]-"
    assert redactor.text("-abcdefghijklmnop-") == "-[redacted:ONE+TWO+SIX]-"
    assert redactor.text("-abcdefghabcdefgh-") == "-[redacted:ONE][redacted:ONE]-"


def test_one_value_under_two_names_has_the_first() -> None:
    assert Redactor({"A": TOKEN, "B": TOKEN}).text(TOKEN) == "[redacted:A]"


@pytest.mark.parametrize("value", ["aaaa", "abab", "redacted", "[redacted:X]", "X]abcd", "${env:X}", "\\1\\g<0>.*"])
def test_values_that_could_confuse_the_search(value) -> None:
    redactor = Redactor({"X": value})
    assert redactor.text(f"1 {value} 2") == "1 [redacted:X] 2"
    assert redactor.text("[redacted:Y] abc") == ("[[redacted:X]:Y] abc" if value == "redacted" else "[redacted:Y] abc")


def test_a_run_that_is_one_long_overlap_is_one_find() -> None:
    assert Redactor({"X": "aaaa"}).text("b" + "a" * 1001 + "b") == "b[redacted:X]b"


@pytest.mark.parametrize("value", ["", "a", "on", "123", "    ", "\n\n\n\n\n", " yes "])
def test_a_value_too_short_to_be_secret_is_left_alone(value) -> None:
    redactor = Redactor({"X": value})
    text = f"on 123 a yes {value}"
    assert not redactor
    assert redactor.text(text) is text


def test_the_name_is_shown_harmless() -> None:
    assert Redactor({"a\x1b[2J]\n": TOKEN}).text(TOKEN) == "[redacted:a__2J__]"


def test_without_secrets_everything_comes_back_as_the_same_object() -> None:
    redactor = Redactor({})
    text, data, value = "text " * 10, b"data " * 10, {"a": ["b" * 30]}
    assert not redactor
    assert redactor.text(text) is text
    assert redactor.bytes(data) is data
    assert redactor.json(value) is value
    assert redactor.stream().feed(data) is data


def test_what_holds_no_secret_comes_back_as_the_same_object() -> None:
    redactor = Redactor(VALUES)
    text, data = "ordinary text \ud800 " * 20, b"\xff\x00 data " * 20
    value = {"a": ["b" * 30, 1, 2.5, None, True], "c": {"d": ()}}
    assert redactor
    assert redactor.text(text) is text
    assert redactor.bytes(data) is data
    assert redactor.json(value) is value


def test_json_is_changed_in_a_copy_and_two_keys_stay_two() -> None:
    redactor = Redactor({"T": TOKEN})
    encoded = base64.b64encode(TOKEN.encode()).decode()
    value = {TOKEN: 1, encoded: {"x": (TOKEN, 7)}, "[redacted:T] (2)": 0}
    kept = json.dumps(value)
    clean = redactor.json(value)
    assert json.dumps(value) == kept
    assert clean == {"[redacted:T]": 1, "[redacted:T] (3)": {"x": ["[redacted:T]", 7]}, "[redacted:T] (2)": 0}


def test_json_deeper_than_the_stack() -> None:
    value: object = TOKEN
    for _ in range(5000):
        value = [value]
    clean = Redactor({"T": TOKEN}).json(value)
    for _ in range(5000):
        (clean,) = clean
    assert clean == "[redacted:T]"


@pytest.mark.parametrize("value", ["caf\udce9-secret-latin", "\udc80abcd", "ab\ud800cd-lone-surrogate"])
def test_a_value_that_is_not_utf8(value) -> None:
    redactor = Redactor({"X": value})
    assert redactor.text(f"é {value} é") == "é [redacted:X] é"
    assert redactor.bytes(b"> " + value.encode("utf-8", "surrogatepass")) == b"> [redacted:X]"
    if "\ud800" not in value:
        assert redactor.bytes(b"> " + value.encode("utf-8", "surrogateescape") + b"\xff") == b"> [redacted:X]\xff"
    assert isinstance(redactor.text("\u00c0abcd"), str)


def test_repr_shows_no_value() -> None:
    redactor = Redactor(VALUES)
    assert repr(redactor) == "<Redactor of 4 secrets>"
    assert not any(value in f"{redactor!r} {redactor.stream()!r}" for value in VALUES.values())


ALPHABETS = (
    {"A": "abca", "B": "cabc", "C": "bcabcab"},
    {"A": "aaaa", "B": "aabaa"},
    {"T": TOKEN, "S": TOKEN[10:30], "U": TOKEN[20:] + "xyz"},
    {"K": KEY},
    {"W": WILD, "H": SHORT},
)


def pieces_of(secrets: dict[str, str]) -> list[bytes]:
    """What texts are made of that come close to secrets: forms, parts of forms, breaks, and ordinary bytes."""
    whole = [spell(value).encode() for value in secrets.values() for spell in SPELLINGS.values()]
    whole += [base64.encodebytes(b"x" * 40 + value.encode())[:200] for value in secrets.values()]
    parts = [form[: len(form) // 2] for form in whole] + [form[len(form) // 2 :] for form in whole]
    return [*whole, *parts, b"a", b"b", b"c", b"\n", b"=", b" ordinary text ", b"\xff\x00", b"%", b"\\"]


def fed(redactor: Redactor, data: bytes, cuts: list[int]) -> bytes:
    stream = redactor.stream()
    out = [stream.feed(data[start:end]) for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    return b"".join(out) + stream.end()


@pytest.mark.parametrize("secrets", ALPHABETS, ids=lambda secrets: "+".join(secrets))
def test_however_it_is_cut_the_result_is_that_of_the_whole(secrets) -> None:
    """100,000 chunkings in all, the same in every run."""
    chance = random.Random(20)
    redactor, pieces = Redactor(secrets), pieces_of(secrets)
    for _ in range(200):
        data = b"".join(chance.choices(pieces, k=chance.randint(1, 4)))
        whole = redactor.bytes(data)
        for _ in range(100):
            cuts = sorted(chance.choices(range(len(data) + 1), k=chance.randint(1, 3)))
            assert fed(redactor, data, cuts) == whole, (data, cuts)


def test_what_is_found_does_not_depend_on_what_is_near() -> None:
    """Broken at two places, closer than lines are, it is not taken for broken; also not beside one that is whole."""
    redactor = Redactor({"T": TOKEN})
    core = base64.b64encode(TOKEN.encode())
    broken = b"\n".join((core[:10], core[10:30], core[30:]))
    data = core + b" " + broken + b" " + core
    assert redactor.bytes(data) == b"[redacted:T] " + broken + b" [redacted:T]"
    assert all(fed(redactor, data, [cut]) == redactor.bytes(data) for cut in range(len(data)))


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_any_text_of_few_letters_in_any_chunks(data) -> None:
    """The reference looks at every place for every form, and takes out the union."""
    letters = st.text("ab", min_size=4, max_size=6)
    secrets = data.draw(st.dictionaries(st.sampled_from("XYZ"), letters, min_size=1, max_size=3))
    text = data.draw(st.text("ab-", max_size=60)).encode()
    chunks = data.draw(st.lists(st.integers(0, len(text)), max_size=8))
    hidden = [False] * len(text)
    for value in secrets.values():
        for at in range(len(text)):
            if text.startswith(value.encode(), at):
                hidden[at : at + len(value)] = [True] * len(value)
    redactor = Redactor(secrets)
    clean = fed(redactor, text, sorted(chunks))
    left = re.sub(rb"\[redacted:[XYZ](\+[XYZ])*\]", b"", clean)
    assert left == bytes(byte for byte, out in zip(text, hidden, strict=True) if not out)
    assert clean == redactor.bytes(text)


def test_a_stream_holds_back_less_than_the_longest_form() -> None:
    redactor = Redactor(VALUES)
    stream = redactor.stream()
    let = sum(len(stream.feed(b"x" * 1000)) for _ in range(100))
    assert 100_000 - let == redactor.longest - 1
    assert let + len(stream.end()) == 100_000


def test_an_overlap_without_end_needs_no_memory() -> None:
    """Of a secret that continues itself nothing is let through, and nothing but its end is kept."""
    stream = Redactor({"A": "aaaa"}).stream()
    assert [stream.feed(b"a" * 1000) for _ in range(50)] == [b""] * 50
    assert stream.end() == b"[redacted:A]"


def test_nothing_of_a_secret_is_let_through_early() -> None:
    """What was let through before the rest came is never the beginning of a form."""
    redactor = Redactor({"T": TOKEN})
    for at in range(1, len(TOKEN)):
        stream = redactor.stream()
        assert stream.feed(b"x" * 5000 + TOKEN[:at].encode()).strip(b"x") == b""
        assert (stream.feed(TOKEN[at:].encode()) + stream.end()).lstrip(b"x") == b"[redacted:T]"


def test_ten_secrets_cost_little_on_ordinary_text() -> None:
    """As a ratio to a floor of the same run: to find one single word ten times over."""
    chance = random.Random(3)
    words = [bytes(chance.choices(b"etaoinshrdlu", k=chance.randint(2, 9))) for _ in range(500)]
    text = b" ".join(chance.choices(words, k=600_000))
    secrets = {f"S{at}": base64.b64encode(chance.randbytes(30)).decode() for at in range(10)}
    redactor = Redactor(secrets)

    def took(work) -> float:
        best = 1e9
        for _ in range(3):
            start = time.process_time()
            work()
            best = min(best, time.process_time() - start)
        return best

    floor = took(lambda: [text.count(value.encode()) for value in secrets.values()])
    assert took(lambda: redactor.bytes(text)) < 15 * floor
