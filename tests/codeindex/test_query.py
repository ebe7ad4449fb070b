"""The seven questions, put to a real index of real files; what hostile names and trees make of them."""

import asyncio
import os
import threading
import time

import pytest

from toolcrib.codeindex.index import CodeIndex
from toolcrib.codeindex.query import Code
from toolcrib.core.errors import ToolError
from toolcrib.core.jsontext import dump
from toolcrib.sandbox.guard import GuardedFiles

SHAPES = '''"""Shapes."""

from abc import ABC
import math


class Shape(ABC):
    """A thing with an area.

    More about it.
    """

    sides = 0

    def area(self) -> float:
        """How large it is."""
        return 0.0


class Circle(Shape):
    def __init__(self, radius: float) -> None:
        self.radius = radius

    def area(self) -> float:
        return math.pi * self.radius**2


def make_shape(kind: str) -> Shape:
    return Circle(1)  # not a Shape of its own
'''
USE = """from shapes import Circle, make_shape as make

print("Circle", Circle(2).area())
make("x")
"""


@pytest.fixture
def shapes(sources):
    sources.write(
        {
            "shapes.py": SHAPES,
            "use.py": USE,
            "web/app.ts": "export class Circle { draw(): void {} }\nexport function area() {}\n",
        }
    )
    return sources


def hits(answer) -> list[tuple]:
    return [(each["file"], each["line"], each["name"], each["kind"]) for each in answer["hits"]]


def test_search_by_name(shapes) -> None:
    """C13, C45, C46"""
    answer = shapes.ask(lambda code: code.search("Circle"))
    assert hits(answer) == [("shapes.py", 20, "Circle", "class"), ("web/app.ts", 1, "Circle", "class")]
    assert (answer["total"], answer["left_out"], answer["confidence"]) == (2, 0, "syntactic")
    assert answer["index"]["files"] == 3
    assert (
        answer["hits"][0] | {"scope": "", "language": "python", "match": "exact", "confidence": "syntactic"}
        == answer["hits"][0]
    )


def test_search_is_narrowed(shapes) -> None:
    assert hits(shapes.ask(lambda code: code.search("Circle", "web"))) == [("web/app.ts", 1, "Circle", "class")]
    assert hits(shapes.ask(lambda code: code.search("Circle", language="python"))) == [
        ("shapes.py", 20, "Circle", "class")
    ]
    assert {hit[3] for hit in hits(shapes.ask(lambda code: code.search("area", kind="method")))} == {"method"}
    assert hits(shapes.ask(lambda code: code.search("Shape.area"))) == [("shapes.py", 15, "area", "method")]
    bounded = shapes.ask(lambda code: code.search("a", limit=2))
    assert len(bounded["hits"]) == 2 and bounded["left_out"] == bounded["total"] - 2 > 0
    with pytest.raises(ToolError, match="the kinds are class, constant") as refused:
        shapes.ask(lambda code: code.search("a", kind="klass"))
    assert refused.value.code == "SEARCH_ERROR"


def test_search_for_what_nobody_defines_shows_who_mentions_it(shapes) -> None:
    answer = shapes.ask(lambda code: code.search("math"))
    assert {hit["file"] for hit in answer["hits"]} == {"shapes.py"}
    assert {hit["kind"] for hit in answer["hits"]} == {"mention"} and answer["confidence"] == "text"


def test_search_by_shape(shapes) -> None:
    answer = shapes.ask(lambda code: code.search("return $X ** 2"))
    assert answer["total"] == 0  # it is $A * $B**2
    answer = shapes.ask(lambda code: code.search("Circle($R)"))
    assert [(hit["file"], hit["line"], hit["bindings"]) for hit in answer["hits"]] == [
        ("shapes.py", 29, {"R": "1"}),
        ("use.py", 3, {"R": "2"}),
    ]
    only = shapes.ask(lambda code: code.search("math.pi", pattern=True))
    assert [(hit["file"], hit["line"]) for hit in only["hits"]] == [("shapes.py", 25)]


def test_a_pattern_that_is_no_code(shapes) -> None:
    with pytest.raises(ToolError, match="the pattern is no piece of code") as refused:
        shapes.ask(lambda code: code.search("def ($$$", "shapes.py"))
    assert refused.value.code == "SEARCH_ERROR"


def test_symbol_info(shapes) -> None:
    """C13, C46"""
    answer = shapes.ask(lambda code: code.get_symbol_info("Shape"))
    assert (
        answer
        | {
            "symbol": "Shape",
            "kind": "class",
            "file": "shapes.py",
            "line": 7,
            "end_line": 17,
            "documentation": "A thing with an area.",
            "parents": ["ABC"],
            "others": [],
            "confidence": "syntactic",
        }
        == answer
    )
    assert answer["signature"].startswith("class Shape(ABC)")
    assert [each["name"] for each in answer["members"]["listed"]] == ["sides", "area"]
    assert answer["used"] == {"files": 1, "most": [{"file": "shapes.py", "uses": 2}]}


def test_symbol_info_of_several(shapes) -> None:
    answer = shapes.ask(lambda code: code.get_symbol_info("Circle"))
    assert answer["file"] == "shapes.py" and [each["file"] for each in answer["others"]] == ["web/app.ts"]
    assert shapes.ask(lambda code: code.get_symbol_info("Circle", "web/app.ts"))["file"] == "web/app.ts"
    assert shapes.ask(lambda code: code.get_symbol_info("make", "use.py"))["symbol"] == "make_shape"
    assert shapes.ask(lambda code: code.get_symbol_info("Circle.area"))["line"] == 24


def test_an_unknown_symbol_names_the_nearest(shapes) -> None:
    with pytest.raises(ToolError, match="the nearest names are .*Circle") as refused:
        shapes.ask(lambda code: code.get_symbol_info("Cirkle"))
    assert refused.value.code == "SEARCH_ERROR" and "Circle" in refused.value.details["candidates"]


def test_imports_and_exports(shapes) -> None:
    """C13, C46"""
    shapes.write({"all.py": "from use import *\n__all__ = ['one', 'two']\none = two = three = 1\n"})
    answer = shapes.ask(lambda code: code.get_imports_exports("use.py"))
    assert answer["imports"] == [
        {
            "module": "shapes",
            "line": 1,
            "names": [{"name": "Circle"}, {"name": "make_shape", "as": "make"}],
            "files": ["shapes.py"],
        }
    ]
    listed = shapes.ask(lambda code: code.get_imports_exports("shapes.py"))
    assert [(each["module"], each["line"], each.get("external")) for each in listed["imports"]] == [
        ("abc", 3, True),
        ("math", 4, True),
    ]
    assert [(each["name"], each["line"]) for each in listed["exports"]] == [
        ("Shape", 7),
        ("Circle", 20),
        ("make_shape", 28),
    ]
    assert [each["name"] for each in shapes.ask(lambda code: code.get_imports_exports("all.py"))["exports"]] == [
        "one",
        "two",
    ]


def test_a_graph_with_its_cycles(sources) -> None:
    """C13, C46"""
    sources.write(
        {
            "a.py": "import b\n",
            "b.py": "import c\nimport os\n",
            "c/__init__.py": "import a\n",
            "d.py": "from c import x\n",
            "c/x.py": "",
        }
    )
    answer = sources.ask(lambda code: code.build_dependency_graph())
    assert [(edge["from"], edge["to"]) for edge in answer["edges"]] == [
        ("a.py", "b.py"),
        ("b.py", "c/__init__.py"),
        ("c/__init__.py", "a.py"),
        ("d.py", "c/__init__.py"),
        ("d.py", "c/x.py"),
    ]
    assert answer["cycles"] == [{"size": 3, "nodes": ["a.py", "b.py", "c/__init__.py"]}]
    assert answer["external"] == [{"module": "os", "imports": 1}] and answer["level"] == "file"
    folders = sources.ask(lambda code: code.build_dependency_graph(level="directory"))
    assert folders["cycles"] == [{"size": 2, "nodes": [".", "c"]}]
    dot = sources.ask(lambda code: code.build_dependency_graph(format="dot"))
    assert '  "a.py" -> "b.py";' in dot and "confidence: syntactic" in dot
    mermaid = sources.ask(lambda code: code.build_dependency_graph(format="mermaid"))
    assert '  n0["a.py"]' in mermaid and "  n0 --> n1" in mermaid


def test_references(shapes) -> None:
    """C13, C46"""
    answer = shapes.ask(lambda code: code.find_references("Circle"))
    found = [
        (each["file"], each["line"], each["column"], each.get("definition", False)) for each in answer["references"]
    ]
    assert found == [
        ("shapes.py", 20, 6, True),
        ("shapes.py", 29, 11, False),
        ("web/app.ts", 1, 13, True),
        ("use.py", 1, 19, False),
        ("use.py", 3, 16, False),
    ]
    assert {each["confidence"] for each in answer["references"]} == {"syntactic"}
    assert (answer["total"], answer["files"], answer["in_text"]) == (5, 3, 1)
    texts = shapes.ask(lambda code: code.find_references("Circle", include_text=True))
    assert [(each["file"], each["text"]) for each in texts["references"] if each["confidence"] == "text"] == [
        ("use.py", 'print("Circle", Circle(2).area())')
    ]
    assert texts["confidence"] == "text"
    few = shapes.ask(lambda code: code.find_references("Circle", limit=2))
    assert (len(few["references"]), few["total"], few["left_out"]) == (2, 6, 4)
    assert few["files_only_counted"] == 2  # where a string counts too
    assert {each["file"] for each in shapes.ask(lambda code: code.find_references("Circle", "web"))["references"]} == {
        "web/app.ts"
    }


def test_references_that_jedi_is_sure_of(sources) -> None:
    """Two methods of one name: what is of the other is left out, and said to be."""
    pytest.importorskip("jedi")
    sources.write(
        {
            "a.py": "class One:\n    def go(self): ...\n\n\nclass Two:\n    def go(self): ...\n",
            "b.py": "from a import One, Two\n\nOne().go()\nTwo().go()\n\n\ndef f(x):\n    x.go()\n",
        }
    )
    answer = sources.ask(lambda code: code.find_references("One.go", precise=True))
    found = {(each["file"], each["line"]): each["confidence"] for each in answer["references"]}
    assert found == {("a.py", 2): "exact", ("b.py", 3): "exact", ("b.py", 8): "syntactic"}
    assert (answer["total"], answer["elsewhere"], answer["confidence"]) == (3, 2, "syntactic")


def test_resolving_by_jedi(sources) -> None:
    pytest.importorskip("jedi")
    sources.write(
        {
            "lib/__init__.py": "from .inner import Thing\n",
            "lib/inner.py": "class Base:\n    def run(self): ...\n\n\nclass Thing(Base): ...\n",
            "use.py": "import json\nfrom lib import Thing\nfrom nowhere import gone\n\nthing = Thing()\nthing.run()\njson.dumps(gone)\n",
        }
    )
    answer = sources.ask(lambda code: code.resolve_symbol("thing.run", "use.py"))
    (found,) = answer["definitions"]
    assert (found["file"], found["line"], found["scope"], found["confidence"]) == ("lib/inner.py", 2, "Base", "exact")
    assert (answer["engine"], answer["confidence"]) == ("jedi", "exact")
    (outside,) = sources.ask(lambda code: code.resolve_symbol("json.dumps", "use.py"))["definitions"]
    assert outside == {"external": True, "module": "json", "name": "dumps", "confidence": "exact"}
    (gone,) = sources.ask(lambda code: code.resolve_symbol("gone", "use.py", line=7))["definitions"]
    assert gone["external"] and (gone["module"], gone["name"]) == ("nowhere", "gone")


def test_without_jedi_the_index_answers_and_says_so(sources) -> None:
    sources.write({"a.py": "def f(): ...\n", "b.py": "from a import f\nf()\n"})

    async def asked():
        code = Code(CodeIndex(cache=None, run=None), GuardedFiles(sources.root))
        return await code.resolve_symbol("f", "b.py"), await code.find_references("f", precise=True)

    resolved, found = asyncio.run(asked())
    assert (resolved["definitions"][0]["file"], resolved["confidence"], resolved["engine"]) == (
        "a.py",
        "syntactic",
        "index",
    )
    assert "no program can be started" in resolved["note"] and "no program can be started" in found["note"]


def test_an_answer_is_never_stale(shapes) -> None:
    async def asked():
        code = Code(CodeIndex(cache=None, run=None), GuardedFiles(shapes.root))
        before = await code.search("Circle")
        shapes.write({"new.py": "class Circle: ...\n"})
        (shapes.root / "use.py").unlink()
        after = await code.search("Circle")
        return before["total"], after["total"], after["index"]["files"]

    assert asyncio.run(asked()) == (2, 3, 3)


QUESTIONS = {
    "search": lambda code, path: code.search("a", path),
    "map": lambda code, path: code.generate_repo_map(path),
    "info": lambda code, path: code.get_symbol_info("a", path),
    "imports": lambda code, path: code.get_imports_exports(path),
    "graph": lambda code, path: code.build_dependency_graph(path),
    "resolve": lambda code, path: code.resolve_symbol("a", path),
    "references": lambda code, path: code.find_references("a", path),
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(
    "path", ["../secret", "..", "out", "out/secret.py", "link.py", "/etc/passwd", "no/such.py", "x\0y"]
)
def test_a_path_that_leads_out_is_refused(sources, question, path) -> None:
    secret = sources.root.parent / "secret"
    secret.mkdir()
    (secret / "secret.py").write_text("SECRET_VALUE = 1\na = SECRET_VALUE\n")
    (sources.root / "out").symlink_to(secret)
    (sources.root / "link.py").symlink_to(secret / "secret.py")
    sources.write({"a.py": "a = 1\n"})
    with pytest.raises(ToolError) as refused:
        sources.ask(lambda code: QUESTIONS[question](code, path))
    assert refused.value.code in (
        "PATH_OUTSIDE_WORKSPACE",
        "FILE_NOT_FOUND",
        "PATH_NOT_REGULAR",
        "READ_ERROR",
        "SEARCH_ERROR",
    )
    assert "SECRET" not in str(refused.value) + str(refused.value.details)


@pytest.mark.parametrize("question", ["info", "imports", "resolve"])
def test_a_file_that_is_no_source(sources, question) -> None:
    sources.write({"notes.txt": "a", "a.py": "a = 1\n"})
    with pytest.raises(ToolError, match="notes.txt is not in the index"):
        sources.ask(lambda code: QUESTIONS[question](code, "notes.txt"))


@pytest.mark.parametrize("path", [".", "./", "sub/..", "ABSOLUTE"])
def test_ways_to_say_the_workspace(sources, path) -> None:
    sources.write({"a.py": "alpha = 1\n", "sub/b.py": "alpha = 2\n"})
    path = str(sources.root) if path == "ABSOLUTE" else path
    assert sources.ask(lambda code: code.search("alpha", path))["total"] == 2


@pytest.mark.parametrize(
    "symbol", ["a(b", "[", "\\", ".", "...", "a\0b", "a" * 1_000_000, "$", "a\nb", "\udcff", "::", "é"]
)
def test_hostile_symbols(sources, symbol) -> None:
    """Whatever it is: an answer that JSON can say, or an error that names what was wrong."""
    sources.write({"a.py": "def f(): ...\nf()\n"})
    for question in (
        lambda code: code.search(symbol),
        lambda code: code.get_symbol_info(symbol),
        lambda code: code.resolve_symbol(symbol, "a.py", precise=False),
        lambda code: code.find_references(symbol),
    ):
        try:
            dump(sources.ask(question))
        except ToolError as exc:
            assert exc.code == "SEARCH_ERROR" and len(str(exc)) < 1000


@pytest.mark.parametrize(
    "name", [b'quote".py', b"new\nline.py", b"not\xffutf8.py", b"$(touch x).py", b"-rf.py", b"a]b.py"]
)
def test_hostile_file_names(sources, name) -> None:
    path = os.path.join(os.fsencode(sources.root), name)
    with open(path, "wb") as file:
        file.write(b"import json\n\n\ndef odd(): ...\n\n\nodd()\n")
    sources.write({"plain.py": "x = 1\n"})
    shown = name.decode("utf-8", "backslashreplace")
    for question in (
        lambda code: code.search("odd"),
        lambda code: code.find_references("odd"),
        lambda code: code.build_dependency_graph(),
    ):
        answer = sources.ask(question)
        dump(answer)
        assert shown in str(answer.get("hits", answer.get("references", answer.get("nodes")))).replace(
            "\\n", "\n"
        ).replace("\\\\", "\\")
    for format in ("dot", "mermaid"):
        sources.ask(lambda code, format=format: code.build_dependency_graph(format=format)).encode()
    assert "odd" in sources.ask(lambda code: code.generate_repo_map())
    answer = sources.ask(lambda code: code.get_symbol_info("odd", os.fsdecode(name)))
    assert answer["line"] == 4
    sources.ask(lambda code: code.resolve_symbol("odd", os.fsdecode(name)))


def test_ten_thousand_definitions_of_one_name(sources) -> None:
    sources.write(
        {f"m{n}.py": "".join(f"class C{m}:\n    def same(self): ...\n" for m in range(1000)) for n in range(10)}
    )
    start = time.monotonic()
    found = sources.ask(lambda code: code.search("same", limit=10))
    assert len(found["hits"]) == 10 and found["total"] == 10_000
    info = sources.ask(lambda code: code.get_symbol_info("same"))
    assert info["others_left_out"] == 10_000 - 1 - len(info["others"])
    references = sources.ask(lambda code: code.find_references("same"))
    assert references["total"] == 10_000 and len(references["definitions"]) == 20
    resolved = sources.ask(lambda code: code.resolve_symbol("same", "m0.py", precise=False))
    assert len(resolved["definitions"]) == 50 and resolved["left_out"] > 0
    for answer in (found, info, references, resolved):
        assert len(dump(answer)) < 64 * 1024
    assert time.monotonic() - start < 30


def test_a_class_with_fifty_thousand_members(sources) -> None:
    body = "".join(f"    m{n} = 1\n" for n in range(50_000))
    sources.write({"big.py": f"class Big:\n{body}\n"})
    answer = sources.ask(lambda code: code.get_symbol_info("Big"))
    assert len(answer["members"]["listed"]) == 100 and answer["members"]["left_out"] == 49_900
    assert len(dump(answer)) < 64 * 1024
    text = sources.ask(lambda code: code.generate_repo_map())
    assert len(text) <= 4096 and text.startswith("big.py:")


def test_many_at_once(shapes) -> None:
    """A hundred questions of all kinds to one index: each has the answer it would have alone."""

    async def asked():
        index = CodeIndex(cache=None, run=None)

        def code():
            return Code(index, GuardedFiles(shapes.root))

        kinds = (
            lambda: code().search("Circle"),
            lambda: code().search("Circle($R)"),
            lambda: code().get_symbol_info("Shape"),
            lambda: code().find_references("Circle"),
            lambda: code().generate_repo_map(),
        )
        alone = [await ask() for ask in kinds]
        together = await asyncio.gather(*(ask() for ask in kinds * 20))
        return alone, together

    alone, together = asyncio.run(asked())
    for number, answer in enumerate(together):
        first = alone[number % len(alone)]
        assert (answer if isinstance(answer, str) else {**answer, "index": 0}) == (
            first if isinstance(first, str) else {**first, "index": 0}
        )


def test_cancelling_stops_the_work(sources) -> None:
    """Nobody waits any more: the thread looks at no further file."""
    sources.write({f"m{n}.py": "def same(): ...\n" for n in range(50)})

    async def asked():
        index, files = CodeIndex(cache=None, run=None), GuardedFiles(sources.root)
        view = await index.settled(files)
        begun, going_on = asyncio.Event(), threading.Event()
        loop, read = asyncio.get_running_loop(), []

        class Slow:
            def __getattr__(self, name):
                return getattr(view, name)

            def language(self, path):  # asked once a file is read
                read.append(path)
                loop.call_soon_threadsafe(begun.set)
                going_on.wait(10)
                return view.language(path)

        class Settled:
            async def settled(self, files):
                return Slow()

        task = asyncio.create_task(Code(Settled(), files).find_references("same"))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        going_on.set()
        return read

    assert set(asyncio.run(asked())) == {"m0.py"}
