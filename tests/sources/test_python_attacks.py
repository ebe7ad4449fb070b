"""Modules that are hostile, broken or in the wrong place. What must not happen is seen not to have happened."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

import toolcrib
from toolcrib.testing import ScriptedApprover

GOOD = "def f() -> int:\n  return 1\n"


def canary(path: Path) -> str:
    """Code that leaves a trace."""
    return f"open({str(path)!r}, 'a').close()\n"


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize(
    "config",
    [
        "toolsets: {custom: {module: ../evil.py, tools: [f]}}",
        "toolsets: {external: {package: evil, import: f}}",
        "toolsets: {external: {package: evil}}",
    ],
)
def test_nothing_of_a_project_is_imported(modules, run_cli, tmp_path: Path, trusted: bool, config: str) -> None:
    touched = tmp_path / "touched"
    project = modules.workspace / ".toolcrib"
    project.mkdir()
    for place in (project, modules.workspace):
        (place / "evil.py").write_text(canary(touched) + GOOD)
    (project / "config.yaml").write_text(config)
    if trusted:
        assert run_cli("trust", "--yes").returncode == 0
    listed = json.loads(run_cli("list", "--json").stdout)
    assert run_cli("call", "f", "--yes").returncode == 4
    run_cli("check")
    assert not touched.exists()
    assert "f" not in [tool["name"] for tool in listed["tools"]]
    said = [problem["message"] for problem in listed["problems"]]
    if trusted:
        assert [message for message in said if "is ignored: a project" in message]


def test_a_project_s_module_covers_the_user_s_without_its_claims_and_in_another_process(modules, run_cli) -> None:
    """Both name `./tools.py`, each its own; the project's is asked about, whatever it says of itself."""
    said = "f = {{'name': 'f', 'input_schema': {{}}, 'execute': lambda i: {}, 'needs_approval': False}}\n"
    modules.write(said.format("'user'"), "f")
    project = modules.workspace / ".toolcrib"
    project.mkdir()
    (project / "tools.py").write_text("import os\n" + said.format("os.getpid()"))
    (project / "config.yaml").write_text("toolsets: {custom: {module: ./tools.py, tools: [f]}}")
    assert modules.call("f", approver=ScriptedApprover()).data == "user"
    assert run_cli("trust", "--yes").returncode == 0
    assert modules.call("f", approver=ScriptedApprover(False)).error.code == "APPROVAL_DENIED"
    assert modules.call("f").data != os.getpid()


def test_a_package_that_lies_in_the_workspace_is_not_imported(modules, tmp_path: Path, monkeypatch) -> None:
    """Not even when Python would find it there."""
    touched = tmp_path / "touched"
    (modules.workspace / "toolcrib_evil.py").write_text(canary(touched) + "TOOLS = []\n")
    (modules.home / "config.yaml").write_text("toolsets: {external: {package: toolcrib_evil, import: TOOLS}}")
    monkeypatch.syspath_prepend(str(modules.workspace))
    assert [code for code, _ in modules.problems()] == ["WORKSPACE_UNTRUSTED"]
    assert not touched.exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("raise RuntimeError('no')", "line 1: RuntimeError: no"),
        ("import sys\nsys.exit(0)", "line 2: SystemExit: 0"),
        ("raise SystemExit", "line 1: SystemExit"),
        ("def f(:", "line 1: SyntaxError"),
        ("import no_such_module_anywhere", "ModuleNotFoundError"),
        ("input('name? ')", "EOFError"),
        ("x = '\\ud800'.encode()", "UnicodeEncodeError"),
        ("import asyncio\nraise asyncio.CancelledError", "CancelledError"),
        ("def g(): g()\ng()", "RecursionError"),
        ("raise ExceptionGroup('many', [ValueError('one')])", "ExceptionGroup: many"),
    ],
)
def test_a_module_that_cannot_be_imported_is_a_problem(modules, text: str, words: str) -> None:
    modules.write(text, "f")
    before = set(sys.modules)
    ((code, message),) = modules.problems()
    assert (code, words in message) == ("CONFIG_INVALID", True), message
    assert modules.call("f").error.code == "CONFIG_INVALID"
    assert [name for name in set(sys.modules) - before if name.startswith("_toolcrib_module")] == []


def test_bytes_that_are_no_python_are_a_problem(modules) -> None:
    modules.named("f")
    modules.path.write_bytes(b"\x00\xff\xfe")
    assert [code for code, _ in modules.problems()] == ["CONFIG_INVALID"]


def test_what_it_prints_does_not_reach_our_output(modules, run_cli) -> None:
    modules.write("print('hello')\ndef f() -> int:\n  print('calling')\n  return 1\n", "f")
    listed = json.loads(run_cli("list", "--json").stdout)
    assert [tool["name"] for tool in listed["tools"]] == ["f"]
    assert ["'hello\\n'" in problem["message"] for problem in listed["problems"]] == [True]
    done = run_cli("call", "f", "--yes", "--json")
    assert json.loads(done.stdout)["data"] == 1
    assert "calling" in done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("then", ["", "raise ValueError", "raise SystemExit"])
def test_a_module_that_forks_does_not_double_us(modules, run_cli, tmp_path: Path, then: str) -> None:
    """The child ends where the import ends: one document is printed, one call runs."""
    log = tmp_path / "log"
    modules.write(
        "import os\nchild = os.fork() == 0\n"
        f"if not child: os.wait()\n{f'if child: {then}' if then else ''}\n"
        f"def f() -> int:\n  with open({str(log)!r}, 'a') as file: file.write('ran ')\n  return 1\n",
        "f",
    )
    assert [tool["name"] for tool in json.loads(run_cli("list", "--json").stdout)["tools"]] == ["f"]
    assert run_cli("call", "f", "--yes").stdout == "1\n"
    assert log.read_text() == "ran "


def test_a_directory_is_not_a_module(modules) -> None:
    modules.named("f")
    modules.path.mkdir()
    assert [code for code, _ in modules.problems()] == ["PATH_NOT_REGULAR"]


@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_is_not_waited_for(modules, tmp_path: Path, linked: bool) -> None:
    modules.named("f")
    os.mkfifo(tmp_path / "pipe" if linked else modules.path)
    if linked:
        modules.path.symlink_to(tmp_path / "pipe")
    assert [code for code, _ in modules.problems()] == ["PATH_NOT_REGULAR"]


def test_a_device_is_not_read(modules) -> None:
    modules.named("f")
    modules.path.symlink_to("/dev/zero")
    assert [code for code, _ in modules.problems()] == ["PATH_NOT_REGULAR"]


def test_what_is_not_there_or_too_long_is_a_problem(modules) -> None:
    modules.named("f")
    assert [message for _, message in modules.problems()] == ["it cannot be read: No such file or directory"]
    with modules.path.open("wb") as file:
        file.truncate(4 * 1024 * 1024 + 1)
    assert [code for code, _ in modules.problems()] == ["INPUT_TOO_LARGE"]


@pytest.mark.parametrize("linked", [False, True])
def test_tools_do_not_write_what_is_imported(modules, linked: bool) -> None:
    """A module that lies in the workspace, by its own path or behind a link: the file tools leave it alone."""
    real = modules.workspace / "mine.py"
    real.write_text(GOOD)
    named = real
    if linked:
        named = modules.path
        named.symlink_to(real)
    (modules.home / "config.yaml").write_text(
        f"toolsets: {{custom: {{module: {named}, tools: [f]}}, filesystem: {{approval: {{default: preApproved}}}}}}"
    )
    assert {"write_file", "delete_file", "f"} <= set(modules.names())
    for name, more in (("write_file", {"content": "raise SystemExit"}), ("delete_file", {})):
        result = modules.call(name, {"path": "mine.py", **more})
        assert result.error is not None and result.error.code == "PATH_PROTECTED"
        assert real.read_text() == GOOD


@pytest.mark.parametrize("name", ["", " f", "f g", "é", "a" * 65, "../f", "f\n", "__builtins__", "__name__"])
def test_names_that_are_no_tools(modules, name: str) -> None:
    modules.write(GOOD, name, "f")
    assert modules.names() == ["f"]
    assert [code for code, _ in modules.problems()] in (["TOOL_NAME_INVALID"], ["CONFIG_INVALID"])


def test_the_module_s_own_getattr_is_not_asked(modules, tmp_path: Path) -> None:
    """Only what it really exports counts."""
    touched = tmp_path / "touched"
    modules.write(f"def __getattr__(name):\n  {canary(touched)}  return len\n", "f")
    assert modules.names() == []
    assert not touched.exists()


def test_the_directory_of_the_module_is_not_searched(modules, tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    (modules.home / "toolcrib_beside.py").write_text(canary(touched))
    modules.write("import toolcrib_beside\n" + GOOD, "f")
    before = list(sys.path)
    assert ["ModuleNotFoundError" in message for _, message in modules.problems()] == [True]
    assert sys.path == before
    assert not touched.exists()


def test_a_new_version_is_there_on_the_next_turn(modules) -> None:
    """G33: and what cannot be imported any more keeps its name until it can."""
    modules.write(GOOD, "f")

    async def turns(crib: toolcrib.Crib) -> list[object]:
        seen: list[object] = [(await crib.call("f")).data, await crib.refresh()]
        for text in ("def f() -> int:\n  return 2\n", "1/0", "def f() -> int:\n  return 3\n", None):
            modules.path.unlink() if text is None else modules.path.write_text(text)
            changed = await crib.refresh()
            result = await crib.call("f")
            seen.append((changed, result.error.code if result.error else result.data))
        return seen

    assert modules.opened(turns) == [
        1, False, (True, 2), (True, "CONFIG_INVALID"), (True, 3), (True, "CONFIG_INVALID"),
    ]  # fmt: skip


def test_a_call_keeps_the_version_it_was_approved_for(modules) -> None:
    """The file is replaced while a person is asked; what was shown is what runs."""
    modules.write(GOOD, "f")

    class Slow(ScriptedApprover):
        async def approve(self, question):
            modules.path.write_text("def f() -> int:\n  return 666\n")
            await self.crib.refresh()
            return await super().approve(question)

    approver = Slow(True)

    async def use(crib: toolcrib.Crib) -> object:
        approver.crib = crib
        return (await crib.call("f")).data

    assert modules.opened(use, approver=approver) == 1


def test_a_module_that_is_touched_is_not_imported_again(modules, tmp_path: Path) -> None:
    log = tmp_path / "log"
    modules.write(f"with open({str(log)!r}, 'a') as file: file.write('x')\n" + GOOD, "f")

    async def turns(crib: toolcrib.Crib) -> list[bool]:
        first = await crib.refresh()
        os.utime(modules.path, (1, 1))
        return [first, await crib.refresh(), await crib.refresh()]

    assert modules.opened(turns) == [False, False, False]
    assert log.read_text() == "x"


def test_nothing_heavy_is_imported_without_a_module(home: Path, workspace: Path) -> None:
    code = (
        "import asyncio, sys, toolcrib\n"
        f"async def main():\n  async with toolcrib.open(home={str(home)!r}, workspace={str(workspace)!r}): pass\n"
        "asyncio.run(main())\n"
        "print([name for name in ('pydantic', 'toolcrib.sources.python', 'toolcrib.backends.function') if name in sys.modules])"
    )

    async def run() -> bytes:
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
        return (await process.communicate())[0]

    assert asyncio.run(run()) == b"[]\n"
