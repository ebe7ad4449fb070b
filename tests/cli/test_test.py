"""`toolcrib test`: examples, made-up calls and wrong ones, all through the gate (K66, F50)."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

MANIFEST = {
    "name": "one",
    "description": "Is one.",
    "version": "1.0.0",
    "entrypoint": "run.sh",
    "parameters": [
        {"name": "text", "type": "string", "required": True, "description": "Words"},
        {"name": "n", "type": "number", "description": "How many"},
    ],
}


@pytest.fixture
def folder(home: Path, workspace: Path):
    """`folder(script, examples=[…])` writes a tool that notes each start in `starts`, outside the workspace."""

    def write(script: str = "echo fine", *, name: str = "one", directory: Path | None = None, **keys) -> Path:
        place = (directory or home / "tools") / name
        place.mkdir(parents=True)
        said = MANIFEST | {"name": name} | keys
        (place / "tool.yaml").write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in said.items()))
        (place / "run.sh").write_text(f"#!/bin/sh\necho x >> {home.parent}/starts\n{script}\n")
        (place / "run.sh").chmod(0o755)
        return place

    return write


@pytest.fixture
def starts(home: Path):
    """How often tools were started."""
    log = home.parent / "starts"
    return lambda: len(log.read_text().splitlines()) if log.exists() else 0


def tried(done: "subprocess.CompletedProcess[str]") -> dict:
    (tool,) = json.loads(done.stdout)["tools"]
    return tool


def example(**keys) -> dict:
    return {"input": {"text": "a"}} | keys


def test_examples_that_come_true(cli, folder, starts) -> None:
    """F50: the exit status and the whole output, but for a line end at the end."""
    examples = [
        example(name="plain", output="fine\n"),
        example(output="fine"),
        example(exit=0),
        {"input": {"text": "bad"}, "exit": 3, "output": "no\n"},
    ]
    folder('case $1 in --text=bad) echo no; echo why >&2; exit 3 ;; esac; echo fine', examples=examples)  # fmt: skip
    done = cli("test", "one", "--yes", "--cases", "0", "--json")
    assert done.returncode == 0
    assert (tried(done)["examples"], tried(done)["failures"], starts()) == (4, [], 4)


@pytest.mark.parametrize(
    ("keys", "expected", "got"),
    [
        ({"output": "other\n"}, 'exit 0, output "other\\n"', 'exit 0, output "fine\\n"'),
        ({"exit": 3}, "exit 3", "an answer: fine\\n"),
        ({"output": "fine\n\n"}, 'exit 0, output "fine\\n\\n"', 'exit 0, output "fine\\n"'),
    ],
)
def test_an_example_that_does_not_shows_both(cli, folder, keys: dict, expected: str, got: str) -> None:
    folder(examples=[example(name="it", **keys)])
    done = cli("test", "one", "--yes", "--cases", "0", "--json")
    assert done.returncode == 1
    (failure,) = tried(done)["failures"]
    assert failure == {"kind": "example", "name": "it", "input": {"text": "a"}, "expected": expected, "got": got}


def test_a_report_obeys_nobody(cli, folder) -> None:
    """What a manifest or a tool says is shown, and moves no cursor."""
    folder("printf '\\033[2Jgot\\007'", examples=[example(name="\x1b[31mred", output="\x1b]0;x\x07")])
    done = cli("test", "one", "--yes", "--cases", "0")
    assert done.returncode == 1
    assert "\x1b" not in done.stdout and "\x07" not in done.stdout
    assert "\\x1b[2Jgot\\x07" in done.stdout and "\\x1b[31mred" in done.stdout
    assert done.stdout.endswith("1 tested, 1 failure(s), seed 0\n")


def test_a_long_difference_is_shown_where_it_begins(cli, folder) -> None:
    long = "x" * 5000
    folder(f"printf '%s' {long}yes", examples=[example(output=long + "no")])
    done = cli("test", "one", "--yes", "--cases", "0")
    assert f'got       exit 0, output …"{"x" * 20}yes"' in done.stdout and f'output …"{"x" * 20}no"' in done.stdout


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("kill -9 $$", "exit 137"),
        ("exit 200", "exit 200"),
        ("echo 'Traceback (most recent call last):' >&2; exit 1", "exit 1: "),
        ("echo 'panic: oh' >&2; exit 2", "exit 2: "),
        ("""echo "thread 'main' panicked at src/main.rs:1:2:" >&2; exit 101""", "exit 101: "),
        ("exec sleep 60", "TIMEOUT: "),
    ],
)
def test_a_tool_that_breaks_under_a_made_up_call(cli, folder, script: str, says: str) -> None:
    """F50: by a signal, by not ending, or by an error that nobody caught."""
    folder(script)
    done = cli("test", "one", "--yes", "--cases", "1", "--timeout", "500ms", "--json")
    assert done.returncode == 1
    (failure,) = tried(done)["failures"]
    assert failure["kind"] == "made up" and failure["got"].startswith(says)


def test_a_tool_may_decline(cli, folder) -> None:
    """A plain exit status with a message is its right; how many there were is said."""
    folder("echo 'not that' >&2; exit 1")
    done = cli("test", "one", "--yes", "--cases", "5")
    assert done.returncode == 0
    assert "5 made-up calls (5 declined with a message)" in done.stdout


def test_wrong_calls_start_nothing(cli, folder, starts) -> None:
    """F46: refused by the gate, without a question, a process or a change."""
    folder()
    done = cli("test", "one", "--cases", "30", "--json")
    assert done.returncode == 3  # the made-up calls needed approval, and nobody was there
    assert tried(done)["error"]["code"] == "APPROVAL_REQUIRED"
    assert tried(done)["wrong"]["refused"] > 5 and starts() == 0
    done = cli("test", "one", "--cases", "30", "--yes", "--json")
    assert (done.returncode, tried(done)["made_up"]["answered"], starts()) == (0, 30, 30)


def test_without_a_terminal_and_without_yes_nothing_runs(cli, folder, starts) -> None:
    folder(examples=[example()])
    done = cli("test", "one")
    assert (done.returncode, starts()) == (3, 0)
    assert "STOP" in done.stdout and "APPROVAL_REQUIRED" in done.stdout and "add --yes" in done.stdout


def test_at_a_terminal_one_question_is_asked(terminal, folder, starts) -> None:
    folder(examples=[example(), example(input={"text": "b"})])
    shown = terminal("test", "one", "--cases", "4")
    shown.read_until("[y/N] ")
    assert starts() == 0
    shown.send("y\n")
    assert shown.finish() == 0
    assert shown.screen.count("[y/N]") == 1 and starts() == 6


def test_a_no_is_a_no(terminal, folder, starts) -> None:
    folder(examples=[example()])
    shown = terminal("test", "one")
    shown.read_until("[y/N] ")
    shown.send("n\n")
    assert (shown.finish(), starts()) == (3, 0)
    assert "APPROVAL_DENIED" in shown.screen


def test_a_blocked_tool_stays_blocked(cli, folder, home: Path, starts) -> None:
    (home / "config.yaml").write_text("approval: {tools: {custom_tool_one: blocked}}\n")
    folder(examples=[example()])
    done = cli("test", "one", "--yes", "--json")
    assert (done.returncode, tried(done)["error"]["code"], starts()) == (3, "BLOCKED_BY_POLICY", 0)


def test_a_tool_that_says_it_writes_gets_no_made_up_calls(cli, folder, starts) -> None:
    """Unless somebody says how many."""
    folder(examples=[example()], capabilities=["writes_files"])
    done = cli("test", "one", "--yes", "--json")
    assert (done.returncode, starts()) == (0, 1)
    assert "--cases 20 makes them" in tried(done)["skipped"] and tried(done)["wrong"]["refused"] > 5
    assert cli("test", "one", "--yes", "--cases", "3").returncode == 0
    assert starts() == 5


def test_without_a_name_all_that_have_examples(cli, folder, starts, make_tool, repeat_script) -> None:
    """Others are not started."""
    folder(name="with", examples=[example()])
    folder(name="without")
    folder(name="failing", examples=[example(exit=9)])
    make_tool("repeat", repeat_script)
    done = cli("test", "--yes", "--cases", "0", "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["failures"], starts()) == (1, 1, 2)
    assert [tool["name"] for tool in report["tools"]] == ["custom_tool_failing", "custom_tool_with"]


def test_where_nothing_has_examples(cli, folder, starts) -> None:
    folder()
    done = cli("test")
    assert (done.returncode, done.stdout, starts()) == (0, "0 tested, 0 failure(s), seed 0\n", 0)
    assert "no tool here has examples" in done.stderr


def test_a_project_is_trusted_first(cli, folder, workspace: Path, starts) -> None:
    """Neither by name nor by path, and not when nothing is named."""
    place = folder(directory=workspace / ".toolcrib" / "tools", examples=[example()])
    for target in ("one", str(place), "./.toolcrib/tools/one/tool.yaml"):
        done = cli("test", target, "--yes", "--json")
        assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (3, "WORKSPACE_UNTRUSTED")
    assert cli("test", "--yes").returncode == 0
    assert starts() == 0
    assert cli("trust", "--yes").returncode == 0
    assert cli("test", "--yes", "--cases", "0").returncode == 0
    assert starts() == 1
    (place / "run.sh").write_text("#!/bin/sh\necho x >> ../../../starts\n")
    assert cli("test", "one", "--yes").returncode == 3
    assert starts() == 1


def test_another_projects_folder_is_not_tried(cli, folder, tmp_path: Path, starts) -> None:
    place = folder(directory=tmp_path / "cloned" / ".toolcrib" / "tools", examples=[example()])
    (tmp_path / "harmless").symlink_to(place)
    for target in (place, tmp_path / "harmless"):
        assert cli("test", str(target), "--yes").returncode == 3
    assert starts() == 0


def test_a_folder_that_is_not_installed(cli, folder, workspace: Path, starts) -> None:
    place = folder(directory=workspace / "mine", examples=[example(output="fine")])
    done = cli("test", "./mine/one", "--cases", "2", "--json")
    assert (done.returncode, starts()) == (3, 0)
    done = cli("test", "./mine/one", "--cases", "2", "--yes", "--json")
    assert (done.returncode, tried(done)["name"], tried(done)["examples"], starts()) == (0, "custom_tool_one", 1, 3)
    assert "custom_tool_one" not in cli("list", "--names").stdout
    (place / "tool.yaml").write_text("name: one\n")
    done = cli("test", "./mine/one", "--yes")
    assert (done.returncode, "is missing" in done.stderr, starts()) == (1, True, 3)


@pytest.mark.parametrize("target", ["nothing", "./nothing", "custom_tool_nothing", "", "/"])
def test_what_is_not_there(cli, target: str) -> None:
    done = cli("test", target, "--json")
    assert done.returncode == 4
    assert json.loads(done.stdout)["error"]["code"] == "TOOL_NOT_FOUND"


def test_a_broken_manifest_says_why(cli, folder, starts) -> None:
    folder(entrypoint="gone.sh")
    done = cli("test", "one", "--yes")
    assert (done.returncode, starts()) == (4, 0)
    assert "is not on offer" in done.stderr and "gone.sh" in done.stderr


def test_a_built_in_is_not_tried(cli, workspace: Path) -> None:
    done = cli("test", "write_file", "--yes")
    assert (done.returncode, "is built in" in done.stderr) == (2, True)
    assert list(workspace.iterdir()) == []


@pytest.mark.parametrize(
    "words", [("--cases", "-1"), ("--cases", "x"), ("--seed", "x"), ("--timeout", "0"), ("--what",)]
)
def test_words_that_mean_nothing(cli, folder, starts, words: tuple[str, ...]) -> None:
    folder()
    assert (cli("test", "one", "--yes", *words).returncode, starts()) == (2, 0)


def test_a_program_that_describes_itself(cli, repeat: Path, workspace: Path) -> None:
    """K66: every kind of tool that has a schema."""
    done = cli("test", "repeat", "--yes", "--cases", "8", "--json")
    assert (done.returncode, tried(done)["made_up"]["answered"], tried(done)["examples"]) == (0, 8, 0)
    assert tried(done)["wrong"]["refused"] == 8


MODULE = '''
def shout(text: str, times: int = 1) -> str:
    """Say it loudly."""
    print("noise")
    if times > 5:
        raise ValueError("too often")
    return text.upper() * {}
'''


@pytest.mark.parametrize(("product", "status"), [("1", 0), ("(1 / 0)", 1)])
def test_a_function_of_a_module(run_cli, home: Path, product: str, status: int) -> None:
    """What it raises for people is its right, and what nobody means is a failure."""
    (home / "tools.py").write_text(MODULE.format(product))
    (home / "config.yaml").write_text("toolsets: {custom: {module: ./tools.py, tools: [shout]}}\n")
    done = run_cli("test", "shout", "--yes", "--cases", "12", "--json")
    assert done.returncode == status, done.stdout + done.stderr
    made_up = tried(done)["made_up"]
    assert made_up["declined"] > 0 and tried(done)["wrong"]["refused"] == 12
    assert made_up["answered"] + made_up["declined"] + len(tried(done)["failures"]) == 12
    assert all("ZeroDivision" in each["got"] or "division" in each["got"] for each in tried(done)["failures"])


def test_the_same_seed_makes_the_same_calls(cli, folder, workspace: Path) -> None:
    folder(f'printf "%s\\n" "$*" >> {workspace}/calls')

    def calls(seed: str) -> str:
        assert cli("test", "one", "--yes", "--seed", seed).returncode == 0
        said = (workspace / "calls").read_text()
        (workspace / "calls").unlink()
        return said

    first = calls("7")
    assert calls("7") == first and calls("8") != first


def test_ctrl_c_ends_the_tool_too(folder, workspace: Path, environment, home: Path, gone) -> None:
    pipe = workspace / "pid"
    os.mkfifo(pipe)
    folder(f"echo $$ > {pipe}; exec sleep 600", examples=[example()])
    argv = [sys.executable, "-m", "toolcrib", "test", "one", "--yes"]
    running = subprocess.Popen(
        argv, cwd=workspace, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    pid = int(pipe.read_text())
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (130, b""), err
    assert gone(pid)


def test_it_shows_that_it_goes_on(terminal, folder, workspace: Path) -> None:
    """On a terminal, when it lasts over a second."""
    pipe = workspace / "go"
    os.mkfifo(pipe)
    folder(f"cat {pipe} >/dev/null; echo fine", examples=[example(output="fine")])
    shown = terminal("test", "one", "--yes", "--cases", "0")
    shown.read_until("custom_tool_one: 1 calls (Ctrl-C ends it)")
    pipe.write_text("go")
    assert shown.finish() == 0
    assert "ok    custom_tool_one  1 example" in shown.screen
