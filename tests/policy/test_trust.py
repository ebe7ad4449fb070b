"""Trust in a project: for one directory, and for exactly what was in it. And the looking, which nothing may disturb."""

import hashlib
import json
import os
import shutil
import socket
from pathlib import Path

import pytest

from toolcrib.core.errors import ConfigError
from toolcrib.policy import project_files as looking
from toolcrib.policy.project_files import Changes, compared, key, project_files, unkey
from toolcrib.policy.trust import Trust


def digest(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def write(path: Path, text: str = "x", mode: int = 0o644) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.fixture
def project(workspace: Path) -> Path:
    write(workspace / ".toolcrib" / "config.yaml", "approval: {default: ask}\n")
    write(workspace / ".toolcrib" / "policy.yaml", "rules: []\n")
    write(workspace / ".toolcrib" / "profiles" / "ci.yaml", "sandbox: auto\n")
    write(workspace / ".toolcrib" / "tools" / "deploy", "#!/bin/sh\n", 0o755)
    write(workspace / ".toolcrib" / "tools" / "data.txt", "data")
    write(workspace / ".agents" / "skills" / "s" / "SKILL.md", "agents")
    write(workspace / ".claude" / "skills" / "s" / "SKILL.md", "claude")
    write(workspace / "src" / "main.py", "not ours")
    return workspace


@pytest.fixture
def trust(home: Path) -> Trust:
    return reader(home)


def reader(home: Path) -> Trust:
    """As another process would see it."""
    return Trust(str(home / "trust.json"), lambda data: (home / "trust.json").write_bytes(data) and None)


@pytest.fixture
def trusted(trust: Trust, project: Path) -> Trust:
    trust.add(str(project), project_files(str(project)))
    return trust


def vouches(trust: Trust, project: Path, relative: str, content: str) -> bool:
    record = trust.record(str(project))
    return record is not None and record.vouches(relative, digest(content))


TOOL, CONFIG, POLICY = ".toolcrib/tools/deploy", ".toolcrib/config.yaml", ".toolcrib/policy.yaml"
PROFILE = ".toolcrib/profiles/ci.yaml"


# What trust is about


def test_everything_that_would_count_is_looked_at_and_nothing_else(project: Path) -> None:
    write(project / "kodelet-tools" / "old", "#!/bin/sh\n", 0o755)
    found = {entry.path: (entry.kind, entry.digest) for entry in project_files(str(project), ["kodelet-tools"])}
    assert found == {
        CONFIG: ("file", digest("approval: {default: ask}\n")),
        POLICY: ("file", digest("rules: []\n")),
        PROFILE: ("file", digest("sandbox: auto\n")),
        TOOL: ("program", digest("#!/bin/sh\n")),
        ".toolcrib/tools/data.txt": ("file", digest("data")),
        ".agents/skills/s/SKILL.md": ("file", digest("agents")),
        ".claude/skills/s/SKILL.md": ("file", digest("claude")),
        "kodelet-tools/old": ("program", digest("#!/bin/sh\n")),
    }


def test_a_project_without_anything_is_looked_at_too(workspace: Path) -> None:
    assert project_files(str(workspace)) == []


def test_links_are_named_and_only_those_into_the_project_are_read(project: Path, tmp_path: Path) -> None:
    write(tmp_path / "outside", "outside")
    tools = project / ".toolcrib" / "tools"
    write(project / "scripts" / "run", "inside", 0o755)
    (tools / "in").symlink_to("../../scripts/run")
    (tools / "out").symlink_to(tmp_path / "outside")
    (tools / "up").symlink_to("../../../outside")
    (tools / "nowhere").symlink_to("nothing")
    (tools / "directory").symlink_to("..")
    (tools / "loop").symlink_to("loop")
    found = {entry.path.rsplit("/", 1)[1]: entry for entry in project_files(str(project)) if entry.kind == "link"}
    assert {name: bool(entry.digest) for name, entry in found.items()} == {
        "in": True, "out": False, "up": False, "nowhere": False, "directory": False, "loop": False,
    }  # fmt: skip
    assert (found["in"].digest, found["in"].target) == (digest("inside"), "../../scripts/run")


def test_a_link_in_place_of_a_directory_is_named_and_not_entered(project: Path, tmp_path: Path) -> None:
    os.rename(project / ".toolcrib", tmp_path / "moved")
    (project / ".toolcrib").symlink_to(tmp_path / "moved")
    os.rename(project / ".agents", tmp_path / "agents")
    (project / ".agents").symlink_to(tmp_path / "agents")
    found = {entry.path: entry.kind for entry in project_files(str(project))}
    assert found == {".toolcrib": "link", ".agents/skills": "link", ".claude/skills/s/SKILL.md": "file"}


def test_pipes_sockets_and_devices_are_named_and_never_opened(project: Path) -> None:
    tools = project / ".toolcrib" / "tools"
    os.mkfifo(tools / "pipe")
    (tools / "device").symlink_to("/dev/zero")
    here = os.getcwd()
    os.chdir(tools)  # a socket's path is short
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("socket")
    finally:
        os.chdir(here)
    found = {entry.path.rsplit("/", 1)[1]: (entry.kind, entry.digest) for entry in project_files(str(project))}
    assert (found["pipe"], found["socket"], found["device"]) == (("special", ""), ("special", ""), ("link", ""))


@pytest.mark.parametrize("kind", ["fifo", "file", "link to itself", "link to /"])
def test_a_project_directory_that_is_none_is_named(workspace: Path, kind: str) -> None:
    place = workspace / ".toolcrib"
    if kind == "fifo":
        os.mkfifo(place)
    elif kind == "file":
        place.write_text("x")
    else:
        place.symlink_to(".toolcrib" if kind == "link to itself" else "/")
    (entry,) = project_files(str(workspace))
    assert entry.path == ".toolcrib"


def test_a_very_long_file_is_named_and_not_read(project: Path) -> None:
    path = write(project / ".toolcrib" / "tools" / "huge", "", 0o755)
    os.truncate(path, 10**13) if _sparse(path) else pytest.skip("no sparse files here")
    (entry,) = [entry for entry in project_files(str(project)) if entry.path.endswith("huge")]
    assert (entry.kind, entry.digest) == ("too long", "")


def test_what_comes_after_too_much_in_all_is_named_and_not_read(workspace: Path, monkeypatch) -> None:
    monkeypatch.setattr(looking, "MOST_BYTES", 10)
    for name in "abcdefg":
        write(workspace / ".toolcrib" / name, "x" * (4 if name == "f" else 9))
    read = {entry.path[-1]: bool(entry.digest) for entry in project_files(str(workspace))}
    assert read == {"a": True, "b": True, "c": True, "d": True, "e": False, "f": True, "g": False}


def _sparse(path: Path) -> bool:
    try:
        os.truncate(path, 10**13)
    except OSError:
        return False
    return True


def test_directories_below_directories_without_end(project: Path) -> None:
    deep = project / ".toolcrib" / "skills"
    for _ in range(40):
        deep = deep / "d"
    write(deep / "SKILL.md")
    found = [entry for entry in project_files(str(project)) if "/d/" in entry.path]
    assert [(entry.kind, entry.digest) for entry in found] == [("directory", "")]


def test_more_files_than_a_person_can_look_at(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "MOST_FILES", 50)
    for number in range(200):
        write(project / ".toolcrib" / "many" / str(number))
    assert len(project_files(str(project))) == 51


HOSTILE = ["a\nb", "\x1b[31mred", "\u202egpj.exe", "back\\slash", "\\xff", "tab\t", " ", "…", "-rf", "e\u0301"]


@pytest.mark.parametrize("name", [*HOSTILE, os.fsdecode(b"\xff"), os.fsdecode(b"ok\xc3\x28")])
def test_any_name_is_one_key_and_back(project: Path, trust: Trust, name: str) -> None:
    write(project / ".toolcrib" / "tools" / name, "#!/bin/sh\n", 0o755)
    trust.add(str(project), project_files(str(project)))
    assert vouches(trust, project, f".toolcrib/tools/{name}", "#!/bin/sh\n")
    assert unkey(key(name)) == name
    assert key(name).encode()  # text that JSON can carry


def test_two_names_are_never_one_key() -> None:
    assert key(os.fsdecode(b"\xff")) != key("\\xff")


# Vouching


def test_nothing_is_vouched_for_before(trust: Trust, project: Path) -> None:
    assert not trust.trusts(str(project))
    assert trust.record(str(project)) is None
    assert trust.trusted_bytes(str(project), CONFIG) is None


def test_what_was_looked_at_is_vouched_for(trusted: Trust, project: Path, home: Path) -> None:
    for trust in (trusted, reader(home)):
        assert trust.trusts(str(project))
        assert vouches(trust, project, TOOL, "#!/bin/sh\n")
        assert trust.vouches_now(str(project), TOOL)
        assert trust.changed(str(project)) == Changes()
        assert trust.unsettled(str(project)) == ()
        assert trust.trusted_bytes(str(project), CONFIG) == b"approval: {default: ask}\n"


@pytest.mark.parametrize(
    ("relative", "content"),
    [
        (TOOL, "#!/bin/sh\nrm -rf /\n"),
        (TOOL, ""),
        (".toolcrib/tools/other", "#!/bin/sh\n"),
        ("deploy", "#!/bin/sh\n"),
        ("src/main.py", "not ours"),
        (".toolcrib/tools/../tools/deploy", "#!/bin/sh\n"),
        ("./" + TOOL, "#!/bin/sh\n"),
    ],
)
def test_nothing_else_is_vouched_for(trusted: Trust, project: Path, relative: str, content: str) -> None:
    assert not vouches(trusted, project, relative, content)


def test_a_link_is_not_vouched_for_by_the_content_it_leads_to(trust: Trust, project: Path) -> None:
    (project / ".toolcrib" / "tools" / "linked").symlink_to("deploy")
    trust.add(str(project), project_files(str(project)))
    assert not vouches(trust, project, ".toolcrib/tools/linked", "#!/bin/sh\n")


def test_no_digest_is_never_vouched_for(trust: Trust, project: Path) -> None:
    os.mkfifo(project / ".toolcrib" / "tools" / "pipe")
    trust.add(str(project), project_files(str(project)))
    record = trust.record(str(project))
    assert record is not None
    assert not record.vouches(".toolcrib/tools/pipe", "")


def test_what_is_added_later_counts_as_added(trusted: Trust, project: Path) -> None:
    write(project / ".toolcrib" / "tools" / "new", "#!/bin/sh\n", 0o755)
    assert trusted.changed(str(project)) == Changes(added=(".toolcrib/tools/new",))
    assert not trusted.vouches_now(str(project), ".toolcrib/tools/new")


def edited(path: Path) -> None:
    path.write_text("#!/bin/sh\n# edited\n")


def one_bit_flipped(path: Path) -> None:
    path.write_bytes(b"#!/bin/si\n")


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def replaced_by_a_rename(path: Path) -> None:
    other = path.with_name(".other")
    other.write_text("other")
    other.chmod(0o755)
    os.rename(other, path)


def edited_with_the_old_times(path: Path) -> None:
    seen = path.stat()
    path.write_text("#!/bin/zh\n")
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))


def linked_to_the_same_content(path: Path) -> None:
    os.rename(path, path.with_name("moved"))
    path.symlink_to("moved")


def taken_out_of_use(path: Path) -> None:
    path.chmod(0o644)


def made_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def made_a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "inner").write_text("x")


def removed(path: Path) -> None:
    path.unlink()


CHANGES = [
    edited, one_bit_flipped, emptied, replaced_by_a_rename, edited_with_the_old_times, linked_to_the_same_content,
    taken_out_of_use, made_a_pipe, made_a_directory, removed,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_program_is_not_vouched_for(trusted: Trust, project: Path, change) -> None:
    assert trusted.vouches_now(str(project), TOOL)  # its digest is known by its state now
    change(project / TOOL)
    assert not trusted.vouches_now(str(project), TOOL)
    assert any(trusted.changed(str(project)))
    assert trusted.unsettled(str(project)) == ()  # the others are not affected


def test_a_file_that_became_a_program_was_not_trusted_as_one(trusted: Trust, project: Path) -> None:
    (project / ".toolcrib" / "tools" / "data.txt").chmod(0o755)
    assert not trusted.vouches_now(str(project), ".toolcrib/tools/data.txt")
    assert trusted.changed(str(project)).changed == (".toolcrib/tools/data.txt",)


@pytest.mark.parametrize("what", ["target", "content", "turned outward"])
def test_a_link_is_its_target_and_the_content_there(trust: Trust, project: Path, tmp_path: Path, what: str) -> None:
    link = project / ".toolcrib" / "tools" / "linked"
    one, other = write(project / "one", "#!/bin/sh\n", 0o755), write(project / "other", "#!/bin/sh\n", 0o755)
    link.symlink_to("../../one")
    trust.add(str(project), project_files(str(project)))
    assert trust.vouches_now(str(project), ".toolcrib/tools/linked")
    if what == "content":
        one.write_text("#!/bin/sh\nevil\n")
    else:
        link.unlink()
        shutil.copy(other, tmp_path / "outside")
        link.symlink_to("../../other" if what == "target" else tmp_path / "outside")
    assert not trust.vouches_now(str(project), ".toolcrib/tools/linked")


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("rules", [CONFIG, POLICY, PROFILE])
def test_changed_rules_unsettle_the_whole_project(trusted: Trust, project: Path, rules: str, change) -> None:
    """A project may only tighten, so rules that are left out because they changed would loosen."""
    if change is taken_out_of_use:
        (project / rules).chmod(0o755)
    else:
        change(project / rules)
    assert trusted.trusts(str(project))
    assert any(path.startswith(rules) for path in trusted.unsettled(str(project)))
    assert not trusted.vouches_now(str(project), TOOL)
    if change is not taken_out_of_use:
        assert trusted.trusted_bytes(str(project), rules) is None


@pytest.mark.parametrize("rules", [CONFIG, POLICY, ".toolcrib/profiles/new.yaml", ".toolcrib/profiles/a/b.yaml"])
def test_added_rules_unsettle_the_whole_project(trust: Trust, workspace: Path, rules: str) -> None:
    write(workspace / TOOL, "#!/bin/sh\n", 0o755)
    trust.add(str(workspace), project_files(str(workspace)))
    assert trust.unsettled(str(workspace)) == ()
    write(workspace / rules)
    assert trust.unsettled(str(workspace)) == (rules,)


def test_rules_that_can_be_executed_are_rules(trust: Trust, project: Path) -> None:
    """A disk that knows no such right shows every file like that."""
    (project / CONFIG).chmod(0o755)
    trust.add(str(project), project_files(str(project)))
    assert trust.unsettled(str(project)) == ()
    assert trust.trusted_bytes(str(project), CONFIG) == b"approval: {default: ask}\n"


def test_rules_that_are_a_link_never_settle(trust: Trust, project: Path) -> None:
    """What is parsed is what was hashed, and a link can be turned between the two."""
    os.rename(project / CONFIG, project / "shared.yaml")
    (project / CONFIG).symlink_to("../shared.yaml")
    trust.add(str(project), project_files(str(project)))
    assert trust.unsettled(str(project)) == (CONFIG,)
    assert trust.trusted_bytes(str(project), CONFIG) is None


def test_a_linked_project_directory_never_settles(trust: Trust, project: Path) -> None:
    os.rename(project / ".toolcrib", project / "real")
    (project / ".toolcrib").symlink_to("real")
    trust.add(str(project), project_files(str(project)))
    assert CONFIG in trust.unsettled(str(project))


def test_rules_that_are_too_long_are_an_error_and_not_left_out(trust: Trust, project: Path) -> None:
    write(project / CONFIG, "#" * (9 * 1024**2))
    trust.add(str(project), project_files(str(project)))
    with pytest.raises(ConfigError, match="longer than"):
        trust.trusted_bytes(str(project), CONFIG)


@pytest.mark.parametrize("relative", ["../outside", "/etc/passwd", ".toolcrib/../../outside", "", "."])
def test_nothing_outside_is_ever_read(trusted: Trust, project: Path, tmp_path: Path, relative: str) -> None:
    write(tmp_path / "outside", "secret")
    assert trusted.trusted_bytes(str(project), relative) is None
    with pytest.raises(OSError):
        looking.open_below(str(project), relative)


# One directory and no other


def test_not_what_is_below_beside_or_above(trusted: Trust, project: Path, tmp_path: Path) -> None:
    (project / "sub").mkdir()
    shutil.copytree(project / ".toolcrib", project / "sub" / ".toolcrib")
    shutil.copytree(project, tmp_path / "copy")
    for other in (project / "sub", tmp_path / "copy", tmp_path, project / ".toolcrib"):
        assert not trusted.trusts(str(other))


def test_a_link_to_the_directory_is_the_directory(trusted: Trust, project: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(project)
    assert trusted.trusts(str(tmp_path / "alias"))


def test_a_link_that_was_trusted_does_not_pass_it_on_when_it_is_turned(trust, project: Path, tmp_path: Path) -> None:
    alias, other = tmp_path / "alias", tmp_path / "other"
    other.mkdir()
    alias.symlink_to(project)
    trust.add(str(alias), project_files(str(alias)))
    alias.unlink()
    alias.symlink_to(other)
    assert not trust.trusts(str(alias))


def test_a_moved_directory_keeps_its_inode_and_not_its_trust(trusted: Trust, project: Path, tmp_path: Path) -> None:
    project.rename(tmp_path / "moved")
    assert not trusted.trusts(str(tmp_path / "moved"))
    assert not trusted.trusts(str(project))


def test_another_directory_in_its_place_is_not_trusted(trusted: Trust, project: Path, tmp_path: Path) -> None:
    project.rename(tmp_path / "moved")
    shutil.copytree(tmp_path / "moved", project)
    assert not trusted.trusts(str(project))


@pytest.mark.parametrize("trick", ["commondir", "gitdir file", "worktree", "variables"])
def test_git_has_no_say(trusted: Trust, project: Path, tmp_path: Path, monkeypatch, trick: str) -> None:
    """Another directory that says it belongs to the trusted one's repository is another directory."""
    other = tmp_path / "other"
    shutil.copytree(project / ".toolcrib", other / ".toolcrib")
    (project / ".git").mkdir()
    if trick == "commondir":
        write(other / ".git" / "commondir", str(project / ".git"))
    elif trick == "variables":
        monkeypatch.setenv("GIT_DIR", str(project / ".git"))
        monkeypatch.setenv("GIT_WORK_TREE", str(project))
    else:
        write(other / ".git", f"gitdir: {project}/.git" + ("/worktrees/other" if trick == "worktree" else "") + "\n")
    assert not trusted.trusts(str(other))


# The file


def test_a_record_without_digests_is_no_trust_and_is_known_as_such(home: Path, project: Path) -> None:
    seen = os.stat(project)
    old = {"version": 1, "projects": {str(project): {"identity": [seen.st_dev, seen.st_ino], "at": 1.0}}}
    (home / "trust.json").write_text(json.dumps(old))
    trust = reader(home)
    assert (trust.trusts(str(project)), trust.is_outdated(str(project))) == (False, True)
    trust.add(str(project), project_files(str(project)))
    assert (trust.trusts(str(project)), trust.is_outdated(str(project))) == (True, False)


def test_an_old_record_of_another_project_survives_a_new_one(home: Path, project: Path, tmp_path: Path) -> None:
    old = {"version": 1, "projects": {"/elsewhere": {"identity": [1, 2], "at": 1.0}}}
    (home / "trust.json").write_text(json.dumps(old))
    reader(home).add(str(project), [])
    kept = json.loads((home / "trust.json").read_text())
    assert (kept["version"], set(kept["projects"])) == (2, {"/elsewhere", str(project)})


@pytest.mark.parametrize(
    "text", ["{", "[]", "null", '{"projects": []}', '{"version": 3, "projects": {}}', "\x00", '{"version": 2}']
)
def test_a_file_that_is_no_trust_file_is_an_error(home: Path, project: Path, text: str) -> None:
    (home / "trust.json").write_text(text)
    with pytest.raises(ConfigError, match=r"trust\.json"):
        reader(home).trusts(str(project))


@pytest.mark.parametrize("files", [None, [], "x", {"a": None}, {"a": {}}, {"a": {"digest": 1, "kind": "file"}}])
def test_a_record_that_is_not_whole_is_no_trust(home: Path, project: Path, files) -> None:
    seen = os.stat(project)
    record = {"identity": [seen.st_dev, seen.st_ino], "at": 1.0, "files": files}
    (home / "trust.json").write_text(json.dumps({"version": 2, "projects": {str(project): record}}))
    assert not reader(home).trusts(str(project))


def test_what_another_process_writes_is_seen_at_once(trusted: Trust, project: Path, home: Path) -> None:
    before = trusted.record(str(project))
    assert trusted.record(str(project)) is before  # the same object while it stands
    assert reader(home).remove(str(project)) is True
    assert not trusted.trusts(str(project))
    assert trusted.remove(str(project)) is False


def test_changes_are_named_by_path_in_order() -> None:
    one = {"digest": "sha256:1", "kind": "file"}
    now = [looking.Entry(path, "file", 1, "sha256:2") for path in ("c", "b", "a")]
    assert compared({"z": one, "y": one, "c": one, "b": one}, now) == Changes(("a",), ("y", "z"), ("b", "c"))


# Digests that are kept


def test_a_file_that_did_not_change_is_not_read_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking.time, "time_ns", lambda: os.lstat(project / TOOL).st_ctime_ns + 10**9)
    digests = looking.StatDigests()
    first = digests(str(project), TOOL)
    monkeypatch.setattr(looking.hashlib, "file_digest", lambda *_: pytest.fail("read again"))
    assert first == digests(str(project), TOOL) == digest("#!/bin/sh\n")
    with pytest.raises(pytest.fail.Exception):
        digests(str(project), CONFIG)


def test_a_file_that_changed_this_moment_is_read_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the clock of a file system is coarse, the next change would leave the same times."""
    changed = os.lstat(project / TOOL).st_ctime_ns
    monkeypatch.setattr(looking.time, "time_ns", lambda: changed + 10**6)
    digests = looking.StatDigests()
    digests(str(project), TOOL)
    monkeypatch.setattr(looking.hashlib, "file_digest", lambda *_: hashlib.sha256(b"read again"))
    assert digests(str(project), TOOL) == digest("read again")
