"""All there is to say about one symbol."""

from collections.abc import Sequence

from ..core.errors import ToolError
from ..core.jsontext import JSON
from .facts import Definition
from .importance import KIND_WEIGHT, likely_weight
from .references import uses
from .resolve import Names, defined, full_name, split
from .search import alike, fitting
from .tree import Tree

MOST_OTHERS, MOST_MEMBERS, MOST_USERS = 20, 100, 5
_COUNTED_FILES = 60
"""In so many of the files that mention a symbol its uses are counted, to name those with most."""


def symbol_info(tree: Tree, symbol: str, *, path: str = "") -> dict[str, JSON]:
    """What a symbol is, where it is and who uses it.

    Raises:
        ToolError: there is none; the message names those with the nearest names.
    """
    found = candidates(tree, symbol, path)
    if not found:
        raise unknown(tree, symbol, path)
    (where, what), others = found[0], found[1:]
    name = what.name
    users = list(tree.view.mentioning(name))
    return {
        "symbol": full_name(what),
        "name": name,
        **described(tree, where, what),
        "members": members(tree, where, what),
        "used": {"files": len(users), "most": _most(tree, name, users, (where, what))},
        "others": [place(path, each) for path, each in others[:MOST_OTHERS]],
        "others_left_out": max(0, len(others) - MOST_OTHERS),
    }


def candidates(tree: Tree, symbol: str, path: str = "") -> list[tuple[str, Definition]]:
    """The definitions that a symbol may mean, the likeliest first; with a file, those in it, or what it imports."""
    parts = split(symbol)
    found = defined(tree.view, parts)
    if path:
        own = [each for each in found if each[0] == path]
        if not own:
            targets = Names(tree).resolve(symbol, path)
            own = [(each.path, each.definition) for each in targets if each.definition and each.confidence != "text"]
        found = own
    return sorted(found, key=lambda each: (-_likely(*each), each[0], each[1].line))


def _likely(path: str, what: Definition) -> float:
    weight = KIND_WEIGHT.get(what.kind, 0.5) * likely_weight(path)
    return weight * (1.0 if what.exported else 0.5) * (1.0 if not what.scope else 0.6)


def described(tree: Tree, path: str, what: Definition) -> dict[str, JSON]:
    """A definition with what only its source tells."""
    from .detail import detail  # late: it brings the parsers

    about: dict[str, JSON] = {**place(path, what), "language": tree.view.language(path), "exported": what.exported}
    try:
        more = detail(tree.view.language(path), tree.view.read(path), what.line, what.column)
    except ToolError:  # gone since the index settled
        return about
    return {
        **about,
        "end_line": more.end_line or what.end_line or what.line,
        "signature": more.signature,
        "documentation": more.documentation,
        "decorators": list(more.decorators),
        "parents": list(more.parents),
    }


def place(path: str, what: Definition) -> dict[str, JSON]:
    """Where a definition is, in few words."""
    return {"file": path, "line": what.line, "column": what.column, "kind": what.kind, "scope": what.scope}


def members(tree: Tree, path: str, what: Definition) -> dict[str, JSON]:
    """What is defined directly inside of a definition."""
    scope = full_name(what)
    inner = [each for each in tree.view.definitions(path) if each.scope == scope]
    listed = [{"name": each.name, "kind": each.kind, "line": each.line} for each in inner[:MOST_MEMBERS]]
    return {"listed": listed, "left_out": max(0, len(inner) - MOST_MEMBERS)}


def unknown(tree: Tree, symbol: str, path: str = "") -> ToolError:
    """That there is no such symbol, and what there is instead."""
    name = split(symbol)[-1]
    names = {each.name for each in tree.view.definitions(path)} if path else tree.view.names()
    near = [fit.name for fit in fitting(name, names)[:5]] or [each for _, each in alike(name, names, most=5)]
    where = f" in {path}, nor is it imported there" if path else " in the workspace"
    hint = f"the nearest names are {', '.join(near)}" if near else "look for a part of the name with search_code"
    shortened = symbol if len(symbol) <= 100 else symbol[:100] + "…"
    message = f"nothing called {shortened} is defined{where}; {hint}"
    return ToolError(message, code="SEARCH_ERROR", details={"symbol": shortened, "candidates": near})


def _most(tree: Tree, name: str, users: Sequence[str], home: tuple[str, Definition]) -> list[dict[str, JSON]]:
    """The files with most uses, among the first that mention the name; the definition itself is no use."""
    counted = []
    for path in users[:_COUNTED_FILES]:
        times = uses(tree.view, name, [path], (), limit=0).total - (path == home[0])
        if times > 0:
            counted.append((-times, path))
    return [{"file": path, "uses": -times} for times, path in sorted(counted)[:MOST_USERS]]
