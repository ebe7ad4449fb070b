"""Questions about a source tree, answered from its index. Usable without any tool; the tools are thin doors to it."""

from ..core.jsontext import JSON
from ..core.workspace import Workspace
from .find import found
from .follow import resolved
from .graph import MOST_SHOWN_CYCLE, as_dot, as_mermaid, by_folder, cycles, import_graph, most_connected
from .ground import Ground, Index, Stop, ground, located, within
from .lookup import by_name, by_shape, check_kind
from .modules import lead
from .patterns import is_pattern
from .precise import Run
from .repomap import LEAST_BUDGET, MOST_BUDGET, repo_map
from .spelling import plain, shown
from .symbol import symbol_info

Answer = dict[str, JSON]
MOST_NODES, MOST_EDGES, MOST_CYCLES, MOST_EXTERNAL = 200, 600, 20, 30
LARGE = 200
"""Files from which on a graph is of folders, unless files are asked for."""
MOST_LISTED = 1000
"""Imports and exports of one file."""


class Code:
    """One caller's questions about one workspace. Each first brings the index up to date.

    `run` starts the program that asks jedi; without one, answers about Python are no surer than others.
    Everything raises `ToolError`: `SEARCH_ERROR` where there is no answer, and what the workspace raises for a path.
    """

    def __init__(self, index: Index, files: Workspace, run: Run | None = None) -> None:
        self.index, self.files, self.run = index, files, run

    async def search(
        self, query: str, path: str = ".", *, pattern: bool = False, kind: str = "", language: str = "", limit: int = 50
    ) -> Answer:
        """Symbols whose names fit a query, or pieces of code that a pattern fits."""
        check_kind(kind)
        place, stop = located(self.files, path), Stop()
        here = await ground(self.index, self.files, self.run, stop)

        def look() -> Answer:
            paths = within(here.view.paths(), place)
            if pattern or is_pattern(query):
                return by_shape(here, query, paths, language=language, limit=limit)
            return by_name(here, query, paths, kind=kind, language=language, limit=limit)

        return plain(await stop.work(look))  # type: ignore[no-any-return]  # the same shape, with other spellings

    async def generate_repo_map(self, path: str = ".", *, budget: int = 1024) -> str:
        """The most important files and symbols, as text of at most `budget` tokens."""
        place, stop = located(self.files, path), Stop()
        here = await ground(self.index, self.files, self.run, stop)
        tokens = min(max(budget, LEAST_BUDGET), MOST_BUDGET)

        def draw() -> str:
            paths = list(within(here.view.paths(), place))
            about = f"(the FILES most important of {len(paths)} files; confidence: syntactic; up to date)"
            return repo_map(here.tree, paths, budget=tokens, about=about, stop=stop)

        return shown(await stop.work(draw))

    async def get_symbol_info(self, symbol: str, file: str = "") -> Answer:
        """What a symbol is, where it is defined and who uses it."""
        place, stop = located(self.files, file) if file else "", Stop()
        here = await ground(self.index, self.files, self.run, stop)
        path = here.source(place, file) if file else ""
        found = await stop.work(lambda: symbol_info(here.tree, symbol, path=path))
        return plain({**found, **here.about("syntactic")})  # type: ignore[no-any-return]

    async def get_imports_exports(self, file: str) -> Answer:
        """What a file takes from where, and what it offers."""
        place, stop = located(self.files, file), Stop()
        here = await ground(self.index, self.files, self.run, stop)
        path = here.source(place, file)
        return plain(await stop.work(lambda: _imports_exports(here, path)))  # type: ignore[no-any-return]

    async def build_dependency_graph(self, path: str = ".", *, format: str = "json", level: str = "") -> Answer | str:
        """Which files, or folders, need which; with their cycles."""
        place, stop = located(self.files, path), Stop()
        here = await ground(self.index, self.files, self.run, stop)
        return plain(await stop.work(lambda: _graph(here, place, format=format, level=level)))  # type: ignore[no-any-return]

    async def resolve_symbol(
        self, symbol: str, file: str, *, line: int = 0, column: int | None = None, precise: bool = True
    ) -> Answer:
        """From a use of a symbol in a file to its definition."""
        place, stop = located(self.files, file), Stop()
        here = await ground(self.index, self.files, self.run, stop)
        path = here.source(place, file)
        return plain(  # type: ignore[no-any-return]
            await resolved(here, symbol, path, line=line, column=column, precise=precise, stop=stop)
        )

    async def find_references(
        self, symbol: str, path: str = ".", *, limit: int = 100, include_text: bool = False, precise: bool = False
    ) -> Answer:
        """All places where a symbol is used."""
        place, stop = located(self.files, path), Stop()
        here = await ground(self.index, self.files, self.run, stop)
        return plain(  # type: ignore[no-any-return]
            await found(here, symbol, place, limit=limit, include_text=include_text, precise=precise, stop=stop)
        )


def _imports_exports(here: Ground, path: str) -> Answer:
    view = here.view
    imports = []
    for what in view.imports(path)[:MOST_LISTED]:
        there = lead(here.tree, path, what)
        names = [{"name": name, **({"as": alias} if alias and alias != name else {})} for name, alias in what.names]
        found: Answer = {"files": list(there.all)[:20]} if there.all else {"external": True}
        alias: Answer = {"as": what.alias} if what.alias else {}
        imports.append({"module": what.module, "line": what.line, "names": names[:MOST_LISTED], **alias, **found})
    stated = dict(view.exports(path))
    exports = [{"name": name, "line": line, "stated": True} for name, line in stated.items()]
    for each in view.definitions(path):
        if each.exported and not each.scope and each.name not in stated and _offers(view.language(path), each.name):
            exports.append({"name": each.name, "line": each.line, "kind": each.kind})
    if stated and view.language(path) == "python":  # __all__ says it all
        exports = [each for each in exports if "stated" in each]
    counted = {"imports_left_out": max(0, len(view.imports(path)) - MOST_LISTED)}
    counted["exports_left_out"] = max(0, len(exports) - MOST_LISTED)
    said = {"file": path, "language": view.language(path), "imports": imports, "exports": exports[:MOST_LISTED]}
    return {**said, **counted, **here.about("syntactic")}


def _offers(language: str, name: str) -> bool:
    return language != "python" or not name.startswith("_")


def _graph(here: Ground, place: str, *, format: str, level: str) -> Answer | str:
    whole = import_graph(here.tree, within(here.view.paths(), place), stop=here.stop)
    level = level or ("directory" if len(whole.nodes) > LARGE else "file")
    graph = by_folder(whole) if level == "directory" else whole
    nodes, edges = most_connected(graph, nodes=MOST_NODES, edges=MOST_EDGES)
    rings = cycles(graph.edges)
    left = {"nodes": len(graph.nodes) - len(nodes), "edges": len(graph.edges) - len(edges)}
    left["cycles"] = max(0, len(rings) - MOST_CYCLES)
    if format != "json":
        size = f"{len(graph.nodes)} nodes, {len(graph.edges)} edges, {len(rings)} cycles; each node is a {level}"
        notes = [size, "confidence: syntactic; up to date"]
        if left["nodes"] or left["edges"]:
            notes.insert(1, f"left out: {left['nodes']} nodes with fewer edges, {left['edges']} edges")
        write = as_dot if format == "dot" else as_mermaid
        return write([shown(node) for node in nodes], _spelled(edges), notes=notes)
    outside = sorted(graph.external.items(), key=lambda each: (-each[1], each[0]))
    return {
        "level": level,
        "nodes": nodes,
        "edges": [{"from": start, "to": end, "imports": count} for start, end, count in edges],
        "cycles": [{"size": len(ring), "nodes": ring[:MOST_SHOWN_CYCLE]} for ring in rings[:MOST_CYCLES]],
        "external": [{"module": module, "imports": count} for module, count in outside[:MOST_EXTERNAL]],
        "totals": {"nodes": len(graph.nodes), "edges": len(graph.edges), "cycles": len(rings)},
        "left_out": {**left, "external": max(0, len(outside) - MOST_EXTERNAL)},
        **here.about("syntactic"),
    }


def _spelled(edges: list[tuple[str, str, int]]) -> list[tuple[str, str, int]]:
    return [(shown(start), shown(end), count) for start, end, count in edges]
