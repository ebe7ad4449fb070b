"""The page on Python tools is true: its module loads, its calls do what it says, its program runs."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from toolcrib.sources.imported import MODULE_BYTES

PAGE = (Path(__file__).parents[2] / "docs" / "python-tools.md").read_text(encoding="utf-8")
CONFIG, *_ = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
MODULE, PROGRAM = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
PRINTS = re.findall(r"^`toolcrib (call .*)` prints `(.*)`$", PAGE, re.MULTILINE)
FAILS = re.findall(r"^`toolcrib (call .*)` fails with `(.*)`$", PAGE, re.MULTILINE)


@pytest.fixture
def page(modules):
    (modules.home / "config.yaml").write_text(CONFIG)
    modules.write(MODULE)
    return modules


def test_there_are_calls_to_try() -> None:
    assert (len(PRINTS), len(FAILS)) == (4, 2)


def test_every_export_is_offered(page) -> None:
    assert page.problems() == []
    assert page.approvals() == {"add": "preApproved", "count": "ask", "remind": "ask", "roll": "ask", "shout": "ask"}


@pytest.mark.parametrize(("command", "answer"), PRINTS)
def test_a_call_prints_what_the_page_says(page, run_cli, command: str, answer: str) -> None:
    done = run_cli(*shlex.split(command))
    assert (done.returncode, done.stdout.split()) == (0, answer.split()), done.stderr


@pytest.mark.parametrize(("command", "words"), FAILS)
def test_a_call_fails_as_the_page_says(page, run_cli, command: str, words: str) -> None:
    done = run_cli(*shlex.split(command))
    assert done.returncode != 0 and words in done.stderr


def test_the_program_runs(page, environment: dict[str, str]) -> None:
    (page.workspace / "tools.py").write_text(MODULE)
    (page.home / "config.yaml").unlink()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=page.workspace, env=environment, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("5\n", "")


def test_the_number_is_that_of_the_code() -> None:
    assert MODULE_BYTES == 4 * 1024**2 and "at most 4 MiB" in PAGE
