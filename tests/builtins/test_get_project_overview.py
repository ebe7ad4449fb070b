"""C46: a project in few words, each claim with the place where it can be seen."""

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from toolcrib.builtins.get_project_overview import get_project_overview
from toolcrib.builtins.project.readme import first_paragraph
from toolcrib.sandbox.guard import GuardedFiles

from .projects import ECOSYSTEMS, GO, NODE, PYTHON, answer, through_gate

ROOT = Path(__file__).parents[2]
ask = partial(answer, get_project_overview)


def on_disk(place: Path) -> Any:
    return ask(lambda report, judged, session: GuardedFiles(place, report, judged, session))


def test_the_whole_of_it() -> None:
    files = PYTHON | {"README.md": "# Greeter\n\n![badge](x)\n\nSays **hello** to\n[people](http://x).\n\nMore.\n"}
    files |= {"AGENTS.md": "Be kind.\n", "CLAUDE.md": "", "Makefile": "test:\n\tpytest\n", ".cursor/rules/a.mdc": ""}
    found = ask(files)
    assert found == {
        "about": "Says **hello** to people.",
        "languages": ["Python 91.9 %", "Makefile 8.1 %"],
        "build_systems": ["hatchling (pyproject.toml:3)", "make (Makefile)"],
        "package_managers": ["uv (uv.lock)"],
        "frameworks": [
            "FastAPI (pyproject.toml:8)",
            "Click (pyproject.toml:8)",
            "SQLAlchemy (pyproject.toml:8)",
        ],
        "kind": ["library greeter (pyproject.toml:1)", "command line program (pyproject.toml:10)"],
        "entry_points": [
            "greet greeter.cli:main (pyproject.toml:11)",
            "greet-all greeter.cli:everybody (pyproject.toml:12)",
            "python -m greeter (src/greeter/__main__.py)",
        ],
        "runtime_versions": ["Python >=3.11 (pyproject.toml:7)", "Python 3.12.4 (.python-version:1)"],
        "commands": {"test": "make test (Makefile:1)"},
        "tests": ["pytest (pyproject.toml:23)", "1 files test_*.py", "in tests"],
        "style": [
            "ruff: line length 100 (pyproject.toml:15)",
            "ruff: quotes double (pyproject.toml:18)",
            "Python: indentation 4 spaces (100 %), quotes double (100 %), function names snake_case (100 %)",
        ],
        "instructions": ["AGENTS.md", "CLAUDE.md", ".cursor/rules/a.mdc"],
        "top_level": [
            ".cursor/ (1 files)",
            "src/ (3 files)",
            "tests/ (1 files)",
            ".python-version",
            "AGENTS.md",
            "CLAUDE.md",
            "Makefile",
            "README.md",
            "pyproject.toml",
            "uv.lock",
        ],
        "size": {"files": len(files), "bytes": sum(map(len, files.values())), "complete": True},
    }


@pytest.mark.parametrize("name", ECOSYSTEMS)
def test_it_is_short(name: str) -> None:
    """A few hundred tokens, at about four characters each."""
    assert len(json.dumps(ask(ECOSYSTEMS[name]))) < 2400


def test_it_is_short_for_a_large_project_as_well(tmp_path: Path) -> None:
    for number in range(60):
        for path, text in (NODE | GO | PYTHON).items():
            place = tmp_path / f"{'p' * 60}{number}" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
    (tmp_path / "README").write_text("word " * 20_000)
    found = on_disk(tmp_path)
    assert len(json.dumps(found)) < 9000 and found["top_level"][-1] == "and 31 more"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", None),
        ("# Title\n\nIt does *this*.\nAnd that.\n\nNot this.", "It does *this*. And that."),
        ("Title\n=====\n\nWords.\n", "Words."),
        ("[![x](y)](z)\n<p align=center>\n\nWords.", "Words."),
        ("```\ncode\n```\n\nWords.", "Words."),
        ("# Only a title\n", None),
        ("x" * 1000, "x" * 399 + "…"),
    ],
)
def test_the_first_paragraph(text: str, wanted: str | None) -> None:
    assert first_paragraph(text) == wanted


def test_a_link_among_the_instructions_is_named_and_not_read(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "secret").write_text("stolen words\n")
    (work / "CLAUDE.md").symlink_to(tmp_path / "secret")
    (work / "README.md").symlink_to(tmp_path / "secret")
    found = on_disk(work)
    assert found["instructions"] == ["CLAUDE.md"] and "stolen" not in str(found)
    assert found["notes"] == ["README.md is a link, and was not read"]


def test_a_pipe_for_a_readme_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "README.md")
    assert on_disk(tmp_path)["notes"] == ["README.md is a pipe, and was not read"]


def test_more_files_than_it_looks_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolcrib.builtins.project.survey.MOST_ENTRIES", 50)
    for number in range(80):
        (tmp_path / f"f{number}.py").touch()
    found = on_disk(tmp_path)
    assert found["size"] == {"files": 50, "bytes": 0, "complete": False} and "50 entries" in found["notes"][0]


def test_through_the_gate(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text(GO["go.mod"])
    result = through_gate(get_project_overview, tmp_path)
    assert result.success and result.metadata["approval"] == "preApproved"
    assert result.data["runtime_versions"] == ["Go 1.22 (go.mod:3)"] and os.listdir(tmp_path) == ["go.mod"]


@pytest.mark.parametrize(
    ("args", "code"), [({"path": None}, "VALIDATION_ERROR"), ({"path": "/"}, "PATH_OUTSIDE_WORKSPACE")]
)
def test_a_wrong_call_is_refused(tmp_path: Path, args: dict[str, Any], code: str) -> None:
    result = through_gate(get_project_overview, tmp_path, args)
    assert result.error is not None and result.error.code == code


def test_this_repository() -> None:
    found = on_disk(ROOT)
    assert found["about"].startswith("A tool crib is the room") and found["languages"][0].startswith("Python 9")
    assert found["commands"]["test"].startswith("make test (Makefile:")
    assert "CONTRIBUTING.md" in found["instructions"] and len(json.dumps(found)) < 3000
