"""A whole crib: what it finds, offers, withholds and calls."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.core.limits import VIEW_BYTES
from toolcrib.policy.project_files import project_files
from toolcrib.runtime.build import build
from toolcrib.runtime.runtime import Crib

HELLO = """#!/bin/sh
case "$1" in
description) echo '{"name": "%s", "description": "Say %s", "input_schema": {"type": "object", "properties": {"name": {"type": "string"}}}}' ;;
run) cat >/dev/null; echo "%s" ;;
*) exit 1 ;;
esac
"""


def hello(name: str = "hello", says: str = "hello") -> str:
    return HELLO % (name, says, says)


def with_crib(home: Path, workspace: Path, use: Any, **more: Any) -> Any:
    async def main() -> Any:
        async with toolcrib.open(workspace=workspace, home=home, **more) as crib:
            return await use(crib)

    return asyncio.run(main())


async def names(crib: Crib) -> list[str]:
    """Of the tools that do not come with the package."""
    return [tool.name for tool in crib.tools() if tool.source != "builtin"]


def test_without_tools_nothing_is_there_and_nothing_is_wrong(home: Path, workspace: Path) -> None:
    """K59: opt-in by content."""

    async def use(crib: Crib) -> Any:
        return (
            await names(crib),
            crib.problems(),
            crib.stats()["total_executions"],
            crib.stats()["average_execution_time_ms"],
        )

    assert with_crib(home, workspace, use) == ([], (), 0, 0)


def test_the_users_tools_are_offered_with_their_prefix(home: Path, workspace: Path, make_tool: Any) -> None:
    """K2, K5, K12, K20, K21, K22, K64"""
    path = make_tool("greeter", hello())

    async def use(crib: Crib) -> Any:
        (tool,) = [each for each in crib.tools() if each.source != "builtin"]
        result = await crib.call("custom_tool_hello", {"name": "Bob"})
        return tool, result, crib.find("hello") is tool

    tool, result, by_bare_name = with_crib(home, workspace, use, approver=toolcrib.SaysYes())
    assert (tool.name, tool.description, tool.origin, tool.source) == (
        "custom_tool_hello",
        "Say hello",
        str(path),
        "executable",
    )
    assert (tool.limits.seconds, tool.limits.output_bytes, tool.capabilities.executes_commands) == (30, 1048576, True)
    assert (result.data, result.metadata["exit_code"], result.metadata["sandbox"], by_bare_name) == (
        "hello\n",
        0,
        "process",
        True,
    )


def test_disabled_means_none(home: Path, workspace: Path, make_tool: Any) -> None:
    """K25, K37: a no-op that succeeds; nothing is even started."""
    make_tool("hello", f"#!/bin/sh\ntouch {workspace}/started\n")
    (home / "config.yaml").write_text("custom_tools: {enabled: false}")
    assert with_crib(home, workspace, names) == []
    assert not (workspace / "started").exists()


def test_the_configured_directory_is_used_and_its_tilde_expanded(
    home: Path, workspace: Path, make_tool: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """K4, K38"""
    monkeypatch.setenv("HOME", str(tmp_path))
    make_tool("hello", hello(), directory=tmp_path / "mine")
    (home / "config.yaml").write_text("custom_tools: {global_dir: ~/mine}")
    assert with_crib(home, workspace, names) == ["custom_tool_hello"]


def test_a_project_is_not_touched_before_trust(home: Path, workspace: Path, make_tool: Any) -> None:
    """I1: not probed, not listed, not run, its config not read; and its names do not fall back to the user's tools."""
    make_tool("hello", hello(says="user"))
    make_tool(
        "hello", f"#!/bin/sh\ntouch {workspace}/started\n" + hello()[10:], directory=workspace / ".toolcrib" / "tools"
    )
    (workspace / ".toolcrib" / "config.yaml").write_text("this is: [not even YAML")

    async def use(crib: Crib) -> Any:
        return await names(crib), crib.problems(), await crib.call("custom_tool_hello", {})

    offered, (problem,), result = with_crib(home, workspace, use, approver=toolcrib.SaysYes())
    assert offered == [] and not (workspace / "started").exists()
    assert problem.code == "WORKSPACE_UNTRUSTED" and "toolcrib trust" in problem.message
    assert result.error.code == "WORKSPACE_UNTRUSTED"


def test_a_trusted_project_covers_the_user(home: Path, workspace: Path, make_tool: Any) -> None:
    """K3, K5, K6, K39, K60"""
    make_tool("hello", hello(says="user"))
    make_tool("hello", hello(says="project"), directory=workspace / ".toolcrib" / "tools")
    build(home=home, workspace=workspace).trust.add(str(workspace), project_files(str(workspace)))

    async def use(crib: Crib) -> Any:
        return (await crib.call("custom_tool_hello", {})).data

    assert with_crib(home, workspace, use, approver=toolcrib.SaysYes()) == "project\n"


def test_trust_is_for_the_very_directory(home: Path, workspace: Path, make_tool: Any) -> None:
    """Another directory that takes the place of a trusted one is not trusted."""
    build(home=home, workspace=workspace).trust.add(str(workspace), project_files(str(workspace)))
    workspace.rename(workspace.parent / "elsewhere")
    workspace.mkdir()
    make_tool("evil", f"#!/bin/sh\ntouch {workspace}/started\n", directory=workspace / ".toolcrib" / "tools")
    assert with_crib(home, workspace, names) == []
    assert not (workspace / "started").exists()


def test_trust_taken_back_counts_at_the_next_turn(home: Path, workspace: Path, make_tool: Any) -> None:
    make_tool("hello", hello(), directory=workspace / ".toolcrib" / "tools")
    build(home=home, workspace=workspace).trust.add(str(workspace), project_files(str(workspace)))

    async def use(crib: Crib) -> Any:
        before = await names(crib)
        crib.trust.remove(str(workspace))
        await crib.refresh()
        return before, await names(crib), (await crib.call("custom_tool_hello", {})).error.code

    assert with_crib(home, workspace, use, approver=toolcrib.SaysYes()) == (
        ["custom_tool_hello"],
        [],
        "WORKSPACE_UNTRUSTED",
    )


def test_between_turns_new_changed_and_removed_tools_are_noticed(home: Path, workspace: Path, make_tool: Any) -> None:
    """K24: rediscovery is idempotent; removed files disappear."""
    make_tool("one", hello("one"))

    async def use(crib: Crib) -> Any:
        seen = [await names(crib), await crib.refresh()]
        make_tool("two", hello("two"))
        seen += [await crib.refresh(), await names(crib)]
        os.unlink(home / "tools" / "one")
        seen += [await crib.refresh(), await names(crib), await crib.refresh()]
        return seen

    one, two = "custom_tool_one", "custom_tool_two"
    assert with_crib(home, workspace, use) == [[one], False, True, [one, two], True, [two], False]


def test_a_tool_that_changed_since_it_was_listed_does_not_run(home: Path, workspace: Path, make_tool: Any) -> None:
    make_tool("hello", hello(says="old"))

    async def use(crib: Crib) -> Any:
        make_tool("hello", f"#!/bin/sh\ntouch {workspace}/started\n")
        code = (await crib.call("custom_tool_hello", {})).error.code
        make_tool("hello", hello(says="new"))
        await crib.refresh()
        return code, (await crib.call("custom_tool_hello", {})).data

    assert with_crib(home, workspace, use, approver=toolcrib.SaysYes()) == ("TOOL_PIN_MISMATCH", "new\n")
    assert not (workspace / "started").exists()


def test_a_demanded_protection_that_is_missing_stops_the_tool(home: Path, workspace: Path, make_tool: Any) -> None:
    make_tool("hello", hello())
    make_tool("other", hello("other"))
    (home / "config.yaml").write_text("tools: {custom_tool_hello: {network: off}}")

    async def use(crib: Crib) -> Any:
        return await names(crib), (await crib.call("custom_tool_hello", {})).error.code

    stopped = (["custom_tool_hello", "custom_tool_other"], "SANDBOX_UNAVAILABLE")
    assert with_crib(home, workspace, use, approver=toolcrib.SaysYes()) == stopped
    (home / "config.yaml").write_text("sandbox: bubblewrap")
    assert with_crib(home, workspace, use, approver=toolcrib.SaysYes()) == stopped
    assert not (workspace / "ran").exists()


def test_settings_of_one_tool(home: Path, workspace: Path, make_tool: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """K40, K42: a timeout and variables for one tool, from the user's configuration."""
    monkeypatch.setenv("EXTRA", "yes")
    make_tool("slow", hello("slow").replace("cat >/dev/null", "sleep 60"))
    make_tool("env", hello("env").replace("cat >/dev/null", 'echo "[$EXTRA]"'))
    (home / "config.yaml").write_text("tools: {custom_tool_slow: {timeout: 100ms}, custom_tool_env: {env: [EXTRA]}}")

    async def use(crib: Crib) -> Any:
        return (await crib.call("custom_tool_slow", {})).error.code, (await crib.call("custom_tool_env", {})).data

    assert with_crib(home, workspace, use, approver=toolcrib.SaysYes()) == (
        "TIMEOUT",
        "[yes]\nenv\n".replace("env", "hello"),
    )


def test_the_prefix_is_configurable_and_bounded(home: Path, workspace: Path, make_tool: Any) -> None:
    make_tool("hello", hello("h" * 60))
    (home / "config.yaml").write_text("custom_tools: {prefix: ''}")
    assert with_crib(home, workspace, names) == ["h" * 60]
    (home / "config.yaml").write_text("custom_tools: {prefix: too_long_}")

    async def use(crib: Crib) -> Any:
        return await names(crib), [problem.code for problem in crib.problems()]

    assert with_crib(home, workspace, use) == ([], ["TOOL_NAME_INVALID"])


def test_a_home_is_private(home: Path, workspace: Path, make_tool: Any, tmp_path: Path) -> None:
    make_tool("hello", hello(), directory=tmp_path / "tools")
    fresh = tmp_path / "fresh"
    (tmp_path / "config").write_text("")

    async def use(crib: Crib) -> Any:
        return (await crib.call("nope", {})).error.code

    assert with_crib(fresh, workspace, use) == "TOOL_NOT_FOUND"
    modes = {path.relative_to(fresh).as_posix(): path.stat().st_mode & 0o777 for path in [fresh, *fresh.rglob("*")]}
    assert {mode for name, mode in modes.items() if (fresh / name).is_dir()} == {0o700}
    assert {mode for name, mode in modes.items() if (fresh / name).is_file()} == {0o600}


def test_an_answer_too_long_to_show_is_kept_whole(home: Path, workspace: Path) -> None:
    @toolcrib.tool
    def long(size: int) -> str:
        """Say much."""
        return "x" * size

    async def use(crib: Crib) -> Any:
        short = await crib.call("long", {"size": VIEW_BYTES})
        assert crib.viewable(short) is short
        (artifact,) = crib.viewable(await crib.call("long", {"size": VIEW_BYTES + 1})).metadata["artifacts"]
        return artifact, Path(artifact["path"]).read_bytes()

    artifact, kept = with_crib(home, workspace, use, tools=[long])
    assert (artifact["bytes"], kept) == (VIEW_BYTES + 1, b"x" * (VIEW_BYTES + 1))


def test_functions_and_programs_share_one_gate(home: Path, workspace: Path, make_tool: Any) -> None:
    """Without an approver a program is not run, and a function of the host is."""
    make_tool("hello", hello())

    @toolcrib.tool
    async def greet(name: str) -> str:
        """Say hello."""
        return f"Hello, {name}!"

    async def use(crib: Crib) -> Any:
        ours, theirs = await crib.call("greet", {"name": "Bob"}), await crib.call("custom_tool_hello", {})
        return ours.data, theirs.error.code, crib.stats()

    said, code, stats = with_crib(home, workspace, use, tools=[greet])
    assert (said, code) == ("Hello, Bob!", "APPROVAL_REQUIRED")
    assert (stats["total_executions"], stats["success_count"], stats["error_count"]) == (2, 1, 1)
    assert stats["executions_by_tool"] == {"custom_tool_hello": 1, "greet": 1}


def test_a_timeout_of_nothing_is_a_programmers_error(home: Path, workspace: Path) -> None:
    """`0` meant "default"."""

    async def use(crib: Crib) -> None:
        with pytest.raises(ValueError, match="leaves no time"):
            await crib.call("x", {}, timeout=0)

    with_crib(home, workspace, use)


def test_a_wrong_configuration_stops_the_opening(home: Path, workspace: Path) -> None:
    """K56"""
    (home / "config.yaml").write_text("nonsense: 1")
    with pytest.raises(toolcrib.ConfigError, match=r"config\.yaml:1: unknown key 'nonsense'"):
        with_crib(home, workspace, names)


def test_the_hosts_own_tools_do_not_depend_on_programs(home: Path, workspace: Path) -> None:
    (home / "config.yaml").write_text("custom_tools: {enabled: false}")

    @toolcrib.tool
    def greet() -> str:
        """Say hello."""
        return "hello"

    async def use(crib: Crib) -> Any:
        return (await crib.call("greet")).data

    assert with_crib(home, workspace, use, tools=[greet]) == "hello"


def test_tools_come_and_go_while_the_crib_is_open(home: Path, workspace: Path, make_tool: Any) -> None:
    """C53: hot load and unload; they outlive a refresh."""

    @toolcrib.tool
    def greet() -> str:
        """Say hello."""
        return "hello"

    async def use(crib: Crib) -> Any:
        crib.register(greet)
        with pytest.raises(toolcrib.DuplicateTool):
            crib.register(greet)
        make_tool("other", hello("other"))
        seen = [await crib.refresh(), await names(crib), crib.unregister("greet"), crib.unregister("greet")]
        return [*seen, crib.unregister("custom_tool_other"), await names(crib)]

    assert with_crib(home, workspace, use) == [
        True, ["greet", "custom_tool_other"], True, False, False, ["custom_tool_other"],
    ]  # fmt: skip


def test_a_crib_that_stays_open_judges_by_the_rules_of_now(
    home: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server may run for days; what its user blocks meanwhile is blocked. A file that is wrong changes nothing."""
    monkeypatch.setattr("toolcrib.runtime.standing_rules._SECONDS", 0.0)
    (workspace / "a").write_text("x")
    policy = home / "policy.yaml"

    async def use(crib: Crib) -> Any:
        found = []
        for rules in ("rules: []", "rules: [{tool: read_file, approval: blocked}]", "rules: [", "rules: []"):
            policy.write_text(rules)
            result = await crib.call("read_file", {"path": "a"})
            found.append((result.error and result.error.code, [problem.code for problem in crib.problems()]))
        return found

    assert with_crib(home, workspace, use) == [
        (None, []),
        ("BLOCKED_BY_POLICY", []),
        ("BLOCKED_BY_POLICY", ["CONFIG_INVALID"]),
        (None, []),
    ]
