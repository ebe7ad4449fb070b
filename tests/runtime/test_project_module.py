"""A project's Python module: trusted before anything of it runs, and never in this process."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.testing import ScriptedApprover


class Project:
    """A project with a module, and eyes for where it was imported."""

    def __init__(self, home: Path, root: Path, log: Path, run_cli: Callable[..., Any]) -> None:
        self.home, self.root, self.log, self.run_cli = home, root, log, run_cli
        self.place = root / ".toolcrib"
        self.place.mkdir()

    def write(self, text: str, *, custom: str = "{module: ./tools.py, tools: [f]}", file: str = "tools.py") -> None:
        noting = f"import os\nwith open({str(self.log)!r}, 'a') as file: print(os.getpid(), file=file)\n"
        (self.place / file).write_text(noting + text)
        (self.place / "config.yaml").write_text(f"toolsets: {{filesystem: {{}}, custom: {custom}}}\n")

    def trust(self) -> None:
        assert self.run_cli("trust", "--yes").returncode == 0

    def imported_by(self) -> list[int]:
        return [int(line) for line in self.log.read_text().split()] if self.log.exists() else []

    def opened(self, work: Callable[[toolcrib.Crib], Any], approver: Any = None) -> Any:
        async def visit() -> Any:
            asked = toolcrib.SaysYes() if approver is None else approver
            async with toolcrib.open(workspace=self.root, home=self.home, approver=asked) as crib:
                made = work(crib)
                return await made if asyncio.iscoroutine(made) else made

        return asyncio.run(visit())

    def call(self, name: str, args: dict[str, Any] | None = None, approver: Any = None) -> toolcrib.Result:
        return self.opened(lambda crib: crib.call(name, args or {}), approver)

    def problems(self) -> list[tuple[str, str]]:
        return self.opened(lambda crib: [(each.code, each.message) for each in crib.problems()])


@pytest.fixture
def project(home, workspace, tmp_path, run_cli) -> Project:
    return Project(home, workspace, tmp_path / "imports", run_cli)


F = "def f(n: int = 1) -> int:\n  return n + 1\n"


def test_before_trust_nothing_of_it_is_imported(project) -> None:
    project.write(F)
    for words in (["list"], ["list", "--json"], ["show", "f"], ["check"], ["doctor"], ["call", "f", "--yes"], ["test"]):
        project.run_cli(*words)
    assert project.call("f").error.code == "TOOL_NOT_FOUND"
    assert project.imported_by() == []


def test_once_trusted_it_runs_in_a_process_of_its_own(project) -> None:
    """G8, G22, G23"""
    project.write(F)
    project.trust()
    assert project.imported_by() == []
    result = project.call("f", {"n": 5})
    tool = project.opened(lambda crib: crib.find("f"))
    assert (result.data, tool.source, result.metadata["warm"]) == (6, "project_module", True)
    assert os.getpid() not in project.imported_by() != []


def test_the_commands_know_it(project) -> None:
    project.write(F)
    project.trust()
    listed = json.loads(project.run_cli("list", "--json").stdout)
    assert [(each["name"], each["source"], each["approval"]) for each in listed["tools"]][-1] == (
        "f",
        "project_module",
        "ask",
    )
    done = project.run_cli("call", "f", "--n", "2", "--yes")
    assert (done.returncode, done.stdout) == (0, "3\n")
    assert "project_module" in project.run_cli("show", "f").stdout


@pytest.mark.parametrize("claim", ["False", "'preApproved'", "lambda i: False", "lambda i: 'preApproved'"])
def test_its_tools_loosen_nothing(project, claim) -> None:
    project.write(f"f = {{'name': 'f', 'input_schema': {{}}, 'execute': lambda i: 1, 'needs_approval': {claim}}}\n")
    project.trust()
    approver = ScriptedApprover(False)
    assert project.call("f", approver=approver).error.code == "APPROVAL_DENIED"
    assert len(approver.asked) == 1


@pytest.mark.parametrize(
    ("approval", "code"),
    [("{default: blocked}", "BLOCKED_BY_POLICY"), ("{tools: {f: blocked}}", "BLOCKED_BY_POLICY"),
     ("{default: preApproved}", "APPROVAL_DENIED"), ("{tools: {f: preApproved}}", "APPROVAL_DENIED")],
)  # fmt: skip
def test_what_the_project_says_of_them_only_tightens(project, approval, code) -> None:
    """G24"""
    project.write(F, custom=f"{{module: ./tools.py, tools: [f], approval: {approval}}}")
    project.trust()
    assert project.call("f", approver=ScriptedApprover(False)).error.code == code


def test_its_say_is_about_its_own_tools_and_the_users_about_the_users(project) -> None:
    (project.home / "mine.py").write_text("def g() -> int:\n  return 1\n")
    (project.home / "config.yaml").write_text(
        "toolsets: {custom: {module: ./mine.py, tools: [g], approval: {default: preApproved}}}\n"
    )
    project.write(F, custom="{module: ./tools.py, tools: [f], approval: {default: ask}}")
    project.trust()
    shown = project.opened(lambda crib: {tool.name: crib.verdict(tool).decision.wire for tool in crib.tools()})
    assert shown == {"f": "ask", "g": "preApproved"}


def test_inline_is_not_the_projects_to_say(project) -> None:
    project.write(F, custom="{module: ./tools.py, tools: [f], isolation: inline}")
    project.trust()
    assert project.call("f").data == 2
    assert os.getpid() not in project.imported_by()
    assert [code for code, message in project.problems() if "isolation" in message] == ["CONFIG_INVALID"]


@pytest.mark.parametrize("place", ["../tools.py", "../../elsewhere.py", "/etc/tools.py"])
def test_a_module_elsewhere_is_refused(project, tmp_path, place) -> None:
    for path in (project.root / "tools.py", tmp_path / "elsewhere.py"):
        path.write_text(F)
    project.write(F, custom=f"{{module: {place}, tools: [f]}}")
    project.trust()
    assert project.call("f").error.code == "TOOL_NOT_FOUND"
    assert any("toolsets.custom.module is ignored" in message for _, message in project.problems())
    assert project.imported_by() == []


def test_a_changed_module_is_withheld_until_it_is_trusted_again(project) -> None:
    project.write(F)
    project.trust()
    project.write(F + "# changed\n")
    refused = project.call("f")
    assert (refused.error.code, refused.error.details["origin"]) == ("WORKSPACE_UNTRUSTED", f"{project.place}/tools.py")
    assert project.imported_by() == []
    project.trust()
    assert project.call("f").data == 2


def test_it_is_withheld_while_a_crib_is_open(project) -> None:
    """Also when it is changed after it was listed, and when it is swapped for a link."""
    project.write(F)
    project.trust()

    async def work(crib: toolcrib.Crib) -> list[str]:
        await crib.call("f")
        (project.place / "tools.py").unlink()
        (project.place / "tools.py").symlink_to("/dev/null")
        stale = await crib.call("f")
        await crib.refresh()
        return [stale.error.code, (await crib.call("f")).error.code]

    assert project.opened(work) == ["TOOL_PIN_MISMATCH", "WORKSPACE_UNTRUSTED"]


def test_the_workspace_does_not_get_between_the_worker_and_its_imports(project) -> None:
    """A file that is called as a module of the standard library, where the tool works."""
    trap = f"open({str(project.log)!r}, 'a').write('999999 ')\n"
    names = ("json.py", "socket.py", "toolcrib.py", "asyncio.py", "sitecustomize.py")
    for name in names:
        (project.place / name).write_text(trap)
    project.write("import json, socket, asyncio\n" + F)
    project.trust()
    for name in names:
        (project.root / name).write_text(trap)
    assert project.call("f").data == 2
    assert 999999 not in project.imported_by()
