"""Any later change of the record is found, and the record can always be read (I8)."""

import os

import pytest

from toolcrib.observe.audit import FIRST
from toolcrib.observe.verify import Verification, fold, records, verify


@pytest.fixture
def log(record, logs):
    """A small record on disk, and its one file."""
    record(("note", {"text": "a"}), ("no_such_tool", {}), ("note", {"text": "\u202e\x1b[31m"}))
    (file,) = logs.glob("*.jsonl")
    return file


def test_an_untouched_record_verifies_and_names_its_head(log, lines) -> None:
    assert verify(str(log.parent)) == Verification(3, lines()[-1]["digest"])


def test_no_record_is_no_fault(tmp_path) -> None:
    assert verify(str(tmp_path / "nothing")) == Verification(0, FIRST)
    assert list(records(str(tmp_path / "nothing"))) == []


@pytest.mark.parametrize("change", [0x01, 0x20, 0xFF])
def test_every_single_byte_counts(log, change) -> None:
    """Done-means 8: each byte of the record changed in turn."""
    whole = log.read_bytes()
    missed = []
    with log.open("r+b", buffering=0) as file:
        for index, byte in enumerate(whole):
            os.pwrite(file.fileno(), bytes([byte ^ change]), index)
            if verify(str(log.parent)).fault is None:
                missed.append(index)
            os.pwrite(file.fileno(), bytes([byte]), index)
    assert missed == []
    assert verify(str(log.parent)).fault is None


def test_the_fault_is_named_with_file_and_line(log) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(lines[0] + lines[1].replace(b"no_such_tool", b"no_SUCH_tool") + lines[2])
    found = verify(str(log.parent))
    assert found.fault == f"{log}:2: the record was changed"
    assert found.records == 1


@pytest.mark.parametrize(
    "order",
    [(1, 2), (0, 2), (1, 0, 2), (0, 2, 1), (0, 0, 1, 2), (0, 1, 1, 2), (0, 1, 2, 2), (2, 1, 0), (1,), (2,)],
)
def test_lines_that_are_missing_doubled_or_moved(log, order) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[index] for index in order))
    assert verify(str(log.parent)).fault is not None


@pytest.mark.parametrize("place", [0, 1, 2, 3])
@pytest.mark.parametrize(
    "text", [b"\n", b"{}\n", b"5\n", b"[]\n", b"\xff\xfe\n", b"null\n", b'{"n":2}\n', b"x" * 300 + b"\n"]
)
def test_lines_that_were_put_in(log, place, text) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:place], text, *lines[place:]]))
    assert verify(str(log.parent)).fault is not None
    assert [each["event"] for each in records(str(log.parent)) if "n" in each and "call" in each] == ["call"] * 3


def test_a_record_forged_with_a_right_digest_breaks_the_chain(log, lines) -> None:
    """A line that is sealed again is found by the one after it; the last one by a head that was kept."""
    import hashlib

    head = verify(str(log.parent)).head
    whole = log.read_bytes().splitlines(keepends=True)
    for index in range(3):
        body = whole[index].rpartition(b',"digest":"')[0].replace(b'"asker":"python"', b'"asker":"nobody"')
        forged = body + b',"digest":"' + hashlib.sha256(body + b"}").hexdigest().encode() + b'"}\n'
        log.write_bytes(b"".join([*whole[:index], forged, *whole[index + 1 :]]))
        found = verify(str(log.parent), kept=head)
        assert found.fault is not None if index < 2 else (found.fault, found.kept_at) == (None, None)


def test_a_cut_at_the_end_shows_against_a_kept_head(log) -> None:
    whole = log.read_bytes().splitlines(keepends=True)
    head = verify(str(log.parent)).head
    assert verify(str(log.parent), kept=head).kept_at == 3
    log.write_bytes(b"".join(whole[:2]))
    found = verify(str(log.parent), kept=head)
    assert (found.fault, found.kept_at, found.records) == (None, None, 2)


def test_a_kept_head_stays_in_the_chain_while_it_grows(log, record) -> None:
    head = verify(str(log.parent)).head
    record(("note", {}))
    found = verify(str(log.parent), kept=head)
    assert (found.fault, found.kept_at, found.records) == (None, 3, 4)


def test_writing_goes_on_after_a_change_and_the_change_stays_visible(log, record) -> None:
    log.write_bytes(log.read_bytes() + b"somebody was here\n")
    assert record(("note", {}))[0].success
    assert (verify(str(log.parent)).fault or "").startswith(f"{log}:4:")


def test_stats_are_the_fold_of_the_record(home, workspace, logs) -> None:
    """C38, C39: what a crib counts as it goes is what can be counted from the record afterwards, every outcome."""
    import asyncio

    import toolcrib

    @toolcrib.tool(name="may_fail", input_schema={"type": "object", "properties": {"fail": {"type": "boolean"}}})
    async def may_fail(fail: bool = False) -> str:
        """Fail on request."""
        if fail:
            raise toolcrib.ToolError("as asked")
        return "ok"

    @toolcrib.tool(name="asks", input_schema={"type": "object"}, needs_approval="ask")
    async def asks() -> None:
        """Needs a person."""

    async def go() -> dict:
        async with toolcrib.open(home=home, workspace=workspace, tools=[may_fail, asks]) as crib:
            assert crib.stats()["average_execution_time_ms"] == 0
            for name, args in [
                ("may_fail", {}),
                ("may_fail", {"fail": True}),
                ("may_fail", {"fail": 1}),
                ("asks", {}),
                ("x", {}),
            ]:
                await crib.call(name, args)
            return crib.stats()

    assert fold(str(logs)).to_dict()["average_execution_time_ms"] == 0
    counted = asyncio.run(go())
    assert fold(str(logs)).to_dict() == counted
    assert counted.pop("average_execution_time_ms") > 0
    assert counted == {
        "total_executions": 5,
        "success_count": 1,
        "error_count": 4,
        "executions_by_tool": {"asks": 1, "may_fail": 3, "x": 1},
        "errors_by_code": {
            "APPROVAL_REQUIRED": 1, "EXECUTION_ERROR": 1, "TOOL_NOT_FOUND": 1, "VALIDATION_ERROR": 1,
        },
    }  # fmt: skip


def test_a_call_that_never_ended_is_counted_as_unknown(record, logs, make_tool) -> None:
    """D9: a start without its end, of a runtime that is gone; its time is not known and does not bend the average."""
    make_tool(
        "echo",
        '#!/bin/sh\n[ "$1" = description ] || exec cat\necho \'{"name":"echo","description":"d","input_schema":{}}\'\n',
    )
    record(("note", {}), ("custom_tool_echo", {}))
    (file,) = logs.glob("*.jsonl")
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:2]))  # as if the caller had been killed
    started = list(records(str(logs)))[1]
    running = fold(str(logs), living=frozenset([started["call"].rpartition("-")[0]])).to_dict()
    lost = fold(str(logs)).to_dict()
    assert (running["total_executions"], running["errors_by_code"]) == (1, {})
    assert (lost["total_executions"], lost["errors_by_code"]) == (2, {"OUTCOME_UNKNOWN": 1})
    assert lost["average_execution_time_ms"] == running["average_execution_time_ms"]
