"""The page on profiles is true: its example works, and it names every key."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from toolcrib.runtime import config_file

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "profiles.md").read_text(encoding="utf-8")
PRINTS = re.findall(r"^`toolcrib (.*)` prints `(.*)`$", PAGE, re.MULTILINE)
FAILS = re.findall(r"^`toolcrib (.*)` fails with `(.*)`$", PAGE, re.MULTILINE)
WORD_COUNT = """#!/bin/sh
case $1 in
  description) echo '{"name": "word_count", "description": "Count words.", "input_schema": {"type": "object",
    "properties": {"text": {"type": "string"}}}}' ;;
  run) sed 's/.*: *"//; s/".*//' | wc -w | tr -d ' ' ;;
esac
"""
DEPLOY = """#!/bin/sh
case $1 in
  description) echo '{"name": "deploy", "description": "Deploys.", "input_schema": {"type": "object"}}' ;;
  run) : > deployed ;;
esac
"""


@pytest.fixture
def reviewer(home: Path, make_tool: Any) -> None:
    make_tool("word_count", WORD_COUNT)
    make_tool("deploy", DEPLOY)
    example = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert example is not None
    (home / "profiles").mkdir()
    (home / "profiles" / "reviewer.yaml").write_text(example[1])


def test_there_are_commands_to_try() -> None:
    assert (len(PRINTS), len(FAILS)) == (3, 2)


@pytest.mark.parametrize(("command", "answer"), PRINTS)
def test_a_command_prints_what_the_page_says(reviewer: None, run_cli: Any, command: str, answer: str) -> None:
    done = run_cli(*shlex.split(command))
    assert (done.returncode, done.stdout.split()) == (0, answer.split()), done.stderr


@pytest.mark.parametrize(("command", "words"), FAILS)
def test_a_command_fails_as_the_page_says(
    reviewer: None, run_cli: Any, workspace: Path, command: str, words: str
) -> None:
    done = run_cli(*shlex.split(command))
    assert done.returncode in (3, 4) and words in done.stderr
    assert list(workspace.iterdir()) == []


def test_the_program_of_the_page(reviewer: None, workspace: Path, environment: dict[str, str]) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    argv = [sys.executable, "-c", program]
    done = subprocess.run(argv, cwd=workspace, env=environment, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("2\n", "")


@pytest.mark.parametrize(
    ("heading", "keys"),
    [
        ("## The keys", config_file._SECTIONS["profile"]),
        ("## What is offered", config_file._SECTIONS["sources"]),
    ],
)
def test_the_page_names_every_key(heading: str, keys: tuple[str, ...]) -> None:
    part = PAGE.split(heading)[1].split("\n## ")[0]
    rows = [line for line in part.splitlines() if line.startswith("| `")]
    assert {key for row in rows for key in re.findall(r"`(\w+)`", row.split("|")[1])} == set(keys)
