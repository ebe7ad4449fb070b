"""The quick look at Python files, held against the parser of the language itself."""

import ast
import random
import sysconfig
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolcrib.codeindex.python_scan import scan

MIB = 1024 * 1024
ENOUGH = 0.99
SAMPLE = 150
BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.With, ast.AsyncWith, ast.ExceptHandler)

SOURCE = b'''#!/usr/bin/env python
"""Words about

def not_a_function(): ...
import not_a_module
"""
from __future__ import annotations

import os, sys as system
import a.b.c
from . import near
from ..above.it import (  # a comment with (brackets
    one,
    two as second,  # and ) more
)
from x \\
    import y, \\
    z
from everything import *

__all__ = ["LIMIT", "Shape"]
__all__ += ("later",)

LIMIT: int = 3
first, (second) = 1, 2
(left,
 right) = both()
chain = link = ring = None
attribute.of = 1
subscript["of"] = 1
augmented += 1
compared == 1
called(
    argument=1,
    other=2)
pair = 1,
single = {
    key: value,
    "a": """
def hidden(): pass
""",
}

if system:
    conditional = 'it''s'
    from inner import thing
else: import fallback


class Shape(
    Base,
    metaclass=Meta,
):
    """Says

class NotOne:
    x = 1
"""
    sides: int
    _kept = field(
        default=1,
        doc="""
    text = 1
""",
    )

    @property
    def area(self) -> int:
        local = 1
        def helper(x=1):
            import late
            deep = 2
        after = 3
        return local

    async def _wait(self): pass

    class Inner[T]:
        LEVEL = 1

    if True:
        def maybe(self): ...


type Alias[T] = list[T]
type = 1
match = 2
def trailing(a,
             b=1): return a
'''


def test_everything_that_a_file_can_say() -> None:
    """C13: names, what they are, where they stand and in what, whom others may use; imports; exports."""
    definitions, imports, exports = scan(SOURCE)
    places = dict(enumerate(SOURCE.split(b"\n"), 1))
    for name, _, line, column, *_ in definitions:
        assert places[line].startswith(name.encode(), column)
    assert [(name, kind, scope, exported) for name, kind, _, _, _, scope, exported in definitions] == [
        ("__all__", "variable", "", False),
        ("LIMIT", "constant", "", True),
        ("first", "variable", "", False),
        ("second", "variable", "", False),
        ("left", "variable", "", False),
        ("right", "variable", "", False),
        ("chain", "variable", "", False),
        ("link", "variable", "", False),
        ("ring", "variable", "", False),
        ("pair", "variable", "", False),
        ("single", "variable", "", False),
        ("conditional", "variable", "", False),
        ("Shape", "class", "", True),
        ("sides", "field", "Shape", True),
        ("_kept", "field", "Shape", False),
        ("area", "method", "Shape", True),
        ("helper", "function", "Shape.area", False),
        ("_wait", "method", "Shape", False),
        ("Inner", "class", "Shape", True),
        ("LEVEL", "constant", "Shape.Inner", True),
        ("maybe", "method", "Shape", True),
        ("Alias", "type", "", False),
        ("type", "variable", "", False),
        ("match", "variable", "", False),
        ("trailing", "function", "", False),
    ]
    assert [(module, names, alias) for module, _, names, alias in imports] == [
        ("__future__", (("annotations", "annotations"),), ""),
        ("os", (), ""),
        ("sys", (), "system"),
        ("a.b.c", (), ""),
        (".", (("near", "near"),), ""),
        ("..above.it", (("one", "one"), ("two", "second")), ""),
        ("x", (("y", "y"), ("z", "z")), ""),
        ("everything", (("*", "*"),), ""),
        ("inner", (("thing", "thing"),), ""),
        ("fallback", (), ""),
        ("late", (), ""),
    ]
    assert exports == [("LIMIT", 21), ("Shape", 21), ("later", 22)]


@pytest.mark.parametrize(
    ("written", "found"),
    [
        (b"def f():\r\n    x = 1\r\nclass C:\r\n    y = 2\r\n", [("f", 1, ""), ("C", 3, ""), ("y", 4, "C")]),
        (b"def f():\r    x = 1\rclass C:\r    y = 2\r", [("f", 1, ""), ("C", 3, ""), ("y", 4, "C")]),
        (b"\xef\xbb\xbfdef f(): pass\n", [("f", 1, "")]),
        (b"class C:\n\tdef f(self):\n\t\tx = 1\n\ty = 2\n", [("C", 1, ""), ("f", 2, "C"), ("y", 4, "C")]),
        (b"class C:\n    x = 1\n\x0cdef f():\n    pass\n", [("C", 1, ""), ("x", 2, "C"), ("f", 3, "")]),
        (b"x = '\\\ndef f(): pass\\\n'\ny = 1", [("x", 1, ""), ("y", 4, "")]),
        (b"# ends with \\\ndef f(): pass", [("f", 2, "")]),
        (b'x = "#" """\ndef f(): pass\n"""', [("x", 1, "")]),
        (b"x = 1  # '''\ndef f(): pass", [("x", 1, ""), ("f", 2, "")]),
        (b"x = '\"\"\"'\ndef f(): pass", [("x", 1, ""), ("f", 2, "")]),
        (b'x = r"""\\""" \ndef f(): pass\n"""', [("x", 1, "")]),
        (b'x = rb"""\\\\"""\ndef f(): pass', [("x", 1, ""), ("f", 2, "")]),
        (b'def f():\n    """\ndef example():\n    """\nclass C:\n    """\ndef foo():\n    """\n    x = 1',
         [("f", 1, ""), ("C", 5, ""), ("x", 9, "C")]),
        (b"def f(\n    a=1,\n    b: int = 2,\n):\n    c = 3\nd = 4", [("f", 1, ""), ("d", 6, "")]),
        (b"class E(Enum):\n    A = 1,\n    B = 2,\n", [("E", 1, ""), ("A", 2, "E"), ("B", 3, "E")]),
        (b"for i in x:\n    y = 1\nclass C: pass\nwith z:\n    w = 1", [("y", 2, ""), ("C", 3, ""), ("w", 5, "")]),
        ("größe = 1\ndef ñandú(): pass".encode(), [("größe", 1, ""), ("ñandú", 2, "")]),
        (b"def (: =\nclass\nimport\nfrom\nx = = 1\ndef ok(): pass", [("x", 5, ""), ("ok", 6, "")]),
        (b"\xff\xfe = 1\nx = 1", [("\ufffd\ufffd", 1, ""), ("x", 2, "")]),
        (b"", []),
        (b"\0\0\n\0", []),
        (b'"""', []),
    ],
)  # fmt: skip
def test_odd_spellings(written: bytes, found: list[tuple[str, int, str]]) -> None:
    definitions, _, _ = scan(written)
    assert [(name, line, scope) for name, _, line, _, _, scope, _ in definitions] == found


@pytest.mark.parametrize(
    ("written", "found"),
    [
        (b"import a; import b", ["a", "b"]),
        (b"try: import a\nexcept E: from b import c", ["a", "b"]),
        (b"from.a import(b)", [".a"]),
        (b"from . import(a,b,)", ["."]),
        (b"from ... a import b", ["...a"]),
        (b"imported = 1\nfrom_ = 2\nraise x from e\nyield from y", []),
        (b"def f():\n    import a\n    async def g():\n        from b import c", ["a", "b"]),
        (b"from a import (b\nfrom c import d", ["a", "c"]),
    ],
)
def test_imports_wherever_they_stand(written: bytes, found: list[str]) -> None:
    assert [module for module, _, _, _ in scan(written)[1]] == found


def test_the_same_as_the_parser_of_the_language() -> None:
    """Recall and precision of definitions and of imports, on files that nobody wrote for this."""
    library = Path(sysconfig.get_paths()["stdlib"])
    files = sorted(each for each in library.rglob("*.py") if "site-packages" not in each.parts)
    random.Random(5).shuffle(files)
    totals: Counter[str] = Counter()
    for file in files[:SAMPLE]:
        data = file.read_bytes()
        try:
            data.decode()
            expected = _by_parser(data)
        except (SyntaxError, ValueError):
            continue
        definitions, imports, _ = scan(data)
        pairs = (
            ("definitions", Counter((name, line, scope) for name, _, line, _, _, scope, _ in definitions), expected[0]),
            ("imports", Counter(imports), expected[1]),
        )
        for what, ours, theirs in pairs:
            totals[what] += theirs.total()
            totals[f"{what} missed"] += (theirs - ours).total()
            totals[f"{what} made up"] += (ours - theirs).total()
    assert totals["definitions"] > 3000
    assert totals["imports"] > 300
    for what in ("definitions", "imports"):
        assert totals[f"{what} missed"] <= (1 - ENOUGH) * totals[what], totals
        assert totals[f"{what} made up"] <= (1 - ENOUGH) * totals[what], totals


@pytest.mark.parametrize(
    "piece",
    [
        b"'", b'"', b"'''", b'"""', b"\\", b"\\\n", b"(", b"[\n", b"{", b"\n(a,", b"\n", b" ", b"\t", b"\n ", b"#", b"\n#",
        b"\nfrom x import (", b"\nfrom x import (#", b"\nfrom . import \\", b"\nimport a,", b"\nclass C:", b"\ndef f(",
        b"\n def f(", b"\nx = \\", b"\na=", b"\na,", b"\na: 1,", b"\nx(a=1,", b'\n"""\\', b"\n'\"\"\"", b"\n__all__ = [",
        b"\n__all__ += ['a", b"a = ", b"a, ", b"async ", b"\ntype a", b"\x0c\n", b"\r", b"if x: ", b"\n'''\ndef f(:\n'''",
    ],
)  # fmt: skip
def test_nothing_takes_long(piece: bytes) -> None:
    """A file of nothing but one thing, as long as a file may be: quadratic work would take minutes."""
    data = piece * (MIB // len(piece))
    began = time.process_time()
    scan(data)
    assert time.process_time() - began < 15


def test_nothing_makes_it_fail() -> None:
    chance = random.Random(7)
    for _ in range(300):
        data = bytearray(SOURCE)
        for _ in range(chance.randrange(1, 40)):
            at = chance.randrange(len(data))
            data[at : at + chance.randrange(4)] = chance.choice(
                (b"'", b'"""', b"\\", b"\n", b"(", b"\0", b"\xff", b"=")
            )
        definitions, imports, _ = scan(bytes(data))
        count = data.count(b"\n") + data.count(b"\r") + 1
        assert all(1 <= line <= count for _, _, line, *_ in definitions)
        assert all(1 <= line <= count for _, line, *_ in imports)


def _by_parser(data: bytes) -> tuple["Counter[tuple[str, int, str]]", "Counter[tuple[object, ...]]"]:
    definitions: Counter[tuple[str, int, str]] = Counter()
    imports: Counter[tuple[object, ...]] = Counter()

    def visit(node: ast.AST, scope: str, local: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                definitions[child.name, child.lineno, scope] += 1
                visit(child, f"{scope}.{child.name}" if scope else child.name, not isinstance(child, ast.ClassDef))
            elif isinstance(child, ast.Assign | ast.AnnAssign) and not local:
                targets = child.targets if isinstance(child, ast.Assign) else [child.target]
                definitions.update((name, line, scope) for each in targets for name, line in _names(each))
            elif isinstance(child, ast.Import):
                imports.update((each.name, child.lineno, (), each.asname or "") for each in child.names)
            elif isinstance(child, ast.ImportFrom):
                names = tuple((each.name, each.asname or each.name) for each in child.names)
                imports["." * child.level + (child.module or ""), child.lineno, names, ""] += 1
            elif isinstance(child, (*BLOCKS, ast.Match, ast.match_case, ast.TryStar)):
                visit(child, scope, local)

    visit(ast.parse(data), "", False)
    return definitions, imports


def _names(target: ast.AST) -> Iterator[tuple[str, int]]:
    if isinstance(target, ast.Name):
        yield target.id, target.lineno
    elif isinstance(target, ast.Tuple | ast.List | ast.Starred):
        for each in ast.iter_child_nodes(target):
            yield from _names(each)
