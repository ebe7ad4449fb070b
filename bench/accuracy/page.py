"""The numbers as a table, and the page that shows them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .compare import Comparison, Score
from .sources import Source

PAGE = Path(__file__).parents[2] / "docs" / "code-accuracy.md"
BEGIN, END = "<!-- table: written by python -m bench.accuracy -->", "<!-- end of table -->"


@dataclass
class Report:
    """One source: what was compared with what, and how it came out."""

    source: Source
    engine: str
    files: int
    definitions: Comparison
    references: list[Score] = field(default_factory=list)
    names: int = 0

    @property
    def title(self) -> str:
        return f"{self.source.title} {self.source.version}"

    def differences(self, most: int) -> Iterator[str]:
        """Some of the definitions that only one side has, those that come first."""
        for sign, items in (("-", self.definitions.missing), ("+", self.definitions.extra)):
            for item in items[:most]:
                yield f"{sign} {item.file}:{item.line} {item.kind} {item.name}"


def table(reports: list[Report]) -> str:
    """All numbers, in Markdown."""
    lines = [
        "### Definitions",
        "",
        "| source | language | files | compared with | theirs | ours | both | recall | precision |",
        "|---|---|---:|---|---:|---:|---:|---:|---:|",
    ]
    for report in reports:
        score, source = report.definitions.total, report.source
        lines.append(
            f"| {report.title} | {source.language} | {report.files} | {report.engine} | {score.theirs} | {score.ours}"
            f" | {score.both} | {_percent(score.recall)} | {_percent(score.precision)} |"
        )
    for report in reports:
        lines += ["", f"By kind, {report.title} (of theirs, how many we have; of ours, how many they have):", ""]
        lines += [
            "| kind | theirs | found | recall | ours | right | precision |",
            "|---|---:|---:|---:|---:|---:|---:|",
        ]
        for kind in report.definitions.kinds:
            found = (
                f"{kind.theirs} | {kind.found} | {_percent(kind.found / kind.theirs)}" if kind.theirs else "– | – | –"
            )
            right = f"{kind.ours} | {kind.right} | {_percent(kind.right / kind.ours)}" if kind.ours else "– | – | –"
            lines.append(f"| {kind.title} | {found} | {right} |")
        left_out = ", ".join(f"{why} ({number})" for why, number in report.definitions.left_out.most_common())
        lines += ["", f"Not compared: {left_out}."]
    lines += ["", "### References", ""]
    lines += ["| source | compared with | names | confidence | theirs | ours | both | recall | precision |"]
    lines += ["|---|---|---:|---|---:|---:|---:|---:|---:|"]
    for report in reports:
        for score in report.references:
            lines.append(
                f"| {report.title} | {report.engine} | {report.names} | {score.title} | {score.theirs} | {score.ours}"
                f" | {score.both} | {_percent(score.recall)} | {_percent(score.precision)} |"
            )
    return "\n".join(lines)


def replaced(page: str, text: str) -> str:
    """The page with the numbers of this run in the place of the former."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}"


def _percent(value: float) -> str:
    return f"{100 * value:.2f} %"
