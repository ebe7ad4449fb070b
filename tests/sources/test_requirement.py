"""Programs that tools need, and their versions (K70, F49). Each program notes that it was started, and how."""

import json
import os
import shutil
from pathlib import Path

import pytest

from toolcrib.sources.requirement import is_older, version_in

from .folders import put

NAME = "no-such-thing3"


class Programs:
    """A directory of the PATH."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.log = directory, directory.with_name(f"{directory.name}.log")

    def add(self, text: str, *, name: str = NAME) -> Path:
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self.directory / name
        path.write_text(f'#!/bin/sh\necho "$# $*" >> {self.log}\npwd >> {self.log}.cwd\n{text}\n')
        path.chmod(0o755)
        return path

    def started(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def programs(tmp_path, monkeypatch) -> Programs:
    found = Programs(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{found.directory}:{os.environ['PATH']}")
    return found


def test_a_program_that_is_not_there(shelf, programs) -> None:
    put(shelf.user_tools / "one", requires=[f"{NAME} >= 1.6"])
    code, message = shelf.problem("tool.yaml")
    assert code == "ENGINE_NOT_AVAILABLE"
    assert f"it needs {NAME} >= 1.6, which is not in the PATH; install" in message
    programs.add("echo thing 1.6")
    assert shelf.opened() == ["custom_tool_one"]


@pytest.mark.parametrize(
    ("said", "wanted", "is_met"),
    [
        ("thing-1.6", ">= 1.6", True),
        ("thing 1.5.9", ">= 1.6", False),
        ("Thing version v1.10.0 (2024)", ">= 1.9", True),
        ("1.6.0", "== 1.6", True),
        ("1.6.1", "== 1.6", False),
        ("1.6", "< 1.6.0", False),
        ("1.6", "<= 1.6.0", True),
        ("2", "> 1", True),
        ("thing 590 (GNU)", ">= 600", False),
    ],
)
def test_a_version_is_compared_number_by_number(shelf, programs, said, wanted, is_met) -> None:
    programs.add(f"echo '{said}'")
    put(shelf.user_tools / "one", requires=[f"{NAME} {wanted}"])
    assert shelf.opened() == (["custom_tool_one"] if is_met else [])
    if not is_met:
        code, message = shelf.problem("tool.yaml")
        assert code == "ENGINE_NOT_AVAILABLE" and f"{NAME} is {version_in(said)}" in message


@pytest.mark.parametrize("text", ["", "echo no number", "echo 1.9; exit 3", "kill -9 $$"])
def test_a_version_that_cannot_be_told_does_not_do(shelf, programs, tmp_path, text) -> None:
    programs.add(text)
    put(shelf.user_tools / "one", script=f": > {tmp_path}/canary", requires={NAME: ">= 1.6"})
    code, message = shelf.problem("tool.yaml")
    assert (code, "cannot be told" in message) == ("ENGINE_NOT_AVAILABLE", True)
    assert not shelf.opened(lambda crib: crib.call("custom_tool_one")).success
    assert not (tmp_path / "canary").exists()


def test_a_program_that_does_not_end_is_ended(shelf, programs, monkeypatch) -> None:
    monkeypatch.setattr("toolcrib.sources.probe.SECONDS", 0.3)
    programs.add("sleep 60")
    put(shelf.user_tools / "one", requires=[f"{NAME} >= 1"])
    assert "took longer" in shelf.problem("tool.yaml")[1]
    assert len(programs.started()) == 1


def test_one_that_prints_on_stderr(shelf, programs) -> None:
    programs.add("echo thing 2.0 >&2")
    put(shelf.user_tools / "one", requires=[f"{NAME} >= 1.6"])
    assert shelf.opened() == ["custom_tool_one"]


def test_it_is_asked_once_for_as_long_as_it_is_the_same(shelf, programs) -> None:
    """By all tools, in all runs; with that one word; and not in the workspace."""
    programs.add("echo 1.6")
    put(shelf.user_tools / "one", requires=[f"{NAME} >= 1.6"])
    put(shelf.user_tools / "two", requires=[f"{NAME} >= 1.5"])
    put(shelf.project_tools / "three", requires=[f"{NAME} >= 1.5"])
    shelf.trust()
    for _ in range(3):
        assert shelf.opened() == ["custom_tool_one", "custom_tool_three", "custom_tool_two"]
    assert programs.started() == ["1 --version"]
    assert Path(f"{programs.log}.cwd").read_text() == f"{programs.directory}\n"
    programs.add("echo 1.4")
    assert shelf.opened() == []
    assert programs.started() == ["1 --version"] * 2


def test_without_a_version_it_is_only_looked_for(shelf, programs) -> None:
    programs.add("echo 1.6")
    put(shelf.user_tools / "one", requires=[NAME])
    assert shelf.opened() == ["custom_tool_one"]
    assert programs.started() == []


def test_a_running_crib_notices_a_new_version(shelf, programs) -> None:
    programs.add("echo 1.4")
    put(shelf.user_tools / "one", requires=[f"{NAME} >= 1.6"])

    async def turns(crib) -> list[int]:
        seen = [len(crib.tools())]
        programs.add("echo 1.60")
        await crib.refresh()
        return [*seen, len(crib.tools())]

    assert shelf.opened(turns) == [0, 1]


@pytest.mark.parametrize("state", ["untrusted", "changed", "new"])
def test_a_manifest_that_is_not_trusted_starts_nothing(shelf, programs, state) -> None:
    programs.add("echo 1.6")
    if state == "changed":
        put(shelf.project_tools / "one")
    if state != "untrusted":
        put(shelf.project_tools / "other")
        shelf.trust()
    put(shelf.project_tools / "one", requires=[f"{NAME} >= 1.6"])
    assert "custom_tool_one" not in shelf.opened()
    assert programs.started() == []


@pytest.mark.parametrize("how", ["absolute", "relative", "link"])
def test_a_program_of_the_workspace_is_not_started(shelf, tmp_path, monkeypatch, how) -> None:
    """Whatever lies there may be anybody's; that a tool needs it is no reason to start it."""
    theirs = Programs(shelf.project / "bin")
    path = theirs.add("echo 1.6")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / NAME).symlink_to(path)
    place = {"absolute": path.parent, "relative": "bin", "link": tmp_path / "mine"}[how]
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    monkeypatch.chdir(shelf.project)
    put(shelf.user_tools / "one", requires=[f"{NAME} >= 1.6"])
    assert "it lies in the workspace" in shelf.problem("tool.yaml")[1]
    assert theirs.started() == []


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"format": 1}', b'{"format": 1, "said": {"x": 5}}', b"\xff"])
def test_damaged_answers_are_asked_for_again(shelf, programs, damage) -> None:
    programs.add("echo 1.6")
    put(shelf.user_tools / "one", requires=[f"{NAME} >= 1.6"])
    shelf.opened()
    (kept,) = (shelf.home / "cache").glob("*versions*")
    kept.write_bytes(damage)
    assert shelf.opened() == ["custom_tool_one"]
    assert len(programs.started()) == 2


def test_a_list_that_is_kept_asks_nothing_and_notices_what_is_gone(shelf, programs, run_cli) -> None:
    path = programs.add("echo 1.6")
    put(shelf.user_tools / "one", requires=[f"{NAME} >= 1.6"])
    env = {"PATH": os.environ["PATH"]}
    for _ in range(3):
        assert run_cli("list", "--names", env=env).stdout == "custom_tool_one\n"
    assert programs.started() == ["1 --version"]
    path.unlink()
    (problem,) = json.loads(run_cli("list", "--json", env=env).stdout)["problems"]
    assert problem["code"] == "ENGINE_NOT_AVAILABLE"


def test_check_asks_afresh_and_not_for_a_folder_that_is_not_installed(shelf, programs, run_cli, tmp_path) -> None:
    programs.add("echo 1.4")
    folder = put(shelf.user_tools / "one", requires=[f"{NAME} >= 1.6"])
    env = {"PATH": os.environ["PATH"]}
    done = run_cli("check", str(folder), "--json", env=env)
    ((finding,),) = [each["findings"] for each in json.loads(done.stdout)["checked"]]
    assert (done.returncode, finding["code"]) == (1, "ENGINE_NOT_AVAILABLE")
    assert finding["message"].endswith("is 1.4")
    before = len(programs.started())
    (tmp_path / "elsewhere").mkdir()
    shutil.move(folder, tmp_path / "elsewhere" / "one")
    assert run_cli("check", str(tmp_path / "elsewhere" / "one"), env=env).returncode == 0
    assert len(programs.started()) == before


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("jq-1.6", "1.6"), ("git version 2.39.2\n", "2.39.2"), ("go1.21.0 linux", "1.21.0"), ("less 590 (x)", "590"),
        ("Python 3.11.7", "3.11.7"), ("v20", "20"), ("words", ""), ("", ""), ("a1 b2\n3", ""), ("२.१", ""),
        ("1" * 500 + ".2", "1" * 9 + ".2"),
    ],
)  # fmt: skip
def test_the_version_in_what_is_said(text, version) -> None:
    assert version_in(text) == version


@pytest.mark.parametrize(
    ("version", "wanted", "older"), [("0.1.0", "0.1", False), ("0.1.9", "0.2", True), ("0.10.0rc1", "0.9.9", False)]
)
def test_which_is_older(version, wanted, older) -> None:
    assert is_older(version, wanted) is older
