"""The page on searching is true: its examples give what it says, and its numbers are the ones in force."""

import re
import shlex
import textwrap
from pathlib import Path

import pytest

from toolcrib.builtins import _lines, _own_search
from toolcrib.builtins.glob import glob
from toolcrib.builtins.grep import grep

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "searching.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^\$ toolcrib (.*)\n((?:(?!\$ |```).*\n)*)", PAGE, re.MULTILINE)


@pytest.fixture
def project(workspace: Path) -> Path:
    (listing,) = re.findall(r"```files\n(.*?)```", PAGE, re.DOTALL)
    for path, content in re.findall(r"^(\S+):\n((?:    .*\n|\n)+)", listing, re.MULTILINE):
        (workspace / path).parent.mkdir(exist_ok=True)
        (workspace / path).write_text(textwrap.dedent(content))
    return workspace


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 5


@pytest.mark.parametrize(("command", "output"), EXAMPLES)
def test_an_example_prints_what_the_page_says(project, run_cli, command, output) -> None:
    done = run_cli(*shlex.split(command))
    assert (done.stdout.rstrip("\n"), done.returncode) == (output.rstrip("\n"), 0), done.stderr


def test_the_page_names_every_parameter() -> None:
    for tool in (glob, grep):
        (row,) = re.findall(rf"^\| `{tool.name}` \| (.*?) \|", PAGE, re.MULTILINE)
        assert set(re.findall(r"`(\w+)`", row)) == set(tool.input_schema["properties"])


def test_the_numbers_of_the_page() -> None:
    assert (_own_search.MOST_FILES, _own_search.MOST_BYTES) == (100, 1024**2) and "up to 100 files and 1 MiB" in PAGE
    assert _lines.LONGEST == 300 and "longer than 300 bytes" in PAGE
