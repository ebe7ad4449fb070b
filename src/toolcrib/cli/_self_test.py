"""`toolcrib doctor --self-test`: what each tier holds on this machine, for this user, found out by trying."""

import os
import shutil
import sys
import tempfile
from typing import NamedTuple

from ..core.context import new_id
from ..core.errors import ToolcribError
from ..core.jsontext import dump_ascii
from ..sandbox import bubblewrap, landlock
from ..sandbox.aftermath import Aftermath
from ..sandbox.cage import BUBBLEWRAP, LANDLOCK, PROCESS, Cage
from ..sandbox.canaries import ESCAPED, GAP, HELD, tried
from ..sandbox.canary import Ground
from ..sandbox.canary_cases import CASES
from ..sandbox.processes import Processes
from ._loop import run
from ._text import one_line, visible

TIERS = (PROCESS, LANDLOCK, BUBBLEWRAP)
NOT_HERE = "not here"
_COLUMN = 13
_NARROWEST = 20


class Column(NamedTuple):
    """What came of one tier."""

    why: str
    """Why it is not here; nothing, when it is."""
    states: dict[str, str]
    """By the name of the case."""

    def of(self, name: str) -> str:
        return NOT_HERE if self.why else self.states[name]


def main(*, json: bool) -> int:
    columns = run(_columns())
    escaped = [case.name for case in CASES for column in columns.values() if column.of(case.name) == ESCAPED]
    if json:
        _print_json(columns, ok=not escaped)
    else:
        _print_table(columns)
    return int(bool(escaped))


async def _columns() -> dict[str, Column]:
    """One tier after the other. Whatever is shown is shown from in here, where Ctrl-C comes as a cancellation."""
    columns = {}
    for tier in TIERS:
        _progress(f"trying {len(CASES)} ways out of {tier} … (Ctrl-C ends it)")
        columns[tier] = await _column(tier)
    _progress("")
    return columns


async def _column(tier: str) -> Column:
    """Try everything in one tier, on ground that is gone afterwards, however this ends."""
    if why := _missing(tier):
        return Column(why, {})
    root = tempfile.mkdtemp(prefix="toolcrib-self-test-")
    try:
        aside, ground_at = os.path.join(root, "aside"), os.path.join(root, "ground")
        for path in (aside, ground_at):
            os.mkdir(path)
        ground = Ground(ground_at)
        processes = Processes(new_id(), aftermath=Aftermath(lambda: aside, lambda mark, done: None))
        try:
            outcomes = await tried(CASES, Cage(tier=tier, workspace=ground.workspace), ground, processes)
        finally:
            processes.close()
            ground.clear()
    except ToolcribError as exc:
        return Column(str(exc), {})
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return Column("", {outcome.case.name: outcome.state(tier) for outcome in outcomes})


def _missing(tier: str) -> str:
    if sys.platform != "linux":
        return "these attempts are made for Linux"
    return {LANDLOCK: landlock.canary, BUBBLEWRAP: bubblewrap.canary}.get(tier, str)()


def _print_json(columns: dict[str, Column], *, ok: bool) -> None:
    rows = [
        {"name": case.name, "what": case.what, **{tier: column.of(case.name) for tier, column in columns.items()}}
        for case in CASES
    ]
    for row in rows:
        row |= {tier: f"{NOT_HERE}: {column.why}" for tier, column in columns.items() if column.why}
    tiers = {tier: {"here": not column.why, "why": column.why} for tier, column in columns.items()}
    print(dump_ascii({"ok": ok, "tiers": tiers, "cases": rows}).decode())


def _print_table(columns: dict[str, Column]) -> None:
    width = max(_NARROWEST, min(50, shutil.get_terminal_size().columns - 1 - _COLUMN * len(columns)))
    print(f"{'a program tries to':<{width}}" + "".join(f"{tier:<{_COLUMN}}" for tier in columns).rstrip())
    for case in CASES:
        states = "".join(f"{column.of(case.name):<{_COLUMN}}" for column in columns.values()).rstrip()
        print(f"{one_line(case.what, width - 1):<{width}}{states}")
    for tier, column in columns.items():
        print(f"{tier}: {_summary(tier, column)}", file=sys.stderr)


def _summary(tier: str, column: Column) -> str:
    if column.why:
        return f"{NOT_HERE}: {visible(column.why)}"
    states = list(column.states.values())
    if count := states.count(ESCAPED):
        return f"{count} of {len(states)} escaped: do not rely on it here, and report this"
    if not (count := states.count(GAP)):
        return f"all {len(states)} held"
    if tier == PROCESS:
        return f"confines nothing, as is known: {count} of {len(states)} got out, with the rights that you have"
    return f"{states.count(HELD)} of {len(states)} held; the other {count} are known gaps, which bubblewrap closes"


def _progress(line: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{line}")
        sys.stderr.flush()
