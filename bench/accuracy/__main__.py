"""`python -m bench.accuracy`: fetch the sources, ask both sides, print the table, and write it into its page."""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from subprocess import CalledProcessError, run

from . import compare, ours, theirs
from .page import PAGE, Report, replaced, table
from .sources import SOURCES, TYPESCRIPT, Source, Unfetched, fetched, files

MARK = 0.95


def main() -> int:
    """Status 0 when every source was compared and none misses the mark, else 1."""
    options = _options()
    reports, failed = [], []
    with _folder(options.sources) as folder:
        for source in SOURCES:
            if options.only and source.language not in options.only:
                continue
            print(f"accuracy: {source.title} {source.version} …", file=sys.stderr)
            try:
                reports.append(_report(source, folder, options))
            except (Unfetched, CalledProcessError, FileNotFoundError) as exc:
                failed.append(f"{source.title}: {exc}")
    text = table(reports)
    print(text)
    for report in reports:
        for item in report.differences(options.differences):
            print(item)
    for line in failed:
        print(f"not compared: {line}", file=sys.stderr)
    if not options.only and not failed:
        PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")
    scores = [report.definitions.total for report in reports]
    return 1 if failed or any(min(score.recall, score.precision) < MARK for score in scores) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench.accuracy",
        description="Definitions and references of public sources, beside engines that are not ours.",
        epilog="example: python -m bench.accuracy --sources ~/sources --only rust --differences 20",
    )
    parser.add_argument("--sources", type=Path, help="keep what is fetched in this folder, and use what is there")
    parser.add_argument("--only", action="append", choices=[source.language for source in SOURCES], help="one language")
    parser.add_argument("--names", type=int, default=120, help="how many names references are compared for (120)")
    parser.add_argument("--seed", type=int, default=5, help="which names these are (5)")
    parser.add_argument("--differences", type=int, default=0, help="print so many of those that differ, on each side")
    return parser.parse_args()


@contextlib.contextmanager
def _folder(kept: Path | None) -> Iterator[Path]:
    if kept is not None:
        yield kept.absolute()
        return
    with tempfile.TemporaryDirectory(prefix="toolcrib-accuracy-") as folder:
        yield Path(folder)


def _report(source: Source, folder: Path, options: argparse.Namespace) -> Report:
    root = fetched(source, folder)
    inside = files(source, root)
    mine = ours.definitions(inside)
    compiler = fetched(TYPESCRIPT, folder) if source.language == "typescript" else root
    if source.language == "python":
        engine, others = f"jedi {version('jedi')}", theirs.jedi_definitions(inside)
    elif source.language == "typescript":
        engine, others = f"TypeScript {TYPESCRIPT.version}", theirs.typescript_definitions(compiler, inside)
    else:
        engine, others = _ctags_version(), theirs.ctags_definitions("Rust", inside)
    report = Report(source, engine, len(inside), compare.definitions(mine, others))
    if source.language != "rust":
        used = [file for file in inside if file.is_relative_to(root / source.used_in)]
        report.references = _references(source, root / source.used_in, used, compiler, mine, others, options)
        report.names = options.names
    return report


def _references(
    source: Source,
    root: Path,
    used: list[Path],
    compiler: Path,
    mine: list[theirs.Named],
    others: list[theirs.Named],
    options: argparse.Namespace,
) -> list[compare.Score]:
    inside = {str(file) for file in used}
    asked = ours.sample(mine, [item for item in others if item.file in inside], options.names, options.seed)
    if source.language == "python":
        places = theirs.jedi_references(root, asked)
    else:
        places = theirs.typescript_references(compiler, used, asked, source.conditions)
    texts = {str(file): file.read_bytes().split(b"\n") for file in used}
    found = ours.uses(used, [item.name for item in asked])
    rows = []
    for item, engine, roles in zip(asked, places, found, strict=True):
        once = sum(other.name == item.name for other in mine if other.file in inside) == 1
        known = {place for place in engine if place[0] in inside}
        code = ours.in_characters(roles["code"], texts)
        text = ours.in_characters(roles["string"] | roles["comment"], texts)
        rows.append((once, known, code, text))
    return [
        compare.references("`syntactic`", [(known, code) for _, known, code, _ in rows]),
        compare.references(
            "`syntactic`, names that are defined once", [(known, code) for once, known, code, _ in rows if once]
        ),
        compare.references("`text`", [(known, text) for _, known, _, text in rows]),
        compare.references("`syntactic` and `text`", [(known, code | text) for _, known, code, text in rows]),
    ]


def _ctags_version() -> str:
    said = run(["ctags", "--version"], capture_output=True, text=True, check=True).stdout
    return "universal-ctags " + said.partition("Ctags ")[2].partition(",")[0]


if __name__ == "__main__":
    sys.exit(main())
