"""Which tool a name means: ranks, conflicts, order."""

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import pytest

import toolcrib
from toolcrib.core.errors import DuplicateTool
from toolcrib.core.registry import OWN, PROJECT, USER, Registry
from toolcrib.core.source import Problem
from toolcrib.core.tool import Tool
from toolcrib.testing import fake_context


def made(name: str, *, origin: str = "here", source: str = "executable") -> Tool:
    @toolcrib.tool(name="x")
    def function() -> str:
        """Do something."""
        return name

    return function._replace(name=name, origin=origin, source=source)


def test_register_get_has_unregister() -> None:
    """C25, C28"""
    registry = Registry()
    tool = made("read")
    registry.register(tool)
    assert registry.get("read") is tool and registry.has("read") and registry.names() == ("read",)
    assert registry.unregister("read") is True
    assert registry.unregister("read") is False
    assert registry.get("read") is None and not registry.has("read") and registry.tools() == ()


def calls_made_by(work: Callable[[], object]) -> int:
    """How many functions are entered, ours and the interpreter's own."""
    entered = 0

    def count(frame: object, event: str, arg: object) -> None:
        nonlocal entered
        entered += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return entered


def test_the_number_of_tools_makes_no_difference_to_one() -> None:
    """A43: adding a tool, and finding one, is the same work among ten and among five thousand."""
    few, many = Registry(), Registry()
    tool = made("one")
    for registry, size in ((few, 10), (many, 5000)):
        for number in range(size):
            registry.register(tool._replace(name=f"t{number}"))
        registry.tools()
    assert calls_made_by(lambda: few.get("t7")) == calls_made_by(lambda: many.get("t4999"))
    assert calls_made_by(lambda: few.register(tool)) == calls_made_by(lambda: many.register(tool))


def test_a_taken_name_raises_in_the_seeds_words() -> None:
    """C27"""
    registry = Registry()
    tool = made("read")
    registry.register(tool)
    for again in (tool, made("read")):
        with pytest.raises(DuplicateTool, match='^Tool "read" is already registered$'):
            registry.register(again)


@pytest.mark.parametrize("name", ["", "bad name", "../x", "a" * 65, "bаsh", "x\n", "a.b", "a/b", "\x1b[2J"])
def test_what_is_not_a_name_is_refused(name: str) -> None:
    """K47; a tool called `bad name/..` registered. One of these has a Cyrillic letter."""
    with pytest.raises(ValueError, match="not a tool name"):
        Registry().register(made(name))


def test_project_covers_user_and_gives_it_back() -> None:
    """K6; removal must bring back the very tool it covered."""
    registry = Registry()
    users, projects = made("hello", origin="user"), made("hello", origin="project")
    registry.add([users], rank=USER)
    registry.add([projects], rank=PROJECT)
    assert registry.get("hello") is projects
    registry.unregister("hello")
    assert registry.get("hello") is users


def test_nothing_covers_what_the_host_handed_over() -> None:
    registry = Registry()
    own = made("hello", origin="own")
    registry.register(own, rank=OWN)
    registry.add([made("hello", origin="project")], rank=PROJECT)
    assert registry.get("hello") is own


@pytest.mark.parametrize("other", ["get-sum", "get_sum"])
def test_two_claims_to_one_name_offer_neither_and_name_both(other: str) -> None:
    """Also when the names are the same only after the folding that clients do."""
    registry = Registry()
    registry.add([made("get_sum", origin="/a"), made(other, origin="/b"), made("fine")], rank=USER)
    assert registry.names() == ("fine",)
    (problem,) = registry.problems()
    assert problem.code == "TOOL_NAME_CONFLICT" and "/a and /b" in problem.message
    assert registry.held("get_sum") is problem


def test_a_third_claim_in_a_later_add_is_a_conflict_too() -> None:
    registry = Registry()
    registry.add([made("x", origin="/a")], rank=USER)
    registry.add([made("x", origin="/b")], rank=USER)
    assert registry.names() == () and registry.problems()[0].code == "TOOL_NAME_CONFLICT"


def test_a_held_name_never_falls_back_to_the_covered_tool() -> None:
    registry = Registry()
    registry.add([made("hello", origin="user")], rank=USER)
    problem = Problem("/project", "WORKSPACE_UNTRUSTED", "not trusted", holds=("hello",))
    registry.add([], [problem], rank=PROJECT)
    assert registry.get("hello") is None and registry.held("hello") is problem


def test_the_order_does_not_depend_on_chance() -> None:
    """K53, a listing in random order. Built-in and own first, then MCP, then the rest, each by name."""
    tools = [
        made("z", source="builtin"),
        made("b", source="mcp"),
        made("c"),
        made("a", source="mcp"),
        made("d", source="function"),
        made("b_custom"),
    ]
    orders = set()
    for shift in range(len(tools)):
        registry = Registry()
        registry.add(tools[shift:] + tools[:shift], rank=USER)
        orders.add(registry.names())
    assert orders == {("d", "z", "a", "b", "b_custom", "c")}


def test_a_snapshot_does_not_change() -> None:
    registry = Registry()
    registry.register(made("a"))
    before = registry.tools()
    registry.register(made("b"))
    assert [tool.name for tool in before] == ["a"] and registry.names() == ("a", "b")


def test_declarations_in_geminis_dialect() -> None:
    """C26, K83"""
    registry = Registry()
    tool = made("a")
    registry.register(tool)
    assert registry.declarations() == [
        {"functionDeclarations": [{"name": "a", "description": "Do something.", "parameters": tool.input_schema}]}
    ]


def test_initialize_and_shutdown_reach_every_tool_that_wants_them() -> None:
    """C22, C23"""
    happened: list[str] = []

    async def initialize(ctx: Any) -> None:
        happened.append(f"initialize in {ctx.cwd}")

    async def shutdown() -> None:
        happened.append("shutdown")

    @toolcrib.tool(initialize=initialize, shutdown=shutdown)
    def tool() -> str:
        """Have a life."""
        return ""

    registry = Registry()
    registry.register(tool)
    registry.register(made("other"))

    async def live() -> None:
        await registry.initialize_all(lambda _: fake_context(cwd="/here"))
        await registry.shutdown_all()

    asyncio.run(live())
    assert happened == ["initialize in /here", "shutdown"]


def test_nothing_holds_the_name_of_a_tool_that_nothing_covers() -> None:
    """A file somewhere whose name is a built-in's takes nothing away."""
    registry = Registry()
    registry.register(made("read_file"))
    registry.add(
        [],
        [Problem("/x/read_file", "WORKSPACE_UNTRUSTED", "untrusted", holds=("read_file", "read-file"))],
        rank=PROJECT,
    )
    assert registry.names() == ("read_file",)
    assert (registry.held("read_file"), registry.held("read-file")) == (None, None)
    assert len(registry.problems()) == 1
