"""`toolcrib audit`: reading the record, and proving it."""

import asyncio

import pytest

import toolcrib
from toolcrib.core.jsontext import parse

ECHO = """#!/bin/sh
if [ "$1" = description ]; then
  echo '{"name": "echo", "description": "Say it back.", "input_schema": {"type": "object"}}'; exit
fi
cat
"""


@pytest.fixture
def recorded(home, workspace, make_tool):
    """Three calls: one of a program, one of it under another session, one of a tool that is not there."""
    make_tool("echo", ECHO)

    async def go() -> list[str]:
        ids = []
        for session, name in (("one", "custom_tool_echo"), ("two", "custom_tool_echo"), ("two", "nobody\x1b[2J")):
            async with toolcrib.open(
                home=home, workspace=workspace, session=session, approver=toolcrib.SaysYes()
            ) as crib:
                ids.append((await crib.call(name, {})).metadata["call_id"])
        return ids

    return asyncio.run(go())


def shown(run_cli, *words: str) -> list[dict]:
    done = run_cli("audit", "show", "--json", *words)
    assert (done.returncode, done.stderr) == (0, "")
    return parse(done.stdout)["records"]


def test_show_is_newest_last_one_line_for_each_call(recorded, run_cli) -> None:
    """K78: a start is not shown beside its call."""
    assert [row["call"] for row in shown(run_cli)] == recorded
    assert [row["code"] for row in shown(run_cli)] == [None, None, "TOOL_NOT_FOUND"]
    lines = run_cli("audit", "show").stdout.splitlines()
    assert [line.rsplit(" ", 1)[-1] for line in lines] == recorded
    assert "\x1b" not in "".join(lines)
    assert "nobody\\x1b[2J" in lines[-1]


def test_show_can_be_limited_and_filtered(recorded, run_cli) -> None:
    assert [row["call"] for row in shown(run_cli, "--limit", "1")] == recorded[-1:]
    assert [row["call"] for row in shown(run_cli, "--session", "two")] == recorded[1:]
    for name in ("echo", "custom_tool_echo"):
        assert [row["call"] for row in shown(run_cli, "--tool", name)] == recorded[:2]
    assert shown(run_cli, "--tool", "ech") == []
    assert run_cli("audit", "show", "--limit", "0").returncode == 2


def test_a_start_without_an_end_has_an_unknown_outcome(recorded, home, run_cli) -> None:
    """D9: the caller was killed; nobody knows how it ended, and the record says so."""
    (file,) = (home / "audit").glob("*.jsonl")
    file.write_bytes(file.read_bytes().splitlines(keepends=True)[0])
    (row,) = shown(run_cli)
    assert (row["event"], row["call"], row["code"]) == ("start", recorded[0], "OUTCOME_UNKNOWN")
    assert "OUTCOME_UNKNOWN" in run_cli("audit", "show").stdout


def test_a_start_whose_caller_lives_is_running(home, workspace, make_tool, run_cli) -> None:
    make_tool("wait", ECHO.replace('"echo"', '"wait"').replace("cat", "touch began; read line < end"))

    async def go() -> list[dict]:
        async with toolcrib.open(home=home, workspace=workspace, approver=toolcrib.SaysYes()) as crib:
            call = asyncio.create_task(crib.call("custom_tool_wait", {}))
            async with asyncio.timeout(30):
                while not (workspace / "began").exists():  # another process's file
                    await asyncio.sleep(0.01)
            rows = await asyncio.to_thread(shown, run_cli)
            text = (await asyncio.to_thread(run_cli, "audit", "show")).stdout
            await asyncio.to_thread((workspace / "end").write_text, "now\n")
            assert (await call).success
            assert "running" in text
            return rows

    import os

    os.mkfifo(workspace / "end")
    (row,) = asyncio.run(go())
    assert (row["event"], row["code"]) == ("start", None)


def test_verify_says_the_head_and_what_it_cannot_see(recorded, run_cli) -> None:
    done = run_cli("audit", "verify")
    assert done.returncode == 0
    assert "5 records" in done.stdout
    assert "--head" in done.stderr
    answer = parse(run_cli("audit", "verify", "--json").stdout)
    assert answer == {"ok": True, "records": 5, "head": answer["head"], "fault": None}
    assert f"head {answer['head']}" in done.stdout


def test_verify_finds_a_change_with_file_and_line(recorded, home, run_cli) -> None:
    (file,) = (home / "audit").glob("*.jsonl")
    file.write_bytes(file.read_bytes().replace(b'"session":"two"', b'"session":"six"', 1))
    done = run_cli("audit", "verify")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{file}:3: the record was changed" in done.stderr
    answer = parse(run_cli("audit", "verify", "--json").stdout)
    assert (answer["ok"], answer["records"]) == (False, 2)


def test_verify_against_a_kept_head(recorded, home, run_cli) -> None:
    """Records cut off at the end show only against a head that was kept."""
    head = parse(run_cli("audit", "verify", "--json").stdout)["head"]
    assert run_cli("audit", "verify", "--head", head).returncode == 0
    (file,) = (home / "audit").glob("*.jsonl")
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))
    assert run_cli("audit", "verify").returncode == 0
    done = run_cli("audit", "verify", "--head", head)
    assert done.returncode == 1
    assert "cut off" in done.stderr
    assert run_cli("audit", "verify", "--head", "short").returncode == 2


@pytest.mark.confined  # nothing is remembered in its home
def test_without_a_record_nothing_is_wrong_and_nothing_is_made(home, run_cli) -> None:
    assert shown(run_cli) == []
    assert run_cli("audit", "verify").returncode == 0
    assert list(home.iterdir()) == []


def test_a_broken_configuration_does_not_hide_the_record(recorded, home, run_cli) -> None:
    (home / "config.yaml").write_text("nonsense: true")
    assert len(shown(run_cli, "--tool", "echo")) == 2


def test_a_record_that_somebody_changed_can_still_be_read(recorded, home, run_cli) -> None:
    (file,) = (home / "audit").glob("*.jsonl")
    wild = [
        b"\xff\x1b[2J", b"[]", b"5", b"{}", b'{"event":"call"}', b'{"event":"start","call":[],"code":{},"n":"x"}',
        b'{"event":"call","time":1e300,"code":{},"tool":["\x7f"],"ms":{},"n":[]}', b'{"event":"skipped"}',
        b'{"event":"recovered","time":"NaN","tool":"\\u001b[2J\\u202e"}',
    ]  # fmt: skip
    file.write_bytes(file.read_bytes() + b"\n".join(wild) + b"\n")
    assert len(shown(run_cli)) == 3 + len(wild)
    done = run_cli("audit", "show")
    assert (done.returncode, done.stderr) == (0, "")
    assert all(char.isprintable() or char == "\n" for char in done.stdout)
