"""The big list of naughty strings through arguments, names, output and the record, without harm to terminal or log."""

import asyncio
import os
import pty
import subprocess
import sys
import tty

import pytest

import toolcrib
from toolcrib.core.jsontext import dump, parse
from toolcrib.core.registry import Registry
from toolcrib.core.tool import NAME
from toolcrib.observe.verify import verify

ECHO = """#!/bin/sh
if [ "$1" = description ]; then
  echo '{"name": "echo", "description": "Say it back.", "input_schema": {"type": "object"}}'; exit
fi
cat
"""
SPEAK = """#!/bin/sh
if [ "$1" = description ]; then
  echo '{"name": "speak", "description": "Say it all.", "input_schema": {"type": "object"}}'; exit
fi
cat "%(text)s"
cat "%(text)s" >&2
exit %(code)d
"""


@pytest.fixture
def naughty(corpus) -> list[str]:
    found = parse((corpus("big-list-of-naughty-strings") / "blns.json").read_bytes())
    assert len(found) == 515
    return found


@pytest.fixture
def call(home, workspace):
    """Calls in one crib, in one process."""

    def go(*calls: tuple[str, object]) -> list[toolcrib.Result]:
        async def work() -> list[toolcrib.Result]:
            async with toolcrib.open(
                home=home, workspace=workspace, approver=toolcrib.SaysYes(), tools=[made()]
            ) as crib:
                return [await crib.call(name, args) for name, args in calls]

        return asyncio.run(work())

    return go


@pytest.fixture
def terminal(environment, workspace):
    """`terminal("list")` runs the command at a terminal that changes nothing, and returns all that it was sent."""

    def run(*words: str) -> bytes:
        ours, theirs = pty.openpty()
        tty.setraw(theirs)
        command = [sys.executable, "-m", "toolcrib", *words]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, cwd=workspace, env=environment
        )
        os.close(theirs)
        sent = b""
        try:
            while chunk := os.read(ours, 65536):
                sent += chunk
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        assert process.wait(timeout=30) in (0, 1, 2, 4), sent
        return sent

    return run


def harmless(sent: bytes) -> bool:
    """Nothing that a terminal would obey. Its own line of progress, `\\r ESC [K`, is ours."""
    text = sent.replace(b"\r\x1b[K", b"").decode()
    return all(char.isprintable() or char in "\n\t" for char in text)


def intact(home) -> bool:
    """Every line of the record is ASCII and one JSON object, and the chain holds."""
    for file in (home / "audit").glob("*.jsonl"):
        for line in file.read_bytes().split(b"\n")[:-1]:
            assert all(0x20 <= byte < 0x7F for byte in line)
            assert isinstance(parse(line), dict)
    return verify(str(home / "audit")).fault is None


def made() -> toolcrib.Tool:
    schema = {"type": "object"}
    tool = toolcrib.tool(name="note", input_schema=schema, description="Give it back.")
    return tool(lambda value=None: value)


def test_as_arguments_they_come_back_exactly(naughty, call, home, make_tool) -> None:
    make_tool("echo", ECHO)
    single = call(*(("note", {"value": text}) for text in naughty))
    assert [result.data for result in single] == naughty
    (whole,) = call(
        ("custom_tool_echo", {"values": naughty, "keys": {text: index for index, text in enumerate(naughty)}})
    )
    assert parse(whole.data)["values"] == naughty
    assert parse(whole.data)["keys"] == {text: index for index, text in enumerate(naughty)}
    assert intact(home)


def test_at_the_command_line_they_come_back_exactly(naughty, run_cli, home, make_tool) -> None:
    make_tool("echo", ECHO)
    done = run_cli("call", "echo", "--yes", "--input", "-", input=dump({"values": naughty}).decode())
    assert (done.returncode, done.stderr) == (0, "")
    assert parse(done.stdout)["values"] == naughty
    assert intact(home)


def test_as_names_of_arguments_they_do_not_break_the_record(naughty, call, home) -> None:
    results = call(*(("note", {text: 1}) for text in naughty))
    assert {result.error.code for result in results if result.error} <= {"EXECUTION_ERROR", "VALIDATION_ERROR"}
    call(("note", dict.fromkeys(naughty, 1)))
    assert intact(home)


def test_as_tool_names_they_are_refused(naughty, call, home, terminal) -> None:
    """A name is 1 to 64 of A-Z a-z 0-9 _ -; whatever else is called does not exist, and that is recorded."""
    results = call(*((text, {}) for text in naughty))
    assert {result.error.code for result in results if result.error} == {"TOOL_NOT_FOUND"}
    tool = made()
    for text in dict.fromkeys(naughty):
        registry = Registry()
        if NAME.fullmatch(text):
            registry.register(tool._replace(name=text))
        else:
            with pytest.raises(ValueError, match="not a tool name"):
                registry.register(tool._replace(name=text))
    assert intact(home)
    assert harmless(terminal("audit", "show", "--limit", "600"))
    assert harmless(terminal("stats"))


def test_as_files_in_the_tools_directory_they_do_not_reach_the_terminal(naughty, home, terminal) -> None:
    tools = home / "tools"
    tools.mkdir()
    wild = [text for text in naughty if 0 < len(text.encode()) < 100 and not text.isprintable() and "/" not in text]
    wild = [text for text in wild if "\0" not in text][:20] + ["\x1b[2Jgone", "a\nb", "\u202eabc", "a\rb"]
    for text in dict.fromkeys(wild):
        path = tools / text
        path.write_text(ECHO)
        path.chmod(0o755)
    assert harmless(terminal("list"))
    assert harmless(terminal("doctor"))


@pytest.mark.parametrize("code", [0, 1])
def test_as_output_they_are_made_visible_on_a_terminal(naughty, tmp_path, home, make_tool, terminal, code) -> None:
    """Both streams, from a tool that succeeds and from one that fails; with sequences a terminal would obey."""
    wild = [
        *naughty,
        "\x1b[2J\x1b]0;title\x07",
        "\x9b31m",
        "a\rb",
        "\u202e\u2066\u200b",
        "\x00\x7f\x08",
        "\ud83d\ude00",
    ]
    text = tmp_path / "text"
    text.write_bytes("\n".join(wild).encode("utf-8", "surrogatepass") + b"\xff\xfe\xc3\x1b[0m\n")
    make_tool("speak", SPEAK % {"text": text, "code": code})
    sent = terminal("call", "speak", "--yes")
    assert b"\\x1b[2J" in sent
    assert harmless(sent)
    assert intact(home)


def test_as_an_artifact_they_are_made_visible_on_a_terminal_and_exact_in_a_pipe(
    naughty, home, terminal, environment, workspace
) -> None:
    raw = "\n".join(naughty).encode() + b"\x1b[2J\xff\x9b\n"
    (home / "artifacts").mkdir()
    (home / "artifacts" / "tc0-1.stdout").write_bytes(raw)
    assert harmless(terminal("artifact", "show", "tc0-1.stdout"))
    command = [sys.executable, "-m", "toolcrib", "artifact", "show", "tc0-1.stdout"]
    assert subprocess.run(command, capture_output=True, cwd=workspace, env=environment).stdout == raw


def test_as_an_artifacts_name_they_are_never_a_path(naughty, home) -> None:
    from toolcrib.store.artifacts import ArtifactFiles
    from toolcrib.store.home import Home

    kept = ArtifactFiles(Home(home))
    assert [text for text in naughty if kept.find(text)] == []


def test_bytes_that_are_no_text_stop_nothing(home, workspace, environment, make_tool) -> None:
    """File names and command lines are bytes. One that is not UTF-8 disables neither the other tools nor the record."""
    make_tool("echo", ECHO)
    wild = os.fsencode(home / "tools") + b"/\xff\xfe"
    with open(wild, "w") as file:
        file.write(ECHO)
    os.chmod(wild, 0o755)

    def run(*words: bytes | str) -> "subprocess.CompletedProcess[bytes]":
        command = [sys.executable, "-m", "toolcrib", *words]
        return subprocess.run(command, capture_output=True, cwd=workspace, env=environment, stdin=subprocess.DEVNULL)

    names = [tool["name"] for tool in parse(run("list", "--json").stdout)["tools"]]
    assert [name for name in names if name.startswith("custom_tool_")] == ["custom_tool_echo"]
    assert run("call", "echo", "--yes").returncode == 0
    assert run("call", b"\xff", "--json").returncode == 4
    assert run("audit", "show", "--tool", b"\xff").returncode == 0
    assert run("artifact", "show", b"\xff").returncode == 4
    assert intact(home)
    assert len(list((home / "cache").glob("probes-*"))) == 1
