"""Whether bubblewrap holds here, and what is said when it does not. Programs of ours stand for it where it would not."""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from toolcrib.sandbox import bubblewrap, bubblewrap_canary

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is no bubblewrap but on Linux")
here = pytest.mark.skipif(bubblewrap.canary() != "", reason=f"no bubblewrap here: {bubblewrap.canary()}")

UNCONFINED = 'while [ "$1" != -- ]; do shift; done; shift; '
"""The beginning of a bubblewrap that does nothing: `exec "$@"` starts its program."""


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, carriers: Callable[[str], list[int]]):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    before = len(os.listdir("/proc/self/fd"))
    yield
    assert (len(os.listdir("/proc/self/fd")), os.listdir(tmp_path / "temporary")) == (before, [])
    assert carriers(str(tmp_path)) == []


@pytest.fixture
def standing_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """What the canary says of a bubblewrap that is this script. Nothing is known of the system."""
    monkeypatch.setattr(bubblewrap_canary, "_setting", lambda name: "")

    def said(script: str) -> str:
        program = tmp_path / "bwrap"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setattr(bubblewrap, "PROGRAM", str(program))
        return bubblewrap.canary()

    return said


@here
def test_it_holds() -> None:
    assert bubblewrap.canary() == ""


@pytest.mark.parametrize("there", [False, True])
def test_it_says_what_is_missing(monkeypatch, tmp_path, there) -> None:
    program = tmp_path / "bwrap"
    if there:
        program.write_text("not a program")
    monkeypatch.setattr(bubblewrap, "PROGRAM", str(program))
    assert bubblewrap.canary().startswith(f"{program} is not there; install it")


def test_where_it_cannot_be_tried_that_is_said(standing_in, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    assert "could not be tried" in standing_in("exit 0") and str(tmp_path / "missing") in standing_in("exit 0")


def test_one_that_cannot_be_started_was_not_tried(monkeypatch, tmp_path) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/nowhere/interpreter\n")
    program.chmod(0o755)
    monkeypatch.setattr(bubblewrap, "PROGRAM", str(program))
    assert "could not be tried" in bubblewrap.canary() and "is not there" in bubblewrap.canary()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (
            "echo 'bwrap: No permissions to creating new namespace' >&2; exit 1",
            "No permissions to creating new namespace",
        ),
        ("echo 'bwrap: first' >&2; echo 'and last' >&2; exit 1", "and last"),
        ("echo 'on its output'", "on its output"),
        ("printf 'bwrap: \\377' >&2", "\ufffd"),
        ("echo; echo", "it ended without a word"),
        ("exit 0", "it ended without a word"),
    ],
)
def test_it_says_what_bubblewrap_complained_of(standing_in, script, words) -> None:
    assert standing_in(script).startswith(f"bubblewrap does not come up: {words}: ")


COMPLAINS = "echo 'bwrap: No permissions' >&2; exit 1"


def test_it_says_that_it_is_too_old(standing_in) -> None:
    assert "too old; 0.8.0" in standing_in("echo 'bwrap: Unknown option --disable-userns' >&2; exit 1")


@pytest.mark.parametrize(
    ("settings", "files", "remedy"),
    [
        ({}, (), "this user"),
        ({"kernel/apparmor_restrict_unprivileged_userns": "1"}, (), "AppArmor"),
        ({"kernel/apparmor_restrict_unprivileged_userns": "0"}, (), "this user"),
        ({"kernel/unprivileged_userns_clone": "0"}, (), "sysctl kernel.unprivileged_userns_clone=1"),
        ({"kernel/unprivileged_userns_clone": "1"}, (), "this user"),
        ({"user/max_user_namespaces": "0"}, (), "sysctl user.max_user_namespaces=15000"),
        ({"user/max_user_namespaces": "15000"}, (), "this user"),
        ({}, ("/.dockerenv",), "seccomp=unconfined"),
        ({}, ("/run/.containerenv",), "systempaths=unconfined"),
        ({"user/max_user_namespaces": "0"}, ("/.dockerenv",), "sysctl user.max_user_namespaces=15000"),
        (dict.fromkeys(("kernel/unprivileged_userns_clone", "user/max_user_namespaces"), "0"), (), "userns_clone=1"),
    ],
)
def test_it_says_what_usually_is_behind_it(standing_in, monkeypatch, settings, files, remedy) -> None:
    exists = os.path.exists
    containers = ("/.dockerenv", "/run/.containerenv")
    monkeypatch.setattr(os.path, "exists", lambda path: path in files if path in containers else exists(path))
    monkeypatch.setattr(bubblewrap_canary, "_setting", lambda name: settings.get(name, ""))
    said = standing_in(COMPLAINS)
    assert remedy in said and "No permissions" in said


def test_settings_of_the_kernel_are_read_where_there_are_such() -> None:
    assert (bubblewrap_canary._setting("kernel/ostype"), bubblewrap_canary._setting("kernel/no-such")) == ("Linux", "")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo began; echo ended", ""),
        ("echo 'a warning'; echo began; echo ended", ""),
        ("echo began", "did not come to its end"),
        ("echo began; echo 'could read outside'; echo ended", "could read outside"),
        ("echo began; echo ended; echo 'could read outside'", "could read outside"),
    ],
)
def test_what_a_program_inside_says_is_the_verdict(standing_in, script, said) -> None:
    """Whatever it says more than that it came to its end is what did not hold."""
    found = standing_in(script)
    assert said in found and (found == "") is (said == "")
    assert "does not hold" in found or not said


def test_what_it_wrote_outside_is_seen_and_not_asked_for(standing_in) -> None:
    """The words of the program name the directory: it is the fourth after the shell's own."""
    found = standing_in(UNCONFINED + 'shift 4; : > "$1/written"; echo began; echo ended')
    assert "could write outside" in found


@pytest.mark.skipif(os.geteuid() == 0, reason="as root it would write to the system")
def test_what_does_not_hold_is_told_one_by_one(standing_in) -> None:
    found = standing_in(UNCONFINED + 'exec "$@"')
    for what in ("read outside", "write outside", "see processes outside", "make any system call", "gain privileges"):
        assert f"could {what}" in found
    assert "could write to the system" not in found


def test_what_it_can_read_outside_is_told(standing_in) -> None:
    found = standing_in(
        UNCONFINED + 'shift 4; echo began; read -r line < "$1/secret"; echo "read $line $2"; echo ended'
    )
    assert f"read secret {os.readlink('/proc/self/ns/pid')}" in found


def test_one_that_does_not_end_is_ended(standing_in, monkeypatch) -> None:
    monkeypatch.setattr(bubblewrap_canary, "_SECONDS", 0.1)
    began = time.monotonic()
    assert "did not come to its end" in standing_in("echo began; exec sleep 1000")
    assert time.monotonic() - began < 10


def test_where_somebody_else_waits_for_all_children_it_is_judged_all_the_same(standing_in, monkeypatch) -> None:
    def gone(pid: int, flags: int) -> tuple[int, int]:
        waited(pid, flags)
        raise ChildProcessError

    waited = os.waitpid
    monkeypatch.setattr(os, "waitpid", gone)
    assert standing_in("echo began; echo ended") == ""
