"""The commands that a project itself is built, tested and checked with: scripts, targets, and what its CI runs."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...core.jsontext import JSON
from .survey import Evidence, Survey
from .texts import below, json_of, settings_of, table, toml_of, words, yaml_of

MOST = 40
_LONGEST = 160
_TARGET = re.compile(r"^([A-Za-z0-9][\w./-]*+)[ \t]*+:(?![=:])")
_RECIPE = re.compile(r"^@?([A-Za-z_][\w-]*+)(?:[ \t]++[^:\n]{0,200})?:(?!=)")
_SESSION = re.compile(r"^def\s++(\w++)\s*+\(\s*+session")
_RAKE = re.compile(r"^\s*+task\s*+\(?\s*+:?[\"']?(\w++)")
_SH = re.compile(r"""\bsh\s*+\(?\s*+(?:script\s*+:\s*+)?["']([^"'\n]{1,200})["']""")
_PURPOSES = (
    ("test", re.compile(r"\b(?:tests?|spec|check|pytest|jest|vitest|tox|nox|ctest|phpunit|rspec|coverage)\b")),
    (
        "lint",
        re.compile(r"\b(?:lint|ruff check|eslint|flake8|mypy|pyright|clippy|vet|tsc|typecheck|type-check|rubocop)\b"),
    ),
    ("format", re.compile(r"\b(?:format|fmt|prettier|black|gofmt|rustfmt)\b")),
    ("build", re.compile(r"\b(?:build|compile|bundle|package|dist|assemble|install)\b")),
    ("run", re.compile(r"\b(?:start|serve|dev|run|watch|demo)\b")),
)

_NEITHER = re.compile(r"\b(?:help|clean|distclean|release|publish|deploy|version)\b")
_APART = str.maketrans("_:.", "   ")


class Command(NamedTuple):
    """Something that can be typed."""

    command: str
    evidence: Evidence
    name: str = ""
    """What the project calls it."""
    run: str = ""
    """What it does, where that is written in one line."""

    def to_dict(self) -> dict[str, JSON]:
        run: dict[str, JSON] = {"runs": self.run[:_LONGEST]} if self.run else {}
        purpose: dict[str, JSON] = {"for": said} if (said := purpose_of(self)) else {}
        return {"command": self.command[:_LONGEST], **run, **purpose, "evidence": self.evidence.to_dict()}


def purpose_of(command: Command) -> str:
    """By its name first, and only then by what it runs."""
    name = command.name[:200].translate(_APART)
    if _NEITHER.search(name):
        return ""
    begins = " ".join((command.run or command.command)[:400].split()[:4])
    found = (purpose for text in (name, begins) for purpose, pattern in _PURPOSES if pattern.search(text))
    return next(found, "")


def scripts(survey: Survey) -> Iterator[Command]:
    """What the project gives names to, of its outermost directory."""
    for path in survey.outermost("Makefile", "GNUmakefile", "makefile"):
        yield from _targets(survey, path)
    for path in survey.outermost("justfile", "Justfile", ".justfile"):
        yield from _recipes(survey, path)
    for path in survey.outermost("package.json"):
        for name, run in table(json_of(survey, path).get("scripts")).items():
            here = survey.at(path, '"scripts"', f'"{name}"')
            yield Command(f"{_runner(survey)} run {name}", here, name, str(run))
    for path in survey.outermost("composer.json"):
        for name, run in table(json_of(survey, path).get("scripts")).items():
            here = survey.at(path, '"scripts"', f'"{name}"')
            yield Command(f"composer {name}", here, name, next(iter(words(run)), ""))
    for path in survey.outermost("pyproject.toml"):
        yield from _python(survey, path)
    for path in survey.outermost("tox.ini"):
        for section, key, value, line in settings_of(survey, path):
            if section.startswith("testenv") and key == "commands":
                name, here = section.partition(":")[2], survey.line(path, line, f"{key} = {value}")
                yield Command(f"tox -e {name}" if name else "tox", here, name or "test", value)
    for file, pattern, program in (("noxfile.py", _SESSION, "nox -s"), ("Rakefile", _RAKE, "rake")):
        for path in survey.outermost(file):
            for number, text in enumerate((survey.text(path) or "").splitlines(), 1):
                if found := pattern.match(text[:400]):
                    yield Command(f"{program} {found[1]}", survey.line(path, number, text), found[1])
    for path in survey.outermost("Taskfile.yml", "Taskfile.yaml"):
        for name, said in table(below(yaml_of(survey, path), "tasks")).items():
            here = survey.at(path, "tasks:", f"{name}:")
            yield Command(f"task {name}", here, name, next(iter(words(below(said, "cmds"))), ""))


def _targets(survey: Survey, path: str) -> Iterator[Command]:
    lines = (survey.text(path) or "").splitlines()
    for number, line in enumerate(lines, 1):
        found = _TARGET.match(line[:400])
        if found and "%" not in found[1] and "." not in found[1][:1]:
            recipe = lines[number].strip().lstrip("@-") if number < len(lines) and lines[number][:1] == "\t" else ""
            yield Command(f"make {found[1]}", survey.line(path, number, line), found[1], recipe)


def _recipes(survey: Survey, path: str) -> Iterator[Command]:
    lines = (survey.text(path) or "").splitlines()
    for number, line in enumerate(lines, 1):
        found = _RECIPE.match(line[:400])
        if found and found[1] not in ("set", "export", "alias", "import", "mod"):
            recipe = lines[number].strip().lstrip("@") if number < len(lines) and lines[number][:1].isspace() else ""
            yield Command(f"just {found[1]}", survey.line(path, number, line), found[1], recipe)


def _python(survey: Survey, path: str) -> Iterator[Command]:
    tools = table(toml_of(survey, path).get("tool"))
    for keys, program in ((("pdm", "scripts"), "pdm run"), (("poe", "tasks"), "poe")):
        for name, said in table(below(tools, *keys)).items():
            run = said if isinstance(said, str) else below(said, "cmd") or below(said, "shell") or ""
            yield Command(f"{program} {name}", survey.at(path, ".".join(keys), name), name, str(run))
    for env, said in table(below(tools, "hatch", "envs")).items():
        for name, run in table(below(said, "scripts")).items():
            here = survey.at(path, "hatch.envs", name)
            yield Command(f"hatch run {env}:{name}", here, name, " && ".join(words(run)))


def _runner(survey: Survey) -> str:
    locks = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun", "bun.lockb": "bun"}
    return next((runner for lock, runner in locks.items() if lock in survey.files), "npm")


def continuous_integration(survey: Survey) -> Iterator[Command]:
    """The commands that CI runs, each with the file and the line it stands in."""
    for path in sorted(survey.files):
        if path.startswith(".github/workflows/") and path.endswith((".yml", ".yaml")):
            for job in table(below(yaml_of(survey, path), "jobs")).values():
                steps = below(job, "steps")
                for step in steps if isinstance(steps, list) else ():
                    yield from _lines(survey, path, below(step, "run"))
    for path in survey.named(".gitlab-ci.yml", ".travis.yml", most=2):
        said = table(yaml_of(survey, path))
        for block in (said, *said.values()):
            for key in ("before_script", "script", "install"):
                for each in words(below(block, key)):
                    yield from _lines(survey, path, each)
    for path in (".circleci/config.yml", "azure-pipelines.yml"):
        if path in survey.files:
            for each in _texts(yaml_of(survey, path), ("run", "command", "script", "bash")):
                yield from _lines(survey, path, each)
    for path in survey.named("Jenkinsfile", most=1):
        for number, line in enumerate((survey.text(path) or "").splitlines(), 1):
            if found := _SH.search(line[:400]):
                yield Command(found[1], survey.line(path, number, line))


def _lines(survey: Survey, path: str, run: Any) -> Iterator[Command]:
    for line in run.splitlines() if isinstance(run, str) else ():
        if (bare := line.strip()) and not bare.startswith("#"):
            yield Command(bare, survey.at(path, bare[:60]))


def _texts(value: Any, keys: tuple[str, ...]) -> Iterator[str]:
    """What stands at such keys, however deep. The value is a tree: no alias was followed to make it."""
    waiting = [value]
    while waiting:
        value = waiting.pop(0)
        if isinstance(value, dict):
            for key, inner in value.items():
                if key in keys and isinstance(inner, str):
                    yield inner
                else:
                    waiting.append(inner)
        elif isinstance(value, list):
            waiting.extend(value)
