"""What the README says is so."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import toolcrib.cli

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_the_two_commands_come_first_and_are_there() -> None:
    first = re.search(r"```sh\n(.*?)```", README, re.DOTALL)
    assert first is not None
    assert [line.split("#")[0].strip() for line in first[1].splitlines()] == ["make demo", "make test"]
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^demo:", makefile, re.MULTILINE) and re.search(r"^test:", makefile, re.MULTILINE)


def test_the_number_of_steps_is_right() -> None:
    part = README.split("## From nothing to an agent")[1].split("\n## ")[0]
    steps = re.findall(r"^\d+\. ", part, re.MULTILINE)
    assert "in six steps" in part and len(steps) == 6


def test_the_python_example_runs(home: Path, workspace: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    env = {"TOOLCRIB_HOME": str(home), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, cwd=workspace, env=env)
    assert (done.stdout, done.stderr) == ("Hello, Bob!\n", "")


def test_the_program_of_the_readme_is_what_new_writes(home: Path, run_cli: Any) -> None:
    """Steps 4 and 5, without a terminal."""
    assert run_cli("new", "executable", "greet", "--lang", "bash").returncode == 0
    program = home / "tools" / "greet"
    described = json.loads(subprocess.run([program, "description"], capture_output=True, check=True).stdout)
    assert (described["name"], list(described["input_schema"]["properties"])) == ("greet", ["text"])
    done = subprocess.run([program, "run"], input=b'{"text": "Bob"}', capture_output=True, check=True)
    assert done.stdout == b"greet got: Bob\n" and "greet got: Bob" in README
    assert "custom_tool_greet" in run_cli("list").stdout
    assert run_cli("call", "greet", "--text", "Bob").returncode == 3
    assert run_cli("call", "greet", "--text", "Bob", "--yes").returncode == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = [target.split("#")[0] for target in re.findall(r"\]\(([^)]+)\)", text) if "://" not in target]
    assert [target for target in targets if target and not (page.parent / target).exists()] == []


def test_the_changelog_names_every_verb() -> None:
    assert " ".join(toolcrib.cli.VERBS) in " ".join((ROOT / "CHANGELOG.md").read_text().split())
