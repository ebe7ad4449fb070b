"""The engines behind `grep` find the same lines: our own, ripgrep, and the worker that stands in for it."""

import asyncio
import shutil
from pathlib import Path

import pytest

import toolcrib
from toolcrib.builtins import _engine

LINES = [
    "def get_value(self, name: str) -> int:", "    return self.values[name]  # TODO: check", "class Value(Base):", "",
    "foo(bar);", "foo (bar) ;", "x = {'a': 1}", "if (a && b) { return; }", "interface Foo {", "tab\there", "   ",
    "a.b.c", "a*b", "[x]", "http://example.com/a?b=c&d=e", "user@example.com", "2024-01-31", "0xFF 0b10 1e5", "aaa",
    "aaaaaaaaaaaaaaaaaaaaaaaa!", "FOO Foo foo fOO", "word_word word-word", "ends with space ", "C:\\path\\to", '"quoted"',
    "$HOME/bin", "a|b", "^caret", "plus+minus-", "(a)(b)", "x{2}", "#define MAX 10", "fn main() {", "let x = 1;", "~ & #",
]  # fmt: skip
WIDE = [
    "naïve café", "Ünïcödé über ÄÖÜ äöü", "日本語 テスト", "Привет, мир", "Ελληνικά", "em—dash – and … dots", "a\u00a0b",
    "emoji 🎉 here", "ß and ẞ", "x² + y²", "a\u0301 combined", "İstanbul ıssız", "K elvin", "ſhort", "٣٤٥ digits",
]  # fmt: skip

COMMON = "{plain,no_end,dos,lines,empty,marked,sixteen,common}.*"
needs_ripgrep = pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed")

ATOMS = [
    "foo", "Foo", "bar", "a", ".", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", "[abc]", "[^abc]", "[a-z]", "[A-Z0-9_]", r"[\w.-]",
    r"[^\s]", r"\.", r"\(", r"\[", r"\\", "[]x]", "[^]x]", "[-a]", "é", "[é-ü]", "語", r"\t", "(foo|bar)", "(?:a|b)", "(?P<n>a)",
    "[.]", r"[\d\s]", "[$]", "[(]", "ö", "я", r"\-", r"\/", '"', "'", "#", "&", "~", "=", "!", "<", ">", "@", "%", ",", ";", ":",
]  # fmt: skip
WHOLE = [
    "^", "$", "^$", r"^\s*$", r"\s+$", r"^\s+\w", r"\bfoo\b", r"\Bo\b", r"\bvalue", r"^def \w+\(", r"class \w+\(\w+\):", "a{3}",
    "a{2,4}", "a{10,}!", "a{,2}b", "x{2}", r"x\{2\}", "Foo {", "{ return", "}", "foo.*bar", "foo.*?bar", r"\w+@\w+\.\w+", "a|b|c",
    "foo|", r"\d{4}-\d{2}-\d{2}", r"(?i)foo", r"(?i:f)oo", r"^[^#]*#", "a.c", "a.*", ".*", ".+!", r"\w+\s+\w+\s+\w+", "(foo)?bar",
    r"https?://\S+", r"0[xX][0-9a-fA-F]+", r"\$\w+", r"\|", r"\^", r"\+", "ß", "[ß]", r"\w+é", r"caf.$", r"^.{4}$", r"\d+ digits",
    "日本", "[日本]+", r"\bмир\b", "(?i)ÄÖÜ", "(?i)k", "(?i)s", "(?i)i", r"—|–", r"a\sb", "a b", "C:", r"C:\\path",
    "TODO: ?check", "(a)(b)", r"\(a\)\(b\)", "^(def|class) ", "(def|class|fn|let) +[a-zA-Z]+", r"[^a-zA-Z0-9_\s]{2}", "[aeiou]{3}",
]  # fmt: skip
PATTERNS = list(dict.fromkeys([*ATOMS, *WHOLE, *(atom + "+" for atom in ATOMS), *(f"{atom}?b" for atom in ATOMS),
                               *(f"^{atom}*$" for atom in ATOMS), *(f"a{atom}" for atom in ATOMS)]))  # fmt: skip


def plant(root: Path) -> None:
    root.mkdir()
    (root / "plain.py").write_text("\n".join(LINES) + "\n")
    (root / "no_end.txt").write_text("\n".join(LINES[:9]))
    (root / "dos.txt").write_bytes("\r\n".join(LINES).encode() + b"\r\n")
    (root / "wide.txt").write_text("\n".join(WIDE) + "\n" + "\n".join(LINES) + "\n", encoding="utf-8")
    (root / "common.txt").write_text("\n".join(WIDE[:6]) + "\n", encoding="utf-8")
    (root / "marked.txt").write_text("\ufefffoo first\nbar\n", encoding="utf-8")
    (root / "sixteen.txt").write_text("foo\nnaïve café\nbar 1\n", encoding="utf-16")
    (root / "latin.txt").write_bytes("naïve café\nfoo bar\n".encode("latin-1"))
    (root / "empty.txt").write_bytes(b"")
    (root / "lines.txt").write_bytes(b"\n\n\n")
    (root / "binary.dat").write_bytes(b"foo bar 12\x00\x01\x02a b\n" * 3)


def swell(root: Path) -> None:
    """So many files that our own engine leaves it to a program."""
    for number in range(300):
        (root / f"z{number}").touch()


def answers(root: Path, home: Path, cases: list[dict[str, object]]) -> list[tuple[str, object]]:
    async def ask() -> list[tuple[str, object]]:
        async with toolcrib.open(workspace=root, home=home) as crib:
            results = [await crib.call("grep", case) for case in cases]
            return [
                (
                    result.metadata.get("search", {}).get("engine", ""),
                    result.data if result.success else result.error.code,
                )
                for result in results
            ]

    return asyncio.run(ask())


def differences(
    one: list[tuple[str, object]], other: list[tuple[str, object]], cases: list[dict[str, object]]
) -> list[object]:
    return [(case, a, b) for case, (_, a), (_, b) in zip(cases, one, other, strict=True) if a != b]


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    """The same files twice; the second time among many others."""
    small, large = tmp_path / "small", tmp_path / "large"
    plant(small)
    plant(large)
    swell(large)
    return small, large


@needs_ripgrep
def test_our_own_engine_finds_what_ripgrep_finds(trees, home) -> None:
    """More than 300 expressions on files of several encodings. Where ours is not sure, it leaves the work to ripgrep."""
    cases: list[dict[str, object]] = [{"pattern": pattern, "limit": 5000, "glob": COMMON} for pattern in PATTERNS]
    ours, theirs = answers(trees[0], home, cases), answers(trees[1], home, cases)
    assert sum(engine == "own" for engine, _ in ours) >= 300
    assert not any(engine == "own" for engine, _ in theirs)
    assert differences(ours, theirs, cases) == []


@needs_ripgrep
def test_strange_characters_and_case_make_no_difference(trees, home) -> None:
    cases: list[dict[str, object]] = [
        {"pattern": pattern, "limit": 5000, "ignore_case": True, "glob": glob, "binary": glob == "*"}
        for pattern in (*WHOLE, *ATOMS[::3])
        for glob in ("*.py", "*")
    ]
    ours, theirs = answers(trees[0], home, cases), answers(trees[1], home, cases)
    assert {engine for engine, _ in ours} == {"own", "ripgrep"}
    assert differences(ours, theirs, cases) == []


@needs_ripgrep
def test_the_worker_finds_what_ripgrep_finds(trees, home, monkeypatch) -> None:
    """For those who have no ripgrep."""
    cases: list[dict[str, object]] = [{"pattern": pattern, "limit": 5000, "glob": COMMON} for pattern in WHOLE[::2]]
    theirs = answers(trees[1], home, cases)
    monkeypatch.setattr(_engine, "ripgrep", lambda ctx: None)
    workers = answers(trees[1], home, cases)
    assert {engine for engine, _ in workers} == {"python"}
    assert differences(workers, theirs, cases) == []


@pytest.mark.parametrize(
    "pattern, line",
    [(r"(?<=class )\w+", "class Value(Base):"), (r"(\w)\1\1", "aaa"), (r"foo(?! \()", "foo(bar);")],
)
def test_what_only_python_knows_is_done_by_the_worker(trees, home, pattern, line) -> None:
    [(engine, text)] = answers(trees[0], home, [{"pattern": pattern, "glob": "plain.py"}])
    assert engine == "python"
    assert f":{line}\n" in f"{text}\n"


@needs_ripgrep
def test_what_only_ripgrep_knows_is_done_by_ripgrep(trees, home) -> None:
    cases: list[dict[str, object]] = [
        {"pattern": pattern, "glob": "*.*"} for pattern in (r"\p{Cyrillic}+", "[[:digit:]]{4}")
    ]
    assert [engine for engine, _ in answers(trees[0], home, cases)] == ["ripgrep", "ripgrep"]
    assert "Привет" in str(answers(trees[0], home, cases)[0][1])


def test_and_without_ripgrep_that_is_said(trees, home, monkeypatch) -> None:
    monkeypatch.setattr(_engine, "ripgrep", lambda ctx: None)
    assert answers(trees[0], home, [{"pattern": r"\p{L}"}]) == [("", "ENGINE_NOT_AVAILABLE")]


@pytest.mark.parametrize("pattern", ["*a", "(a", "a)", "[a", "a\\", "a\nb", r"a\n", "[z-a]", "a\0", r"(?<=a+)b", "?"])
def test_a_pattern_that_is_none_is_refused_with_the_next_step(trees, home, pattern) -> None:
    async def ask() -> toolcrib.Result:
        async with toolcrib.open(workspace=trees[0], home=home) as crib:
            return await crib.call("grep", {"pattern": pattern})

    result = asyncio.run(ask())
    assert (result.error.code, "literal" in result.error.message) == ("VALIDATION_ERROR", True)


@pytest.mark.parametrize("pattern", ["x{2}", "a*b", "(a)(b)", "[x]", "C:\\path", "a|b", "^caret", "$HOME", "Foo {"])
def test_literal_text_is_found_as_it_is(trees, home, pattern) -> None:
    [(_, text)] = answers(trees[0], home, [{"pattern": pattern, "literal": True, "glob": "plain.py"}])
    assert len(str(text).splitlines()) == 2
    assert pattern in str(text).splitlines()[1]
