"""`toolcrib skill lint`: everything that is wrong with a skill, with file and line."""

import os
import re
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..core.errors import REFUSALS, ToolcribError
from ..core.jsontext import dump_ascii
from ..core.source import Problem
from ..runtime.runtime import Crib
from ..runtime.toolsets import builtin_names
from ..sources.manifest_offer import Misread
from ..sources.skill import Skill, SkillError, skill_file
from ..sources.skill_lint import Finding, lint
from ._literals import CODE, literals
from ._skill_shelf import as_dict, draw_problems
from ._survey import crib_here
from ._text import readable, visible

_LINE = re.compile(r"line (\d+)(?: and below)?: (.*)", re.DOTALL)
_MOST_UNSEEN = 5


class _Looked(NamedTuple):
    name: str
    origin: str
    findings: list[Finding]

    @property
    def portable(self) -> bool:
        """Whether other programs that follow the standard take it."""
        return not any(each.portability for each in self.findings)

    def to_dict(self) -> dict[str, Any]:
        about = {"name": self.name, "origin": readable(self.origin), "portable": self.portable}
        findings = [{**each.to_dict(), "path": readable(each.path)} for each in self.findings]
        return {**about, "findings": findings}


def lint_skills(target: str | None, *, as_json: bool, profile: str | None) -> int:
    """Raises: `ToolcribError`, when what is named is not there or may not be looked at."""
    crib = crib_here(profile)
    problems: tuple[Problem, ...] = ()
    if target is None:
        looked, problems = _all(crib)
    else:
        looked = [_look(crib, crib.skills().find(target))]
    errors = sum(not finding.warning for each in looked for finding in each.findings)
    warnings = sum(finding.warning for each in looked for finding in each.findings)
    if as_json:
        answer = {"errors": errors, "warnings": warnings, "checked": [each.to_dict() for each in looked]}
        print(dump_ascii({**answer, "problems": [as_dict(each) for each in problems]}).decode())
    else:
        _draw(looked, errors, warnings)
        draw_problems(problems)
    return 1 if errors else 0


def _all(crib: Crib) -> tuple[list[_Looked], tuple[Problem, ...]]:
    """Every skill here; and what is not looked at, because the user does not trust it."""
    catalogue = crib.skills().catalogue
    listed = catalogue.all()
    looked = []
    for entry in listed.entries:
        try:
            looked.append(_look(crib, catalogue.at(entry.folder)))
        except SkillError as exc:
            looked.append(_Looked(entry.name, entry.origin, [Finding(entry.origin, 1, exc.code, str(exc), "")]))
    known = {each.origin for each in listed.entries}
    others = [each for each in listed.problems if each.origin not in known or not isinstance(each, Misread)]
    refused = tuple(each for each in others if each.code in REFUSALS)
    for each in others:
        if each not in refused:
            name = os.path.basename(os.path.dirname(each.origin))
            looked.append(_Looked(name, each.origin, [Finding(each.origin, 1, each.code, each.message, "")]))
    return looked, refused


def _look(crib: Crib, skill: Skill) -> _Looked:
    path = os.environ.get("PATH", os.defpath) if "PATH" in crib.config.variables else os.defpath
    try:
        found = lint(skill, allow=crib.config.network_allow, taken=builtin_names(), search_path=path)
    except ToolcribError:  # its files could not be looked at, which is what is wrong with it
        found = [Finding(each.origin, 1, each.code, each.message, "") for each in skill.problems]
    secrets = list(_literals(skill))
    said = {(each.path, each.line) for each in secrets}
    rest = [each for each in found if each.code != CODE or (each.path, each.line) not in said]
    findings = [*rest, *secrets, *_unseen(skill)]
    return _Looked(skill.name, skill.origin, sorted(findings, key=lambda each: (each.path, each.line)))


def _texts(skill: Skill) -> Iterator[tuple[str, str]]:
    for each in skill.files:
        try:
            data = skill_file(skill, each.path)
        except SkillError:  # longer than what anybody reads
            continue
        if b"\0" not in data[:4096]:
            yield f"{skill.folder}/{each.path}", data.decode("utf-8-sig", "replace")


def _literals(skill: Skill) -> Iterator[Finding]:
    """Secrets that stand in a file of the skill as they are."""
    for path, text in _texts(skill):
        for each in literals(text, path):
            match = _LINE.fullmatch(each.message)
            line, message = (int(match[1]), match[2]) if match else (1, each.message)
            yield Finding(path, line, each.code, message, each.fix)


def _unseen(skill: Skill) -> Iterator[Finding]:
    """Characters that a person does not see, and a model reads."""
    for path, text in _texts(skill):
        if path != skill.origin:
            continue
        lines = text.replace("\r\n", "\n").split("\n")
        odd = [number for number, line in enumerate(lines, 1) if visible(line, keep="\t") != line]
        for number in odd[:_MOST_UNSEEN]:
            message = f"characters stand here that nobody sees: {visible(lines[number - 1])[:100]}"
            yield Finding(path, number, "VALIDATION_ERROR", message, "remove them", warning=True)


def _draw(looked: list[_Looked], errors: int, warnings: int) -> None:
    for each in looked:
        if not each.findings:
            print(f"ok       {visible(readable(each.origin))}")
        for finding in each.findings:
            kind = "warning" if finding.warning else "ERROR"
            where = f"{visible(readable(finding.path))}:{finding.line}"
            print(f"{kind:<7}  {where}: {finding.code} {visible(readable(finding.message))}")
            if finding.fix:
                print(f"         fix: {visible(readable(finding.fix))}")
    print(f"{len(looked)} checked, {errors} error(s), {warnings} warning(s)")
    sys.stdout.flush()
