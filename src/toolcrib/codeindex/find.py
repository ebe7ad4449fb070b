"""All uses of a symbol, each with how sure it is; jedi says of Python which are really of the one that is meant."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ..core.errors import ToolError
from ..core.jsontext import JSON
from .facts import Definition
from .ground import Ground, Stop, within
from .modules import python_roots
from .precise import Answers, Ask, goto
from .references import Reference, Uses, likeliest_first, many_files, uses
from .resolve import defined, split
from .symbol import unknown

SECONDS = 10.0
"""That jedi may take for all uses."""
MOST_ASKED = 400
"""Uses that jedi is asked about."""
MOST_DEFINITIONS = 20
"""That are listed by themselves."""


async def found(
    ground: Ground, symbol: str, place: str, *, limit: int, include_text: bool, precise: bool, stop: Stop
) -> dict[str, JSON]:
    """The uses of a symbol below a place.

    Raises:
        ToolError: nobody defines it and nobody mentions it.
    """
    parts = split(symbol)
    many = min(MOST_ASKED, limit * 2) if precise else 0  # some will turn out to be others of the same name

    def look() -> tuple[list[tuple[str, Definition]], Uses]:
        known = defined(ground.view, parts)
        seen = _looked(ground, parts[-1], place, known, limit=max(limit, many), include_text=include_text)
        if not known and not seen.total:
            raise unknown(ground.tree, symbol)
        return known, seen

    definitions, seen = await stop.work(look)
    kept = list(seen.kept)
    more: dict[str, JSON] = {}
    if precise:
        kept, more = await _sure(ground, parts[-1], kept, definitions, stop)
    total = seen.total - int(more.get("elsewhere", 0))
    listed = [_listed(each) for each in kept[:limit]]
    counted = {"total": total, "left_out": total - len(listed), "files": seen.files, "in_text": seen.in_text}
    if seen.counted:
        counted["files_only_counted"] = seen.counted
    if seen.unread:
        counted["files_not_read"] = seen.unread
    sure = _weakest(each.confidence for each in kept[:limit])
    homes = [{"file": path, "line": each.line, "kind": each.kind, "scope": each.scope} for path, each in definitions]
    named = {"definitions": homes[:MOST_DEFINITIONS], "definitions_left_out": max(0, len(homes) - MOST_DEFINITIONS)}
    return {"symbol": symbol, "references": listed, **counted, **more, **named, **ground.about(sure)}


def _looked(
    ground: Ground,
    name: str,
    place: str,
    definitions: Sequence[tuple[str, Definition]],
    *,
    limit: int,
    include_text: bool,
) -> Uses:
    paths = within(ground.view.mentioning(name), place)
    marks = {(path, each.line, each.column) for path, each in definitions}
    kept: list[Reference] = []
    with many_files(ground.files, ground.view) as read:
        ordered = likeliest_first(ground.view, name, paths, definitions, enough=lambda: len(kept) >= limit)
        return uses(
            ground.view,
            name,
            ordered,
            marks,
            limit=limit,
            include_text=include_text,
            into=kept,
            read=read,
            stop=ground.stop,
        )


async def _sure(
    ground: Ground, name: str, kept: list[Reference], definitions: Sequence[tuple[str, Definition]], stop: Stop
) -> tuple[list[Reference], dict[str, JSON]]:
    """The same without what jedi knows to be something else, and with what it knows to be meant marked so."""
    asks = await stop.work(lambda: _asks(ground, kept))
    if not asks:
        return kept, {"note": "jedi knows Python only"}
    homes = [path for path, _ in definitions][:20]
    roots = python_roots(ground.tree, [ask.path for ask in asks] + homes)
    answers = await goto(ground.run, ground.root, asks, roots=roots, seconds=SECONDS)
    meant = {(path, each.line) for path, each in definitions}
    others = {(path, each.line) for path, each in ground.view.defined(name)} - meant
    judged = [(each, _judged(each, answers, meant, others)) for each in kept]
    kept_ones = ((each, verdict) for each, verdict in judged if verdict is not False)
    sure = [each._replace(confidence="exact") if verdict else each for each, verdict in kept_ones]
    more: dict[str, JSON] = {"elsewhere": len(kept) - len(sure)}
    if answers.fault:
        more["note"] = f"{answers.fault}; the rest is syntactic"
    return sure, more


def _judged(
    each: Reference, answers: Answers, meant: set[tuple[str, int]], others: set[tuple[str, int]]
) -> bool | None:
    """True: it is what was asked for. False: it is something else. None: nobody knows."""
    if each.definition:
        return True
    if (each.path, each.line) in others:
        return False
    landings = answers.landings.get((each.path, each.line, each.column), ())
    if not landings:
        return None
    if any((landing.path, landing.line) in meant for landing in landings):
        return True
    own = any((landing.path, landing.line) == (each.path, each.line) for landing in landings)
    return None if own else False  # an import that leads nowhere leads to itself


def _asks(ground: Ground, kept: Sequence[Reference]) -> list[Ask]:
    places: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for each in kept[:MOST_ASKED]:
        if each.confidence == "syntactic" and ground.view.language(each.path) == "python" and not each.definition:
            places[each.path].append((each.line, each.column))
    asks = []
    for path, wanted in places.items():
        try:
            asks.append(Ask(path, ground.view.read(path), wanted))
        except ToolError:  # gone meanwhile
            continue
    return asks


def _listed(each: Reference) -> dict[str, JSON]:
    marked: dict[str, JSON] = {"definition": True} if each.definition else {}
    place: dict[str, JSON] = {"file": each.path, "line": each.line, "column": each.column, "text": each.text}
    return {**place, "confidence": each.confidence, **marked}


def _weakest(confidences: Iterable[str]) -> str:
    held = set(confidences)
    return next((each for each in ("text", "syntactic", "exact") if each in held), "syntactic")
