"""Topics of what manifests say, and what all of their readers need."""

import re
from collections.abc import Iterable, Iterator, Mapping
from posixpath import dirname

from .survey import Claim, Evidence, Survey

BUILD = "build_systems"
PACKAGES = "package_managers"
FRAMEWORK = "frameworks"
KIND = "kind"
ENTRY = "entry_points"
RUNTIME = "runtime_versions"
WORKSPACE = "workspaces"

LIBRARY, APPLICATION, COMMAND, MONOREPO = "library", "application", "command line program", "monorepo"


def beside(manifest: str, name: str) -> str:
    """The path of a file in the directory of a manifest."""
    folder = dirname(manifest)
    return f"{folder}/{name}" if folder else name


def frameworks(
    survey: Survey, path: str, dependencies: Iterable[str], known: Mapping[str, str], *after: str
) -> Iterator[Claim]:
    """Those that a manifest depends on. `after` are words that stand before the list of dependencies."""
    for each in dependencies:
        if name := known.get(each) or known.get(each.lower().replace("_", "-")):
            seen = survey.at(path, *after, each)
            yield Claim(FRAMEWORK, name, seen if seen.line else survey.at(path, each))


def matching(survey: Survey, path: str, pattern: "re.Pattern[str]") -> Iterator[tuple["re.Match[str]", Evidence]]:
    """Lines of a file that match, with where they stand."""
    for number, line in enumerate((survey.text(path) or "").splitlines(), 1):
        if len(line) <= 2000 and (found := pattern.search(line)):
            yield found, survey.line(path, number, line)


def first_line(survey: Survey, path: str) -> str:
    """The first line that says something."""
    lines = (line.strip() for line in (survey.text(path) or "").splitlines())
    return next((line for line in lines if line and not line.startswith("#")), "")[:100]
