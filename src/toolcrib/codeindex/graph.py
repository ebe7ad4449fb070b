"""Which files need which: the graph of the imports of a tree, its cycles, and how it is written down."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from .modules import lead
from .tree import Tree, folder_of

MOST_SHOWN_CYCLE = 50
"""Names of one cycle that are shown."""


class Graph(NamedTuple):
    """Edges of a graph, each with how often it is meant, and what leads out of the tree."""

    nodes: tuple[str, ...]
    edges: Mapping[tuple[str, str], int]
    external: Mapping[str, int]
    """Modules outside, with how many imports name them."""


def import_graph(tree: Tree, paths: Iterable[str], *, stop: Callable[[], bool] = lambda: False) -> Graph:
    """Of files: an edge from each that imports to each that is imported, where both are among `paths`."""
    within = list(paths)
    inside = set(within)
    edges: Counter[tuple[str, str]] = Counter()
    external: Counter[str] = Counter()
    for number, path in enumerate(within):
        if number % 200 == 0 and stop():
            break
        for what in tree.view.imports(path):
            there = lead(tree, path, what).all
            for target in there:
                if target in inside and target != path:
                    edges[path, target] += 1
            if not there:
                external[what.module] += 1
    return Graph(tuple(within), edges, external)


def by_folder(graph: Graph) -> Graph:
    """The same graph of folders; what a folder needs of itself is left out."""
    edges: Counter[tuple[str, str]] = Counter()
    for (start, end), count in graph.edges.items():
        pair = (folder_of(start) or ".", folder_of(end) or ".")
        if pair[0] != pair[1]:
            edges[pair] += count
    return Graph(tuple(sorted({folder_of(path) or "." for path in graph.nodes})), edges, graph.external)


def cycles(edges: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Groups in which each needs each other, the largest first. Tarjan's, without recursion: trees are deep."""
    after: defaultdict[str, list[str]] = defaultdict(list)
    for start, end in sorted(edges):
        after[start].append(end)
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    waiting: list[str] = []
    held: set[str] = set()
    groups: list[list[str]] = []
    for root in list(after):
        if root in number:
            continue
        work = [(root, iter(after[root]))]
        number[root] = low[root] = len(number)
        waiting.append(root)
        held.add(root)
        while work:
            node, following = work[-1]
            for other in following:
                if other not in number:
                    number[other] = low[other] = len(number)
                    waiting.append(other)
                    held.add(other)
                    work.append((other, iter(after.get(other, ()))))
                    break
                if other in held:
                    low[node] = min(low[node], number[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    groups.append(_popped(waiting, held, node))
    return sorted((sorted(group) for group in groups if len(group) > 1), key=lambda group: (-len(group), group))


def _popped(waiting: list[str], held: set[str], node: str) -> list[str]:
    group = []
    while True:
        other = waiting.pop()
        held.discard(other)
        group.append(other)
        if other == node:
            return group


def most_connected(graph: Graph, *, nodes: int, edges: int) -> tuple[list[str], list[tuple[str, str, int]]]:
    """The nodes with most edges, and the edges between them, within bounds; the order is always the same."""
    degree: Counter[str] = Counter()
    for (start, end), count in graph.edges.items():
        degree[start] += 1
        degree[end] += 1 + count
    kept = sorted(graph.nodes, key=lambda node: (-degree[node], node))[:nodes]
    among = set(kept)
    between = [(start, end, count) for (start, end), count in graph.edges.items() if start in among and end in among]
    between.sort(key=lambda edge: (-edge[2], edge[0], edge[1]))
    return sorted(kept), sorted(between[:edges])


def as_dot(nodes: Iterable[str], edges: Iterable[tuple[str, str, int]], *, notes: Iterable[str] = ()) -> str:
    """For Graphviz. A name is a quoted string, in which only the quote and the backslash mean anything."""
    lines = [f"// {_plain(note)}" for note in notes]
    lines += ["digraph dependencies {", "  rankdir=LR;", "  node [shape=box];"]
    lines += [f"  {_dot(node)};" for node in nodes]
    lines += [f"  {_dot(start)} -> {_dot(end)};" for start, end, _ in edges]
    return "\n".join([*lines, "}", ""])


def as_mermaid(nodes: Iterable[str], edges: Iterable[tuple[str, str, int]], *, notes: Iterable[str] = ()) -> str:
    """For Mermaid, where a node has a number, and its name is a label."""
    lines = [f"%% {_plain(note)}" for note in notes] + ["flowchart LR"]
    numbers = {node: f"n{at}" for at, node in enumerate(nodes)}
    lines += [f'  {number}["{_mermaid(node)}"]' for node, number in numbers.items()]
    lines += [f"  {numbers[start]} --> {numbers[end]}" for start, end, _ in edges]
    return "\n".join([*lines, ""])


def _plain(text: str) -> str:
    """On one line, and without what would end a comment or begin a directive."""
    return "".join(each if each.isprintable() and each not in "{}" else " " for each in text)


def _dot(name: str) -> str:
    visible = "".join(each if each.isprintable() else f"\\x{ord(each):02x}" for each in name)
    return '"' + visible.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _mermaid(name: str) -> str:
    """Letters, digits and what paths are made of stay; all else becomes a character reference of Mermaid's."""
    return "".join(each if each.isalnum() or each in "/._- " else f"#{ord(each)};" for each in name)
