"""Cycles, bounds, and how a graph is written down."""

import random
import re
import shutil
import subprocess

import pytest

from toolcrib.codeindex.graph import Graph, as_dot, as_mermaid, by_folder, cycles, most_connected

HOSTILE = [
    'a"b.py',
    "back\\slash.py",
    "line\nbreak.py",
    'end"];\n  evil -> x;["',
    "%%{init: {}}%%",
    "<script>.js",
    "a]b[c",
    "ü.py",
]


def test_cycles_are_found() -> None:
    edges = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "f"), ("f", "e"), ("g", "h")]
    assert cycles(edges) == [["a", "b", "c"], ["e", "f"]]


def test_cycles_against_reachability() -> None:
    """By another way: two are in one group when each can be reached from the other."""
    rng = random.Random(5)
    for _ in range(50):
        nodes = [str(number) for number in range(rng.randint(2, 12))]
        edges = {(rng.choice(nodes), rng.choice(nodes)) for _ in range(rng.randint(1, 20))}
        reach = {node: {node} for node in nodes}
        for _ in nodes:
            for start, end in edges:
                for each in reach.values():
                    if start in each:
                        each.add(end)
        groups = {frozenset(b for b in nodes if b in reach[a] and a in reach[b]) for a in nodes}
        assert {frozenset(group) for group in cycles(edges)} == {group for group in groups if len(group) > 1}


def test_a_chain_of_twenty_thousand_is_no_matter() -> None:
    edges = [(f"{number:06}", f"{number + 1:06}") for number in range(20_000)]
    assert cycles(edges) == []
    assert len(cycles([*edges, ("020000", "000000")])[0]) == 20_001


def test_folders_of_files() -> None:
    graph = Graph(
        ("a/x.py", "a/y.py", "b/z.py", "top.py"),
        {("a/x.py", "a/y.py"): 1, ("a/x.py", "b/z.py"): 2, ("top.py", "b/z.py"): 1},
        {},
    )
    folders = by_folder(graph)
    assert folders.nodes == (".", "a", "b")
    assert dict(folders.edges) == {("a", "b"): 2, (".", "b"): 1}


def test_what_is_kept_is_bounded_and_always_the_same() -> None:
    nodes = tuple(f"n{number}" for number in range(50))
    edges = {(nodes[a], nodes[b]): 1 for a in range(50) for b in range(a)}
    kept, between = most_connected(Graph(nodes, edges, {}), nodes=10, edges=20)
    assert len(kept) == 10 and len(between) == 20
    assert all(start in kept and end in kept for start, end, _ in between)
    turned = Graph(nodes[::-1], dict(reversed(list(edges.items()))), {})
    assert most_connected(turned, nodes=10, edges=20) == (kept, between)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_cannot_leave_its_quotes(name) -> None:
    """A file's name is data in both forms: every line is a node, an edge or a frame, and there is one edge."""
    dot = as_dot([name, "b"], [(name, "b", 1)], notes=["a\nb -> c"])
    line = re.compile(
        r'//.*|digraph dependencies \{|  \w+( \[shape=box\]|=LR);|  "(?:[^"\\]|\\.)*"( -> "(?:[^"\\]|\\.)*")?;|\}|'
    )
    assert all(line.fullmatch(each) for each in dot.split("\n"))
    assert (
        sum(" -> " in re.sub(r'"(?:[^"\\]|\\.)*"', "", each) for each in dot.split("\n") if not each.startswith("//"))
        == 1
    )
    mermaid = as_mermaid([name, "b"], [(name, "b", 1)], notes=["a\nb --> c"])
    line = re.compile(r'%% [^{}]*|flowchart LR|  n\d+\["(?:[\w/. -]|#\d+;)*"\]|  n\d+ --> n\d+|')
    assert all(line.fullmatch(each) for each in mermaid.split("\n"))
    assert mermaid.count("\n  n0 --> n1\n") == 1


def test_graphviz_reads_it() -> None:
    if shutil.which("dot") is None:
        pytest.skip("Graphviz (dot) is not installed")
    text = as_dot([*HOSTILE, "b"], [(name, "b", 1) for name in HOSTILE])
    done = subprocess.run(["dot", "-Tplain"], input=text.encode(), capture_output=True)
    assert done.returncode == 0 and done.stdout.count(b"\nedge ") == len(HOSTILE)
