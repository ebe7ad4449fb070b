"""`toolcrib trust` and `untrust`: a person looks first, and nothing runs before."""

import hashlib
import json
import os
from pathlib import Path

import pytest


@pytest.fixture
def project(workspace: Path, make_tool, tmp_path: Path) -> Path:
    """A project that would leave `canary` behind if anything of it ran."""
    make_tool("evil", f"#!/bin/sh\n: > {tmp_path}/canary\n", directory=workspace / ".toolcrib" / "tools")
    (workspace / ".toolcrib" / "config.yaml").write_text("approval: {default: ask}\n")
    return workspace


def test_without_a_terminal_it_takes_yes(run_cli, project: Path, tmp_path: Path, home: Path) -> None:
    """K60: shows each file with its digest, and trusts nothing unless told to."""
    done = run_cli("trust", "--json")
    assert done.returncode == 3
    report = json.loads(done.stdout)
    tool = project / ".toolcrib" / "tools" / "evil"
    digests = [
        "sha256:" + hashlib.sha256(file.read_bytes()).hexdigest() for file in (tool.parents[1] / "config.yaml", tool)
    ]
    assert (report["project"], report["trusted"]) == (str(project), False)
    assert [(file["path"], file["kind"], file["digest"]) for file in report["files"]] == [
        (".toolcrib/config.yaml", "file", digests[0]),
        (".toolcrib/tools/evil", "program", digests[1]),
    ]
    assert "add --yes" in done.stderr and digests[1][:19] in done.stderr
    assert not (home / "trust.json").exists()
    assert run_cli("trust", "--yes").returncode == 0
    assert not (tmp_path / "canary").exists()


def test_at_a_terminal_it_asks(run_cli, terminal, project: Path, home: Path) -> None:
    for typed, status in (("\n", 3), ("\x04", 3), ("\x03", 130)):
        at = terminal("trust")
        at.read_until("[y/N] ")
        at.send(typed)
        assert at.finish() == status
        assert "Traceback" not in at.screen
    assert not (home / "trust.json").exists()
    at = terminal("trust")
    at.read_until("[y/N] ")
    at.send("y\n")
    assert at.finish() == 0
    assert json.loads(run_cli("untrust", "--json").stdout)["was_trusted"] is True
    assert json.loads(run_cli("untrust", "--json").stdout)["was_trusted"] is False


def test_what_changed_while_a_person_looked_is_not_trusted(terminal, project: Path, home: Path) -> None:
    at = terminal("trust")
    at.read_until("[y/N] ")
    (project / ".toolcrib" / "tools" / "evil").write_text("#!/bin/sh\nrm -rf everything\n")
    at.send("y\n")
    assert at.finish() == 3
    assert "changed while you were looking" in at.screen
    assert not (home / "trust.json").exists()


def test_hostile_files_are_only_looked_at(run_cli, project: Path, tmp_path: Path) -> None:
    """A pipe is not opened, a link is not followed, and a name draws nothing."""
    tools = project / ".toolcrib" / "tools"
    os.mkfifo(tools / "pipe")
    (tools / "link").symlink_to("/etc/passwd\x1b[2J")
    (tools / "loop").symlink_to("..")
    (tools / "\x1b[31mred").write_text("")
    done = run_cli("trust", "--json")
    assert "\x1b" not in done.stderr
    kinds = {Path(file["path"]).name: (file["kind"], file["digest"] != "") for file in json.loads(done.stdout)["files"]}
    assert (kinds["pipe"], kinds["link"], kinds["loop"]) == (("special", False), ("link", False), ("link", False))
    assert kinds["\x1b[31mred"] == ("file", True)


def test_trust_is_for_one_directory_and_not_for_one_that_took_its_place(
    run_cli, project: Path, tmp_path: Path, repeat_script: str
) -> None:
    tool = project / ".toolcrib" / "tools" / "evil"
    tool.write_text(repeat_script.replace(": > ran", f": > {tmp_path}/canary"))
    run_cli("trust", "--yes")
    assert run_cli("list", "--names").stdout == run_cli("list", "--names").stdout == "custom_tool_repeat\n"
    project.rename(tmp_path / "moved")
    project.mkdir()
    (tmp_path / "moved" / ".toolcrib").rename(project / ".toolcrib")
    assert "WORKSPACE_UNTRUSTED" in run_cli("list").stderr
    assert run_cli("call", "evil", "--yes").returncode == 3
    assert not (tmp_path / "canary").exists()


def test_untrust_works_when_the_projects_configuration_is_broken_or_gone(
    run_cli, project: Path, tmp_path: Path
) -> None:
    run_cli("trust", "--yes")
    (project / ".toolcrib" / "config.yaml").write_text("nonsense: [")
    assert run_cli("list").returncode == 2
    assert run_cli("untrust").returncode == 0
    assert run_cli("list").returncode == 0
    assert run_cli("untrust", str(tmp_path / "never-was")).returncode == 0
    assert run_cli("trust", str(tmp_path / "never-was")).returncode == 2
