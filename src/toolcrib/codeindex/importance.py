"""Which files and symbols of a tree matter most: those that many others, and above all important ones, make use of."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from .facts import Definition
from .graph import import_graph
from .tree import Tree

DAMPING = 0.85
ROUNDS = 30
MOST_DEFINITIONS = 5000
"""Of one file that are looked at."""
_MOST_HOMES = 3
"""A name that more files define says nothing about which is meant."""
_SHORTEST = 4
"""Shorter names are mentioned by chance."""
_FAMILY = {"typescript": "script", "javascript": "script", "tsx": "script", "cpp": "c", "kotlin": "java"}
"""Languages whose files use each other's names."""
KIND_WEIGHT = {
    **dict.fromkeys(("class", "interface", "struct", "trait", "enum", "union"), 3.0),
    **dict.fromkeys(("function", "type", "macro", "namespace", "module"), 2.0),
    **dict.fromkeys(("method", "constructor"), 1.0),
    **dict.fromkeys(("constant", "property"), 0.7),
    **dict.fromkeys(("variable", "field"), 0.4),
}


class Importance(NamedTuple):
    """The files of a tree, most important first, and how many files mention each name that is defined in it."""

    files: tuple[tuple[str, float], ...]
    mentions: Mapping[str, int]


def importance(tree: Tree, paths: Iterable[str], *, stop: Callable[[], bool] = lambda: False) -> Importance:
    """Weigh a tree. One pass over what its files define, import and mention."""
    within = list(paths)
    edges: defaultdict[tuple[str, str], float] = defaultdict(float)
    for pair, times in import_graph(tree, within, stop=stop).edges.items():
        edges[pair] += float(times)
    mentions = _mentions(tree, within, edges, stop)
    scores = rank(within, edges)
    weighed = ((path, score * likely_weight(path)) for path, score in scores.items())
    return Importance(tuple(sorted(weighed, key=lambda each: (-each[1], each[0]))), mentions)


def rank(nodes: Sequence[str], edges: Mapping[tuple[str, str], float]) -> dict[str, float]:
    """PageRank: how much each node matters; all together 1. The same input gives the same numbers."""
    if not nodes:
        return {}
    place = {node: at for at, node in enumerate(nodes)}
    count = len(nodes)
    total = [0.0] * count
    for (start, _), weight in edges.items():
        total[place[start]] += weight
    links = [
        (place[start], place[end], DAMPING * weight / total[place[start]]) for (start, end), weight in edges.items()
    ]
    ends = [at for at in range(count) if not total[at]]
    score = [1.0 / count] * count
    for _ in range(ROUNDS):
        lost = sum(score[at] for at in ends)  # of those that lead nowhere: it goes to all alike
        fresh = [(1 - DAMPING + DAMPING * lost) / count] * count
        for source, end, share in links:
            fresh[end] += score[source] * share
        moved = sum(abs(new - old) for new, old in zip(fresh, score, strict=True))
        score = fresh
        if moved < 1e-4:
            break
    return dict(zip(nodes, score, strict=True))


def _mentions(
    tree: Tree, paths: list[str], edges: "defaultdict[tuple[str, str], float]", stop: Callable[[], bool]
) -> dict[str, int]:
    """Add an edge from each file to those that define what it mentions; the rarer the name, the more it says."""
    homes = _homes(tree, paths)
    users: defaultdict[bytes, list[str]] = defaultdict(list)
    known = homes.keys()
    for number, path in enumerate(paths):
        if number % 200 == 0 and stop():
            break
        for word in known & set(tree.view.words(path)):
            users[word].append(path)
    language = {path: _FAMILY.get(each := tree.view.language(path), each) for path in paths}
    for word, mentioning in sorted(users.items()):  # the sum of the same numbers depends on their order
        places = homes[word]
        if len(word) >= _SHORTEST and len(places) <= _MOST_HOMES:
            weight = 1 / (len(places) * len(mentioning) ** 0.5)
            for home in places:
                for user in mentioning:
                    if user != home and language[user] == language[home]:
                        edges[user, home] += weight
    return {word.decode("utf-8", "surrogateescape"): len(mentioning) for word, mentioning in users.items()}


def _homes(tree: Tree, paths: list[str]) -> dict[bytes, list[str]]:
    homes: defaultdict[bytes, list[str]] = defaultdict(list)
    for path in paths:
        names = {each.name for each in tree.view.definitions(path)[:MOST_DEFINITIONS]}
        for name in names:
            homes[name.encode("utf-8", "surrogateescape")].append(path)
    return dict(homes)


def likely_weight(path: str) -> float:
    """Tests, examples and what others wrote say less about a tree than its own sources."""
    parts = path.lower().split("/")
    stem = parts[-1].split(".")[0]
    is_test = stem.startswith("test_") or stem.endswith(("_test", "_spec")) or stem in ("tests", "conftest")
    if is_test or parts[-1].split(".")[1:2] in (["test"], ["spec"]) or not _ASIDE.isdisjoint(parts[:-1]):
        return 0.1
    return 1.0 if _FOREIGN.isdisjoint(parts[:-1]) else 0.2


_ASIDE = frozenset("test tests spec specs __tests__ testing examples example docs doc fixtures samples".split())  # noqa: SIM905
_FOREIGN = frozenset("vendor third_party node_modules migrations generated dist build".split())  # noqa: SIM905


def ranked_symbols(tree: Tree, path: str, mentions: Mapping[str, int], *, most: int) -> list[Definition]:
    """The definitions of a file that matter most, in the order of the file."""
    chosen = []
    held = tree.view.definitions(path)[:MOST_DEFINITIONS]
    public = [each for each in held if each.exported and not each.name.startswith("_")]
    held = public or [each for each in held if each.kind not in ("variable", "constant")]
    times = Counter(each.name for each in held)
    for at, each in enumerate(held):
        if each.scope.count(".") > 1 or each.kind == "field":
            continue
        users = min(mentions.get(each.name, 1), 200) / times[each.name]
        weight = KIND_WEIGHT.get(each.kind, 0.5) * (1 + users) ** 0.5
        weight *= 0.35 if each.scope else 1.0
        chosen.append((-weight, at, each))
    return [each for _, _, each in sorted(sorted(chosen)[:most], key=lambda kept: kept[1])]
