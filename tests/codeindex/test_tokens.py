"""Where a name stands, and whether that is code, a string or a comment."""

import time

import pytest

from toolcrib.codeindex.languages import LANGUAGES
from toolcrib.codeindex.tokens import occurrences


def roles(language: str, text: str, name: str = "x") -> str:
    """The role of each occurrence, by its first letter; a comment by a hash."""
    letters = {"code": "c", "string": "s", "comment": "#"}
    return "".join(letters[role] for _, _, role in occurrences(language, text.encode(), name))


CASES = [
    ("python", "x = 'x' # x", "cs#"),
    ("python", 'x("""\nx "x" # x\n""")\nx', "csssc"),
    ("python", "'''x\\'''x'''\nx", "ssc"),
    ("python", "r'\\'x' + x\n'x\\'x'", "scss"),
    ("python", "f'{x} x {{x}}' + rf\"{x!r}\"", "cssc"),
    ("python", "f'{a}' 'x'", "s"),
    ("python", "s = 'it\nx = 1", "c"),
    ("python", "# it's\nx", "c"),
    ("python", "a = b'x'; xx; x1; _x; x", "sc"),
    ("javascript", "x // x\n/* x */ 'x' \"x\" `x ${x} x`", "c##sssscs".replace("sssscs", "ssscs")),
    ("javascript", "a = /x'/; x", "sc"),
    ("javascript", "a / x / b; x", "cc"),
    ("javascript", "return /[/'\"]x/.test(x)", "sc"),
    ("javascript", "<p>don't</p>; x", "c"),
    ("javascript", "$x; x$; x", "c"),
    ("typescript", "let a: Map<x, 'x'> = x as x", "cscc"),
    ("tsx", "<A b={x} c='x'>x</A>", "csc"),
    ("go", 'x `x\n" x` "x" \'x\' // x', "cssss#"),
    ("rust", 'x \'x\' &\'x T "x\n x" r#"x" x"# /* x /* x */ x */ x', "cscssss###c"),
    ("rust", "let c = '\\''; x; let d = '\"'; x // x", "cc#"),
    ("rust", 'br"x\\" x', "sc"),
    ("rust", "r#x + x", "cc"),
    ("java", 'x "x" """\nx " x\n""" \'x\' x', "csssssc".replace("sssss", "ssss")),
    ("c", 'x = 1\'000\'000 + x; /* x */ "x\\"x"', "cc#ss"),
    ("cpp", 'x R"y(x )" x)y" x', "cssc"),
    ("csharp", 'x @"x\\" x $"{x} x" $@"{x}" """x " x""" x', "csccscssc"),
    ("kotlin", 'x "$x ${x} x" """x " x""" /* x /* x */ x */ x', "cccsss###c"),
    ("swift", 'x "\\(x) x" #"x " x"# /* x /* */ x */ x', "ccsss##c"),
    ("ruby", "x 'x' \"#{x} x\" # x\n<<~A\n x\nA\nx\n=begin\nx\n=end\nx", "cscs#sc#c"),
    ("ruby", "f(<<A, x)\nx\nA\nx =~ /x'/\nx / x", "cscscc"),
    ("php", "x <?php x; // x\n# x\n#[x]\n'x $x' \"x $x {$x}\" ?> x <?php x", "sc##cssscc" + "sc"),
    ("php", "<?php $a = <<<T\nx $x\nT;\nx;", "scc"),
    ("bash", "x=1 # x\necho $x ${x} ${#x} 'x $x' \"x $x\"", "c#cccssscc".replace("ssscc", "sssc")),
    ("bash", "cat <<E\nx $x\nE\nx <<< x", "sccc"),
]


@pytest.mark.parametrize(("language", "text", "expected"), CASES)
def test_the_role_of_each_place(language: str, text: str, expected: str) -> None:
    assert roles(language, text) == expected


def test_line_and_column_in_bytes() -> None:
    text = "ä = x\n\n  x.y(x)\n# x".encode()
    assert occurrences("python", text, "x") == [(1, 5, "code"), (3, 2, "code"), (3, 6, "code"), (4, 2, "comment")]


def test_only_whole_identifiers() -> None:
    assert roles("python", "name names _name name2 größename name", "name") == "cc"
    assert roles("javascript", "$name name$ name", "$name") == "c"
    assert roles("python", "größe = größen + größe", "größe") == "cc"


def test_names_that_are_no_plain_words() -> None:
    assert roles("ruby", "a.empty? if empty?", "empty?") == "cc"
    assert roles("ruby", "def name=(v); end; a.name = 1", "name=") == "cc"
    assert roles("cpp", "a.operator==(b); operator==", "operator==") == "cc"
    assert roles("javascript", "this.#secret + a.#secret", "#secret") == "cc"
    assert roles("python", "a.*b .*", ".*") == "cc"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["", "\0", "(", "[", "\\", "a\nb", "x" * 100_000, "\udcff", "🙂"])
def test_a_name_is_never_an_expression(language: str, name: str) -> None:
    assert occurrences(language, b"<?php x = 1", name) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_in_nothing(language: str) -> None:
    assert occurrences(language, b"", "x") == []


def test_an_unknown_language_is_a_programming_error() -> None:
    with pytest.raises(KeyError):
        occurrences("cobol", b"x", "x")


HOSTILE = [
    b"'",
    b'"',
    b"`",
    b"\\",
    b"\\'",
    b'\\"',
    b"'\\",
    b"/",
    b"/*",
    b"*/",
    b"/* ",
    b"#",
    b'#"',
    b'r#"',
    b'R"(',
    b'R"a(',
    b"<<A\n",
    b"<<<A\n",
    b"<<-A ",
    b"?>",
    b"${",
    b"`${",
    b'"""',
    b"'''",
    b"\n=begin",
    b"[",
    b"/[",
    b"/[a",
    b"x ",
    b"'x",
    b"=/x",
    b"\xff",
]


@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - {"typescript", "tsx"}))
def test_no_file_takes_more_than_its_size(language: str) -> None:
    """A hundred kilobytes of anything, begun and never ended: not even a second, where a square would be minutes."""
    for unit in HOSTILE:
        data = unit * (100_000 // len(unit)) + b" x"
        started = time.thread_time()
        found = occurrences(language, data, "x")
        assert time.thread_time() - started < 1.5, unit
        assert found


def test_many_heredocs_without_an_end() -> None:
    data = b"".join(b"<<A%d\n" % number for number in range(30_000)) + b"x"
    started = time.thread_time()
    assert occurrences("ruby", data, "x")
    assert time.thread_time() - started < 1.5


@pytest.mark.parametrize("language", LANGUAGES)
def test_it_goes_on_after_what_it_does_not_understand(language: str) -> None:
    """On the next line, or at the latest after the closing quote."""
    assert occurrences(language, b"<?php 'a' \"b\" \n x", "x")[-1] == (2, 1, "code")
