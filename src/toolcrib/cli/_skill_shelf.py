"""`toolcrib skill list` and `show`: what is there, and what is in it."""

import sys
from collections.abc import Iterable
from typing import Any

from ..core.jsontext import dump_ascii
from ..core.source import Problem
from ..core.tool import Tool
from ..sources.skill import Skill, skill_file
from ._survey import crib_here
from ._text import one_line, readable, visible


def list_skills(*, as_json: bool, profile: str | None) -> int:
    """Raises: `ConfigError`."""
    crib = crib_here(profile)
    listed = crib.skills().catalogue.all()
    if as_json:
        skills = [{key: _plain(value) for key, value in each.to_dict().items()} for each in listed.entries]
        print(dump_ascii({"skills": skills, "problems": [as_dict(each) for each in listed.problems]}).decode())
        return 0
    longest = max((len(each.name) for each in listed.entries), default=0)
    for each in listed.entries:
        print(f"{each.name:<{longest}}  {each.scope:<7}  {visible(each.version):<8}  {one_line(each.description, 100)}")
    sys.stdout.flush()
    draw_problems(listed.problems)
    if not listed.entries:
        where = visible(crib.home.file("skills"))
        print(f"No skills. Put a folder with a SKILL.md into {where}", file=sys.stderr)
    return 0


def show_skill(name: str, *, file: str | None, as_json: bool, profile: str | None) -> int:
    """Raises: `ToolcribError`."""
    skill = crib_here(profile).skills().find(name)
    if file is not None:
        text = skill_file(skill, file).decode("utf-8", "backslashreplace")
        if as_json:
            print(dump_ascii({"skill": skill.name, "path": file, "text": text}).decode())
        else:
            print(visible(text, keep="\n\t").removesuffix("\n"))
        return 0
    if as_json:
        print(dump_ascii(about(skill)).decode())
        return 0
    _draw(skill)
    sys.stdout.flush()
    draw_problems(skill.problems)
    return 0


def about(skill: Skill) -> dict[str, Any]:
    """What `skill show --json` says."""
    return {
        "name": skill.name,
        "description": skill.description,
        "version": skill.version,
        "origin": _plain(skill.origin),
        "digest": skill.digest,
        "license": skill.license,
        "compatibility": skill.compatibility,
        "metadata": dict(skill.metadata),
        "allowed_tools": None if skill.allowed_tools is None else list(skill.allowed_tools),
        "tools": [_tool(each) for each in skill.tools],
        "files": [{"path": each.path, "digest": each.digest} for each in skill.files],
        "body": skill.body,
        "problems": [as_dict(each) for each in skill.problems],
    }


def as_dict(problem: Problem) -> dict[str, Any]:
    return {key: _plain(value) for key, value in problem.to_dict().items()}


def draw_problems(problems: Iterable[Problem]) -> None:
    for each in problems:
        print(f"{each.code} {visible(readable(each.origin))}: {visible(readable(each.message))}", file=sys.stderr)


def _tool(tool: Tool) -> dict[str, Any]:
    about = {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
    return {**about, "version": tool.version, "digest": tool.digest, "timeout": tool.limits.seconds}


def _plain(value: Any) -> Any:
    return readable(value) if isinstance(value, str) else value


def _draw(skill: Skill) -> None:
    rows = [
        ("origin", skill.origin),
        ("version", skill.version),
        ("digest", skill.digest),
        ("license", skill.license),
        ("needs", skill.compatibility),
        ("names tools", ", ".join(skill.allowed_tools or ())),
        ("files", ", ".join(each.path for each in skill.files if not skill.origin.endswith("/" + each.path))),
    ]
    print(f"{skill.name}\n\n  {visible(skill.description)}\n")
    for label, text in rows:
        if text:
            print(f"  {label:<12} {visible(readable(text))}")
    for tool in skill.tools:
        print(f"  {'tool':<12} {tool.name}: {one_line(tool.description, 100)}")
    if skill.body:
        print("\n" + visible(skill.body, keep="\n\t"))
