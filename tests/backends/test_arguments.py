"""Arguments as words of a command line: exact to the character (F18, F46)."""

import json
import os
import subprocess
import sys

import pytest

from toolcrib.backends.arguments import LONGEST_WORD, faults, flags, spelled
from toolcrib.core.errors import InvalidJson, ToolError

ECHO = "import json, os, sys; print(json.dumps([os.fsencode(word).decode() for word in sys.argv[1:]]))"
STRANGE = ["", " ", "-", "--", "--x=y", "-rf", "a\nb", "\r\n", "'\"`$(x)\\", "é😀\u202e", "007", "null", "x" * 102_400]
BORDER = [2**53, 2**53 + 1, -(2**53) - 1, 2**63, 10**30, 0, -0.0, 1.0, 1e5, 1e300, 5e-324, 0.1]


def arrived(words: tuple[str, ...]) -> list[str]:
    """What a process gets."""
    done = subprocess.run([sys.executable, "-S", "-c", ECHO, *words], capture_output=True, check=True)
    found: list[str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("text", STRANGE, ids=lambda text: ascii(text)[:20])
def test_strange_texts(text) -> None:
    assert arrived(flags({"a": text}, ["a"])) == [f"--a={text}"]


@pytest.mark.parametrize("number", BORDER)
def test_numbers_keep_their_digits(number) -> None:
    text = spelled(number)
    assert json.loads(text) == number and type(json.loads(text)) is type(number)


@pytest.mark.parametrize(
    ("value", "text"),
    [("007", "007"), (1.0, "1.0"), (True, "true"), (False, "false"), (None, "null"), ([1, "é"], '[1,"é"]'), ({}, "{}")],
)
def test_nothing_is_coerced(value, text) -> None:
    assert spelled(value) == text


def test_the_order_is_that_of_the_names_and_what_is_not_given_is_left_out() -> None:
    assert flags({"c": 1, "a": 2}, ["a", "b", "c"]) == ("--a=2", "--c=1")


def test_the_words_are_utf_8_whatever_the_locale_is() -> None:
    (word,) = flags({"a": "é😀"}, ["a"])
    assert os.fsencode(word) == "--a=é😀".encode()


LONGEST = "x" * (LONGEST_WORD - len("--a=\0"))


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"a": "x\0y"}, "NUL"),
        ({"b": {"k": "x"}, "c": 1}, "'c' is not an argument"),
        ({"a": LONGEST + "x"}, "131073 bytes"),
        ({"a": "é" * (LONGEST_WORD // 2)}, "put it into a file"),
        ({"a": "\ud800"}, "cannot be written down"),
        ({"a": float("nan")}, "cannot be written down"),
        ({"b": float("inf")}, "cannot be written down"),
    ],
)
def test_what_no_command_line_can_carry(args, words) -> None:
    (fault,) = faults(args, ["a", "b"])
    assert words in fault
    with pytest.raises(ToolError) as raised:
        flags(args, ["a", "b"])
    assert (raised.value.code, raised.value.before_effect) == ("VALIDATION_ERROR", True)


def test_the_longest_word_that_fits_arrives() -> None:
    assert arrived(flags({"a": LONGEST}, ["a"])) == [f"--a={LONGEST}"]


def test_many_long_words_are_too_much_together() -> None:
    names = [f"p{number}" for number in range(12)]
    (fault,) = faults(dict.fromkeys(names, "x" * 100_000), names)
    assert "together" in fault


def test_a_value_that_json_has_no_word_for() -> None:
    with pytest.raises(InvalidJson):
        spelled({1, 2})
