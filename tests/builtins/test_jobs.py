"""Commands in the background, and the tools that look after them: alone, through the gate, and through the protocol."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.builtins import jobs as jobs_module
from toolcrib.builtins.job_kill import job_kill
from toolcrib.builtins.job_list import job_list
from toolcrib.builtins.job_output import job_output
from toolcrib.builtins.run_command import run_command
from toolcrib.sandbox.background import KEPT_BYTES
from toolcrib.serve.mcp import McpHandler
from toolcrib.testing import ScriptedSandbox, fake_context

SERVER = """
import socket, sys
with socket.create_server(("127.0.0.1", 0)) as server:
    print(server.getsockname()[1], flush=True)
    while True:
        client, _ = server.accept()
        client.sendall(b"hello")
        client.close()
"""
HOST = """
import asyncio, sys, toolcrib
async def main():
    async with toolcrib.open(workspace=sys.argv[1], home=sys.argv[2], approver=toolcrib.SaysYes()) as crib:
        text = "trap '' TERM; setsid sh -c 'trap \\"\\" TERM; echo deep; while :; do sleep 60; done' & while :; do sleep 60; done"
        jobs = [(await crib.call("run_command", {"command": text, "background": True})).data["job_id"] for _ in range(3)]
        for job in jobs:
            assert (await crib.call("job_output", {"job_id": job, "wait": 30})).data["stdout"] == "deep\\n"
        print(crib.session, flush=True)
        if sys.argv[3] == "stay":
            await asyncio.Event().wait()
asyncio.run(main())
"""


class Desk:
    """A crib, and a short way to its tools."""

    def __init__(self, crib: toolcrib.Crib) -> None:
        self.crib = crib

    async def call(self, name: str, **args: Any) -> toolcrib.Result:
        return await self.crib.call(name, args)

    async def ask(self, name: str, **args: Any) -> Any:
        """The answer of a call that goes well."""
        result = await self.call(name, **args)
        assert result.success, result.error
        return result.data

    async def begin(self, command: str, **more: Any) -> str:
        return str((await self.ask("run_command", command=command, background=True, **more))["job_id"])

    async def until(self, job: str, wanted: str) -> str:
        """All that a job prints until that holds `wanted`."""
        said = ""
        while wanted not in said:
            seen = await self.ask("job_output", job_id=job, wait=30)
            said += seen["stdout"]
            assert wanted in said or seen["state"] == "running", said
        return said

    async def end(self, job: str) -> Any:
        """How a job ended by itself, with all that it printed before."""
        out = err = ""
        while True:
            seen = await self.ask("job_output", job_id=job, wait=30)
            out, err = out + seen["stdout"], err + seen["stderr"]
            if seen["state"] != "running":
                return {**seen, "stdout": out, "stderr": err}


@pytest.fixture
def at_desk(home: Path, workspace: Path) -> Callable[..., Any]:
    """Runs a story with a crib, which is closed at its end. Nothing of it is left then."""

    def use(story: Callable[[Desk], Awaitable[Any]], *, approver: Any = None, **more: Any) -> Any:
        async def opened() -> tuple[Any, str]:
            said = approver or toolcrib.SaysYes()
            async with toolcrib.open(workspace=workspace, home=home, approver=said, **more) as crib:
                asyncio.get_running_loop().set_exception_handler(lambda _, about: troubles.append(about))
                return await story(Desk(crib)), crib._host.id

        troubles: list[Any] = []
        answer, mark = asyncio.run(asyncio.wait_for(opened(), 60))
        assert (marked(mark), troubles, os.path.exists(scratch(mark))) == ([], [], False)
        return answer

    return use


def marked(word: str) -> list[int]:
    """The processes whose environment holds a word."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            with suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:
                if word.encode() in file.read():
                    found.append(int(name))
    return found


def scratch(mark: str) -> str:
    return os.path.join(tempfile.gettempdir(), f"toolcrib-{mark}")


def until(condition: Callable[[], object], what: str, *, seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"in {seconds} s it did not happen that {what}"
        time.sleep(0.005)


# Running


def test_a_server_goes_on_when_the_call_is_over(at_desk: Any) -> None:
    """K75"""

    def hello(port: int) -> bytes:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
            return client.recv(100)

    async def story(desk: Desk) -> None:
        begun = await desk.ask("run_command", argv=[sys.executable, "-c", SERVER], background=True)
        assert begun["state"] == "running" and marked(desk.crib._host.id) == [begun["pid"]]
        port = int(await desk.until(begun["job_id"], "\n"))
        assert [await asyncio.to_thread(hello, port) for _ in range(2)] == [b"hello"] * 2
        ended = await desk.ask("job_kill", job_id=begun["job_id"])
        assert (ended["state"], ended["exit_code"]) == ("killed", 143)
        with pytest.raises(ConnectionRefusedError):
            hello(port)

    at_desk(story)


def test_what_is_new_comes_with_each_look(at_desk: Any, workspace: Path) -> None:
    os.mkfifo(workspace / "go")

    async def story(desk: Desk) -> None:
        job = await desk.begin("echo one; echo wrong >&2; read line < go; printf two; exit 3")
        assert await desk.until(job, "one\n") == "one\n"
        assert (await desk.ask("job_output", job_id=job))["stdout"] == ""
        (workspace / "go").write_text("\n")
        seen = await desk.end(job)
        assert seen == {
            "job_id": job,
            "state": "exited",
            "exit_code": 3,
            "stdout": "two",
            "stderr": "",
            "stdout_bytes": 7,
            "stderr_bytes": 6,
            "truncated": False,
        }
        whole = await desk.ask("job_output", job_id=job, since="start")
        assert (whole["stdout"], whole["stderr"]) == ("one\ntwo", "wrong\n")

    at_desk(story)


def test_waiting_is_for_an_event_and_never_longer_than_asked(at_desk: Any) -> None:
    async def story(desk: Desk) -> None:
        job = await desk.begin("sleep 60")
        seen = await desk.ask("job_output", job_id=job, wait=0.05)
        assert (seen["state"], seen["stdout"]) == ("running", "")
        waits = asyncio.create_task(desk.ask("job_output", job_id=job, wait=60))
        await asyncio.sleep(0)
        await desk.ask("job_kill", job_id=job)
        assert (await waits)["state"] == "killed"

    at_desk(story)


def test_whoever_gives_up_waiting_loses_nothing(at_desk: Any, workspace: Path) -> None:
    os.mkfifo(workspace / "go")

    async def story(desk: Desk) -> None:
        job = await desk.begin("read line < go; echo said; sleep 60")
        waits = asyncio.create_task(desk.call("job_output", job_id=job, wait=60))
        for _ in range(10):  # until it waits
            await asyncio.sleep(0)
        waits.cancel()
        await asyncio.wait((waits,))
        assert waits.cancelled()
        (workspace / "go").write_text("\n")
        assert await desk.until(job, "said") == "said\n"

    at_desk(story)


def test_a_kill_is_for_the_whole_tree(at_desk: Any) -> None:
    async def story(desk: Desk) -> None:
        deaf = "setsid sh -c 'trap \"\" TERM; echo deep; while :; do sleep 60; done'"
        job = await desk.begin(f"{deaf} & {deaf} </dev/null >/dev/null 2>&1 & sleep 60")
        await desk.until(job, "deep")
        assert len(marked(desk.crib._host.id)) >= 4
        assert (await desk.ask("job_kill", job_id=job))["state"] == "killed"
        assert marked(desk.crib._host.id) == []

    at_desk(story)


def test_one_that_ignores_being_asked_is_killed(at_desk: Any) -> None:
    async def story(desk: Desk) -> None:
        job = await desk.begin("trap '' TERM; echo up; while :; do sleep 60; done")
        await desk.until(job, "up")
        ended = await desk.ask("job_kill", job_id=job)
        assert (ended["exit_code"], ended["message"]) == (137, "it did not end when it was asked to, and was killed")

    at_desk(story)


def test_what_it_says_when_it_is_asked_to_end_is_heard(at_desk: Any) -> None:
    async def story(desk: Desk) -> None:
        job = await desk.begin("trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.01; done")
        await desk.until(job, "up")
        ended = await desk.ask("job_kill", job_id=job)
        assert (ended["state"], ended["exit_code"]) == ("killed", 7)
        assert (await desk.ask("job_output", job_id=job))["stdout"] == "bye\n"

    at_desk(story)


def test_a_second_kill_says_that_there_was_nothing_to_end(at_desk: Any) -> None:
    async def story(desk: Desk) -> None:
        job = await desk.begin("exit 5")
        await desk.end(job)
        ended = await desk.ask("job_kill", job_id=job)
        assert (ended["state"], ended["exit_code"]) == ("exited", 5)
        assert "no longer running" in ended["message"]

    at_desk(story)


def test_the_list_has_all_of_them_the_oldest_first(at_desk: Any) -> None:
    async def story(desk: Desk) -> None:
        first, second = await desk.begin("echo out; echo err >&2; exit 1"), await desk.begin("sleep 60")
        third = (await desk.ask("run_command", argv=["printf", "%s", "a b"], background=True))["job_id"]
        await desk.end(third)
        until_seen = await desk.call("job_list")
        while until_seen.data["jobs"][0]["state"] == "running":
            until_seen = await desk.call("job_list")
        jobs = (await desk.ask("job_list"))["jobs"]
        assert [each["job_id"] for each in jobs] == [first, second, third]
        assert [each["state"] for each in jobs] == ["exited", "running", "exited"]
        assert [each["exit_code"] for each in jobs] == [1, None, 0]
        assert jobs[2]["command"] == "printf '%s' 'a b'"
        assert [(each["stdout_bytes"], each["stderr_bytes"], each["unread_bytes"]) for each in jobs] == [
            (4, 4, 8), (0, 0, 0), (3, 0, 0)]  # fmt: skip
        assert all(each["age"] >= each["seconds"] >= 0 for each in jobs)

    at_desk(story)


def test_a_long_command_is_listed_by_its_beginning_and_end(at_desk: Any) -> None:
    async def story(desk: Desk) -> None:
        await desk.end(await desk.begin(f": {'x' * 20_000} end"))
        (listed,) = (await desk.ask("job_list"))["jobs"]
        assert len(listed["command"]) < 500
        assert listed["command"].startswith(": xxx") and listed["command"].endswith("x end")

    at_desk(story)


def test_it_runs_in_the_directory_that_is_given(at_desk: Any, workspace: Path) -> None:
    (workspace / "sub").mkdir()

    async def story(desk: Desk) -> None:
        job = await desk.begin("pwd", cwd="sub")
        assert (await desk.end(job))["stdout"] == f"{os.path.realpath(workspace / 'sub')}\n"

    at_desk(story)


def test_its_surroundings_are_those_of_any_program(at_desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """K33: an environment of a few names, and a temporary directory of its own for as long as it runs."""
    monkeypatch.setenv("A_TOKEN", "not for you")

    async def story(desk: Desk) -> None:
        job = await desk.begin('env; : > "$TMPDIR/file"; echo ready; sleep 60')
        names = dict(line.split("=", 1) for line in (await desk.until(job, "ready")).splitlines() if "=" in line)
        assert "A_TOKEN" not in names and names["TOOLCRIB_SESSION"] == desk.crib.session
        await desk.ask("run_command", command="true")
        assert os.listdir(names["TMPDIR"]) == ["file"]
        await desk.ask("job_kill", job_id=job)
        assert not os.path.exists(names["TMPDIR"])

    at_desk(story)


# Time


def test_the_time_that_is_given_holds_in_the_background_too(at_desk: Any) -> None:
    """TRAPS: "Background variant of a tool ignored its timeout." """

    async def story(desk: Desk) -> None:
        job = await desk.begin("while :; do echo more; sleep 0.01; done", timeout=0.2)
        seen = await desk.end(job)
        assert (seen["state"], seen["exit_code"]) == ("timed out", 143)

    at_desk(story)


def test_so_does_what_the_user_said_of_the_tool(at_desk: Any, home: Path) -> None:
    (home / "config.yaml").write_text("tools: {run_command: {timeout: 200ms}}\n")

    async def story(desk: Desk) -> None:
        assert (await desk.end(await desk.begin("sleep 60", timeout=600)))["state"] == "timed out"

    at_desk(story)


def test_but_silence_does_not_end_a_job(at_desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["toolcrib.builtins.run_command"], "IDLE_SECONDS", 0.01)

    async def story(desk: Desk) -> None:
        assert (await desk.end(await desk.begin("sleep 0.3; echo done")))["stdout"] == "done\n"

    at_desk(story)


# Bounds


def test_a_flood_is_bounded_and_the_whole_is_in_an_artifact(at_desk: Any) -> None:
    async def story(desk: Desk) -> None:
        job = await desk.begin("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end")
        while (await desk.ask("job_list"))["jobs"][0]["state"] == "running":
            await asyncio.sleep(0.01)
        result = await desk.call("job_output", job_id=job)
        text = result.data["stdout"]
        assert text.endswith("x\nend\n") and len(text) < KEPT_BYTES + 200
        (artifact,) = result.metadata["artifacts"]
        assert f"{3000005 - KEPT_BYTES} bytes left out; the whole output is artifact {artifact['id']}" in text
        assert os.path.getsize(artifact["path"]) == artifact["bytes"] == result.data["stdout_bytes"] == 3000005
        assert result.data["truncated"] and result.metadata["truncated"]
        assert (await desk.call("job_output", job_id=job)).data["truncated"] is False
        whole = (await desk.ask("job_output", job_id=job, since="start"))["stdout"]
        assert whole.startswith("xxx") and artifact["id"] in whole and len(whole) < 2 * KEPT_BYTES

    at_desk(story)


def test_bytes_that_are_no_text_are_shown_and_none_is_lost(at_desk: Any) -> None:
    async def story(desk: Desk) -> None:
        job = await desk.begin(r"printf 'a\377b\303\244\000'; printf '\303' >&2")
        seen = await desk.end(job)
        assert (seen["stdout"], seen["stderr"]) == ("a\\xffbä\0", "\\xc3")

    at_desk(story)


def test_only_so_many_run_at_once(at_desk: Any, workspace: Path) -> None:
    """Also when they are all asked for in one moment."""

    async def story(desk: Desk) -> None:
        most = jobs_module.most_running()
        text = "echo $$ >> started; sleep 60"
        results = await asyncio.gather(
            *(desk.call("run_command", command=text, background=True) for _ in range(most + 5))
        )
        refused = [result.error for result in results if result.error is not None]
        assert [each.code for each in refused] == ["RESOURCE_EXHAUSTED"] * 5
        assert "job_kill" in refused[0].message
        assert len((await desk.ask("job_list"))["jobs"]) == most
        await desk.ask("job_kill", job_id=results[0].data["job_id"])
        again = await desk.begin(text)
        await desk.ask("job_kill", job_id=again)
        assert len((workspace / "started").read_text().split()) <= most + 1

    at_desk(story)


def test_of_those_that_ended_the_oldest_are_forgotten(at_desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "MOST_ENDED", 3)

    async def story(desk: Desk) -> None:
        jobs = []
        for _ in range(6):
            jobs.append(await desk.begin("true"))
            await desk.end(jobs[-1])
        left = [each["job_id"] for each in (await desk.ask("job_list"))["jobs"]]
        assert left == jobs[-4:]  # those three, and the one that was started last
        assert not (await desk.call("job_output", job_id=jobs[0])).success

    at_desk(story)


def test_fifty_leave_no_descriptor_behind(at_desk: Any) -> None:
    async def story(desk: Desk) -> None:
        await desk.end(await desk.begin("true"))
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(10):
            jobs = [await desk.begin("echo x; exit 1") for _ in range(5)]
            for job in jobs:
                await desk.end(job)
        assert len(os.listdir("/proc/self/fd")) == before
        assert len((await desk.ask("job_list"))["jobs"]) == 51

    at_desk(story)


# Whose they are


def test_another_session_neither_sees_nor_reads_nor_ends_it(at_desk: Any) -> None:
    async def story(desk: Desk) -> None:
        mine, job = desk.crib.session, await desk.begin("echo private; sleep 60")
        desk.crib.session = "somebody-else"
        assert await desk.ask("job_list") == {"jobs": []}
        for tool in ("job_output", "job_kill"):
            result = await desk.call(tool, job_id=job)
            assert result.error is not None and "private" not in json.dumps(result.to_dict())
            assert result.error.details == {"jobs": []}
        desk.crib.session = mine
        assert await desk.until(job, "private") == "private\n"

    at_desk(story)


@pytest.mark.parametrize("tool", ["job_output", "job_kill"])
def test_one_that_is_not_there_is_named_with_those_that_are(at_desk: Any, tool: str) -> None:
    async def story(desk: Desk) -> None:
        job = await desk.begin("sleep 60")
        result = await desk.call(tool, job_id="job_0")
        assert result.error is not None
        assert "this session has no job job_0; call job_list" in result.error.message
        assert result.error.details == {"jobs": [job]}

    at_desk(story)


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("job_output", {}),
        ("job_output", {"job_id": ""}),
        ("job_output", {"job_id": 1}),
        ("job_output", {"job_id": "x" * 65}),
        ("job_output", {"job_id": "x", "wait": -1}),
        ("job_output", {"job_id": "x", "wait": 301}),
        ("job_output", {"job_id": "x", "since": "yesterday"}),
        ("job_kill", {}),
        ("job_kill", {"job_id": "x", "signal": 9}),
        ("job_list", {"all": True}),
    ],
)
def test_what_is_wrong_is_refused(at_desk: Any, tool: str, args: dict[str, Any]) -> None:
    async def story(desk: Desk) -> None:
        result = await desk.crib.call(tool, args)
        assert result.error is not None and result.error.code == "VALIDATION_ERROR"

    at_desk(story)


# The gate


def test_it_is_judged_as_any_command_and_looking_after_it_is_not_asked_about(
    home: Path, workspace: Path, at_desk: Any
) -> None:
    """Nobody to ask: it does not start. The tools that look after jobs need nobody."""
    (home / "policy.yaml").write_text("rules: [{command: [sleep], approval: preApproved}]\n")

    async def story() -> None:
        async with toolcrib.open(workspace=workspace, home=home) as crib:
            desk = Desk(crib)
            refused = await desk.call("run_command", command="touch canary", background=True)
            assert refused.error is not None and refused.error.code == "APPROVAL_REQUIRED"
            assert await desk.ask("job_list") == {"jobs": []}
            job = await desk.begin("sleep 60")
            await desk.ask("job_output", job_id=job)
            await desk.ask("job_kill", job_id=job)

    asyncio.run(story())
    assert list(workspace.iterdir()) == []


def test_it_is_recorded_before_it_starts_and_when_the_call_is_over(at_desk: Any, home: Path) -> None:
    async def story(desk: Desk) -> None:
        result = await desk.call("run_command", command="sleep 60", background=True)
        assert result.metadata["job_id"] == result.data["job_id"]
        assert (result.metadata["sandbox"], result.metadata["approved_by"]) == ("process", "flag")

    at_desk(story)
    records = [json.loads(line) for file in (home / "audit").glob("*.jsonl") for line in file.read_text().splitlines()]
    mine = [each for each in records if each.get("tool") == "run_command"]
    assert [each["event"] for each in mine] == ["start", "call"]
    assert mine[0]["call"] == mine[1]["call"] and sorted(mine[1]["args"]) == ["background", "command"]


def test_a_program_that_is_not_there_is_no_job(at_desk: Any, workspace: Path) -> None:
    (workspace / "broken").write_text("#!/no/such/interpreter\n")
    (workspace / "broken").chmod(0o755)

    async def story(desk: Desk) -> None:
        for argv in (["no-such-program"], ["./broken"]):
            assert not (await desk.call("run_command", argv=argv, background=True)).success
        assert await desk.ask("job_list") == {"jobs": []}

    at_desk(story)


def test_a_secret_is_not_in_what_it_prints_or_was_called(
    at_desk: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", "a-very-secret-value")
    (home / "config.yaml").write_text("tools: {run_command: {secrets: [API_KEY]}}\n")

    async def story(desk: Desk) -> None:
        job = await desk.begin('echo "key is $API_KEY"; echo a-very-secret-value >&2')
        seen = [
            await desk.end(job),
            await desk.ask("job_output", job_id=job, since="start"),
            await desk.ask("job_list"),
        ]
        assert "key is" in seen[0]["stdout"]
        assert not any(part in json.dumps(seen) for part in ("secret", "a-very", "value"))

    at_desk(story)


def test_the_command_line_refuses_it_before_anything_starts(run_cli: Any, workspace: Path) -> None:
    """The process ends with the call, and would end the job with it."""
    for more in (("--background", "true"), ("--background", "true", "--yes"), ("--dry-run", "--background", "true")):
        done = run_cli("call", "run_command", "--command", "touch canary", *more)
        assert (done.returncode, done.stdout) == (2, "")
        assert "foreground" in done.stderr and "toolcrib serve mcp" in done.stderr
    assert list(workspace.iterdir()) == []


def test_a_call_from_a_script_refuses_it_too(home: Path, workspace: Path) -> None:
    args = {"command": "touch canary", "background": True}
    result = toolcrib.call_sync("run_command", args, workspace=workspace, home=home, approver=toolcrib.SaysYes())
    assert result.error is not None
    assert result.error.code == "VALIDATION_ERROR"
    assert list(workspace.iterdir()) == []


# The end of the process that holds the session


@pytest.fixture
def host(home: Path, workspace: Path) -> Iterator[Callable[..., tuple["subprocess.Popen[str]", str]]]:
    """Starts a process that has three jobs running, each with a child that is hard to end."""
    started: list[subprocess.Popen[str]] = []

    def start(how: str) -> tuple["subprocess.Popen[str]", str]:
        process = subprocess.Popen(
            [sys.executable, "-X", "dev", "-W", "error", "-c", HOST, workspace, home, how],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        started.append(process)
        assert process.stdout is not None
        return process, process.stdout.readline().strip()

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_closing_ends_them_and_nobody_hears_of_it(host: Any) -> None:
    process, mark = host("leave")
    said = process.communicate(timeout=30)
    troubles = [line for line in said[1].splitlines() if "Executing" not in line]  # the debug mode's word on slow steps
    assert (process.returncode, troubles, marked(mark), os.path.exists(scratch(mark))) == (0, [], [], False)


def test_a_host_that_is_killed_leaves_none(host: Any) -> None:
    process, mark = host("stay")
    assert len(marked(mark)) >= 6
    process.kill()
    until(lambda: marked(mark) == [], "every process is gone")
    until(lambda: not os.path.exists(scratch(mark)), "the temporary directories are gone")


def test_nor_does_one_that_is_interrupted(host: Any) -> None:
    process, mark = host("stay")
    process.send_signal(signal.SIGINT)
    process.wait(30)
    assert (marked(mark), os.path.exists(scratch(mark))) == ([], False)


# The protocol


class Ends:
    """What a server sends unasked."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def send(self, message: Any) -> None:
        self.heard.append(message)

    offer = send


def test_a_job_outlives_the_request_that_started_it(at_desk: Any, workspace: Path) -> None:
    """The whole story by MCP: start, look, be told, end."""
    os.mkfifo(workspace / "go")

    async def story(desk: Desk) -> None:
        ends = Ends()
        handler = McpHandler(desk.crib, outlet=ends, version="1")

        async def ask(method: str, **params: Any) -> Any:
            answer = await handler.handle({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
            return answer["result"]  # type: ignore[index, call-overload]

        async def call(name: str, **args: Any) -> Any:
            answer = await ask("tools/call", name=name, arguments=args, _meta={"progressToken": "p"})
            assert not answer["isError"], answer
            return answer["structuredContent"] if "structuredContent" in answer else answer["content"][0]["text"]

        await ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t", "version": "0"})
        names = {tool["name"] for tool in (await ask("tools/list"))["tools"]}
        assert {"run_command", "job_output", "job_kill", "job_list"} <= names
        begun = _parsed(
            await call("run_command", command="echo up; read line < go; echo more; sleep 60", background=True)
        )
        job = begun["job_id"]
        assert _parsed(await call("job_output", job_id=job, wait=30))["stdout"] == "up\n"
        (workspace / "go").write_text("\n")
        assert _parsed(await call("job_output", job_id=job, wait=30))["stdout"] == "more\n"
        assert _parsed(await call("job_kill", job_id=job))["state"] == "killed"
        assert [each["state"] for each in _parsed(await call("job_list"))["jobs"]] == ["killed"]
        await call("run_command", command="echo in the foreground; sleep 0.2")
        told = [each["params"] for each in ends.heard if each.get("method") == "notifications/progress"]
        assert [each["message"] for each in told] == ["in the foreground"]

    at_desk(story)


def _parsed(answer: Any) -> Any:
    return json.loads(answer) if isinstance(answer, str) else answer


@pytest.mark.parametrize("how", ["end of input", signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_with_the_server_its_jobs_end(environment: dict[str, str], workspace: Path, how: Any) -> None:
    server = subprocess.Popen(
        [sys.executable, "-m", "toolcrib", "serve", "mcp", "--ask", "client"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=workspace, env=environment,
    )  # fmt: skip
    assert server.stdin is not None and server.stdout is not None

    def ask(method: str, **params: Any) -> Any:
        server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
        server.stdin.flush()
        return json.loads(server.stdout.readline())["result"]

    try:
        ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t", "version": "0"})
        text = "trap '' TERM; env > env; setsid sleep 61 & while :; do sleep 60; done"
        answer = ask("tools/call", name="run_command", arguments={"command": text, "background": True})
        assert not answer["isError"], answer
        until(lambda: "TOOLCRIB_CALL_ID" in _text(workspace / "env"), "the job is up")
        mark = _text(workspace / "env").split("TOOLCRIB_CALL_ID=")[1].split("-")[0]
        assert marked(f"{mark}-")
        if how == "end of input":
            server.stdin.close()
        else:
            server.send_signal(how)
        server.wait(30)
        until(lambda: marked(f"{mark}-") == [], "every process is gone")
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
        with suppress(OSError):
            server.stdin.close()


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


# Alone


def test_alone_there_are_no_jobs() -> None:
    assert asyncio.run(job_list.backend.run({}, fake_context())) == {"jobs": []}
    for tool in (job_output, job_kill):
        with pytest.raises(toolcrib.ToolError, match="has no job x"):
            asyncio.run(tool.backend.run({"job_id": "x"}, fake_context()))


def test_alone_they_work_together_where_the_sandbox_can(tmp_path: Path) -> None:
    """Without a runtime: a real sandbox in a fake context."""
    from toolcrib.core.context import new_id
    from toolcrib.sandbox.processes import Processes

    sandbox = Processes(new_id())
    ctx = fake_context(sandbox=sandbox, cwd=str(tmp_path), environ={"PATH": os.environ["PATH"]})  # type: ignore[arg-type]

    async def story() -> None:
        begun = await run_command.backend.run({"command": "echo up; sleep 60", "background": True}, ctx)
        seen = await job_output.backend.run({"job_id": begun["job_id"], "wait": 30}, ctx)
        assert seen["stdout"] == "up\n"
        assert (await job_kill.backend.run({"job_id": begun["job_id"]}, ctx))["state"] == "killed"

    try:
        asyncio.run(story())
    finally:
        sandbox.close()


def test_a_sandbox_that_keeps_nothing_running_says_so() -> None:
    sandbox = ScriptedSandbox()
    with pytest.raises(toolcrib.ToolError) as caught:
        asyncio.run(run_command.backend.run({"command": "x", "background": True}, fake_context(sandbox=sandbox)))
    assert (caught.value.code, sandbox.commands) == ("SANDBOX_UNAVAILABLE", [])


def test_nothing_is_asked_about_that_only_looks_or_ends_what_was_allowed() -> None:
    for tool in (job_output, job_kill, job_list):
        claims = tool.capabilities
        assert not (claims.writes_files or claims.executes_commands or claims.accesses_network)
        assert tool.needs_approval is None
