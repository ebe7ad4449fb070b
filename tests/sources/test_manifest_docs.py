"""The page on folders as tools is true: its example runs, and so does the one among the examples."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from toolcrib.backends import arguments, folder
from toolcrib.sources import manifest_file

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "manifest-tools.md").read_text(encoding="utf-8")
PRINTS = re.findall(r"^`toolcrib (call .*)` prints `(.*)`$", PAGE, re.MULTILINE)


@pytest.fixture
def shout(shelf):
    place = shelf.user_tools / "shout"
    place.mkdir(parents=True)
    (place / "tool.yaml").write_text(re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[1])
    (place / "shout.sh").write_text(re.search(r"```sh\n(#!.*?)```", PAGE, re.DOTALL)[1])
    (place / "shout.sh").chmod(0o755)
    return shelf


def test_there_are_calls_to_try() -> None:
    assert len(PRINTS) == 2


@pytest.mark.parametrize(("command", "answer"), PRINTS)
def test_a_call_prints_what_the_page_says(shout, run_cli, command, answer) -> None:
    done = run_cli(*shlex.split(command), "--yes")
    assert (done.returncode, done.stdout.split()) == (0, answer.split()), done.stderr


def test_the_example_of_the_page_is_without_fault(shout, run_cli) -> None:
    assert run_cli("check", "shout").returncode == 0


def test_the_numbers_of_the_page() -> None:
    assert (folder.MOST_FILES, folder.MOST_BYTES) == (2000, 64 * 1024**2) and "2,000 files and 64 MiB" in PAGE
    assert manifest_file.MOST_BYTES == 256 * 1024 and "256 KiB" in PAGE
    assert arguments.LONGEST_WORD == 128 * 1024 and "128 KiB" in PAGE


def test_the_page_names_every_key() -> None:
    table = PAGE.split("## The keys")[1].split("\n\n")[1]
    named = {key for row in table.splitlines()[2:] for key in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert named == set(manifest_file.KEYS)


def test_the_example_folder_works(shelf, run_cli) -> None:
    """F45: a shell script with another beside it."""
    shutil.copytree(ROOT / "examples" / "manifests" / "line_count", shelf.user_tools / "line_count")
    (shelf.project / "text").write_text("one\n\ntwo\n")
    assert run_cli("check", "line_count").returncode == 0
    assert run_cli("call", "line_count", "--path", "text", "--yes").stdout == "3\n"
    assert run_cli("call", "line_count", "--path", "text", "--blank", "false", "--yes").stdout == "2\n"
    done = run_cli("call", "line_count", "--path", "no-such-file", "--yes")
    assert (done.returncode, "is not a file of" in done.stderr) == (1, True)
