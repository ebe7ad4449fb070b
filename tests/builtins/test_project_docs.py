"""The page on projects is true: its example, its limits, and what it says of each tool."""

import json
import re
from pathlib import Path
from typing import Any

from toolcrib.builtins.detect_project_type import detect_project_type
from toolcrib.builtins.get_project_overview import get_project_overview
from toolcrib.builtins.project import measured, survey
from toolcrib.builtins.project.describe import ANSWERS

from .projects import answer

PAGE = (Path(__file__).parents[2] / "docs" / "projects.md").read_text(encoding="utf-8")


def example() -> dict[str, str]:
    found = re.search(r"```toml\n(# pyproject.toml\n.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return {"pyproject.toml": found[1]}


def test_the_example() -> None:
    (said,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    found: Any = answer(detect_project_type, example())
    assert json.loads(said) in found["runtime_versions"]
    assert "Python >=3.11 (pyproject.toml:8)" in answer(get_project_overview, example())["runtime_versions"]


def test_the_limits() -> None:
    assert (survey.MOST_ENTRIES, survey.LONGEST, survey.MOST_BYTES) == (30_000, 256 * 1024, 8 * 1024**2)
    assert (measured.MOST_FILES, measured.MOST_LANGUAGES) == (40, 4)
    for words in ("30,000 entries", "256 KiB", "8 MiB", "40 files", "four languages"):
        assert words in " ".join(PAGE.split())


def test_every_tool_is_on_the_page() -> None:
    table = PAGE.split("| tool |")[1].split("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == set(ANSWERS)
