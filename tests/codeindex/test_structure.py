"""Search by the shape of code."""

import time

import pytest

pytest.importorskip("ast_grep_py", reason="needs the extra [code]: pip install 'toolcrib[code]'")

from toolcrib.codeindex import extract as extraction
from toolcrib.codeindex.languages import LANGUAGES
from toolcrib.codeindex.structure import MAX_BINDING, MAX_MATCHES, MAX_TEXT, Match, structural

CALLS = {
    "bash": ("echo hi there", "echo $A $B", {"A": "hi", "B": "there"}),
    "c": ("int f() { return g(1, 2); }", "g($A, $B)", {"A": "1", "B": "2"}),
    "cpp": ("int f() { return a.g(1); }", "$A.g($B)", {"A": "a", "B": "1"}),
    "csharp": ("class A { void F() { a.B(1); } }", "$A.B($B)", {"A": "a", "B": "1"}),
    "go": ("package a\nfunc f() { fmt.Println(1) }", "fmt.Println($A)", {"A": "1"}),
    "java": ("class A { void f() { a.b(1); } }", "$A.b($B)", {"A": "a", "B": "1"}),
    "javascript": ("const a = f(1, 2, 3)", "f($A, $$$REST)", {"A": "1", "REST": "2, 3"}),
    "kotlin": ("fun f() { g(1) }", "g($A)", {"A": "1"}),
    "php": ("<?php foo(1);", "foo($A)", {"A": "1"}),
    "python": ("def f():\n    print(1, end='')", "print($A, end=$E)", {"A": "1", "E": "''"}),
    "ruby": ("foo(1)", "foo($A)", {"A": "1"}),
    "rust": ("fn f() { x.unwrap(); }", "$A.unwrap()", {"A": "x"}),
    "swift": ("func f() { g(1) }", "g($A)", {"A": "1"}),
    "tsx": ("const a = <B c={d} />", "<B c={$C} />", {"C": "d"}),
    "typescript": ("let a: number = 1", "let $A: number = $B", {"A": "a", "B": "1"}),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_shape_in_every_language(language: str) -> None:
    text, pattern, bindings = CALLS[language]
    assert [match.bindings for match in structural(language, text.encode(), pattern)] == [bindings]


def test_where_it_stands_and_what_it_is() -> None:
    data = "let é = 'ü'; foo(\n  1)\n".encode()
    assert structural("javascript", data, "foo($A)") == [Match(1, 15, 2, "foo(\n  1)", {"A": "1"})]


def test_the_same_name_stands_for_the_same_code() -> None:
    data = b"a == a; a == b; b == b"
    assert [match.bindings["X"] for match in structural("javascript", data, "$X == $X")] == ["a", "b"]


def test_strings_and_comments_are_no_code() -> None:
    assert structural("python", b"'foo(1)' # foo(2)\nfoo(3)", "foo($A)")[0].bindings == {"A": "3"}


NONSENSE = {
    "": "empty",
    "  \n": "empty",
    "$A": "fits everything",
    "$$$ANY": "fits everything",
    "f($A": "( that nothing closes",
    "f)": ") that nothing opened",
    "(" * 100 + "$A" + ")" * 100: "nested deeper",
    "!" * 1000 + "$A": "nested deeper",
    "a" * 5000: "5000 characters",
    "a b c": "not understood as javascript: Multiple AST nodes",
    "x\udcff": "UTF-8",
}


@pytest.mark.parametrize("pattern", NONSENSE)
def test_a_pattern_that_means_nothing_is_refused_in_words(pattern: str) -> None:
    with pytest.raises(ValueError, match=NONSENSE[pattern].replace("(", r"\(").replace(")", r"\)")):
        structural("javascript", b"f(1)", pattern)


def test_brackets_in_strings_need_not_close() -> None:
    assert structural("javascript", b"f('(')", "f('(')")[0].text == "f('(')"


def test_an_unknown_language_is_a_programming_error() -> None:
    with pytest.raises(KeyError):
        structural("cobol", b"x", "f($A)")


def test_what_comes_back_is_bounded() -> None:
    data = b"f('" + b"x" * 10_000 + b"');\n" + b"f(1);\n" * (MAX_MATCHES + 100)
    found = structural("javascript", data, "f($A)")
    assert len(found) == MAX_MATCHES
    assert len(found[0].text) == MAX_TEXT
    assert len(found[0].bindings["A"]) == MAX_BINDING


def test_bytes_that_are_no_text() -> None:
    assert structural("javascript", b"\xff\xfe\0 f(1)", "f($A)")[0].bindings == {"A": "1"}


def test_a_file_that_was_made_to_be_slow_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "PARSE_SECONDS", 0.2)
    started = time.thread_time()
    assert structural("javascript", b"'" * 500_001, "f($A)") == []
    assert time.thread_time() - started < 5


def test_a_hundred_thousand_levels() -> None:
    data = b"(" * 100_000 + b"f(1)" + b")" * 100_000
    assert [match.bindings for match in structural("javascript", data, "f($A)")] == [{"A": "1"}]
