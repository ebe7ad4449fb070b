"""Search for symbols by name, and for pieces of code by their shape."""

from collections.abc import Sequence

from ..core.errors import ToolError
from ..core.jsontext import JSON
from .facts import KINDS, Definition
from .ground import Ground
from .importance import KIND_WEIGHT, likely_weight
from .patterns import LONGEST, pieces
from .references import likeliest_first, uses
from .resolve import defined, split
from .search import HOW, fitting

MOST_NAMES = 500
"""Of the names that fit, the definitions are looked at."""
MOST_OF_A_NAME = 1000


def by_name(
    ground: Ground, query: str, paths: Sequence[str], *, kind: str = "", language: str = "", limit: int
) -> dict[str, JSON]:
    """Definitions whose names fit a query, ranked; where nothing is so called, the places that mention it."""
    view, inside = ground.view, _inside(ground, paths)
    hits: list[tuple[tuple[float, ...], str, Definition, str]] = []
    total = 0

    def wanted(path: str, what: Definition) -> bool:
        same_kind = not kind or what.kind == kind
        return same_kind and (inside is None or path in inside) and (not language or view.language(path) == language)

    parts = split(query)
    if len(parts) > 1 and " " not in query:
        for path, what in defined(view, parts)[:MOST_OF_A_NAME]:
            if wanted(path, what):
                hits.append(((-1.0, -_weight(path, what)), path, what, "exact"))
    name = parts[-1] if len(parts) > 1 and " " not in query else query
    fits = [] if hits else fitting(name, view.names(), stop=ground.stop)
    for fit in fits[:MOST_NAMES]:
        known = view.defined(fit.name)
        for path, what in known[:MOST_OF_A_NAME]:
            if wanted(path, what):
                how = HOW[fit.rank] if name == query else f"its last part: {HOW[fit.rank]}"
                hits.append(((fit.rank, fit.penalty), path, what, how))
        total += max(0, len(known) - MOST_OF_A_NAME)
    total += len(hits)
    hits.sort(key=lambda hit: (hit[0], -_weight(hit[1], hit[2]), hit[1], hit[2].line))
    listed = [_hit(ground, path, what, how) for _, path, what, how in hits[:limit]]
    if not listed and not kind:
        listed, total = _mentions(ground, name, paths, language=language, limit=limit)
    sure = "text" if listed and listed[0]["confidence"] == "text" else "syntactic"
    return {"query": query, "hits": listed, "total": total, "left_out": total - len(listed), **ground.about(sure)}


def by_shape(ground: Ground, pattern: str, paths: Sequence[str], *, language: str = "", limit: int) -> dict[str, JSON]:
    """Pieces of code that a pattern fits.

    Raises:
        ToolError: it means nothing in any of the languages here.
    """
    if len(pattern) > LONGEST:
        message = f"the pattern has {len(pattern)} characters, and at most {LONGEST} are taken; search for a part of it"
        raise ToolError(message, code="SEARCH_ERROR")
    chosen = [path for path in paths if not language or ground.view.language(path) == language]
    found = pieces(ground.view, pattern, chosen, limit=limit, stop=ground.stop)
    if found.faults and not found.files:
        why = "; ".join(found.faults)
        message = f"the pattern is no piece of code: {why}; write it as code, with $NAME for any part"
        raise ToolError(message, code="SEARCH_ERROR", details={"pattern": pattern[:200]})
    hits = [
        {
            "file": path,
            "line": match.line,
            "column": match.column,
            "end_line": match.end_line,
            "text": match.text,
            "bindings": dict(match.bindings),
            "language": ground.view.language(path),
            "confidence": "syntactic",
        }
        for path, match in found.kept
    ]
    more = {"files_left_out": found.unread} if found.unread else {}
    counted = {"total": found.total, "left_out": found.total - len(hits), "files_parsed": found.files, **more}
    return {"pattern": pattern, "hits": hits, **counted, **ground.about("syntactic")}


def check_kind(kind: str) -> None:
    """Raises: `ToolError` for a kind that no definition has."""
    if kind and kind not in KINDS:
        raise ToolError(f"no definition is a {kind[:50]}; the kinds are {', '.join(KINDS)}", code="SEARCH_ERROR")


def _inside(ground: Ground, paths: Sequence[str]) -> frozenset[str] | None:
    return None if len(paths) == len(ground.tree.paths) else frozenset(paths)


def _weight(path: str, what: Definition) -> float:
    return KIND_WEIGHT.get(what.kind, 0.5) * likely_weight(path) * (1.0 if what.exported else 0.5)


def _hit(ground: Ground, path: str, what: Definition, how: str) -> dict[str, JSON]:
    return {
        "file": path,
        "line": what.line,
        "name": what.name,
        "kind": what.kind,
        "scope": what.scope,
        "language": ground.view.language(path),
        "match": how,
        "confidence": "syntactic",
    }


def _mentions(
    ground: Ground, name: str, paths: Sequence[str], *, language: str, limit: int
) -> tuple[list[dict[str, JSON]], int]:
    """Where a name stands that nobody here defines: something from outside, or a word in a comment."""
    inside = set(paths)
    mentioned = [path for path in ground.view.mentioning(name) if path in inside]
    chosen = [path for path in mentioned if not language or ground.view.language(path) == language]
    ordered = likeliest_first(ground.view, name, chosen, ())
    found = uses(ground.view, name, ordered, (), limit=limit, include_text=True, stop=ground.stop)
    return [
        {
            "file": each.path,
            "line": each.line,
            "name": name,
            "kind": "mention",
            "scope": "",
            "language": ground.view.language(each.path),
            "match": each.text,
            "confidence": "text",
        }
        for each in found.kept
    ], found.total
