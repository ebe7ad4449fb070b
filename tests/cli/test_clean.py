"""`toolcrib clean`: what is old or left behind goes, everything else stays."""

import asyncio
import os
import subprocess
import sys
import tempfile
import time

import pytest

import toolcrib
from toolcrib.core.jsontext import parse

DAY = 24 * 3600


@pytest.fixture
def temporary(tmp_path, environment):
    """A temporary directory of the command's own."""
    path = tmp_path / "tmp"
    path.mkdir()
    environment["TMPDIR"] = str(path)
    return path


@pytest.fixture
def full(home, run_cli, repeat, temporary):
    """A home with one of everything."""
    run_cli("call", "repeat", "--yes")
    run_cli("list")
    for name, text in (("config.yaml", "approval: {default: ask}\n"), ("trust.json", '{"version":1,"projects":{}}')):
        (home / name).write_text(text)
    (home / "state.db").write_bytes(b"")
    (home / "artifacts").mkdir(exist_ok=True)
    for name, age in (("new", 0), ("old", 15)):
        (home / "artifacts" / name).write_bytes(b"x" * 100)
        os.utime(home / "artifacts" / name, (time.time() - age * DAY,) * 2)
    return home


def everything(root) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def test_old_artifacts_go_and_nothing_else(full, run_cli) -> None:
    before = everything(full)
    done = run_cli("clean")
    assert done.returncode == 0
    assert everything(full) == before - {"artifacts/old"}
    assert "1 removed, 100 bytes" in done.stderr


def test_a_draft_goes_when_its_writer_is_dead(full, run_cli) -> None:
    """Whoever was killed before his file was whole; not what one who lives is writing, nor what only looks alike."""
    before = everything(full)
    dead = subprocess.Popen(["true"])
    dead.wait()
    drafts = {f"{name}.{dead.pid}.0123abcd" for name in ("trust.json", "state.db", "cache/probes")}
    others = {f"trust.json.{os.getpid()}.0123abcd", f"notes.{dead.pid}.txt", "a.99999999999999999999.0123abcd"}
    for name in drafts | others:
        (full / name).write_bytes(b"half")
    shown = parse(run_cli("clean", "--all", "--dry-run", "--json").stdout)["removed"]
    assert sorted(each["path"] for each in shown if each["kind"] == "draft") == sorted(
        str(full / each) for each in drafts
    )
    assert len({each["path"] for each in shown}) == len(shown)
    assert run_cli("clean").returncode == 0
    assert everything(full) == (before | others) - {"artifacts/old"}


def test_a_dry_run_removes_nothing(full, run_cli) -> None:
    before = everything(full)
    answer = parse(run_cli("clean", "--all", "--dry-run", "--json").stdout)
    assert everything(full) == before
    assert answer["dry_run"] is True
    assert {"artifact", "cache", "copy"} == {each["kind"] for each in answer["removed"]}


def test_all_takes_artifacts_and_caches_and_never_what_matters(full, run_cli) -> None:
    before = everything(full)
    answer = parse(run_cli("clean", "--all", "--json").stdout)
    gone = before - everything(full)
    assert {name.split("/")[0] for name in gone} == {"artifacts", "cache"}
    assert not list((full / "artifacts").iterdir())
    assert everything(full / "cache") == set()
    assert answer["bytes"] == sum(each["bytes"] for each in answer["removed"]) > 200
    assert {"config.yaml", "trust.json", "state.db", "tools/repeat"} <= everything(full)
    assert run_cli("audit", "verify").returncode == 0
    assert run_cli("call", "repeat", "--yes").returncode == 0


def test_leftovers_of_a_dead_runtime_go(home, temporary, run_cli) -> None:
    dead = temporary / "toolcrib-tc0123456789abcdef"
    (dead / "1" / "deep").mkdir(parents=True)
    (dead / "1" / "deep" / "file").write_bytes(b"x" * 10)
    (dead / "1").chmod(0o500)
    outside = temporary / "outside"
    outside.mkdir()
    (outside / "mine").write_text("stays")
    (dead / "link").symlink_to(outside)
    answer = parse(run_cli("clean", "--json").stdout)
    assert [each["kind"] for each in answer["removed"]] == ["scratch"]
    assert not dead.exists()
    assert (outside / "mine").read_text() == "stays"


@pytest.mark.parametrize(
    "name", ["toolcrib-demo-x", "toolcrib-tcxyz", "toolcrib-tc0123456789abcdef0", "other", "toolcrib-"]
)
def test_what_only_looks_like_it_stays(home, temporary, run_cli, name) -> None:
    (temporary / name).mkdir()
    run_cli("clean", "--all")
    assert (temporary / name).exists()


def test_a_link_with_such_a_name_is_not_followed(home, temporary, run_cli) -> None:
    (temporary / "mine").mkdir()
    (temporary / "mine" / "file").write_text("stays")
    (temporary / "toolcrib-tc0123456789abcdef").symlink_to(temporary / "mine")
    run_cli("clean", "--all")
    assert (temporary / "mine" / "file").read_text() == "stays"


def test_a_living_runtime_keeps_its_directory(home, workspace, temporary, run_cli, environment, make_tool) -> None:
    """Its tool is running while `clean` looks."""
    about = '{"name": "wait", "description": "d", "input_schema": {}}'
    make_tool(
        "wait",
        f"#!/bin/sh\n[ \"$1\" = description ] && echo '{about}' && exit\ntouch $TMPDIR/mine began\nread x < end\n",
    )
    os.mkfifo(workspace / "end")
    command = [sys.executable, "-m", "toolcrib", "call", "wait", "--yes"]
    with subprocess.Popen(command, cwd=workspace, env=environment, stdin=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 30
        while not (workspace / "began").exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        (scratch,) = temporary.glob("toolcrib-tc*")
        run_cli("clean", "--all")
        assert len(list(scratch.rglob("mine"))) == 1
        (workspace / "end").write_text("now\n")
        assert process.wait(30) == 0
    assert list(temporary.iterdir()) == []


def test_a_living_runtime_keeps_its_directory_between_calls(
    home, workspace, temporary, run_cli, repeat, monkeypatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    async def go() -> None:
        async with toolcrib.open(home=home, workspace=workspace, approver=toolcrib.SaysYes()) as crib:
            for _ in range(2):
                assert (await crib.call("custom_tool_repeat")).success
                (scratch,) = temporary.iterdir()
                await asyncio.to_thread(run_cli, "clean", "--all")
                assert scratch.exists()

    asyncio.run(go())
    assert list(temporary.iterdir()) == []


@pytest.mark.confined  # nothing is remembered in its home
def test_an_empty_home_stays_empty(home, temporary, run_cli) -> None:
    assert parse(run_cli("clean", "--all", "--json").stdout) == {
        "dry_run": False,
        "removed": [],
        "bytes": 0,
        "failed": [],
    }
    assert list(home.iterdir()) == []
