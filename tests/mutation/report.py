"""What came of the mutants, as numbers and as a list of those that no test noticed."""

import json
import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sampling import ROOT, Mutant, Sample


@dataclass(frozen=True)
class Survivor:
    """A change that no test noticed, and why that may be so."""

    id: str
    line: int
    was: str
    now: str
    reason: str


@dataclass(frozen=True)
class Row:
    """What came of one module's sample."""

    module: str
    of: int  # how many mutants the module has
    tried: int
    killed: int
    endless: int  # of the killed, those that did not end
    survivors: tuple[Survivor, ...]


def rows(samples: list[Sample], results: dict[str, Any]) -> list[Row]:
    """A row for each module that has any logic."""
    return [_row(sample, results) for sample in samples if sample.mutants]


def _row(sample: Sample, results: dict[str, Any]) -> Row:
    known = [(mutant, results[mutant.id]) for mutant in sample.mutants if mutant.id in results]
    killed = [result for _, result in known if result["code"]]
    lived = [_survivor(mutant) for mutant, result in known if not result["code"]]
    endless = sum(result["code"] == -1 for result in killed)
    module = sample.path.removeprefix("src/toolcrib/")
    return Row(module, sample.of, len(known), len(killed), endless, tuple(sorted(lived, key=lambda one: one.line)))


def _survivor(mutant: Mutant) -> Survivor:
    return Survivor(mutant.id, mutant.line, mutant.was, mutant.now, "")


def interval(killed: int, tried: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson's)."""
    if not tried:
        return 0.0, 1.0
    z, share = 1.96, killed / tried
    middle = share + z * z / (2 * tried)
    width = z * math.sqrt(share * (1 - share) / tried + z * z / (4 * tried * tried))
    return max(0.0, (middle - width) / (1 + z * z / tried)), min(1.0, (middle + width) / (1 + z * z / tried))


def record(found: list[Row], path: Path) -> list[Row]:
    """Writes the rows, with the reasons that were there for the same survivors; those of other modules stay."""
    known = recorded(path)
    reasons = {(row.module, one.was, one.now): one.reason for row in known for one in row.survivors}
    rows = {row.module: row for row in known}
    for row in found:
        if row.tried:
            survivors = (replace(one, reason=reasons.get((row.module, one.was, one.now), "")) for one in row.survivors)
            rows[row.module] = replace(row, survivors=tuple(survivors))
    kept = [rows[module] for module in sorted(rows)]
    path.write_text(json.dumps([asdict(row) for row in kept], indent=1, ensure_ascii=False) + "\n")
    return kept


def recorded(path: Path) -> list[Row]:
    """What was written down of the modules that there still are."""
    known = json.loads(path.read_text()) if path.exists() else []
    rows = [Row(**{**row, "survivors": tuple(Survivor(**one) for one in row["survivors"])}) for row in known]
    return [row for row in rows if (ROOT / "src/toolcrib" / row.module).exists()]


def text(found: list[Row], *, survivors: bool, reasons: Path) -> str:
    """The table in Markdown, the survivors if wanted, and one line for each package."""
    lines = ["| module | mutants | tried | killed | survived | share | 95 % |", "|---|---|---|---|---|---|---|"]
    lines += [_cells(row) for row in found]
    if survivors:
        known = {one.id: one.reason for row in recorded(reasons) for one in row.survivors}
        for row in found:
            for one in row.survivors:
                lines.append(
                    f"{row.module}:{one.line} {one.id} [{known.get(one.id, '')}]\n  - {one.was}\n  + {one.now}"
                )
    return "\n".join([*lines, *_sums(found)]) + "\n"


def _cells(row: Row) -> str:
    low, high = interval(row.killed, row.tried)
    share = f"{row.killed / row.tried:.0%}" if row.tried else "–"
    between = f"{low:.0%}–{high:.0%}" if row.tried < row.of else "all"
    return f"| {row.module} | {row.of} | {row.tried} | {row.killed} | {row.tried - row.killed} | {share} | {between} |"


def _sums(found: list[Row]) -> list[str]:
    """One line for each package. A module counts by how many mutants it has, not by how many were tried."""
    lines = []
    for package in sorted({row.module.partition("/")[0] for row in found}):
        mine = [row for row in found if row.module.startswith(f"{package}/") and row.tried]
        killed, tried, of = (sum(getattr(row, name) for row in mine) for name in ("killed", "tried", "of"))
        if tried:
            low, high = interval(killed, tried)
            weighted = sum(row.of * row.killed / row.tried for row in mine) / of
            lines.append(
                f"{package}: {killed} of {tried} sampled mutants killed, {killed / tried:.0%} (95 %: {low:.0%}–{high:.0%}); "
                f"weighted by module {weighted:.0%} of {of}"
            )
    return lines
