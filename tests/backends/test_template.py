"""Placeholders: taken apart before any value is known."""

import random
import shlex

import pytest

from toolcrib.backends.declared import Unfit
from toolcrib.backends.template import (
    Missing,
    Named,
    Piece,
    as_header,
    as_text,
    as_url_part,
    document_names,
    filled,
    filled_json,
    names,
    pieces,
    words,
)
from toolcrib.core.errors import Refused, ToolError


def no_secret(name: str) -> str:
    raise AssertionError(f"{name} was asked for")


def test_a_template_is_text_arguments_and_secrets() -> None:
    assert pieces("a ${x}-${env:KEY}$ $5 $${y} ${z.1-b}") == (
        Piece("a "), Piece("${x}", "arg", "x"), Piece("-"), Piece("${env:KEY}", "env", "KEY"), Piece("$ $5 ${y} "),
        Piece("${z.1-b}", "arg", "z.1-b"),
    )  # fmt: skip
    assert pieces("") == ()
    assert names(pieces("${a}${env:K}${b}${a}")) == Named(("a", "b"), ("K",))


@pytest.mark.parametrize(
    "template",
    ["${", "${}", "${ x}", "${x", "${x }", "${1}", "${env:}", "${env:1X}", "${env:A-B}", "${env:A:B}", "${a:b}", "${a${b}}",
     "${a\n}", "$${${", "x" * 2_000_000],
)  # fmt: skip
def test_a_placeholder_that_is_not_well_formed_is_refused(template: str) -> None:
    with pytest.raises(Unfit) as found:
        pieces(template, "/at")
    assert found.value.pointer == "/at"
    with pytest.raises(Unfit):
        words(template)


def test_a_value_is_never_looked_into() -> None:
    given = {"x": "${y} ${env:KEY} $${z}", "y": "no"}
    assert filled(pieces("<${x}>"), given, no_secret, as_text) == "<${y} ${env:KEY} $${z}>"
    assert filled_json({"a": "${x}", "b": "<${x}>"}, given, no_secret) == {"a": given["x"], "b": f"<{given['x']}>"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("007", "007"),
        (7, "7"),
        (1.5, "1.5"),
        (True, "true"),
        (None, "null"),
        ([1, "a"], '[1,"a"]'),
        ({"a": 1}, '{"a":1}'),
    ],
)
def test_what_is_not_text_is_written_as_json(value: object, text: str) -> None:
    assert filled(pieces("<${x}>"), {"x": value}, no_secret, as_text) == f"<{text}>"
    assert filled_json("${x}", {"x": value}, no_secret) == value


def test_what_is_missing_falls_away_or_is_said() -> None:
    assert filled_json({"a": "${x}", "b": ["${x}", 1], "c": {"d": "${x}"}}, {}, no_secret) == {"b": [1], "c": {}}
    for document in ("${x}", {"a": "<${x}>"}, ["${x}${x}"]):
        with pytest.raises(Missing, match="x is needed"):
            filled_json(document, {}, no_secret)


def test_a_secret_in_a_document_is_text() -> None:
    assert filled_json({"key": "${env:K}", "n": 1, "t": None}, {}, lambda name: '", "x": 1') == {
        "key": '", "x": 1', "n": 1, "t": None,
    }  # fmt: skip


def test_keys_hold_no_placeholder() -> None:
    with pytest.raises(Unfit) as found:
        document_names({"a": [{"${x}": 1}]}, "/body")
    assert found.value.pointer == "/body/a/0/${x}"
    assert document_names({"a": ["${x}", {"b": "${env:K} ${y}"}]}) == Named(("x", "y"), ("K",))


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("", []),
        ("  \t\n ", []),
        ("a b", ["a", "b"]),
        ("--x=${x} -v", ["--x=<1 2>", "-v"]),
        ("'a b' \"c d\"", ["a b", "c d"]),
        ("'${x}' \"${x}\"", ["<1 2>", "<1 2>"]),
        ('\\${x} \\"', ["${x}", '"']),
        ("'' \"\"", ["", ""]),
        ("a''b", ["ab"]),
        ('"a\\"b\\\\c\\d\\$"', ['a"b\\c\\d$']),
        ("'a\\b'", ["a\\b"]),
        ("$${x} $", ["${x}", "$"]),
        ("a|b;c&d>e*~$(f)`g`", ["a|b;c&d>e*~$(f)`g`"]),
    ],
)
def test_words_are_split_before_any_value_is_known(template: str, expected: list[str]) -> None:
    found = [filled(word, {"x": "<1 2>"}, no_secret, as_text) for word in words(template)]
    assert found == expected


@pytest.mark.parametrize("template", ["'a", '"a', "a\\", '"${x}'])
def test_what_does_not_end_is_refused(template: str) -> None:
    with pytest.raises(Unfit):
        words(template)


def test_words_without_placeholders_are_those_of_a_shell() -> None:
    chosen = random.Random(3)
    for _ in range(3000):
        text = "".join(chosen.choice("ab '\"\\\t\n=-") for _ in range(chosen.randrange(12)))
        try:
            expected = shlex.split(text)
        except ValueError:
            with pytest.raises(Unfit):
                words(text)
            continue
        assert ["".join(piece.text for piece in word) for word in words(text)] == expected, repr(text)


def test_a_value_is_one_part_of_a_url() -> None:
    assert as_url_part("a/b?c&d=e#f g%h+ü", "x") == "a%2Fb%3Fc%26d%3De%23f%20g%25h%2B%C3%BC"
    with pytest.raises(ToolError, match="half of a character"):
        as_url_part("\ud800", "x")


@pytest.mark.parametrize("value", ["a\nb", "a\rb", "\0", "\x7f", "\x85", "€", "\ud800", "\x1b[0m"])
def test_what_no_header_carries_is_refused(value: str) -> None:
    with pytest.raises(ToolError):
        as_header(value, "x")


def test_a_secret_that_does_not_fit_is_the_users_to_change() -> None:
    with pytest.raises(Refused, match="the secret K") as found:
        filled(pieces("${env:K}"), {}, lambda name: "hidden\nvalue", as_header)
    assert found.value.code == "ENV_NOT_ALLOWED"
    assert "hidden" not in str(found.value)
