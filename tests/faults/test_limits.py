"""A process that may open or start no more: it says so, and runs nothing by halves."""

import resource
import subprocess
import sys
from typing import Any

import pytest

from toolcrib.core.jsontext import parse

ASYNC = "import asyncio; asyncio.run(asyncio.sleep(0))"
ENOUGH = 64
"""Descriptors with which a call certainly works."""


def fewest(limits: Any) -> int:
    """With how few descriptors the interpreter itself can work."""
    for number in range(4, ENOUGH):
        done = subprocess.run(
            [sys.executable, "-c", ASYNC], capture_output=True, preexec_fn=limits(resource.RLIMIT_NOFILE, number)
        )
        if done.returncode == 0 and not done.stderr:
            return number
    raise AssertionError("the interpreter does not start")


def test_with_too_few_descriptors_nothing_runs_and_the_answer_says_why(warm: Any, limits: Any) -> None:
    """EMFILE at one open or another, from the start of the command to the end of the call."""
    first, outcomes = fewest(limits), []
    for number in (first, first + 1, first + 2, first + 5, first + 8, ENOUGH):
        before = warm.marks()
        done = warm.run("call", "mark", "--yes", "--json", preexec_fn=limits(resource.RLIMIT_NOFILE, number))
        assert "Traceback" not in done.stderr, f"{number}: {done.stderr}"
        result = parse(done.stdout)
        outcomes.append(result["success"])
        assert warm.marks() == before + result["success"], f"{number}: {result}"
        if result["success"]:
            break
        assert result["error"]["code"] == "RESOURCE_EXHAUSTED", f"{number}: {result}"
        assert "Too many open files" in result["error"]["message"]
    assert len(outcomes) > 3 and outcomes[-1], "the last one had enough"
    warm.assert_recovers()


def test_a_crib_that_is_out_of_descriptors_works_again_when_there_are_some(warm: Any) -> None:
    """No descriptor is lost on the way: not one of those that were open when the others could not be opened."""
    script = """
import asyncio, os, resource, sys
import toolcrib
from toolcrib.core.jsontext import dump

async def main(home, workspace):
    async with toolcrib.open(home=home, workspace=workspace, approver=toolcrib.SaysYes()) as crib:
        await crib.call("custom_tool_mark")
        count = len(os.listdir("/dev/fd"))
        codes = []
        for spare in range(12):
            resource.setrlimit(resource.RLIMIT_NOFILE, (count - 1 + spare, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
            result = await crib.call("custom_tool_mark")
            codes.append(result.error and result.error.code)
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        after = await crib.call("custom_tool_mark")
        told = {"codes": codes, "after": after.success, "grown": len(os.listdir("/dev/fd")) - count}
    sys.stdout.buffer.write(dump(told))

asyncio.run(main(*sys.argv[1:]))
"""
    words = [sys.executable, "-c", script, str(warm.home), str(warm.workspace)]
    done = subprocess.run(words, capture_output=True, text=True, env=warm.environment, timeout=60)
    assert done.returncode == 0, done.stderr
    told = parse(done.stdout)
    assert set(told["codes"]) == {"RESOURCE_EXHAUSTED", None}
    assert told["after"] is True and told["grown"] == 0
    assert warm.marks() == told["codes"].count(None) + 2
    warm.assert_recovers()


@pytest.mark.parametrize("when", ["1+", "1"])
def test_no_more_processes(warm: Any, failing: Any, when: str) -> None:
    """EAGAIN from the kernel, once or for good."""
    result = warm.call(before=failing(f"fork,vfork,clone,clone3:error=EAGAIN:when={when}"))
    if not result["success"]:
        assert result["error"]["code"] == "RESOURCE_EXHAUSTED"
        assert result["error"]["message"].endswith("try again when less is running")
    assert result["success"] is False or when == "1"
    assert warm.marks() == int(result["success"])
    warm.assert_recovers()


def test_no_more_processes_for_this_user(warm: Any, limits: Any) -> None:
    """The limit that an administrator sets; it does not bind root."""
    probe, alone = ["sh", "-c", "(exit 7); exit $?"], limits(resource.RLIMIT_NPROC, 1)
    if subprocess.run(probe, capture_output=True, preexec_fn=alone).returncode == 7:
        pytest.skip("the number of processes is not limited for this user")
    result = warm.call(preexec_fn=alone)
    assert result["error"]["code"] == "RESOURCE_EXHAUSTED"
    assert warm.marks() == 0
    warm.assert_recovers()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("call", "read_file", "--path", "long.txt"), "RESOURCE_EXHAUSTED"),
        (("call", "list_directory"), "RESOURCE_EXHAUSTED"),
        (("call", "mark", "--yes"), None),
        (("list",), None),
        (("doctor",), None),
    ],
)
def test_no_more_threads(warm: Any, failing: Any, words: tuple[str, ...], code: str | None) -> None:
    """EAGAIN for a thread, whose end the standard library waits for in another thread."""
    (warm.workspace / "long.txt").write_text("line\n" * 400_000)
    done = warm.run(*words, "--json", before=failing("clone3:error=EAGAIN"))
    assert done.stderr == ""
    answer = parse(done.stdout)
    assert (answer.get("error") or {}).get("code") == code
    assert done.returncode == (0 if code is None else 1)
    if code is not None:
        assert answer["error"]["message"] == "can't start new thread"
    warm.assert_recovers()
