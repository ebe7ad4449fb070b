"""The page on programs that stay running is true: its program serves, and does what the page says."""

import asyncio
import re
import shlex
from pathlib import Path

import pytest

import toolcrib
from toolcrib.backends import serve
from toolcrib.core import limits
from toolcrib.sandbox import lending, peer, processes

PAGE = (Path(__file__).parents[2] / "docs" / "serve-protocol.md").read_text(encoding="utf-8")
(PROGRAM,) = re.findall(r"```python\n(#!.*?)```", PAGE, re.DOTALL)
PRINTS = re.findall(r"^`toolcrib (call .*)` prints `(.*)`$", PAGE, re.MULTILINE)
FAILS = re.findall(r"^`toolcrib (call .*)` fails with `(.*)`$", PAGE, re.MULTILINE)


@pytest.fixture
def offered(shelf):
    shelf.user_tools.mkdir(parents=True)
    path = shelf.user_tools / "lottery"
    path.write_text(PROGRAM)
    path.chmod(0o755)
    return shelf


def test_there_are_calls_to_try() -> None:
    assert (len(PRINTS), len(FAILS)) == (1, 1)


@pytest.mark.parametrize(("command", "words"), PRINTS + FAILS)
def test_a_call_does_what_the_page_says(offered, run_cli, command, words) -> None:
    done = run_cli(*shlex.split(command), "--yes")
    assert (done.returncode, words in done.stdout + done.stderr) == (int((command, words) in FAILS), True)


def test_it_serves_and_runs_to_the_same_effect(offered, run_cli) -> None:
    async def both() -> list[toolcrib.Result]:
        async with toolcrib.open(workspace=offered.project, home=offered.home, approver=toolcrib.SaysYes()) as crib:
            return [await crib.call("custom_tool_lottery", {"number": number}) for number in (49, 200, 50)]

    wins, wrong, loses = asyncio.run(both())
    assert (wins.data, wrong.error.message, loses.data) == ("wins", "there is no number 200", "loses")
    assert [each.metadata["serve"] for each in (wins, wrong, loses)] == ["started", "running", "running"]
    (offered.home / "config.yaml").write_text("toolsets: {}\ntools: {custom_tool_lottery: {warm: false}}\n")
    assert run_cli("call", "lottery", "--number", "49", "--yes").stdout == "wins\n"


def test_it_is_without_fault(offered, run_cli) -> None:
    assert run_cli("check", "lottery").returncode == 0


def test_the_numbers_are_those_of_the_code() -> None:
    assert (serve.START_SECONDS, limits.GRACE_SECONDS, limits.Limits().seconds) == (10, 0.5, 30)
    assert (lending.MOST_IDLE, processes.IDLE_SECONDS) == (16, 300)
    assert peer.LONGEST_LINE == 8 * 1024**2
    for words in ("10 seconds", "half a second", "up to 16 stay", "16 others", "300 seconds", "8 MiB"):
        assert words in PAGE
