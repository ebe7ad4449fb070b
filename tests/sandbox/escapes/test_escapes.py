"""Ways out of a sandbox, each tried by a real program, and each judged by a canary outside (K79).

The program's own word counts for nothing. Every case is also tried where nothing confines it: one that does not get out
there either would prove nothing.
"""

import fcntl
import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.sandbox.escapes.escape import Escape, everybody
from tests.sandbox.escapes.trial import CASES, outcomes

from toolcrib.sandbox import _landlock, bubblewrap, landlock

TIERS = ("landlock", "bubblewrap")
ROOT = Path(__file__).parents[3]
PYTHON = "/usr/bin/python3"
STRANGER = 54321
"""A user who owns nothing."""
SIGNALS = {
    "processes-terminate", "processes-stop", "processes-signal-thread", "processes-signal-group",
    "processes-signal-by-descriptor", "processes-signal-with-value", "processes-signal-by-owner",
}  # fmt: skip
"""What Landlock has held since Linux 6.12."""
WITH_NETWORK = (
    "network-agent", "network-agent-by-link", "network-agent-datagram", "network-agent-datagram-of-a-pair",
    "network-agent-abstract", "network-raw", "network-packet", "network-machine", "network-kernel-ciphers", "network-kernel-audit", "network-ring", "network-udp-as-for-32-bits",
    "processes-terminate", "processes-trace", "kernel-new-user", "kernel-add-key", "kernel-shared-memory", "files-read",
)  # fmt: skip


@functools.cache
def why_not(tier: str) -> str:
    return landlock.canary() if tier == "landlock" else bubblewrap.canary() if tier == "bubblewrap" else ""


@pytest.fixture(scope="session")
def ran(tmp_path_factory):
    """`ran(tier)`: how each case went there. They are tried once, whoever of several workers comes first."""
    shared = (
        tmp_path_factory.getbasetemp().parent if "PYTEST_XDIST_WORKER" in os.environ else tmp_path_factory.getbasetemp()
    )
    uid = os.environ.get("PYTEST_XDIST_TESTRUNUID", "alone")

    @functools.cache
    def run(tier: str, network: bool = False) -> dict[str, Went]:
        if why := why_not(tier):
            pytest.skip(f"{tier} does not hold here: {why}")
        kept = shared / f"escapes-{uid}-{tier}-{network}.json"
        with open(f"{kept}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not kept.exists():
                chosen = [each for each in CASES if not network or each.case.name in (*WITH_NETWORK, "network-tcp")]
                found = outcomes(chosen, tier, str(tmp_path_factory.mktemp("escapes")), network=network)
                kept.write_text(json.dumps({name: (each.escaped, each.said) for name, each in found.items()}))
        return {name: Went(*went) for name, went in json.loads(kept.read_text()).items()}

    return run


class Went(NamedTuple):
    escaped: bool
    said: str


def ids(escape: Escape) -> str:
    return escape.case.name


def test_there_are_enough_and_no_two_have_one_name() -> None:
    names = [each.case.name for each in CASES]
    assert len(names) == len(set(names)) >= 90


@pytest.mark.parametrize("escape", CASES, ids=ids)
def test_nothing_holds_it_when_nothing_confines_it(ran, escape: Escape) -> None:
    """Otherwise that it is held elsewhere would say nothing."""
    if why := escape.lacks():
        pytest.skip(why)
    outcome = ran("process")[escape.case.name]
    assert outcome.escaped, f"it proves nothing: {outcome.said}"


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("escape", CASES, ids=ids)
def test_it_is_held(ran, tier: str, escape: Escape) -> None:
    """K79. What is known not to be held really is not: else it is to be taken off the list."""
    outcome = ran(tier)[escape.case.name]
    if not escape.is_gap(tier):
        assert not outcome.escaped, f"it got out of {tier}: {outcome.said}"
    elif why := escape.lacks():
        pytest.skip(why)
    else:
        assert outcome.escaped, f"{tier} holds it after all: {outcome.said}"


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
def test_an_older_landlock_holds_all_but_signals(monkeypatch, tmp_path: Path, version: int) -> None:
    """K79: as the kernels of many a distribution have it (Linux 5.13, 5.19, 6.2, 6.7, 6.10)."""
    if why := why_not("landlock"):
        pytest.skip(f"landlock does not hold here: {why}")
    if _landlock.version() < version:
        pytest.skip(f"this kernel has version {_landlock.version()}")
    monkeypatch.setattr(_landlock, "version", lambda: version)
    tried = [each for each in CASES if each.lacks is not everybody and not each.is_gap("landlock")]
    found = outcomes(tried, "landlock", str(tmp_path))
    assert {name for name, outcome in found.items() if outcome.escaped} == SIGNALS


def test_bubblewrap_has_no_gaps() -> None:
    assert [each.case.name for each in CASES if "bubblewrap" in each.case.gap_of] == []


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("name", WITH_NETWORK)
def test_it_is_held_with_the_network_granted(ran, tier: str, name: str) -> None:
    """The internet is granted; this machine's own sockets, processes and files are not."""
    outcome = ran(tier, network=True)[name]
    assert not outcome.escaped, f"it got out of {tier}: {outcome.said}"


@pytest.mark.parametrize("tier", TIERS)
def test_the_network_that_was_granted_is_there(ran, tier: str) -> None:
    assert ran(tier, network=True)["network-tcp"].escaped


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.skipif(not os.path.exists(PYTHON), reason=f"there is no {PYTHON} that every user can run")
@pytest.mark.parametrize("tier", TIERS)
def test_it_is_held_for_another_user(tier: str, tmp_path: Path) -> None:
    """All of them, as a user who has no rights of root to lose, and none that help to confine him."""
    if why := why_not(tier):
        pytest.skip(f"{tier} does not hold here: {why}")
    done = subprocess.run(
        [sys.executable, "-m", "tests.sandbox.escapes.trial", str(STRANGER), PYTHON, tier],
        cwd=ROOT, capture_output=True, text=True, timeout=120, env={"PATH": os.environ["PATH"], "TMPDIR": shared_directory()},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    gaps = {each.case.name for each in CASES if each.is_gap(tier)}
    assert len(answer[f"{tier} tried"]) >= 90
    assert {name: said for name, said in answer[tier].items() if name not in gaps} == {}


def shared_directory() -> str:
    """Where every user may make files."""
    return next(path for path in ("/tmp", "/var/tmp") if os.path.isdir(path) and os.stat(path).st_mode & 0o002)
