"""The three answers about a project, made of all that was found."""

from collections.abc import Callable, Iterable
from itertools import islice

from ...core.jsontext import JSON
from . import commands, commits, configured, manifest_compiled, manifest_python, manifest_script, markers, tested
from .languages import shares
from .manifest import KIND, MONOREPO
from .measured import measured
from .readme import first_paragraph
from .survey import Claim, Survey, grouped

Answer = dict[str, JSON]

TOPICS = (
    "build_systems",
    "package_managers",
    "frameworks",
    "kind",
    "workspaces",
    "entry_points",
    "runtime_versions",
    "continuous_integration",
    "deployment",
)
INSTRUCTIONS = (
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
    "CONVENTIONS.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".github/copilot-instructions.md",
    ".junie/guidelines.md",
    ".aider.conf.yml",
    "CONTRIBUTING.md",
)
_MOST_ROWS = 40
_LITTLE = 1.0
"""Percent of the code from which a language counts."""
_MOST_TOP = 30


def project_type(survey: Survey) -> Answer:
    claims = list(_claims(survey))
    central = [claim for claim in claims if not survey.is_aside(claim.evidence)]
    found = grouped(central or claims)
    kinds = sorted(found.get(KIND, ()), key=lambda each: each["name"] != MONOREPO)
    found[KIND] = kinds
    return _with_notes(
        survey, {"languages": shares(survey)[:12], **{key: found[key] for key in TOPICS if found.get(key)}}
    )


def _claims(survey: Survey) -> Iterable[Claim]:
    for read in (manifest_python.claims, manifest_script.claims, manifest_compiled.claims, markers.claims):
        yield from read(survey)


def conventions(survey: Survey) -> Answer:
    ranked = [each["name"] for at, each in enumerate(shares(survey)) if not at or each["percent"] >= _LITTLE]
    answer: Answer = {
        "configured": list(islice(configured.rows(survey), _MOST_ROWS)),
        "measured": measured(survey, ranked),
        "tests": tested.tests(survey),
        "commands": _commands(commands.scripts(survey)),
        "ci_commands": _commands(commands.continuous_integration(survey)),
        "commits": commits.style(survey),
    }
    return _with_notes(survey, {key: value for key, value in answer.items() if value})


def _commands(found: Iterable[commands.Command]) -> list[Answer]:
    unique = {each.command: each for each in islice(found, 10 * commands.MOST)}
    return [each.to_dict() for each in islice(unique.values(), commands.MOST)]


def overview(survey: Survey) -> Answer:
    """All of it in few words: each claim with the place where it can be seen in brackets."""
    kinds, habits = project_type(survey), conventions(survey)
    said = {key: _listed(kinds[key], 6) for key in TOPICS if key in kinds}
    much = [each for at, each in enumerate(kinds["languages"][:5]) if not at or each["percent"] >= _LITTLE]
    languages = [f"{each['name']} {each['percent']} %" for each in much]
    readme = next((path for path in survey.named(*_READMES) if "/" not in path), None)
    answer: Answer = {
        "about": readme and first_paragraph(survey.text(readme) or ""),
        "languages": languages,
        **said,
        "commands": _by_purpose(habits.get("commands", ())),
        "tests": _tests(habits.get("tests", {})),
        "style": _style(habits),
        "instructions": _instructions(survey),
        "top_level": _top_level(survey),
        "size": {"files": len(survey.files), "bytes": sum(survey.files.values()), "complete": not survey.cut},
    }
    return _with_notes(survey, {key: value for key, value in answer.items() if value})


_READMES = ("README.md", "README.rst", "README.txt", "README", "readme.md", "Readme.md", "README.adoc")


def _place(evidence: Answer) -> str:
    return str(evidence["file"]) + (f":{evidence['line']}" if "line" in evidence else "")


def _listed(claims: Iterable[Answer], most: int) -> list[str]:
    return [
        f"{each['name']}{f' {value}' if (value := each.get('value')) else ''} ({_place(each['evidence'])})"
        for each in islice(claims, most)
    ]


def _by_purpose(found: Iterable[Answer]) -> dict[str, JSON]:
    """The first command for each purpose: that is the one its authors thought of first."""
    chosen: dict[str, JSON] = {}
    for each in found:
        if (purpose := each.get("for")) and purpose not in chosen:
            chosen[purpose] = f"{each['command']} ({_place(each['evidence'])})"
    return chosen


def _tests(found: Answer) -> list[str]:
    frameworks = [f"{each['name']} ({_place(each['evidence'])})" for each in found.get("frameworks", ())[:3]]
    names = [f"{each['files']} files {each['name']}" for each in found.get("names", ())[:2]]
    places = [
        each["name"] if "beside" in each["name"] else f"in {each['name']}" for each in found.get("directories", ())
    ]
    return [*frameworks, *names, *places[:2]]


def _style(habits: Answer) -> list[str]:
    said = [
        f"{each['tool']}: {each['setting']} {each['value']} ({_place(each['evidence'])})"
        for each in habits.get("configured", ())
        if each.get("setting") in ("line length", "quotes", "indentation", "indentation style", "semicolons")
    ]
    seen = [
        f"{each['language']}: " + ", ".join(f"{key} {value}" for key, value in _usual(each))
        for each in habits.get("measured", ())[:2]
    ]
    return [*said[:5], *seen]


def _usual(each: Answer) -> Iterable[tuple[str, str]]:
    for key in ("indentation", "quotes", "function_names"):
        if key in each:
            yield key.replace("_", " "), f"{each[key]['value']} ({each[key]['percent']} %)"


def _instructions(survey: Survey) -> list[str]:
    """What is written for agents, and for those who take part. A link is named as well as a file."""
    there = {*survey.files, *survey.others}
    rules = sorted(path for path in there if path.startswith((".cursor/rules/", ".github/instructions/")))
    below = [path for name in ("AGENTS.md", "CLAUDE.md") for path in survey.named(name, most=4) if "/" in path]
    return [survey.shown(path) for path in [*(name for name in INSTRUCTIONS if name in there), *rules[:4], *below[:4]]]


def _top_level(survey: Survey) -> list[str]:
    inner: dict[str, int] = {}
    for path in survey.files:
        top, slash, _ = path.partition("/")
        inner[top + slash] = inner.get(top + slash, 0) + 1
    folders = sorted(name for name in inner if name.endswith("/"))
    files = sorted(name for name in inner if not name.endswith("/"))
    listed = [f"{_shown(name)} ({inner[name]} files)" for name in folders] + [_shown(name) for name in files]
    left = len(listed) - _MOST_TOP
    return [*listed[:_MOST_TOP], *([f"and {left} more"] if left > 0 else [])]


def _shown(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")[:80]


def _with_notes(survey: Survey, answer: Answer) -> Answer:
    return {**answer, "notes": list(survey.notes)} if survey.notes else answer


ANSWERS: dict[str, Callable[[Survey], Answer]] = {
    "detect_project_type": project_type,
    "extract_conventions": conventions,
    "get_project_overview": overview,
}
