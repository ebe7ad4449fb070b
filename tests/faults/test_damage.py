"""Files of the home that something damaged: refused in words where they decide, made anew where they only save time."""

import os
from pathlib import Path
from typing import Any

import pytest

JUNK = b"\x00\xff{not what we write\n" * 40
DECIDE = ("config.yaml", "policy.yaml", "trust.json", "grants.json")


@pytest.mark.parametrize("name", DECIDE)
@pytest.mark.parametrize("damage", [b"", JUNK], ids=["empty", "junk"])
def test_a_damaged_file_that_decides_is_named_and_nothing_runs(warm: Any, cli: Any, name: str, damage: bytes) -> None:
    """I9: an empty file of ours that we never write empty is damage, too; an empty configuration says nothing."""
    path = warm.home / name
    path.write_bytes(damage)
    done = cli("call", "mark", "--yes")
    if name.endswith(".yaml") and not damage:
        assert (done.returncode, warm.marks()) == (0, 1)
        return
    assert (done.returncode, warm.marks()) == (2, 0)
    assert done.stderr.startswith(f"CONFIG_INVALID {path}")
    path.unlink()
    warm.assert_recovers()


@pytest.mark.parametrize("name", DECIDE)
@pytest.mark.parametrize("what", ["directory", "pipe", "loop"])
def test_something_else_in_the_place_of_a_file_that_decides_is_named(warm: Any, cli: Any, name: str, what: str) -> None:
    """I9: a rule that cannot be read is not a rule that is not there; and nobody writes to that pipe."""
    path = warm.home / name
    {"directory": path.mkdir, "pipe": lambda: os.mkfifo(path), "loop": lambda: path.symlink_to(path)}[what]()
    done = cli("call", "mark", "--yes")
    assert (done.returncode, warm.marks()) == (2, 0)
    assert done.stderr.startswith(f"CONFIG_INVALID {path}")
    path.rmdir() if what == "directory" else path.unlink()
    warm.assert_recovers()


@pytest.mark.parametrize("name", ["config.yaml", "policy.yaml"])
def test_a_rule_that_a_link_leads_to_is_missed_when_it_is_gone(warm: Any, cli: Any, name: str) -> None:
    path = warm.home / name
    path.symlink_to(warm.home / "gone")
    done = cli("call", "mark", "--yes")
    assert (done.returncode, warm.marks()) == (2, 0)
    assert done.stderr.startswith(f"CONFIG_INVALID {path}: a link that leads nowhere")


@pytest.mark.parametrize("words", [("list",), ("stats",), ("audit", "show"), ("clean",)])
def test_where_nobody_knows_the_home_every_command_says_so(
    warm: Any, cli: Any, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TOOLCRIB_HOME")
    monkeypatch.setenv("HOME", "")
    done = cli(*words, "--json")
    assert done.returncode == 2
    assert done.stderr.startswith("CONFIG_INVALID ") and "TOOLCRIB_HOME" in done.stderr


def test_damaged_answers_allow_nothing(warm: Any, cli: Any) -> None:
    """A call that needs the memory of answers is refused while that cannot be read; the advice then helps."""
    database = warm.home / "state.db"
    database.write_bytes(JUNK)
    done = cli("call", "mark", "--json")
    assert (done.returncode, warm.marks()) == (2, 0) or '"APPROVAL_REQUIRED"' in done.stdout
    listed = cli("session", "list")
    assert listed.returncode != 0 and "move the file away" in listed.stderr
    database.rename(warm.home / "state.db.old")
    assert cli("session", "new", "fresh").returncode == 0
    warm.assert_recovers()


def test_damaged_caches_cost_time_only(warm: Any) -> None:
    """Every file below `cache` is overwritten in turn, cut to nothing, and replaced by a directory."""
    files = [path for path in (warm.home / "cache").rglob("*") if path.is_file()]
    assert files
    for damage in (JUNK, b""):
        for path in files:
            if path.is_file():
                os.chmod(path, 0o700)
                path.write_bytes(damage)
        warm.assert_recovers()
    for path in [each for each in (warm.home / "cache").iterdir() if each.is_file()]:
        path.unlink()
        path.mkdir()
    warm.assert_recovers()


@pytest.mark.parametrize("what", ["file", "link"])
@pytest.mark.parametrize("name", ["cache", "cache/programs"])
def test_something_else_in_the_place_of_a_cache_is_named(warm: Any, name: str, what: str) -> None:
    place = warm.home / name
    place.rename(warm.home / "old")
    place.write_text("") if what == "file" else place.symlink_to(warm.home / "gone")
    refused = warm.call_here().error
    assert refused is not None and refused.code == "RESOURCE_EXHAUSTED"
    assert str(place) in refused.message and "remove it" in refused.message
    assert warm.marks() == 0
    place.unlink()
    warm.assert_recovers()


@pytest.mark.parametrize("damage", ["torn", "no-lock", "no-ballast", "link-gone"])
def test_a_damaged_record_is_said_or_mended(warm: Any, damage: str) -> None:
    """The chain goes on after what is lost, and what was lost is in it."""
    (log,) = warm.audit.glob("*.jsonl")
    if damage == "torn":
        with log.open("ab") as file:
            file.write(b'{"n":9,"time":17')
        warm.assert_recovers()
        assert [each["lost_bytes"] for each in warm.records("recovered")] == [16]
        return
    removed = {"no-lock": ".lock", "no-ballast": ".ballast", "link-gone": log.name}[damage]
    (warm.audit / removed).unlink()
    warm.assert_recovers()
    assert (warm.audit / ".ballast").stat().st_size == 65536


def test_a_home_that_is_not_there_any_more_is_made_anew(warm: Any, tmp_path: Path) -> None:
    warm.home.rename(warm.home.parent / "old")
    assert warm.call_here("no_such_tool").error.code == "TOOL_NOT_FOUND"
    assert warm.home.stat().st_mode & 0o777 == 0o700
    assert len(warm.records()) == 1
