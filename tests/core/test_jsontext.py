"""JSON in and out: strict, exact and bounded, the same at every entrance."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.core.errors import InvalidJson
from toolcrib.core.jsontext import canonical, dump, dump_ascii, parse

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_what_is_written_can_be_read_and_is_the_same(value) -> None:
    for write in (dump, dump_ascii, canonical):
        assert parse(write(value)) == value
        assert json.loads(write(value)) == value


@given(VALUES)
def test_ascii_is_one_line_without_control_characters(value) -> None:
    """Whatever is recorded or printed with it cannot move a cursor or begin a line."""
    assert all(0x20 <= byte < 0x7F for byte in dump_ascii(value))


@given(st.dictionaries(TEXT, VALUES, max_size=6), st.randoms())
def test_the_order_of_keys_does_not_change_the_canonical_bytes(value, random) -> None:
    keys = list(value)
    random.shuffle(keys)
    assert canonical({key: value[key] for key in keys}) == canonical(value)


@pytest.mark.parametrize(
    "number",
    [2**63, 2**64, -(2**63) - 1, 10**40, 9007199254740993, 1234567890123456789, 12345678901234567890123],
)
def test_integers_of_any_length_stay_exact(number) -> None:
    assert parse(str(number)) == number
    assert type(parse(f'{{"n": {number}}}')["n"]) is int
    assert dump({"n": number}) == f'{{"n":{number}}}'.encode()


@pytest.mark.parametrize("text", ["007", "1e5", "t", "true", "null", "NaN", "0x10", "1_000"])
def test_text_that_looks_like_something_stays_text(text) -> None:
    assert parse(dump({"v": text})) == {"v": text}


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "{", "nul", "NaN", "Infinity", "-Infinity", "[1,]", "{'a':1}", '{"a":1,}', "// c\n1", "1 2", '"\t"',
        '"\\ud800"', '"\\ud83d"', "\ufeff{}", "01", "+1", ".5", "1.", '{"a":1', "[" * 100_000,
        "1" * 5000, "[" + "1" * 100_000 + "]",
    ],
)  # fmt: skip
def test_what_is_not_json_is_refused_with_a_reason(text) -> None:
    with pytest.raises(InvalidJson, match="not valid JSON: .+"):
        parse(text)


@pytest.mark.parametrize("raw", [b"\xff", b'"\xc3"', b'{"a":"\xed\xa0\x80"}', b"\xff\xfe{\x00}\x00", b"\x00"])
def test_what_is_not_utf8_is_refused(raw) -> None:
    with pytest.raises(InvalidJson):
        parse(raw)


def test_a_lone_surrogate_in_a_string_is_refused_at_the_entrance() -> None:
    with pytest.raises(InvalidJson):
        parse('"\udcff"')


@pytest.mark.parametrize("value", [{1, 2}, object(), b"x", {1: 2, "a": {3}}, 1j, range(3)])
def test_what_json_cannot_say_is_refused(value) -> None:
    for write in (dump, dump_ascii, canonical):
        with pytest.raises(InvalidJson):
            write({"value": value})


def test_half_a_character_is_refused_in_what_is_sent() -> None:
    for write in (dump, canonical):
        with pytest.raises(InvalidJson):
            write({"value": "\ud800"})


def test_a_cycle_and_a_bottomless_value_are_refused() -> None:
    cycle: list = []
    cycle.append(cycle)
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    for value in (cycle, deep):
        with pytest.raises(InvalidJson):
            dump(value)


def test_nan_is_never_written() -> None:
    """JSON has no word for it, and null stands in its place, in what is sent and in what is digested."""
    assert dump({"a": math.nan}) == canonical({"a": math.nan}) == b'{"a":null}'


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("\udcff", "\\udcff"), ("a\ud800b", "a\\ud800b"), ("\ud83d\ude00", "\U0001f600"), ("\ude00\ud83d", "\\ude00\\ud83d"),
        ("\\udcff", "\\udcff"), ("\\\udcff", "\\\\udcff"), ("\ud83dx\ude00", "\\ud83dx\\ude00"), ("é\udcff", "é\\udcff"),
    ],
)  # fmt: skip
def test_half_a_character_does_not_stop_a_report(text, read) -> None:
    """Names of files are bytes; a name that is not UTF-8 is spelled out where something is reported or recorded."""
    raw = dump_ascii({"name": text, text: 1})
    assert raw.isascii()
    assert parse(raw) == {"name": read, read: 1}


@given(st.dictionaries(st.text(st.characters()), st.text(st.characters())))
def test_any_text_can_be_reported(value) -> None:
    assert isinstance(parse(dump_ascii(value)), dict)
