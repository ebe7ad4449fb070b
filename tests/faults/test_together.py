"""Several processes on one home at the same time: what one writes, no other takes away.

Eight who write the record at once: `tests/observe/test_audit.py`; grants: `tests/policy/test_grants.py`.
"""

import fcntl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from toolcrib.core.jsontext import parse
from toolcrib.observe import _lock
from toolcrib.observe.verify import verify

WORKER = """
import asyncio, os, sys
import toolcrib
from toolcrib.policy.grants import Grants
from toolcrib.policy.project_files import project_files
from toolcrib.runtime.build import trust_in
from toolcrib.store.home import Home
from toolcrib.store.sessions import KeptSessions

home, workspace, me, times = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])

async def main():
    place = Home(home)
    trust, sessions = trust_in(place), KeptSessions(place)
    grants = Grants(place.file("grants.json"), lambda data: place.replace(data, "grants.json"))
    async with toolcrib.open(home=home, workspace=workspace, approver=toolcrib.SaysYes()) as crib:
        print("ready", flush=True)
        sys.stdin.readline()
        for turn in range(times):
            project = os.path.join(workspace, f"p{me}-{turn}")
            os.mkdir(project)
            trust.add(project, project_files(project))
            grants.add(f"tool-{me}-{turn}", "sha256:0", ["LANG"])
            sessions.create(f"s{me}-{turn}", workspace)
            result = await crib.call("custom_tool_mark")
            assert result.success, result.error

asyncio.run(main())
"""


def test_calls_trusts_grants_and_sessions_of_four_processes(warm: Any) -> None:
    """All that was said is there afterwards, once, and the record is one chain."""
    workers, times = 4, 12
    words = [sys.executable, "-c", WORKER, str(warm.home), str(warm.workspace)]
    running = [
        subprocess.Popen(
            [*words, str(number), str(times)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env=warm.environment,
        )
        for number in range(workers)
    ]  # fmt: skip
    for each in running:
        assert each.stdout.readline() == "ready\n", each.communicate()[1]
    for each in running:
        each.stdin.write("go\n")
        each.stdin.flush()
    for each in running:
        _, said = each.communicate(timeout=60)
        assert each.returncode == 0, said
    count = workers * times
    trusted = parse((warm.home / "trust.json").read_bytes())["projects"]
    granted = parse((warm.home / "grants.json").read_bytes())["grants"]
    listed = parse(warm.run("session", "list", "--json").stdout)["sessions"]
    assert (len(trusted), len(granted), len(listed)) == (count, count, count)
    assert warm.marks() == count
    found = verify(str(warm.audit))
    assert found.fault is None
    assert len({each["call"] for each in warm.records("call")}) == count + 1
    warm.assert_nothing_is_left()


def test_one_is_killed_while_it_holds_the_lock(warm: Any, failing: Any) -> None:
    """The kernel takes the lock back: others do not wait for the dead."""
    done = warm.run("call", "mark", "--yes", before=failing("flock:signal=KILL:when=2", at=warm.audit / ".lock"))
    assert done.returncode in (137, -9)
    warm.assert_recovers()


def test_one_that_was_stopped_while_it_holds_the_lock_does_not_stop_the_others(
    warm: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I7: every call ends; nothing runs that could not be recorded, and all goes on when the lock is free again."""
    monkeypatch.setattr(_lock, "LOCK_SECONDS", 0.3)
    with open(warm.audit / ".lock") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        result = warm.call_here()
        assert result.error is not None and result.error.code == "RESOURCE_EXHAUSTED"
        assert "another process has held the lock" in result.error.message
        assert warm.marks() == 0
    warm.assert_recovers()


@pytest.mark.parametrize("words", [("audit", "verify"), ("audit", "show")])
def test_a_record_that_a_stopped_writer_holds_is_not_read_by_halves(
    warm: Any, cli: Any, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """I7: whoever asks for it hears what is in the way."""
    monkeypatch.setattr(_lock, "LOCK_SECONDS", 0.1)
    with open(warm.audit / ".lock") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = cli(*words, "--json")
        assert done.returncode == 1
        error = parse(done.stdout)["error"]
        assert error["code"] == "RESOURCE_EXHAUSTED" and f"{warm.audit}/.lock" in error["message"]
    assert cli(*words).returncode == 0


def test_trust_that_is_taken_back_at_the_same_time_stays_taken_back(warm: Any) -> None:
    """Each removes its own while others add theirs."""
    projects = [warm.workspace / f"p{number}" for number in range(6)]
    script = """
import sys
from toolcrib.policy.project_files import project_files
from toolcrib.runtime.build import trust_in
from toolcrib.store.home import Home

trust = trust_in(Home(sys.argv[1]))
for _ in range(40):
    trust.add(sys.argv[2], project_files(sys.argv[2]))
    assert trust.remove(sys.argv[2]) is True, "somebody else took it away"
"""
    running = []
    for project in projects[:3]:
        Path(project).mkdir()
        words = [sys.executable, "-c", script, str(warm.home), str(project)]
        running.append(subprocess.Popen(words, env=warm.environment, stderr=subprocess.PIPE, text=True))
    for each in running:
        _, said = each.communicate(timeout=60)
        assert each.returncode == 0, said
    assert parse((warm.home / "trust.json").read_bytes())["projects"] == {}
