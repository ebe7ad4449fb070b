"""What each language's files define, import and export; and files that were made to do harm."""

import marshal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("tree_sitter_language_pack", reason="needs the extra [code]: pip install 'toolcrib[code]'")

from toolcrib.codeindex import extract as extraction
from toolcrib.codeindex.extract import extract
from toolcrib.codeindex.facts import KINDS, Definition, Facts, Import
from toolcrib.codeindex.languages import LANGUAGES, language_of

SAMPLES = Path(__file__).parent / "samples"
FILES = sorted(file.name for file in SAMPLES.iterdir() if file.suffix != ".symbols")


def facts(language: str, text: str) -> Facts:
    name, definitions, imports, exports, words = extract(language, text.encode())
    return Facts(name, tuple(map(Definition._make, definitions)), tuple(map(Import._make, imports)), exports, words)


def names(language: str, text: str) -> list[str]:
    return [f"{each.scope}.{each.name}".lstrip(".") for each in facts(language, text).definitions]


def written(found: Facts) -> str:
    """Facts as the files `*.symbols` have them: one line each; a minus marks what other files cannot use."""
    lines = [
        f"{each.line}:{each.column}-{each.end_line} {each.kind} {f'{each.scope}.{each.name}'.lstrip('.')}{'' if each.exported else ' -'}"
        for each in found.definitions
    ]
    for each in found.imports:
        taken = ", ".join(name if name == alias else f"{name} as {alias}" for name, alias in each.names)
        alias = f" as {each.alias}" if each.alias else ""
        lines.append(f"{each.line} import {each.module}{alias}{f' ({taken})' if taken else ''}")
    lines += [f"{line} export {name}" for name, line in found.exports]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("file", FILES)
def test_a_sample_gives_what_is_written_beside_it(file: str) -> None:
    text = (SAMPLES / file).read_text(encoding="utf-8")
    language = language_of(file, text.encode())
    assert language is not None
    assert written(facts(language, text)) == (SAMPLES / f"{file}.symbols").read_text(encoding="utf-8")


def test_there_is_a_sample_of_every_language() -> None:
    assert {language_of(file, (SAMPLES / file).read_bytes()) for file in FILES} == set(LANGUAGES)


@pytest.mark.parametrize("file", FILES)
def test_facts_travel_and_are_of_known_kinds(file: str) -> None:
    data = (SAMPLES / file).read_bytes()
    language = language_of(file, data)
    assert language is not None
    found = extract(language, data)
    assert marshal.loads(marshal.dumps(found)) == found
    assert {each[1] for each in found[1]} <= set(KINDS)


@pytest.mark.parametrize("file", FILES)
def test_a_definition_stands_where_it_says(file: str) -> None:
    data = (SAMPLES / file).read_bytes()
    language = language_of(file, data)
    assert language is not None
    lines = data.split(b"\n")
    for name, _, line, column, end_line, _, _ in extract(language, data)[1]:
        tail = lines[line - 1][column:].lstrip(b":\"'")
        bare = name.removeprefix("operator ").encode().lstrip(b"~" if language == "csharp" else b"")
        assert tail.startswith((bare, b"[" if name == "this" else bare)), (name, line, column)
        assert line <= end_line <= len(lines)


@pytest.mark.parametrize("file", FILES)
def test_every_half_of_a_file_gives_something_or_nothing_but_no_error(file: str) -> None:
    data = (SAMPLES / file).read_bytes()
    language = language_of(file, data)
    assert language is not None
    for cut in range(0, len(data), max(len(data) // 40, 1)):
        extract(language, data[:cut])
        extract(language, data[cut:])


def test_a_broken_file_keeps_what_is_whole() -> None:
    text = "function good() {}\nconst = ;\nclass Fine { method() {} }\n"
    assert names("javascript", text) == ["good", "Fine", "Fine.method"]


def test_an_unknown_language_is_a_programming_error() -> None:
    with pytest.raises(KeyError):
        extract("cobol", b"")


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_in_nothing(language: str) -> None:
    assert extract(language, b"") == (language, (), (), (), frozenset())


@pytest.mark.parametrize("language", LANGUAGES)
def test_bytes_that_are_no_text(language: str) -> None:
    found = extract(language, bytes(range(256)) * 40)
    assert found[0] == language


HOSTILE = {
    "brackets": b"(" * 100_000,
    "braces": b"{" * 100_000,
    "closing": b"]" * 100_000,
    "one line": b"a + " * 100_000,
    "calls": b"f(" * 100_000,
    "functions": b"function f() {" * 50_000,
    "classes": b"class A {" * 50_000,
    "nested functions": b"function f() {" * 20_000 + b"}" * 20_000,
    "nested lists": b"[" * 50_000 + b"]" * 50_000,
    "definitions": b"def f(): pass\n" * 20_000,
    "quotes": b"'" * 200_001,
    "double quotes": b'"' * 200_001,
    "backslashes": b"\\" * 200_000,
    "comments": b"/*" * 100_000,
    "zeroes": b"\0" * 200_000,
    "high bytes": b"\xff" * 200_000,
    "half characters": b"a\xe2\x82" * 100_000,
    "characters": "€".encode() * 100_000,
    "conditions": b"a ? b : " * 60_000,
    "generics": b"A<" * 50_000,
    "stars": b"*" * 200_000,
}


@pytest.mark.parametrize("language", ["javascript", "bash"])
@pytest.mark.parametrize("what", HOSTILE)
def test_a_file_that_was_made_to_be_slow_ends_in_bounded_time(
    language: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extraction, "PARSE_SECONDS", 0.2)
    started = time.thread_time()
    extract(language, HOSTILE[what])
    assert time.thread_time() - started < 3


def test_a_file_that_takes_too_long_still_has_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "PARSE_SECONDS", -1.0)
    assert extract("go", b"package p\nfunc F() {}") == ("go", (), (), (), frozenset({b"package", b"p", b"func", b"F"}))


def test_many_threads_at_once() -> None:
    text = (SAMPLES / "sample.ts").read_bytes() * 30
    alone = extract("typescript", text)
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(lambda _: extract("typescript", text), range(24))) == {alone}


def test_a_name_without_end_is_no_name() -> None:
    assert names("javascript", f"function {'x' * 100_000}() {{}}\nfunction y() {{}}") == ["y"]


def test_what_a_function_keeps_to_itself_is_left_out() -> None:
    assert names("javascript", "function f() { const a = 1; let b = 2; var c = 3; }") == ["f"]
    assert names("go", "package p\nfunc f() { var a int; const b = 1 }") == ["f"]
    assert names("c", "int f(void) { int a; static int b; return a; }") == ["f"]
    assert names("python", "def f():\n    a = 1\n") == ["f"]
    assert names("kotlin", "fun f() { val a = 1 }") == ["f"]
    assert names("swift", "func f() { let a = 1 }") == ["f"]


def test_a_callback_hides_its_variables_and_shows_its_functions() -> None:
    text = "(function () { var hidden = 1; function shown() {} })();\ncall(() => { const x = 1; });"
    assert names("javascript", text) == ["shown"]


def test_the_older_ways_to_take_a_module() -> None:
    text = "const a = require('a'); const { b, c: d } = require('./x'); require('side'); import('lazy');"
    assert facts("javascript", text).imports == (
        Import("a", 1, (), "a"),
        Import("./x", 1, (("b", "b"), ("c", "d"))),
        Import("side", 1),
        Import("lazy", 1),
    )


def test_a_name_that_is_exported_later_is_exported() -> None:
    found = facts("javascript", "function a() {}\nfunction b() {}\nclass C { m() {} }\nexport { a, C as D };")
    assert {each.name: each.exported for each in found.definitions} == {"a": True, "b": False, "C": True, "m": True}
    assert found.exports == (("a", 4), ("D", 4))


def test_overloads_are_one_definition_and_so_is_an_announced_function() -> None:
    text = "declare function f(a: string): void;\ndeclare function f(a: number): void;\n"
    assert names("typescript", text) == ["f"]
    assert [each.line for each in facts("c", "int f(int);\nint f(int a) { return a; }\n").definitions] == [2]
    assert [each.line for each in facts("c", "int f(int);\n").definitions] == [1]


def test_a_use_tree_is_taken_apart() -> None:
    found = facts("rust", "use a::{b::{self, C as D}, e::*, f};\npub use g::H;\n")
    assert {(each.module, each.names, each.alias) for each in found.imports} == {
        ("a::b", (("C", "D"),), ""),
        ("a::b", (), ""),
        ("a::e", (("*", "*"),), ""),
        ("a", (("f", "f"),), ""),
        ("g", (("H", "H"),), ""),
    }
    assert found.exports == (("H", 2),)


def test_what_is_private_in_ruby_until_the_class_ends() -> None:
    text = "class A\n  def a; end\n  private\n  def b; end\n  public\n  def c; end\n  private def d; end\nend\nclass B\n  def e; end\nend\n"
    shown = {each.name: each.exported for each in facts("ruby", text).definitions}
    assert shown == {"A": True, "a": True, "b": False, "c": True, "d": False, "B": True, "e": True}


def test_a_namespace_for_the_rest_of_the_file() -> None:
    assert names("csharp", "namespace A.B;\nclass C { void D() {} }\n") == ["A.B", "A.B.C", "A.B.C.D"]
    assert names("php", "<?php\nnamespace A\\B;\nfunction c() {}\n") == ["A\\B", "A.B.c"]


def test_the_words_of_a_file_are_all_its_identifiers() -> None:
    assert facts("javascript", "let $a = b.c; // d\n'e'").words >= {b"$a", b"a", b"b", b"c", b"d", b"e", b"let"}
    assert facts("ruby", "def empty?; end; größe = 1").words >= {b"empty?", b"empty", "größe".encode()}
    assert b"operator==" in facts("cpp", "struct A { bool operator==(A b); };").words
