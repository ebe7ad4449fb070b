"""The record itself: what is in it, who may write at once, and what happens to it at the edges (K78)."""

import errno
import os
import subprocess
import sys
import time
from calendar import timegm
from pathlib import Path

import pytest

from toolcrib.core.source import Problem
from toolcrib.observe import _reserve
from toolcrib.observe.audit import Audit
from toolcrib.observe.verify import verify

ECHO = """#!/bin/sh
if [ "$1" = description ]; then
  echo '{"name": "echo", "description": "Say it back.", "input_schema": {"type": "object"}}'; exit
fi
cat
"""


def test_every_call_is_recorded_whatever_became_of_it(record, lines, make_tool) -> None:
    """K78, C38: also what named no tool, was invalid, or failed."""
    make_tool("fails", ECHO.replace('echo"', 'fails"').replace("cat", "exit 3"))
    record(
        ("note", {"text": "a"}), ("note", {"text": 5}), ("no_such_tool", {}), ("note", ["not an object"]),
        ("custom_tool_fails", {}),
    )  # fmt: skip
    found = [(each["event"], each["tool"], each.get("code")) for each in lines()]
    assert found == [
        ("call", "note", None),
        ("call", "note", "VALIDATION_ERROR"),
        ("call", "no_such_tool", "TOOL_NOT_FOUND"),
        ("call", "note", "VALIDATION_ERROR"),
        ("start", "custom_tool_fails", None),
        ("call", "custom_tool_fails", "EXECUTION_ERROR"),
    ]


def test_a_record_says_who_what_when_and_how(record, lines, home) -> None:
    before = time.time()
    (result,) = record(("note", {"text": "a", "b": 1}))
    (found,) = lines()
    assert before - 1 < found.pop("time") < time.time() + 1
    assert found.pop("session").startswith("tc")
    assert len(found.pop("digest")) == len(found.pop("args_digest")) == 64
    assert found.pop("ms") == result.metadata["execution_time_ms"]
    assert found == {
        "n": 1, "previous": "0" * 64, "event": "call", "call": result.metadata["call_id"], "asker": "python",
        "tool": "note", "version": "0.0.0", "tool_digest": result.metadata["digest"], "args": ["text", "b"],
        "approval": "preApproved", "code": "EXECUTION_ERROR",
    }  # fmt: skip


def test_arguments_are_never_in_it_by_value(record, logs, make_tool) -> None:
    """I6: a name and a digest of them all, also when they are wrong, nested, or the tool is unknown."""
    make_tool("echo", ECHO)
    secret = "s3cr3t-value-91f7"
    for name in ("note", "custom_tool_echo", "no_such_tool"):
        record((name, {"text": secret}), (name, {"text": [secret], "deep": {"a": {"b": secret}}}), (name, secret))
    text = b"".join(file.read_bytes() for file in logs.glob("*.jsonl"))
    assert text.count(b'"args":["text"') >= 6
    assert secret.encode() not in text


def test_the_same_arguments_have_the_same_digest_in_any_order(record, lines) -> None:
    record(("note", {"text": "a", "b": 1}), ("note", {"b": 1, "text": "a"}), ("note", {"text": "b", "b": 1}))
    first, same, other = (each["args_digest"] for each in lines())
    assert first == same != other


def test_eight_processes_write_one_chain(script, logs, lines, answer) -> None:
    """K61, I8: numbered without gaps, every acknowledged call once, and it verifies."""
    writers = [script("write.py", 200) for _ in range(8)]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:  # all at once
        writer.stdin.write("go\n")
        writer.stdin.flush()
    calls = [call for writer in writers for call in answer(writer)["calls"]]
    assert len(calls) == 1600
    found = verify(str(logs))
    assert (found.records, found.fault) == (1600, None)
    assert [each["n"] for each in lines()] == list(range(1, 1601))
    assert sorted(each["call"] for each in lines()) == sorted(calls)


def test_a_torn_last_line_is_cut_off_and_that_is_recorded(record, logs, lines) -> None:
    record(("note", {}), ("note", {}))
    (file,) = logs.glob("*.jsonl")
    whole = file.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    for torn in (1, len(last) // 2, len(last) - 1):
        file.write_bytes(whole + last[:torn])
        assert "torn" in (verify(str(logs)).fault or "")
        record(("note", {}))
        assert verify(str(logs)).fault is None
        assert [each["event"] for each in lines()] == ["call", "call", "recovered", "call"]
        assert lines()[2]["lost_bytes"] == torn


@pytest.mark.parametrize("lost", [1000, 16 * 1024, 256 * 1024, 1_000_000])
def test_a_long_tail_of_nothing_is_cut_off_too(record, logs, lines, lost) -> None:
    """As a file system leaves it whose machine lost power."""
    record(("note", {}), ("note", {}))
    (file,) = logs.glob("*.jsonl")
    with file.open("ab") as end:
        end.write(bytes(lost))
    record(("note", {}))
    assert verify(str(logs)).fault is None
    assert [(each["n"], each["event"]) for each in lines()] == [(1, "call"), (2, "call"), (3, "recovered"), (4, "call")]
    assert lines()[2]["lost_bytes"] == lost


def test_a_first_record_that_is_torn_is_recovered_too(record, logs, lines) -> None:
    logs.mkdir()
    (logs / time.strftime("%Y-%m.jsonl", time.gmtime())).write_bytes(b'{"n":1,"time"')
    record(("note", {}))
    assert verify(str(logs)).fault is None
    assert [each["event"] for each in lines()] == ["recovered", "call"]


def moment(*date: int) -> float:
    return float(timegm((*date, 0, 0, 0)[:6]))


@pytest.fixture
def clock(monkeypatch):
    def turn(*date: int) -> None:
        monkeypatch.setattr(time, "time", lambda: moment(*date))

    return turn


def test_a_new_month_begins_a_new_file_in_the_same_chain(record, logs, lines, clock) -> None:
    for date in ((2031, 1, 31), (2031, 2, 1), (2031, 12, 31), (2032, 1, 1)):
        clock(*date)
        record(("note", {}), ("note", {}))
    assert [file.name for file in sorted(logs.glob("*.jsonl"))] == [
        "2031-01.jsonl", "2031-02.jsonl", "2031-12.jsonl", "2032-01.jsonl",
    ]  # fmt: skip
    assert [each["n"] for each in lines()] == list(range(1, 9))
    assert verify(str(logs)).fault is None


def test_a_clock_that_goes_back_keeps_the_order(record, logs, lines, clock) -> None:
    for date in ((2031, 2, 1), (2031, 1, 1), (2031, 2, 2)):
        clock(*date)
        record(("note", {}))
    assert [file.name for file in logs.glob("*.jsonl")] == ["2031-02.jsonl"]
    assert verify(str(logs)).records == 3


def test_a_clock_beyond_all_dates_ends_no_call(record, logs, lines, monkeypatch) -> None:
    for at in (moment(9999, 12, 31), 1e12, 1e30, moment(2031, 1, 1)):
        monkeypatch.setattr(time, "time", lambda at=at: at)
        assert [each.success for each in record(("note", {}), ("note", {}))] == [True, True]
    assert [file.name for file in logs.glob("*.jsonl")] == ["9999-12.jsonl"]
    assert [each["n"] for each in lines()] == list(range(1, 9))
    assert verify(str(logs)).fault is None


def test_a_running_crib_changes_to_the_new_month(home, workspace, logs, clock) -> None:
    import asyncio

    import toolcrib

    async def go() -> None:
        tool = toolcrib.tool(name="note", input_schema={"type": "object"})(lambda: "")
        async with toolcrib.open(home=home, workspace=workspace, tools=[tool]) as crib:
            for date in ((2031, 1, 31), (2031, 2, 1), (2031, 2, 28)):
                clock(*date)
                await crib.call("note")

    asyncio.run(go())
    assert [len(file.read_bytes().splitlines()) for file in sorted(logs.glob("*.jsonl"))] == [1, 2]
    assert verify(str(logs)).fault is None


def test_a_line_torn_at_the_end_of_a_month_is_recovered_in_the_next(record, logs, lines, clock) -> None:
    clock(2031, 1, 31)
    record(("note", {}))
    file = logs / "2031-01.jsonl"
    file.write_bytes(file.read_bytes() + b'{"n":2,"ti')
    clock(2031, 2, 1)
    record(("note", {}))
    assert verify(str(logs)).fault is None
    assert [each["event"] for each in lines()] == ["call", "recovered", "call"]


def test_two_cribs_at_the_turn_of_the_month_keep_one_chain(home, workspace, logs, clock, monkeypatch) -> None:
    """One waits for the other's lock while the month ends: it must not append to the file of the old month."""
    import fcntl

    from toolcrib.core.source import Problem
    from toolcrib.observe import _lock, audit

    one, other = (audit.Audit(lambda: str(logs)) for _ in range(2))
    logs.mkdir()
    clock(2031, 1, 31)
    for each in (one, other):
        each.skipped(Problem("a", "b", "c"))
    real = fcntl.flock

    def slow(fd: int, how: int) -> None:
        if how & fcntl.LOCK_EX and time.time() < moment(2031, 2, 1):  # `one` is made to wait until `other` wrote
            clock(2031, 2, 1)
            other.skipped(Problem("a", "b", "c"))
        real(fd, how)

    monkeypatch.setattr(_lock, "flock", slow)
    one.skipped(Problem("a", "b", "c"))
    assert verify(str(logs)).fault is None
    assert verify(str(logs)).records == 4


def test_what_is_written_is_for_nobody_else(record, home) -> None:
    record(("note", {}))
    assert (home / "audit").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in (home / "audit").iterdir()} == {0o600}


@pytest.mark.parametrize("kind", ["note", "custom_tool_canary"])
def test_a_full_disk_refuses_calls_and_runs_nothing_unrecorded(script, answer, own_mounts, kind) -> None:
    """E3: what ran is what is recorded, exactly; with room again, calls run again."""
    told = answer(script("full_disk.py", kind, before=own_mounts))
    assert told["tight"] == ["RESOURCE_EXHAUSTED", 0]
    assert told["first_refusal"]["code"] == "RESOURCE_EXHAUSTED"
    assert "audit" in told["first_refusal"]["message"]
    assert told["ran"] == told["recorded"] == told["succeeded"] > 1
    assert told["fault"] is None
    assert told["refused_in_a_row"] == 20
    assert told["after_making_room"] is True


def test_what_runs_when_the_disk_fills_is_recorded_whatever_else_is_refused(script, answer, own_mounts) -> None:
    """I8: the reserve is for what ran. 400 calls of another crib that never did use up none of it."""
    told = answer(script("running_when_full.py", 20, 20, before=own_mounts))
    assert told == {
        "succeeded": 20, "recorded": 21, "refused": ["RESOURCE_EXHAUSTED", "TOOL_NOT_FOUND"],
        "at_last": "RESOURCE_EXHAUSTED", "again": True, "fault": None, "reserve": 65536,
    }  # fmt: skip


def test_where_there_is_no_reserve_nothing_runs_whatever_began_the_record(home, workspace, logs, monkeypatch) -> None:
    """Also when the first to be recorded is not a call but a tool that is not on offer."""
    import asyncio

    import toolcrib

    def full(path: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    (home / "tools").mkdir(parents=True)
    (home / "tools" / "broken").write_text("#!/bin/sh\nexit 1\n")
    (home / "tools" / "broken").chmod(0o755)
    ran = []

    async def go() -> toolcrib.Result:
        tool = toolcrib.tool(name="note", input_schema={"type": "object"})(lambda: ran.append("note"))
        async with toolcrib.open(home=home, workspace=workspace, tools=[tool]) as crib:
            return await crib.call("note")

    with monkeypatch.context() as patched:
        patched.setattr(_reserve, "hold", full)
        refused = asyncio.run(go()).error
    assert refused is not None and refused.code == "RESOURCE_EXHAUSTED" and ran == []
    assert asyncio.run(go()).success and verify(str(logs)).fault is None


def test_a_quota_that_is_used_up_is_a_full_disk(record, logs, lines, monkeypatch) -> None:
    record(("note", {}))
    (log,) = logs.glob("*.jsonl")
    real = os.write

    def within_quota(fd: int, data: bytes) -> int:
        if os.path.samestat(os.fstat(fd), log.stat()) and (logs / ".ballast").stat().st_size == 65536:
            raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))
        return real(fd, data)

    monkeypatch.setattr(os, "write", within_quota)
    (refused,) = record(("no_such_tool", {}))
    assert refused.error.code == "RESOURCE_EXHAUSTED" and "nothing ran" in refused.error.message
    (ran,) = record(("note", {}))
    assert ran.success
    assert [each["tool"] for each in lines()] == ["note", "note"]


def test_a_read_only_home_is_named_and_nothing_runs(script, answer, own_mounts) -> None:
    """E3: `call` refuses, `list` still lists, `doctor` names the fault."""
    told = answer(script("read_only.py", before=own_mounts))
    assert told["call"]["code"] == 1
    assert "RESOURCE_EXHAUSTED" in told["call"]["err"]
    assert "Read-only file system" in told["call"]["err"]
    assert told["list"]["code"] == 0
    assert "custom_tool_canary" in told["list"]["out"]
    assert told["doctor"]["code"] == 1
    assert "cannot be written" in told["doctor"]["out"]
    assert "Traceback" not in "".join(each["err"] for each in told.values() if isinstance(each, dict))
    assert told["ran"] is False


def test_the_record_is_not_a_door(home: Path, workspace, run_cli) -> None:
    """A link in place of the record's directory leads where the user pointed it; a file there is refused in words."""
    (home / "audit").write_text("not a directory")
    done: subprocess.CompletedProcess[str] = run_cli("call", "no_such_tool")
    assert done.returncode == 1
    assert "RESOURCE_EXHAUSTED" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_log_that_was_removed_is_begun_anew(tmp_path, monkeypatch) -> None:
    """What is written to a file that nobody can find is not recorded."""
    audit = Audit(lambda: str(tmp_path))
    try:
        audit.skipped(Problem("a", "TIMEOUT", "one"))
        (log,) = tmp_path.glob("*.jsonl")
        log.unlink()
        monkeypatch.setattr(audit, "_look_again", 0.0)
        audit.ready()
        audit.skipped(Problem("b", "TIMEOUT", "two"))
        assert log.read_text().count("\n") == 1 and verify(str(tmp_path)).fault is None
    finally:
        audit.close()


FORKED = """
import os, sys
from toolcrib.core.source import Problem
from toolcrib.observe.audit import Audit
audit = Audit(lambda: sys.argv[1])
audit.skipped(Problem("a", "TIMEOUT", "before"))
child = os.fork()
for number in range(200):
    audit.skipped(Problem("a", "TIMEOUT", str(number)))
if child:
    sys.exit(os.waitpid(child, 0)[1])
os._exit(0)
"""


def test_a_process_that_forked_off_has_its_own_lock(tmp_path) -> None:
    """The chain holds when a host program forks and both go on."""
    subprocess.run([sys.executable, "-c", FORKED, tmp_path], check=True)
    found = verify(str(tmp_path))
    assert (found.fault, found.records) == (None, 401)
