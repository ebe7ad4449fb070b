"""The page on programs as tools is true: its programs run, and do what it says."""

import re
import shlex
from pathlib import Path

import pytest

from toolcrib.core import limits
from toolcrib.sources import probe

PAGE = (Path(__file__).parents[2] / "docs" / "executable-tools.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```(?:python|sh)\n(#!.*?)```", PAGE, re.DOTALL)
PRINTS = re.findall(r"^`toolcrib (call .*)` prints `(.*)`$", PAGE, re.MULTILINE)
FAILS = re.findall(r"^`toolcrib (call .*)` fails with `(.*)`$", PAGE, re.MULTILINE)


@pytest.fixture
def offered(shelf):
    for number, text in enumerate(PROGRAMS):
        path = shelf.user_tools / f"program{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    return shelf


def test_there_are_programs_and_calls_to_try() -> None:
    assert (len(PROGRAMS), len(PRINTS), len(FAILS)) == (2, 2, 1)


def test_every_program_is_offered(offered) -> None:
    assert offered.problems() == {}
    assert offered.opened() == ["custom_tool_repeat", "custom_tool_word_count"]
    assert offered.opened(lambda crib: crib.find("word_count").limits.seconds) == 90
    assert offered.opened(lambda crib: crib.find("repeat").input_schema["required"]) == ["word"]


@pytest.mark.parametrize(("command", "answer"), PRINTS)
def test_a_call_prints_what_the_page_says(offered, run_cli, command, answer) -> None:
    done = run_cli(*shlex.split(command), "--yes")
    assert (done.returncode, done.stdout.split()) == (0, answer.split()), done.stderr


@pytest.mark.parametrize(("command", "words"), FAILS)
def test_a_call_fails_as_the_page_says(offered, run_cli, command, words) -> None:
    done = run_cli(*shlex.split(command), "--yes")
    assert done.returncode != 0
    assert words in done.stderr + done.stdout


def test_the_numbers_are_those_of_the_code() -> None:
    assert (limits.INPUT_BYTES, limits.ARTIFACT_BYTES) == (8 * 1024**2, 64 * 1024**2)
    assert (limits.DRAIN_SECONDS, limits.GRACE_SECONDS, probe.SECONDS) == (0.2, 0.5, 5.0)
    assert limits.Limits() == limits.Limits(30, 1024**2, None)
    assert all(
        f"`{name}`" in PAGE
        for name in ("TOOLCRIB_WORKSPACE", "TOOLCRIB_SESSION", "TOOLCRIB_CALL_ID", "TOOLCRIB_TOOL_DIR", "TMPDIR")
    )
