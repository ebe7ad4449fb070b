"""`toolcrib list --watch`: the list, again after each change, and nothing left behind at its end."""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("watchfiles", reason="watchfiles is not installed")

HEARS = """
import sys
from toolcrib.cli import _watching, main
_watching.LOOK_SECONDS = 3600.0  # it does not look by itself while a test lasts: what it tells of, it heard
sys.exit(main(sys.argv[1:]))
"""
LIGHT = (
    "import sys\nfrom toolcrib.cli import main\nstatus = main(sys.argv[1:])\nsys.stderr.write(' '.join(sys.modules))"
)
MISSING = "import sys\nsys.modules['watchfiles'] = None\nfrom toolcrib.cli import main\nsys.exit(main(sys.argv[1:]))"


def script(name: str, words: str = "Does something.", does: str = "exit 1") -> str:
    about = json.dumps({"name": name, "description": words, "input_schema": {"type": "object"}})
    return f"#!/bin/sh\ncase $1 in\ndescription) cat <<'END'\n{about}\nEND\n;;\n*) {does} ;;\nesac\n"


def swap(file: Path, text: str) -> None:
    """Another content in one step, so that nobody sees half of it."""
    fresh = file.parents[2] / "fresh"
    fresh.write_text(text)
    fresh.chmod(0o755)
    fresh.rename(file)


class Watching:
    """The command, and what it prints, line by line."""

    def __init__(self, argv: list[str], cwd: Path, env: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )

    def line(self, stream: Any = None) -> str:
        read, text = stream or self.process.stdout, b""
        while not text.endswith(b"\n"):
            ready, _, _ = select.select([read], [], [], 30)
            assert ready, f"nothing came for 30 s, after {text!r}"
            piece = os.read(read.fileno(), 1)
            assert piece, f"it ended: {self.process.stderr.read().decode()}"
            text += piece
        return text.decode()

    def answer(self) -> tuple[list[str], list[str]]:
        """The next document: names on offer, codes of problems."""
        said = json.loads(self.line())
        return [tool["name"] for tool in said["tools"]], [problem["code"] for problem in said["problems"]]

    def until(self, *wanted: Any) -> None:
        """Read answers up to this one: how many steps a change is seen in depends on the moment."""
        while self.answer() != wanted:
            pass


@pytest.fixture
def watching(home: Path, workspace: Path, environment: dict[str, str]) -> Iterator[Callable[..., Watching]]:
    (home / "config.yaml").write_text("toolsets: {}\n")
    started: list[Watching] = []

    def start(*words: str, before: tuple[str, ...] = (), command: tuple[str, ...] = ("-c", HEARS)) -> Watching:
        argv = [*before, sys.executable, *command, "list", "--watch", *words]
        started.append(Watching(argv, workspace, environment))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.communicate()


def test_each_change_prints_a_document(watching, make_tool, home: Path) -> None:
    """K69: a tool that comes, changes, breaks, is mended and goes; the first may have to make the directory."""
    live = watching("--json")
    assert live.answer() == ([], [])
    tool = make_tool("one", script("one"))
    live.until(["custom_tool_one"], [])
    tool.write_text(script("two"))
    live.until(["custom_tool_two"], [])
    tool.write_text("#!/bin/sh\nexit 3\n")
    live.until([], ["EXECUTION_ERROR"])
    tool.write_text(script("one"))
    live.until(["custom_tool_one"], [])
    tool.unlink()
    live.until([], [])


def test_folders_modules_and_rules_are_watched(watching, home: Path) -> None:
    """K69, G33: a file deep in a folder, a module that the configuration names, and the configuration itself."""
    (home / "tools.py").write_text("def add(a: int) -> int:\n    return a\n")
    live = watching("--json")
    assert live.answer() == ([], [])
    folder = home / "tools" / "deep"
    (folder / "lib").mkdir(parents=True)
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "tool.yaml").write_text("name: deep\ndescription: Is deep.\nversion: 1.0.0\nentrypoint: run.sh\n")
    live.until(["custom_tool_deep"], [])
    (folder / "lib" / "part").write_text("another version")  # another digest, so another answer
    live.until(["custom_tool_deep"], [])
    (home / "config.yaml").write_text("toolsets: {custom: {module: ./tools.py, tools: [add]}}\n")
    live.until(["add", "custom_tool_deep"], [])
    (home / "tools.py").write_text("def add(a: int -> int:\n")
    live.until(["custom_tool_deep"], ["CONFIG_INVALID"])
    (home / "tools.py").write_text("def add(a: int) -> int:\n    return a + 1\n")
    live.until(["add", "custom_tool_deep"], [])
    (home / "policy.yaml").write_text("rules: [{tool: add, approval: blocked}]\n")
    while {tool["name"]: tool["approval"] for tool in json.loads(live.line())["tools"]}["add"] != "blocked":
        pass


def test_a_configuration_that_is_broken_meanwhile(watching, make_tool, home: Path) -> None:
    """It is told once, on stderr; what is on offer stays until the file is right again."""
    make_tool("one", script("one"))
    live = watching("--json")
    assert live.answer() == (["custom_tool_one"], [])
    (home / "config.yaml").write_text("toolset: {}\n")
    assert "did you mean toolsets?" in live.line(live.process.stderr)
    (home / "config.yaml").write_text("toolsets: {}\ncustom_tools: {prefix: my_}\n")
    live.until(["my_one"], [])


def test_nothing_untrusted_runs_because_it_is_watched(watching, make_tool, workspace, tmp_path, run_cli) -> None:
    """I1: a project's program is named when it comes, and started when it is trusted, not before."""
    live = watching("--json")
    assert live.answer() == ([], [])
    canary = tmp_path / "canary"
    evil = script("evil").replace("#!/bin/sh\n", f"#!/bin/sh\n: > {canary}\n")
    made = make_tool("evil", evil, directory=workspace / ".toolcrib" / "tools")
    live.until([], ["WORKSPACE_UNTRUSTED"])
    made.write_text(evil + "# changed\n")
    (workspace / ".toolcrib" / "config.yaml").write_text("custom_tools: {timeout: 5s}\n")
    make_tool("other", evil, directory=workspace / ".toolcrib" / "tools")
    while "2 program(s)" not in live.line():
        pass
    assert not canary.exists()
    assert run_cli("trust", "--yes").returncode == 0
    live.until([], ["TOOL_NAME_CONFLICT"])
    assert canary.exists()


@pytest.mark.parametrize(("words", "shown"), [((), "custom_tool_one  ask"), (("--names",), "custom_tool_one")])
def test_in_a_pipe_an_empty_line_stands_between(watching, make_tool, words, shown) -> None:
    tool = make_tool("one", script("one"))
    live = watching(*words)
    assert live.line().startswith(shown)
    swap(tool, script("two"))
    assert live.line() == "\n"
    assert live.line().startswith(shown.replace("one", "two"))


def test_at_a_terminal_the_screen_is_cleared(terminal, make_tool, home: Path) -> None:
    (home / "config.yaml").write_text("toolsets: {}\n")
    tool = make_tool("one", script("one"))
    at = terminal("list", "--watch")
    at.read_until("Ctrl-C ends it")
    swap(tool, script("two"))
    shown = at.read_until("custom_tool_two")
    assert shown.count("\x1b[H\x1b[2J") == 2
    at.read_until("Ctrl-C ends it")
    at.send("\x03")
    assert at.finish() == 130


def descendants(pid: int) -> set[int]:
    listed = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    parents = {int(each): int(parent) for each, parent in (line.split() for line in listed.splitlines())}
    found = {pid}
    while more := {each for each, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def test_an_interrupt_ends_it_and_leaves_nothing(watching, make_tool, gone) -> None:
    """130, at once, without a word; and no process stays."""
    if shutil.which("ps") is None:
        pytest.skip("ps is not installed")
    make_tool("one", script("one"))
    live = watching("--json")
    live.answer()
    below = descendants(live.process.pid)
    live.process.send_signal(signal.SIGINT)
    out, err = live.process.communicate(timeout=20)
    assert (live.process.returncode, out, err) == (130, b"", b"")
    assert all(gone(pid) for pid in below)


def test_it_ends_when_nobody_reads_any_more(watching) -> None:
    live = watching("--json", command=("-m", "toolcrib"))
    live.answer()
    live.process.stdout.close()
    assert live.process.wait(20) == 1
    assert live.process.stderr.read() == b""
    live.process.stdout = None


def test_where_the_systems_limit_is_reached_it_looks_instead(watching, make_tool) -> None:
    here = (
        "unshare",
        "--user",
        "--map-root-user",
        "sh",
        "-c",
        'echo 0 > /proc/sys/user/max_inotify_watches && exec "$@"',
        "sh",
    )
    if shutil.which("unshare") is None or subprocess.run([*here, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespace can be made here")
    live = watching("--json", before=here)
    assert "files cannot be watched here" in live.line(live.process.stderr)
    assert live.answer() == ([], [])
    make_tool("one", script("one"))
    live.until(["custom_tool_one"], [])


@pytest.mark.parametrize("words", [("list", "--watch"), ("serve", "mcp", "--watch")])
def test_without_watchfiles_it_says_what_to_install(workspace, environment, words) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MISSING, *words], cwd=workspace, env=environment, capture_output=True, text=True,
        timeout=60, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "ENGINE_NOT_AVAILABLE --watch needs watchfiles, which is not installed; type: pip install 'toolcrib[watch]'\n"
    )


@pytest.mark.parametrize(
    "words", [("list",), ("list", "--outdated"), ("serve", "mcp"), ("call", "read_file", "--path", "x")]
)
def test_without_the_flag_nothing_is_paid_for_it(workspace, environment, words) -> None:
    """No import of what watches, nor of what that brings."""
    done = subprocess.run(
        [sys.executable, "-c", LIGHT, *words], cwd=workspace, env=environment, capture_output=True, text=True,
        timeout=60, stdin=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    imported = set(done.stderr.split())
    assert "toolcrib.cli" in imported
    assert imported & {"watchfiles", "anyio", "toolcrib.runtime.watch"} == set()


def test_a_wrong_configuration_at_the_beginning_ends_it(run_cli, home: Path) -> None:
    (home / "config.yaml").write_text("toolset: {}\n")
    done = run_cli("list", "--watch")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("CONFIG_INVALID ")
