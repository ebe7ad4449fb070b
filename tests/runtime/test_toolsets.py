"""`toolsets:` of the configuration: which built-in tools there are, and what holds for them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.builtins._tool import builtin, in_process
from toolcrib.core.tool import NO_CAPABILITIES, NO_HOOKS
from toolcrib.runtime import config_file, toolsets
from toolcrib.runtime.config import Config, read

FILES = {
    "read_file": "preApproved",
    "list_directory": "preApproved",
    "list_files": "preApproved",
    "file_exists": "preApproved",
    "file_info": "preApproved",
    "read_artifact": "preApproved",
    "grep_artifact": "preApproved",
    "write_file": "ask",
    "edit_file": "ask",
    "delete_file": "ask",
}
JOBS = dict.fromkeys(("job_output", "job_kill", "job_list"), "preApproved")
SHELL = {"run_command": "ask", **JOBS}
READING = {
    name: "preApproved" for toolset in ("search", "todos", "code", "project") for name in toolsets.TOOLSETS[toolset]
}
"""The toolsets that change nothing."""
WORKSHOP = {
    "build_custom_tool": "ask",
    "create_custom_tool": "ask",
    "delete_custom_tool": "ask",
    "list_custom_tools": "preApproved",
    "run_custom_tool": "preApproved",
}


def tools(home: Path, workspace: Path) -> dict[str, str]:
    """Name and approval of every tool on offer."""

    async def use() -> dict[str, str]:
        async with toolcrib.open(home=home, workspace=workspace) as crib:
            return {tool.name: crib.verdict(tool).decision.wire for tool in crib.tools()}

    return asyncio.run(use())


def both(tmp_path: Path, user: str, project: str) -> Config:
    (tmp_path / "config.yaml").write_text(user)
    return read(str(tmp_path / "config.yaml"), (str(tmp_path / "project.yaml"), project.encode()))


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("", {**FILES, **READING, **SHELL, **WORKSHOP}),
        ("custom_tools: {enabled: false}", {**FILES, **READING, **SHELL}),
        ("toolsets: {workshop: {}}", WORKSHOP),
        ("toolsets: {workshop: {approval: {default: blocked}}}", dict.fromkeys(WORKSHOP, "blocked")),
        ("toolsets: {workshop: {}}\ncustom_tools: {enabled: false}", {}),
        ("toolsets: {}", {}),
        ("toolsets: {filesystem: {}}", FILES),
        ("toolsets: {shell: {}}", SHELL),
        ("toolsets: {shell: }", SHELL),
        ("toolsets: {custom: {module: ./tools.py}}", {}),
        ("toolsets: {shell: {approval: {default: blocked}}}", dict.fromkeys(SHELL, "blocked")),
        ("toolsets: {shell: {approval: {default: preApproved}}}", dict.fromkeys(SHELL, "preApproved")),
        ("toolsets: {search: {}, todos: {}, code: {}, project: {}}", READING),
        (
            "toolsets: {filesystem: {approval: {default: ask, tools: {write_file: blocked}}}}",
            dict.fromkeys(FILES, "ask") | {"write_file": "blocked"},
        ),
        ("approval: {default: ask}\ntoolsets: {filesystem: {approval: {default: preApproved}}}",
         dict.fromkeys(FILES, "preApproved")),
        ("approval: {default: blocked}\ntoolsets: {shell: {approval: {default: preApproved}}}",
         dict.fromkeys(SHELL, "blocked")),
    ],
)  # fmt: skip
def test_what_is_there_and_what_holds(home: Path, workspace: Path, config: str, expected: dict[str, str]) -> None:
    """G1, G2, G3, G9, G24: absent means all, present only those named; the toolset's default before the config's."""
    (home / "config.yaml").write_text(config)
    assert tools(home, workspace) == expected


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("toolsets: {nope: {}}", "there is no toolset 'nope'"),
        ("toolsets: [shell]", "toolsets"),
        ("toolsets: {shell: {rule: []}}", "did you mean rules?"),
        ("toolsets: {filesystem: {rules: []}}", "unknown key"),
        ("toolsets: {shell: {approval: {default: true}}}", "not one of preApproved, ask, blocked"),
        ("toolsets: {shell: {approval: {tools: {read_file: ask}}}}", "shell has no tool 'read_file'"),
        ("toolsets: {filesystem: {roots: {notes: read}}}", "not an absolute path"),
        ("toolsets: {filesystem: {roots: {/notes: execute}}}", "not one of read, write"),
        ("toolsets: {shell: {rules: [{approval: ask}]}}", "which commands"),
        ("toolsets: {shell: {rules: [{pattern: git, tool: x, approval: ask}]}}", "unknown key 'tool'"),
        ("toolsets: {shell: {rules: [{pattern: git, approval: preApproved, match: [ls]}]}}", "is not matched"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(home: Path, workspace: Path, config: str, says: str) -> None:
    (home / "config.yaml").write_text(config)
    with pytest.raises(toolcrib.ConfigError) as caught:
        tools(home, workspace)
    assert says in str(caught.value)
    assert f"{home}/config.yaml:1: " in str(caught.value)


def test_a_project_may_only_take_away(tmp_path: Path) -> None:
    config = both(tmp_path, "", "toolsets: {filesystem: {approval: {tools: {write_file: blocked}}}}")
    assert config.problems == ()
    assert config.toolsets.named == {"filesystem"}
    assert config.toolsets.approvals["filesystem"].entries["write_file"].decision.wire == "blocked"


@pytest.mark.parametrize(
    ("user", "project"),
    [
        ("toolsets: {shell: {}}", "toolsets: {shell: {}, filesystem: {}}"),
        ("", "toolsets: {filesystem: {roots: {/: write}}}"),
        ("", "toolsets: {shell: {approval: {default: preApproved}}}"),
        ("", "toolsets: {shell: {approval: {tools: {run_command: preApproved}}}}"),
    ],
)
def test_what_would_loosen_is_ignored_and_reported(tmp_path: Path, user: str, project: str) -> None:
    config = both(tmp_path, user, project)
    assert len(config.problems) == 1
    assert "would loosen" in config.problems[0].message
    assert config.toolsets.roots == {}
    assert "filesystem" not in (config.toolsets.named or ()) or not user
    for toolset in config.toolsets.approvals.values():
        assert toolset.default is None
        assert toolset.entries == {}


def test_shell_rules_of_a_project_only_tighten(home: Path, workspace: Path, run_cli: Any) -> None:
    (workspace / ".toolcrib").mkdir()
    (workspace / ".toolcrib/config.yaml").write_text(
        "toolsets: {shell: {rules: [{pattern: touch, approval: preApproved}, {pattern: ls, approval: blocked}]}}\n"
    )
    assert run_cli("trust", "--yes").returncode == 0
    assert run_cli("call", "run_command", "--command", "touch canary").returncode == 3
    assert run_cli("call", "run_command", "--command", "ls", "--yes").returncode == 3
    assert not (workspace / "canary").exists()
    assert "cannot pre-approve" in run_cli("list", "--json").stdout


def test_one_more_built_in_toolset_is_a_tool_and_two_entries(
    home: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G5: and what the configuration says of it holds in a call, not only in the list."""
    ran = []

    async def run(args: Any, ctx: Any) -> str:
        ran.append(args)
        return "noon"

    clock = builtin(
        "tell_time", "Tell the time.", {"type": "object"}, in_process(run), capabilities=NO_CAPABILITIES, hooks=NO_HOOKS
    )
    monkeypatch.setattr("toolcrib.builtins.TOOLS", (clock,))
    monkeypatch.setitem(toolsets.TOOLSETS, "clock", frozenset(("tell_time",)))
    for known in (toolsets.KEYS, config_file._SECTIONS):
        monkeypatch.setitem(known, "clock", ("approval",))
    (home / "config.yaml").write_text("toolsets: {clock: {approval: {tools: {tell_time: blocked}}}}")
    assert tools(home, workspace) == {"tell_time": "blocked"}
    result = toolcrib.call_sync("tell_time", {}, home=home, workspace=workspace, approver=toolcrib.SaysYes())
    assert result.error is not None and result.error.code == "BLOCKED_BY_POLICY"
    assert ran == []


def test_the_host_s_own_tool_does_not_cover_a_built_in(home: Path, workspace: Path) -> None:
    @toolcrib.tool
    def read_file(path: str) -> str:
        """Mine."""
        return "mine"

    with pytest.raises(toolcrib.DuplicateTool, match="read_file"):
        toolcrib.call_sync("read_file", {"path": "x"}, home=home, workspace=workspace, tools=[read_file])
    (home / "config.yaml").write_text("toolsets: {shell: {}}")
    result = toolcrib.call_sync("read_file", {"path": "x"}, home=home, workspace=workspace, tools=[read_file])
    assert result.data == "mine"
