"""Trying all the escapes in one tier, and running single programs there. Also a program of its own, for another user."""

import asyncio
import ctypes
import fcntl
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from toolcrib.sandbox.aftermath import Aftermath
from toolcrib.sandbox.cage import Cage
from toolcrib.sandbox.canaries import Case, Outcome, tried
from toolcrib.sandbox.processes import Processes

from . import cases_files, cases_system
from .escape import Escape
from .yard import DOMAIN, PROGRAM, Yard, meeting

CASES: list[Escape] = [*cases_files.CASES, *cases_system.CASES]
PR_SET_DUMPABLE = 4


@contextmanager
def sandbox(root: str) -> Iterator[tuple[Processes, Yard]]:
    """Processes that put aside what is left in protected places, and a yard for them."""
    ground, aside = f"{root}/ground", f"{root}/aside"
    os.mkdir(ground)
    os.mkdir(aside)
    processes = Processes(os.urandom(8).hex(), aftermath=Aftermath(lambda: aside, lambda mark, done: None))
    try:
        yard = Yard(ground)
        try:
            yield processes, yard
        finally:
            yard.clear()
    finally:
        processes.close()


def outcomes(
    cases: Sequence[Escape],
    tier: str,
    root: str,
    *,
    network: bool = False,
    python: str = "",
    program: tuple[str, ...] = PROGRAM,
) -> dict[str, Outcome]:
    """Try these in one program, each in a process of its own. Unconfined, only those that can be done at all."""

    async def run() -> list[Outcome]:
        with sandbox(root) as (processes, yard):
            cage = Cage(tier=tier, workspace=yard.workspace, network=network)
            chosen = [each.case for each in cases if tier != "process" or not each.lacks()]
            inside = yard.inside(python)._replace(program=program)
            asyncio.get_running_loop().add_reader(yard.asking, yard.look)
            try:
                return await tried([*chosen, Case("meeting", "", "", meeting)], cage, yard, processes, inside=inside)
            finally:
                asyncio.get_running_loop().remove_reader(yard.asking)
                assert yard.met == 1, "the two sides did not meet: nobody looked at what was held inside"

    with one_at_a_time(tier):
        return {outcome.case.name: outcome for outcome in asyncio.run(run()) if outcome.case.name != "meeting"}


@contextmanager
def one_at_a_time(tier: str) -> Iterator[None]:
    """Unconfined, root changes a name of the whole system for a moment: no two may do that at once."""
    if tier != "process" or os.geteuid() != 0:
        yield
        return
    fd = os.open(DOMAIN, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def as_another(uid: int, tiers: Sequence[str], python: str) -> dict[str, dict[str, str]]:
    """The same as another user, whom we become: of each tier the cases that were not held, and how they went."""
    asyncio.run(asyncio.sleep(0))  # what that imports late could not be read later
    root = tempfile.mkdtemp()
    program = tuple(shutil.copy(path, root) for path in PROGRAM)
    os.chmod(root, 0o755)
    for path in program:
        os.chmod(path, 0o644)
    os.environ["HOME"] = root
    os.umask(0o077)
    os.chown(root, uid, uid)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    answer: dict[str, dict[str, str]] = {}
    try:
        for tier in tiers:
            place = f"{root}/{tier}"
            os.mkdir(place)
            found = outcomes(CASES, tier, place, python=python, program=program)
            answer[tier] = {name: each.said for name, each in found.items() if each.escaped}
            answer[f"{tier} tried"] = dict.fromkeys(found, "")
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return answer


if __name__ == "__main__":
    import concurrent.futures.thread  # noqa: F401  # as what follows

    from toolcrib.sandbox import bubblewrap, landlock, launch, shield  # noqa: F401  # readable now, and perhaps not later

    assert Path(sys.argv[2]).is_absolute()
    sys.stdout.write(json.dumps(as_another(int(sys.argv[1]), sys.argv[3:], sys.argv[2])))
