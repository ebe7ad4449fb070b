"""Sources around sources: fewer tools, other names, another rank."""

import asyncio

import pytest

from toolcrib.core.registry import PROJECT, USER
from toolcrib.core.schema import Schema
from toolcrib.core.source import Loaded, Problem
from toolcrib.core.tool import Tool
from toolcrib.policy.names import NamePattern
from toolcrib.sources.wrap import Offer, Only, Prefixed, Ranked, Renamed


class Changing:
    """Offers what it was last given."""

    def __init__(self, *offers: Tool | Problem, rank: int = USER) -> None:
        self.rank = rank
        self.give(*offers)

    def give(self, *offers: Tool | Problem) -> None:
        problems = tuple(each for each in offers if isinstance(each, Problem))
        self.loaded = Loaded(tuple(each for each in offers if isinstance(each, Tool)), problems)

    async def load(self) -> Loaded:
        return self.loaded


def tool(name: str, source: str = "executable") -> Tool:
    return Tool(name, "Does something.", Schema({}), None, source=source, origin=f"/tools/{name}", digest="sha256:1")  # type: ignore[arg-type]  # nothing runs


def held(*names: str) -> Problem:
    return Problem("/tools", "WORKSPACE_UNTRUSTED", "not trusted", holds=names)


def offered(source) -> tuple[list[str], list[tuple[str, tuple[str, ...]]]]:
    """Names of tools; code and held names of problems."""
    loaded = asyncio.run(source.load())
    return [each.name for each in loaded.tools], [(each.code, each.holds) for each in loaded.problems]


def patterns(*texts: str) -> tuple[NamePattern, ...]:
    return tuple(map(NamePattern, texts))


def test_only_what_is_admitted() -> None:
    source = Only(Changing(tool("a"), tool("b"), held("a", "b")), lambda name: name == "a")
    assert offered(source) == (["a"], [("WORKSPACE_UNTRUSTED", ("a",))])


def test_a_prefix_stands_before_every_name_also_before_held_ones() -> None:
    source = Prefixed(Changing(tool("a"), held("b")), "my_")
    assert offered(source) == (["my_a"], [("WORKSPACE_UNTRUSTED", ("my_b",))])


def test_a_new_name_counts_for_what_is_held_too() -> None:
    """Else a held name would fall back to the tool that it covers."""
    source = Renamed(Changing(tool("a"), held("b")), {"a": "x", "b": "y"})
    assert offered(source) == (["x"], [("WORKSPACE_UNTRUSTED", ("y",))])


def test_a_tool_changes_in_nothing_but_its_name() -> None:
    (before,) = (given := Changing(tool("a"))).loaded.tools
    (after,) = asyncio.run(Renamed(given, {"a": "x"}).load()).tools
    assert after == before._replace(name="x")


@pytest.mark.parametrize(
    ("wrapped", "code"),
    [
        (lambda inner: Prefixed(inner, "x" * 32 + "-"), "TOOL_NAME_INVALID"),
        (lambda inner: Prefixed(inner, "no spaces "), "TOOL_NAME_INVALID"),
        (lambda inner: Prefixed(inner, "read_", taken=[f"read_{'f' * 40}"]), "TOOL_NAME_CONFLICT"),
        (lambda inner: Prefixed(inner, "read-", taken=[f"read_{'f' * 40}"]), "TOOL_NAME_CONFLICT"),
        (lambda inner: Renamed(inner, {"f" * 40: "read_file"}, taken=["read_file"]), "TOOL_NAME_CONFLICT"),
    ],
)
def test_a_tool_that_cannot_have_its_name_has_none(wrapped, code: str) -> None:
    """It is not offered under its old name either, and it takes no built-in's name away."""
    assert offered(wrapped(Changing(tool("f" * 40), held("f" * 40)))) == (
        [],
        [("WORKSPACE_UNTRUSTED", ()), (code, ())],
    )


@pytest.mark.parametrize("own", ["x-y", "x_y"])
def test_a_name_that_is_given_away_and_there_already_is_nobodys(own: str) -> None:
    """Clients take `-` and `_` for the same."""
    names, problems = offered(Renamed(Changing(tool(own), tool("a")), {"a": "x_y"}))
    assert names == ["x_y"] and problems == [("TOOL_NAME_CONFLICT", (own,))]


def test_names_can_be_exchanged() -> None:
    source = Renamed(Changing(tool("a"), tool("b")), {"a": "b", "b": "a"})
    assert [(each.name, each.origin) for each in asyncio.run(source.load()).tools] == [
        ("b", "/tools/a"),
        ("a", "/tools/b"),
    ]


def test_another_rank() -> None:
    inner = Changing(tool("a"))
    source = Ranked(inner, PROJECT)
    assert source.rank == PROJECT and asyncio.run(source.load()) is inner.loaded


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda inner: Only(inner, lambda name: name != "b"),
        lambda inner: Prefixed(inner, "my_"),
        lambda inner: Renamed(inner, {"a": "x"}),
        lambda inner: Ranked(inner, PROJECT),
        lambda inner: Offer((patterns("a"),), patterns("b"), "my_", {"a": "x"}, "user").around(inner),
    ],
)
def test_a_change_inside_is_seen_and_no_change_is_no_change(wrapped) -> None:
    inner = Changing(tool("a"))
    source = wrapped(inner)
    first = asyncio.run(source.load())
    assert asyncio.run(source.load()) is first
    inner.give(tool("a")._replace(digest="sha256:2"))
    second = asyncio.run(source.load())
    assert [each.digest for each in second.tools] == ["sha256:2"] and second is not first
    assert asyncio.run(source.load()) is second


def test_all_together() -> None:
    """Every name that is written is of the tool as it is found; the prefix comes last."""
    offer = Offer((patterns("git_*"),), patterns("git_push"), "w_", {"git_log": "log"})
    source = offer.around(Changing(tool("git_log"), tool("git_push"), tool("git_diff"), tool("rm"), held("git_show")))
    assert offered(source) == (["w_log", "w_git_diff"], [("WORKSPACE_UNTRUSTED", ("w_git_show",))])


def test_nothing_said_is_the_source_itself() -> None:
    inner = Changing(tool("a"))
    assert Offer().around(inner) is inner


def test_whose_tools_come_first() -> None:
    offer = Offer(first="user")
    assert offer.around(Changing(rank=USER)).rank == PROJECT
    assert offer.around(Changing(rank=PROJECT)).rank == USER


@pytest.mark.parametrize(
    ("offer", "name", "own"),
    [
        (Offer(), "a", "a"),
        (Offer(prefix="my_"), "my_a", "a"),
        (Offer(prefix="my_"), "my_my_a", "my_a"),
        (Offer(rename={"a": "b"}), "b", "a"),
        (Offer(rename={"a": "b", "b": "a"}), "a", "b"),
        (Offer(prefix="my_", rename={"a": "b"}), "my_b", "a"),
        (Offer(prefix="my_", rename={"a": "b"}), "my_c", "c"),
    ],
)
def test_each_name_tells_whose_it_was(offer: Offer, name: str, own: str) -> None:
    assert (offer.own_name(tool(name)), offer.name_for(own)) == (own, name)


@pytest.mark.parametrize("source", ["builtin", "function"])
def test_what_is_not_wrapped_keeps_its_own_name(source: str) -> None:
    assert Offer(prefix="my_", rename={"a": "my_x"}).own_name(tool("my_x", source)) == "my_x"
