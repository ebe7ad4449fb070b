"""What the other engines say: jedi, TypeScript itself, and universal-ctags."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

Place = tuple[str, int, int]
"""File, line from 1, column in characters."""

_ENGINE = Path(__file__).parent / "engine.js"


class Named(NamedTuple):
    """A definition as an engine gives it."""

    file: str
    name: str
    line: int
    column: int
    kind: str
    left_out: str = ""
    """Why it is not compared; empty when it is."""


# Python, by jedi


def jedi_definitions(files: list[Path]) -> list[Named]:
    """Every name that jedi takes for a definition, with those that are not compared marked as such."""
    with _jedi_workers() as workers:
        return [
            item for found in workers.map(_jedi_file, [str(file) for file in files], chunksize=20) for item in found
        ]


@contextmanager
def _jedi_workers() -> Iterator[ProcessPoolExecutor]:
    """Two processes, each with a cache of its own: jedi's is not made for two at once."""
    with (
        TemporaryDirectory(prefix="toolcrib-jedi-") as folder,
        ProcessPoolExecutor(2, initializer=_own_cache, initargs=(folder,)) as workers,
    ):
        yield workers


def _own_cache(folder: str) -> None:
    import jedi

    jedi.settings.cache_directory = f"{folder}/{os.getpid()}"


def _jedi_file(file: str) -> list[Named]:
    import jedi

    text = Path(file).read_bytes().decode("utf-8", "replace")
    try:
        names = jedi.Script(code=text, path=file).get_names(all_scopes=True, definitions=True)
    except RecursionError:
        return []
    return [_jedi_name(file, name._name.tree_name) for name in names if name._name.tree_name is not None]


_JEDI_LEFT_OUT = {
    "param": "parameters",
    "import_name": "imports",
    "import_from": "imports",
    "sync_comp_for": "variables of comprehensions",
    "comp_for": "variables of comprehensions",
    "for_stmt": "variables of loops, `with` and `except`",
    "with_stmt": "variables of loops, `with` and `except`",
    "try_stmt": "variables of loops, `with` and `except`",
    "except_clause": "variables of loops, `with` and `except`",
    "namedexpr_test": "variables of `:=`",
    "del_stmt": "names in `del` and `global`",
    "global_stmt": "names in `del` and `global`",
    "nonlocal_stmt": "names in `del` and `global`",
}


def _jedi_name(file: str, name: object) -> Named:
    from parso.python.tree import Name

    assert isinstance(name, Name)
    definition = name.get_definition(include_setitem=True)
    kind = definition.type if definition is not None else "?"
    line, column = name.start_pos
    left_out = _JEDI_LEFT_OUT.get(kind, "")
    if not left_out and kind == "expr_stmt":
        left_out = _statement_left_out(name)
    shown = {"funcdef": "function", "classdef": "class", "expr_stmt": "variable"}.get(kind, kind)
    if shown not in ("function", "class", "variable") and not left_out:
        left_out = f"{kind} (jedi's own word)"
    return Named(file, name.value, line, column, shown, left_out)


def _statement_left_out(name: object) -> str:
    """Why an assignment is not compared: it sets an attribute or an item, or it is local to a function."""
    from parso.tree import BaseNode, search_ancestor

    parent = getattr(name, "parent", None)
    assert isinstance(parent, BaseNode)
    if parent.type == "trailer":
        return "attributes and items that are set (`self.x = …`)"
    scope = search_ancestor(parent, "funcdef", "classdef", "lambdef")
    if parent.type in ("funcdef", "lambdef"):
        scope = parent
    return "local variables" if scope is not None and scope.type != "classdef" else ""


def jedi_references(root: Path, asked: list[Named]) -> list[list[Place]]:
    """Where jedi finds each of these used, in the tree at `root`."""
    with _jedi_workers() as workers:
        return list(workers.map(_jedi_uses, [(str(root), *item[:4]) for item in asked], chunksize=1))


def _jedi_uses(asked: tuple[str, str, str, int, int]) -> list[Place]:
    import jedi
    from jedi.inference import references

    # Without this it stops after thirty files.
    references._PARSED_FILE_LIMIT = references._OPENED_FILE_LIMIT = 1_000_000
    root, file, name, line, column = asked
    project = jedi.Project(root, added_sys_path=[str(Path(root).parent)], smart_sys_path=False)
    found = jedi.Script(path=file, project=project).get_references(line, column)
    inside = [each for each in found if each.module_path is not None and str(each.module_path).startswith(root)]
    return [(str(each.module_path), each.line, each.column) for each in inside if each.name == name]


# TypeScript, by itself


def typescript_definitions(compiler: Path, files: list[Path]) -> list[Named]:
    """Every declaration that the parser of TypeScript sees, with those that are not compared marked as such."""
    answer = _engine(compiler, files)
    return [
        Named(file, name, line, column, kind, _typescript_left_out(kind, where))
        for file, found in answer["definitions"].items()
        for name, kind, line, column, where in found
    ]


_TYPESCRIPT_LEFT_OUT = {
    "parameter": "parameters",
    "type parameter": "parameters of types",
    "import": "imports",
    "export": "names in `export {…}`",
    "object property": "properties of object literals that are no functions",
}


def _typescript_left_out(kind: str, where: str) -> str:
    if kind in _TYPESCRIPT_LEFT_OUT:
        return _TYPESCRIPT_LEFT_OUT[kind]
    if where == "nameless":
        return "members of types without a name"
    if where == "local" and kind not in ("function", "class", "interface", "type", "enum", "namespace"):
        return "local variables, and methods of objects inside functions"
    return ""


def typescript_references(
    compiler: Path, files: list[Path], asked: list[Named], conditions: tuple[str, ...]
) -> list[list[Place]]:
    """Where the language service finds each of these used. `conditions` lead imports of the package to its source."""
    answer = _engine(compiler, files, [[item.file, item.line, item.column] for item in asked], conditions)
    return [
        [(file, line, column) for file, line, column, text in found if text.strip("'\"") == item.name]
        for item, found in zip(asked, answer["references"], strict=True)
    ]


def _engine(
    compiler: Path, files: list[Path], ask: Sequence[list[str | int]] = (), conditions: Sequence[str] = ()
) -> dict[str, Any]:
    named = [str(file) for file in files]
    question = json.dumps({"files": named, "ask": list(ask), "conditions": list(conditions)})
    done = subprocess.run(
        ["node", str(_ENGINE), str(compiler)], input=question, capture_output=True, text=True, timeout=1200, check=True
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


# Rust, by universal-ctags

_CTAGS_LEFT_OUT = {"implementation": "`impl` blocks, which define nothing"}


def ctags_definitions(language: str, files: list[Path]) -> list[Named]:
    listed = "\n".join(map(str, files))
    command = ["ctags", "--output-format=json", f"--languages={language}", "--fields=+n", "-L", "-", "-f", "-"]
    done = subprocess.run(command, input=listed, capture_output=True, text=True, timeout=600, check=True)
    found = []
    for line in done.stdout.splitlines():
        tag = json.loads(line)
        if tag.get("_type") == "tag":
            left_out = _CTAGS_LEFT_OUT.get(tag["kind"], "")
            found.append(Named(tag["path"], tag["name"], tag["line"], 0, tag["kind"], left_out))
    return found
