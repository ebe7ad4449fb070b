"""A disk that is full, read-only or broken: what cannot be recorded does not run, and nothing is half done.

The record itself on a full and on a read-only disk: `tests/observe/test_audit.py`.
"""

import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from toolcrib.core.jsontext import parse
from toolcrib.observe.verify import verify


def log_of(site: Any) -> Path:
    (found,) = site.audit.glob("*.jsonl")
    return found


def test_an_error_of_the_disk_before_the_start_means_that_nothing_ran(warm: Any, failing: Any) -> None:
    """I8: the record of the start cannot be written."""
    result = warm.call(before=failing("write:error=EIO:when=1", at=log_of(warm)))
    assert result["error"]["code"] == "RESOURCE_EXHAUSTED"
    assert "nothing runs unrecorded; make room or rights in" in result["error"]["message"]
    assert warm.marks() == 0
    warm.assert_recovers()


def test_an_error_of_the_disk_at_the_end_does_not_lose_the_answer(warm: Any, failing: Any) -> None:
    """It ran: that is said, with what came of it, and no success is claimed that nobody could prove."""
    result = warm.call(before=failing("write:error=EIO:when=2", at=log_of(warm)))
    assert result["error"]["code"] == "RESOURCE_EXHAUSTED"
    assert result["error"]["message"].startswith("it ran, its result is in the details, but the audit log cannot be")
    assert result["error"]["details"]["data"] == "done\n"
    assert warm.marks() == 1
    assert verify(str(warm.audit)).fault is None
    lost = parse(warm.run("audit", "show", "--json").stdout)["records"][-1]
    assert (lost["event"], lost["code"]) == ("start", "OUTCOME_UNKNOWN")
    warm.assert_recovers()


@pytest.mark.parametrize("room", [10, 700])
def test_a_record_that_fits_in_part_is_taken_back(warm: Any, limits: Any, room: int) -> None:
    """The kernel writes what fits: with room for less than a record, and with room for the start but not the end."""
    size = log_of(warm).stat().st_size
    # An interpreter that runs into this while it keeps its bytecode leaves half of it for all who come after.
    warm.environment["PYTHONDONTWRITEBYTECODE"] = "1"
    result = warm.call(preexec_fn=limits(resource.RLIMIT_FSIZE, size + room))
    assert result["error"]["code"] == "RESOURCE_EXHAUSTED"
    starts = warm.records("start")[1:]
    assert warm.marks() == len(starts) == int(room > 100), "what ran is what was recorded as begun"
    assert log_of(warm).read_bytes().endswith(b"\n")
    assert verify(str(warm.audit)).fault is None
    warm.assert_recovers()


def test_a_rename_that_fails_leaves_the_old_trust(warm: Any, failing: Any) -> None:
    """ENOSPC: a project is trusted as before or as now, and no draft stays."""
    tools = warm.workspace / ".toolcrib" / "tools"
    tools.mkdir(parents=True)
    (tools / "own").write_bytes((warm.home / "tools" / "mark").read_bytes().replace(b'"mark"', b'"own"'))
    (tools / "own").chmod(0o755)
    done = warm.run("trust", "--yes", before=failing("rename,renameat,renameat2:error=ENOSPC"))
    assert done.returncode == 1
    assert "No space left on device" in done.stderr and "nothing was trusted" in done.stderr
    assert not [name for name in os.listdir(warm.home) if name.startswith("trust.json.") and name[11:] != "lock"]
    assert warm.call("own")["error"]["code"] == "WORKSPACE_UNTRUSTED"
    assert warm.marks() == 0


def test_caches_that_cannot_be_put_in_place_cost_no_call(site: Any, failing: Any) -> None:
    """Renames fail while the program is copied and its description is kept: it runs, or says why not."""
    result = site.call(before=failing("rename,renameat,renameat2:error=ENOSPC"))
    assert result["success"] or result["error"]["code"] == "RESOURCE_EXHAUSTED"
    assert site.marks() == int(result["success"])
    site.assert_recovers()


def test_a_database_that_cannot_be_synced_approves_nothing(warm: Any, failing: Any) -> None:
    """EIO when an answer that lasts is written down: it is said, and the next start finds a sound file."""
    done = warm.run("session", "new", "kept")
    assert done.returncode == 0, done.stderr
    broken = warm.run("session", "new", "lost", before=failing("fsync,fdatasync:error=EIO"))
    assert broken.returncode != 0
    assert "disk I/O error" in broken.stderr and "state.db" in broken.stderr and "Traceback" not in broken.stderr
    listed = parse(warm.run("session", "list", "--json").stdout)["sessions"]
    assert [each["session_id"] for each in listed] == ["kept"]
    warm.assert_recovers()


@pytest.mark.parametrize("place", ["workspace", "inodes"])
def test_other_full_disks(site: Any, own_mounts: tuple[str, ...], place: str) -> None:
    """A full workspace keeps its files whole; without room for a temporary directory nothing runs."""
    words = [*own_mounts, sys.executable, str(Path(__file__).parent / "full.py"), place]
    paths = map(str, (site.home, site.workspace, site.tmp))
    done = subprocess.run([*words, *paths], capture_output=True, text=True, env=site.environment, timeout=60)
    assert done.returncode == 0, done.stderr
    told = parse(done.stdout)
    if place == "workspace":
        assert told["codes"] == ["EXECUTION_ERROR"] * 2 and all("the disk is full" in each for each in told["words"])
        assert told["kept"] == "as it was"
        assert told["left"] == ["filler", "kept.txt"]
        assert told["after"] is None
    else:
        refused = [code for code in told["codes"] if code is not None]
        assert refused and set(refused) == {"RESOURCE_EXHAUSTED"}
        assert all("make room, or set TMPDIR" in each for each in told["words"] if each)
        assert told["after"] is None and told["ran"] == len(told["codes"]) - len(refused) + 1
    assert told["fault"] is None
    site.assert_recovers()
