"""Standard streams that are closed or full: a verb ends with a clear line, and what ran is not asked for twice."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from toolcrib.core.jsontext import parse
from toolcrib.observe.verify import records

Shell = Callable[..., "subprocess.CompletedProcess[str]"]
CLOSED, FULL = ">&-", ">/dev/full"
WHY = {CLOSED: "Bad file descriptor", FULL: "No space left on device"}
PRINTING = """
--version
--help
list
list --json
list --names
list --help
show read_file
check
clean --help
clean --json
policy check --json
policy explain read_file --input {"path":"a"}
audit show --json
doctor
session new s
completion bash
new executable made
call read_file --path a --help
""".strip().splitlines()


@pytest.fixture
def shell(workspace: Path, environment: dict[str, str]) -> Shell:
    """`shell("list", ">&-")` has a shell set up the streams."""

    def run(words: str, streams: str) -> "subprocess.CompletedProcess[str]":
        line = f'exec "$0" -m toolcrib "$@" {streams}'
        argv = ["bash", "-c", line, sys.executable, *words.split()]
        return subprocess.run(argv, capture_output=True, text=True, cwd=workspace, env=environment, timeout=60)

    return run


@pytest.mark.parametrize("streams", [CLOSED, FULL])
@pytest.mark.parametrize("words", PRINTING)
def test_what_cannot_be_printed_is_said(shell: Shell, words: str, streams: str) -> None:
    done = shell(words, streams)
    assert done.returncode == 1
    assert done.stderr.endswith(f"toolcrib: stdout cannot be written to: {WHY[streams]}\n")
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


@pytest.mark.parametrize("streams", [CLOSED, FULL])
@pytest.mark.parametrize("json", ["", " --json"])
def test_a_call_whose_answer_cannot_be_printed_ran_and_is_not_to_be_repeated(
    shell: Shell, repeat: Path, workspace: Path, home: Path, streams: str, json: str
) -> None:
    done = shell(f"call repeat --name Bob --yes{json}", streams)
    assert done.returncode == 1
    why = f"because stdout cannot be written to: {WHY[streams]}"
    assert done.stderr.endswith(f"toolcrib: it ran; the answer could not be written, {why}\n")
    assert "again" not in done.stderr and "Traceback" not in done.stderr
    assert (workspace / "ran").exists()
    assert [each["code"] for each in records(str(home / "audit")) if each["event"] == "call"] == [None]


def test_a_call_that_did_not_run_says_so(shell: Shell, repeat: Path, workspace: Path) -> None:
    assert "toolcrib: nothing ran, and stdout" in shell("call repeat --yes --dry-run", FULL).stderr
    assert "toolcrib: nothing ran, and stdout" in shell("call repeat --json", CLOSED).stderr
    assert not (workspace / "ran").exists()


@pytest.mark.parametrize("streams", ["<&-", "2>&-", "2>/dev/full", "<&- 2>&-"])
def test_without_the_other_streams_a_call_goes_well(shell: Shell, repeat: Path, streams: str) -> None:
    done = shell("call repeat --name Bob --yes --json", streams)
    assert (done.returncode, done.stderr) == (0, "")
    assert parse(parse(done.stdout)["data"]) == {"name": "Bob"}


def test_without_an_input_there_is_nobody_to_ask_and_nothing_to_read(shell: Shell, repeat: Path) -> None:
    done = shell("call repeat", "<&-")
    assert done.returncode == 3 and done.stderr.startswith("APPROVAL_REQUIRED")
    done = shell("call repeat --yes --input -", "<&-")
    assert done.returncode == 2 and "--input is not valid JSON" in done.stderr


def test_without_any_stream_it_runs_all_the_same(shell: Shell, repeat: Path, workspace: Path) -> None:
    assert shell("call repeat --yes", "<&- >&- 2>&-").returncode == 1
    assert (workspace / "ran").exists()


def test_whoever_has_seen_enough_is_told_nothing(shell: Shell) -> None:
    done = shell("list --json", "| true")
    assert done.stderr == ""


def test_a_failure_that_cannot_be_printed_is_still_said_to_the_person(shell: Shell, home: Path) -> None:
    (home / "config.yaml").write_text("sandbox: [")
    done = shell("list --json", FULL)
    assert done.returncode == 2
    assert done.stderr.startswith("CONFIG_INVALID") and "Traceback" not in done.stderr
