"""From a use of a symbol to its definition: exactly where jedi can tell, by imports and names elsewhere."""

import re
from collections.abc import Sequence

from ..core.jsontext import JSON
from .facts import Definition
from .ground import Ground, Stop
from .modules import python_roots
from .precise import Answers, Ask, Landing, goto
from .resolve import Names, Target, split
from .symbol import unknown
from .tokens import occurrences

SECONDS = 6.0
"""That jedi may take for one name."""
MOST_TRIES = 6
"""Places of a name that jedi is asked about, where no line is given."""
MOST = 50
"""Definitions that are listed."""


async def resolved(
    ground: Ground, symbol: str, path: str, *, line: int, column: int | None, precise: bool, stop: Stop
) -> dict[str, JSON]:
    """What a symbol means in a file.

    Raises:
        ToolError: nothing of that name is known.
    """
    note = ""
    targets: list[Target] = []
    if precise and ground.view.language(path) == "python":
        answers = await _asked(ground, symbol, path, line, column)
        targets = [_target(ground, path, landing) for landing in _landings(answers)]
        targets = list(dict.fromkeys(target for target in targets if target.path or target.module))
        note = "" if targets else answers.fault or "jedi does not know where this leads"
    if not targets:
        targets = await stop.work(lambda: _by_names(ground, symbol, path, line))
    listed = [_listed(target) for target in targets[:MOST]]
    said: dict[str, JSON] = {"symbol": symbol, "file": path, "definitions": listed}
    said |= {"left_out": max(0, len(targets) - MOST), "engine": "jedi" if targets[0].confidence == "exact" else "index"}
    return {**said, **({"note": note} if note else {}), **ground.about(targets[0].confidence)}


def _by_names(ground: Ground, symbol: str, path: str, line: int) -> list[Target]:
    targets = Names(ground.tree).resolve(symbol, path, line=line)
    if not targets:
        raise unknown(ground.tree, symbol)
    return targets


async def _asked(ground: Ground, symbol: str, path: str, line: int, column: int | None) -> Answers:
    data = ground.view.read(path)
    places = _places(data, symbol, line, column)
    if not places:
        return Answers(fault="the symbol does not stand there")
    roots = python_roots(ground.tree, [path])
    return await goto(ground.run, ground.root, [Ask(path, data, places)], roots=roots, seconds=SECONDS)


def _places(data: bytes, symbol: str, line: int, column: int | None) -> list[tuple[int, int]]:
    """Where the last part of the symbol stands: where the caller says, else where the whole of it is written."""
    parts = split(symbol)
    name = parts[-1].encode("utf-8", "replace")
    if line and column is not None:
        return [(line, column)]
    found = [(at, start) for at, start, role in occurrences("python", data, parts[-1]) if role == "code"]
    if line:
        found = [place for place in found if place[0] == line]
    lines = data.split(b"\n")
    before = rb"\s*\.\s*".join(re.escape(part.encode("utf-8", "replace")) for part in parts[:-1])
    if before:
        whole = re.compile(before + rb"\s*\.\s*$")
        found = [
            (at, start) for at, start in found if whole.search(lines[at - 1][max(0, start - 500) : start])
        ] or found
    return [(at, start) for at, start in found if lines[at - 1][start : start + len(name)] == name][:MOST_TRIES]


def _landings(answers: Answers) -> Sequence[Landing]:
    """Of the first place that leads somewhere."""
    return next((landings for landings in answers.landings.values() if landings), ())


def _target(ground: Ground, path: str, landing: Landing) -> Target:
    if not landing.path:
        name = "" if landing.kind == "module" else landing.name
        return Target("", confidence="exact", module=landing.module or landing.name, name=name)
    if landing.path not in ground.tree.paths:  # a file that the index leaves out
        what = Definition(landing.name, landing.kind, landing.line, landing.column)
        return Target(landing.path, None if landing.kind == "module" else what, "exact")
    if landing.kind == "module":
        return Target(landing.path, confidence="exact")
    for taken in ground.view.imports(landing.path):
        if landing.line == taken.line and landing.name in _bound_names(taken.names, taken.alias):
            return Target("", confidence="exact", module=taken.module, name=landing.name)
    known = [each for each in ground.view.definitions(landing.path) if each.line == landing.line]
    named = next((each for each in known if each.name == landing.name), None)
    made = Definition(landing.name, _KINDS.get(landing.kind, "variable"), landing.line, landing.column)
    return Target(landing.path, named or made, "exact")


_KINDS = {"class": "class", "function": "function", "property": "property", "module": "module"}


def _bound_names(names: Sequence[tuple[str, str]], alias: str) -> set[str]:
    return {alias or name for name, alias in names} | ({alias} if alias else set())


def _listed(target: Target) -> dict[str, JSON]:
    if not target.path:
        named: dict[str, JSON] = {"name": target.name} if target.name else {}
        return {"external": True, "module": target.module, **named, "confidence": target.confidence}
    what = target.definition
    via: dict[str, JSON] = {"via": list(target.via)} if target.via else {}
    if what is None:
        return {"file": target.path, "line": 1, "kind": "module", "confidence": target.confidence, **via}
    place: dict[str, JSON] = {"file": target.path, "line": what.line, "column": what.column, "name": what.name}
    return {**place, "kind": what.kind, "scope": what.scope, "confidence": target.confidence, **via}
