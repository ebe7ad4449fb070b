"""The two forms of a result: a table for people, JSON for everything else."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from typing import Any

from bench.measure import Comparison, Fact, Row

WIDTH = 100
_COLUMNS = "{:<19} {:>13}  {:<20} {:>13} {:>8} {:>8} {:>5} {:<6}"
_UNITS = {"ns": (("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)), "KiB": (("KiB", 1.0), ("MiB", 1024.0))}
_VERDICTS = {True: "held", False: "MISSED", None: ""}


def table(rows: Iterable[Row]) -> str:
    """Every line of every row, at most 100 columns wide."""
    lines = [
        "ratio: median over the rounds of ours/theirs; min: best of ours/best of theirs.",
        "Verdicts go by the ratio. Times are median/min of the samples; no sample is left out.",
        "",
        _COLUMNS.format("", "toolcrib", "against", "", "ratio", "min", "mark", "").rstrip(),
    ]
    for row in rows:
        lines += ["", f"{row.name}: {row.title}"]
        if row.lines:
            lines.append(f"    {row.rounds} round{'s' if row.rounds > 1 else ''}, a sample is {row.sample}")
        lines += [_line(line) for line in row.lines]
        lines += [f"    skipped: {reason}" for reason in row.skipped]
    return "\n".join(lines)


def document(rows: Iterable[Row], *, peers: dict[str, str], quick: bool) -> dict[str, Any]:
    """The same with every sample, as one JSON document."""
    machine = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
    }
    return {"machine": machine, "peers": peers, "quick": quick, "rows": [_row(row) for row in rows]}


def missed(rows: Iterable[Row]) -> list[str]:
    """What did not hold its mark or its limit."""
    return [f"{row.name}: {_named(line)}" for row in rows for line in row.lines if line.held is False]


def _named(line: Comparison | Fact) -> str:
    return f"{line.what} / {line.against}" if isinstance(line, Comparison) else line.what


def _line(line: Comparison | Fact) -> str:
    if isinstance(line, Fact):
        limit = "" if line.limit is None else f"limit {line.limit:g}"
        text = f"{line.what:<52} {line.value:>9.4g} {line.unit:<4} {limit:<10} {_VERDICTS[line.held]}"
        return f"{text.rstrip()} {line.note[:WIDTH]}".rstrip()
    mark = "" if line.mark is None else f"{line.mark:g}x"
    return _COLUMNS.format(
        line.what,
        _times(line.ours.median, line.ours.minimum, line.unit),
        line.against,
        _times(line.theirs.median, line.theirs.minimum, line.unit),
        _ratio(line.ratio),
        _ratio(line.ratio_of_minima),
        mark,
        _VERDICTS[line.held],
    ).rstrip()


def _times(median: float, minimum: float, unit: str) -> str:
    scales = _UNITS[unit]
    name, size = next(((n, s) for n, s in reversed(scales) if median >= s), scales[0])
    both = f"{median / size:.3g}/" if median != minimum else ""
    return f"{both}{minimum / size:.3g} {name}"


def _ratio(value: float) -> str:
    return f"{value:.2f}x" if value >= 1 else f"{value:.3f}x" if value >= 0.1 else f"{value:.4f}x"


def _row(row: Row) -> dict[str, Any]:
    return {
        "name": row.name,
        "title": row.title,
        "rounds": row.rounds,
        "sample": row.sample,
        "skipped": row.skipped,
        "lines": [_record(line) for line in row.lines],
    }


def _record(line: Comparison | Fact) -> dict[str, Any]:
    if isinstance(line, Fact):
        return {
            "what": line.what,
            "value": line.value,
            "unit": line.unit,
            "limit": line.limit,
            "held": line.held,
            "note": line.note,
        }
    return {
        "what": line.what,
        "against": line.against,
        "unit": line.unit,
        "ratio": line.ratio,
        "ratio_of_minima": line.ratio_of_minima,
        "mark": line.mark,
        "held": line.held,
        "ours": _series(line.ours.samples, line.ours.median, line.ours.minimum),
        "theirs": _series(line.theirs.samples, line.theirs.median, line.theirs.minimum),
    }


def _series(samples: tuple[float, ...], median: float, minimum: float) -> dict[str, Any]:
    return {"median": median, "min": minimum, "samples": list(samples)}
