"""The page on vocabularies is true: its commands do what it says, and its table is the table."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from toolcrib.sources.vocabularies import VOCABULARIES

PAGE = (Path(__file__).parents[2] / "docs" / "vocabularies.md").read_text(encoding="utf-8")
PRINTS = re.findall(r"^`toolcrib (.*)` prints `(.*)`$", PAGE, re.MULTILINE)
FAILS = re.findall(r"^`toolcrib (.*)` fails with `(.*)`$", PAGE, re.MULTILINE)


@pytest.fixture
def profiles(home: Path) -> None:
    (home / "profiles").mkdir()
    for name, text in re.findall(r"```yaml\n# ~/.toolcrib/profiles/(\w+)\.yaml\n(.*?)```", PAGE, re.DOTALL):
        (home / "profiles" / f"{name}.yaml").write_text(text)


def test_the_commands_of_the_page(profiles: None, run_cli: Any, workspace: Path) -> None:
    assert (len(PRINTS), len(FAILS)) == (3, 2)
    for command, answer in PRINTS:
        done = run_cli(*shlex.split(command))
        assert (done.returncode, done.stdout.split()) == (0, answer.split()), done.stderr
    for command, code in FAILS:
        done = run_cli(*shlex.split(command))
        assert done.returncode in (1, 3, 4) and code in done.stderr
    assert [path.name for path in workspace.iterdir()] == ["notes.txt"]


def test_the_seven_of_the_page(profiles: None, run_cli: Any) -> None:
    listed = run_cli("list", "--profile", "seven", "--names").stdout.split()
    assert listed == ["bash", "edit", "glob", "grep", "ls", "read", "write"]


def test_the_table_of_the_page() -> None:
    rows = [re.findall(r"`?([\w]*)`? *\|", row) for row in PAGE.splitlines() if row.startswith("| `")]
    said = {
        (system, own): name
        for _, own, *names in rows
        for system, name in zip(("claude", "a3s", "golem"), names, strict=True)
        if name
    }
    assert said == {(system, word.own): word.name for system, words in VOCABULARIES.items() for word in words}
