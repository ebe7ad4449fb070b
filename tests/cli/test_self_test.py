"""`toolcrib doctor --self-test`: what each tier holds here, found out by trying (K79)."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from toolcrib.cli import _self_test
from toolcrib.core.jsontext import parse
from toolcrib.sandbox.canaries import Case
from toolcrib.sandbox.canary import Ground, Told, secret
from toolcrib.sandbox.canary_cases import CASES

TIERS = ("process", "landlock", "bubblewrap")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the attempts are made for Linux")


@pytest.fixture
def temporary(tmp_path: Path, environment: dict[str, str]) -> Path:
    """The only place for what the command makes for a while, apart from /var/tmp."""
    path = tmp_path / "temporary"
    path.mkdir()
    environment["TMPDIR"] = str(path)
    return path


KEPT: list[subprocess.CompletedProcess[str]] = []


@pytest.fixture
def asked(run_cli, temporary) -> "subprocess.CompletedProcess[str]":
    """`doctor --self-test --json`, asked once for all who want to know."""
    if not KEPT:
        KEPT.append(run_cli("doctor", "--self-test", "--json"))
    return KEPT[0]


def test_one_document_has_every_case_in_every_tier(asked) -> None:
    answer = parse(asked.stdout)
    assert (asked.returncode, answer["ok"], asked.stderr) == (0, True, "")
    assert list(answer["tiers"]) == list(TIERS)
    assert [row["name"] for row in answer["cases"]] == [case.name for case in CASES]
    for tier, about in answer["tiers"].items():
        allowed = {"held", "GAP (known)"} if about["here"] else {f"not here: {about['why']}"}
        assert {row[tier] for row in answer["cases"]} <= allowed


def test_what_landlock_does_not_hold_is_called_a_known_gap(asked) -> None:
    answer = parse(asked.stdout)
    if not answer["tiers"]["landlock"]["here"]:
        pytest.skip(answer["tiers"]["landlock"]["why"])
    gaps = {row["name"] for row in answer["cases"] if row["landlock"] == "GAP (known)"}
    assert {"chmod", "chown", "utime", "stat"} <= gaps
    assert gaps <= {case.name for case in CASES if "landlock" in case.gap_of}


def test_unconfined_everything_gets_out_so_that_the_rest_means_something(asked) -> None:
    answer = parse(asked.stdout)
    depends_on_the_machine = {"key", "xattr"}
    held = {row["name"] for row in answer["cases"] if row["process"] != "GAP (known)"}
    assert held <= depends_on_the_machine


@pytest.mark.parametrize("columns", [80, 200])
def test_the_table_fits_the_terminal(terminal, temporary, columns) -> None:
    screen = terminal("doctor", "--self-test", columns=columns)
    screen.read_until("ways out of process")
    assert screen.finish() == 0
    shown = re.sub(r"\r\x1b\[K[^\r\n]*(?=\r\x1b\[K)", "", screen.screen).replace("\r\x1b[K", "")
    lines = [line.rstrip("\r") for line in shown.split("\n")]
    head = next(at for at, line in enumerate(lines) if "a program tries to" in line)
    table = lines[head : head + len(CASES) + 1]
    assert max(map(len, table)) < columns
    assert lines[head].split()[-3:] == list(TIERS)
    assert any(line.startswith("read a file outside ") and "GAP (known)" in line for line in table)
    assert [line for line in table if "…" in line] == []


def test_without_a_terminal_there_is_no_progress(run_cli, temporary) -> None:
    done = run_cli("doctor", "--self-test")
    assert (done.returncode, "ways out of" in done.stderr) == (0, False)


@pytest.fixture
def grounds(monkeypatch) -> list[Ground]:
    """Where the command, in this process, put its canaries."""
    made: list[Ground] = []

    class Seen(Ground):
        def __init__(self, root: str) -> None:
            super().__init__(root)
            made.append(self)

    monkeypatch.setattr(_self_test, "Ground", Seen)
    return made


def test_nothing_is_left(cli, temporary, home, workspace, grounds) -> None:
    kept = sorted(home.rglob("*"))
    cli("doctor", "--self-test")
    assert [
        path for ground in grounds for path in (os.path.dirname(ground.root), ground.far) if os.path.lexists(path)
    ] == []
    assert ([*temporary.iterdir(), *workspace.iterdir()], sorted(home.rglob("*"))) == ([], kept)
    assert grounds


def test_interrupted_it_cleans_up(terminal, temporary) -> None:
    screen = terminal("doctor", "--self-test")
    screen.read_until("ways out of process")
    screen.send("\x03")
    assert screen.finish() == 130
    assert "Traceback" not in screen.screen
    assert list(temporary.iterdir()) == []


def in_the_workspace(ground: Ground, name: str) -> Told:
    """Something that every tier lets a program read."""
    return secret(ground, name, place=f"{ground.workspace}/open")


def test_what_got_out_and_is_no_known_gap_is_a_failure(cli, temporary, monkeypatch) -> None:
    monkeypatch.setattr(_self_test, "CASES", (*CASES[:3], Case("open", "read what is open", "read", in_the_workspace)))
    answer = parse(cli("doctor", "--self-test", "--json").stdout)
    if not any(answer["tiers"][tier]["here"] for tier in TIERS[1:]):
        pytest.skip("no tier holds here")
    done = cli("doctor", "--self-test")
    assert (done.returncode, answer["ok"]) == (1, False)
    assert "ESCAPED" in next(line for line in done.stdout.splitlines() if line.startswith("read what is open"))
    assert "1 of 4 escaped" in done.stderr


def test_a_tier_that_is_not_here_says_why(cli, temporary, monkeypatch) -> None:
    monkeypatch.setattr(_self_test.bubblewrap, "canary", lambda: "it is not installed; apt install bubblewrap")
    done = cli("doctor", "--self-test")
    assert done.returncode == 0
    assert all(line.endswith("not here") for line in done.stdout.splitlines()[1:])
    assert "bubblewrap: not here: it is not installed; apt install bubblewrap" in done.stderr


def test_one_that_does_not_come_up_is_not_here_either(cli, temporary, monkeypatch) -> None:
    """Its canary was in good health; what was started in it was not."""
    monkeypatch.setattr(_self_test, "tried", _cannot)
    done = cli("doctor", "--self-test", "--json")
    assert all("the kernel refused" in about["why"] for about in parse(done.stdout)["tiers"].values())
    assert list(temporary.iterdir()) == []


async def _cannot(*_: object) -> None:
    from toolcrib.core.errors import ToolError

    raise ToolError("the kernel refused", code="SANDBOX_UNAVAILABLE")
