"""All that the source says about one definition."""

from pathlib import Path

import pytest

pytest.importorskip("tree_sitter_language_pack", reason="needs the extra [code]: pip install 'toolcrib[code]'")

from toolcrib.codeindex.detail import MAX_DOCUMENTATION, MAX_SIGNATURE, Detail, detail
from toolcrib.codeindex.extract import extract
from toolcrib.codeindex.languages import language_of

SAMPLES = Path(__file__).parent / "samples"


def of(file: str, name: str) -> Detail:
    """The detail of the last definition of that name in a sample."""
    data = (SAMPLES / file).read_bytes()
    language = language_of(file, data)
    assert language is not None
    found = [each for each in extract(language, data)[1] if each[0] == name][-1]
    return detail(language, data, found[2], found[3])


def first(language: str, text: str) -> Detail:
    """The detail of the first definition in a text."""
    data = text.encode()
    _, _, line, column, *_ = extract(language, data)[1][0]
    return detail(language, data, line, column)


def test_python() -> None:
    assert of("sample.pyw", "Point") == Detail(
        40, "class Point(Base, metaclass=Meta)", "A point.", ("@decorator",), (), ("Base",)
    )
    assert of("sample.pyw", "load") == Detail(37, "async def load(self)", modifiers=("async",))
    assert of("sample.pyw", "count") == Detail(11, "count: int = 0")


def test_typescript() -> None:
    assert of("sample.ts", "Service") == Detail(
        49,
        "export class Service extends Figure<string> implements Point, Other",
        "A service.",
        ("@Injectable({ root: true })",),
        ("export",),
        ("Figure<string>", "Point", "Other"),
    )
    assert of("sample.ts", "start") == Detail(48, "async start(): Promise<void>", "Starts it.", ("@Log()",), ("async",))


SIGNATURES = {
    ("sample.js", "arrow"): "export const arrow = async (x)",
    ("sample.js", "grow"): "Widget.prototype.grow = function ()",
    ("sample.go", "Move"): "func (p *Point) Move(dx int)",
    ("sample.go", "Point"): "type Point struct",
    ("sample.rs", "shift"): "pub(crate) async fn shift<'a>(&'a self)",
    ("Sample.java", "compareTo"): "public int compareTo(T other)",
    ("sample.c", "main"): "int main(int argc, char **argv)",
    ("sample.c", "SQUARE"): "#define SQUARE(x) ((x) * (x))",
    ("sample.cpp", "twice"): "template <typename T> T twice(T value)",
    ("sample.cs", "Move"): "protected internal void Move()",
    ("sample.rb", "initialize"): "def initialize(x)",
    ("sample.php", "make"): "public static function make(): static",
    ("sample.sh", "both"): "function both()",
    ("sample.kt", "shout"): "fun String.shout(): String",
    ("sample.swift", "free"): "func free<T>(_ a: T) -> T",
    ("sample.tsx", "Page"): "export function Page()",
}


@pytest.mark.parametrize(("file", "name"), SIGNATURES)
def test_a_signature_ends_where_the_body_begins(file: str, name: str) -> None:
    assert of(file, name).signature == SIGNATURES[file, name]


PARENTS = {
    ("Sample.java", "Inner"): (),
    ("sample.cpp", "Plain"): (),
    ("sample.cs", "IShape"): (),
    ("sample.js", "Widget"): ("Base",),
    ("sample.php", "Point"): ("Base", "Shape"),
    ("sample.rb", "Point"): ("Base",),
    ("sample.rs", "Area"): ("Sized",),
    ("sample.swift", "Point"): ("Base", "Shape"),
    ("sample.kt", "Point"): ("Shape",),
}


@pytest.mark.parametrize(("file", "name"), PARENTS)
def test_what_it_derives_from(file: str, name: str) -> None:
    assert of(file, name).parents == PARENTS[file, name]


def test_the_comment_above_is_its_documentation() -> None:
    assert of("sample.go", "Grow").documentation == "Grow makes it larger."
    assert of("sample.rs", "LIMIT").documentation == "Greets."
    assert of("sample.kt", "pause") == Detail(
        30, "suspend fun pause(ms: Long)", "Waits.", ('@Deprecated("no")',), ("suspend",)
    )


def test_a_comment_is_not_the_documentation_of_what_it_does_not_touch() -> None:
    assert first("go", "package p\n\n// Far away.\n\nfunc F() {}\n").documentation == ""
    assert first("c", "#include <a.h> // about a\nint f(void) { return 1; }\n").documentation == ""


def test_the_attributes_of_rust_stand_between_comment_and_item() -> None:
    found = first("rust", "/// Says\n/// more.\n#[inline]\n#[must_use]\npub fn f() -> u8 { 1 }\n")
    assert (found.documentation, found.decorators) == ("Says more.", ("#[inline]", "#[must_use]"))


@pytest.mark.parametrize("file", sorted(file.name for file in SAMPLES.iterdir() if file.suffix != ".symbols"))
def test_every_definition_of_a_sample_has_its_end_and_a_signature(file: str) -> None:
    data = (SAMPLES / file).read_bytes()
    language = language_of(file, data)
    assert language is not None
    for name, _, line, column, end_line, _, _ in extract(language, data)[1]:
        found = detail(language, data, line, column)
        assert found.end_line == end_line, name
        assert found.signature, name


def test_nothing_where_no_definition_is() -> None:
    assert detail("go", b"package p\n\nfunc F() {}\n", 2, 0) == Detail()
    assert detail("go", b"package p\n", 700, 90) == Detail()
    assert detail("go", b"", 1, 0) == Detail()


def test_long_things_are_cut() -> None:
    text = "/** " + "words " * 5000 + "*/\nfunction f(" + ", ".join(f"a{n}" for n in range(5000)) + ") {}\n"
    found = first("javascript", text)
    assert len(found.documentation) == MAX_DOCUMENTATION
    assert len(found.signature) == MAX_SIGNATURE
    assert found.signature.endswith("…")


def test_a_hundred_thousand_levels_around_it() -> None:
    data = b"[" * 100_000 + b"function f() {}" + b"]" * 100_000
    assert detail("javascript", data, 1, 100_009).end_line in (0, 1)
