"""New folders of tools: written whole or not at all, and taken away without following anything."""

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from toolcrib.core.errors import ToolcribError
from toolcrib.sources import workshop
from toolcrib.sources.scaffold import Draft
from toolcrib.sources.workshop import LANGUAGES, Parameter, Plan, create, delete
from toolcrib.store import lock

from .folders import put

PREFIX = "custom_tool_"


def plan(directory: Path, name: str = "one", **how) -> Plan:
    return workshop.plan(str(directory), name, **({"description": "Is one.", "prefix": PREFIX} | how))


def refusal(work, *args, **how) -> ToolcribError:
    with pytest.raises(ToolcribError) as caught:
        work(*args, **how)
    return caught.value


def tree(directory: Path) -> dict[str, bytes | None]:
    """Everything below a directory, with its content."""
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in sorted(directory.rglob("*"))
    }


@pytest.mark.parametrize("language", list(LANGUAGES))
def test_a_plan_touches_nothing_and_creating_writes_all_of_it(tmp_path: Path, language: str) -> None:
    """F2, F3, F4, F6: the tools directory is made on first use; one folder per tool, with manifest and source."""
    directory = tmp_path / "home" / "tools"
    made = plan(directory, "word_count", language=language, parameters=[Parameter("since", required=True)])
    assert list(tmp_path.iterdir()) == []
    paths = create(made)
    assert sorted(paths) == sorted(str(path) for path in (directory / "word_count").iterdir())
    assert {"tool.yaml", "word_count" + LANGUAGES[language].suffix} <= {os.path.basename(path) for path in paths}
    assert [path.name for path in directory.iterdir()] == ["word_count"]
    assert bool(made.build) is (language in ("go", "rust"))


def test_only_the_user_can_read_what_is_written(tmp_path: Path) -> None:
    """F36: plain files; the source can be executed, the manifest cannot."""
    create(plan(tmp_path / "tools"))
    folder = tmp_path / "tools" / "one"
    modes = {path.name: path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())}
    assert modes == {"one": 0o700, "tool.yaml": 0o600, "one.py": 0o700}


@pytest.mark.parametrize("name", ["../x", "a/b", ".", "..", "", "-x", ".hidden", "a b", "ü", "a\n", "x" * 60, "a\x00"])
def test_a_name_that_is_none(tmp_path: Path, name: str) -> None:
    """F11: no path, no odd character, and not too long with its prefix."""
    directory = tmp_path / "tools"
    assert refusal(plan, directory, name).code == "TOOL_NAME_INVALID"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("held", ["one-two", "one_two", "one_two.py", "one-two.sh"])
@pytest.mark.parametrize("kind", ["file", "folder", "link", "dangling"])
def test_what_has_the_name_already_stays_as_it_is(tmp_path: Path, held: str, kind: str) -> None:
    """Also under a name that clients would take for it."""
    directory = tmp_path / "tools"
    directory.mkdir()
    ready = plan(directory, "one_two")
    target = tmp_path / "target"
    target.mkdir()
    if kind == "file":
        (directory / held).write_text("precious")
    elif kind == "folder":
        (directory / held).mkdir()
    else:
        (directory / held).symlink_to(target if kind == "link" else tmp_path / "nowhere")
    before = tree(tmp_path)
    assert refusal(plan, directory, "one_two").code == "TOOL_NAME_CONFLICT"
    assert refusal(create, ready).code == "TOOL_NAME_CONFLICT"
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    "wrong",
    [
        {"language": "cobol"},
        {"description": " "},
        {"description": "half \ud83d"},
        {"description": "x" * 20_000},
        {"parameters": [Parameter("a"), Parameter("a")]},
        {"parameters": [Parameter("-a")]},
        {"parameters": [Parameter('a"; evil("')]},
        {"parameters": [Parameter("a\nb")]},
        {"parameters": [Parameter("a", "integer")]},
        {"parameters": [Parameter("a", 'string"); evil("')]},
        {"parameters": [Parameter("a", description="half \udc00")]},
        {"parameters": [Parameter(f"p{number}") for number in range(101)]},
    ],
)
def test_what_no_manifest_can_say(tmp_path: Path, wrong: dict) -> None:
    """F16, F17: refused before anything is written."""
    assert refusal(plan, tmp_path / "tools", **wrong).code == "VALIDATION_ERROR"
    assert list(tmp_path.iterdir()) == []


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch) -> None:
    """A disk that is full when the second file is written."""
    directory = tmp_path / "tools"
    directory.mkdir()
    whole = workshop.write

    def full(draft: Draft, place: str, *, mode: int) -> str:
        if draft.file != "tool.yaml":
            raise OSError(28, "No space left on device")
        return whole(draft, place, mode=mode)

    monkeypatch.setattr(workshop, "write", full)
    failure = refusal(create, plan(directory))
    assert "No space left on device" in str(failure) and "nothing was written" in str(failure)
    assert tree(directory) == {}


def test_a_directory_that_cannot_be_written_to(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    directory = tmp_path / "tools"
    directory.mkdir(mode=0o500)
    try:
        assert "nothing was written" in str(refusal(create, plan(directory)))
        assert tree(directory) == {}
    finally:
        directory.chmod(0o700)


def test_a_file_in_the_place_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "tools").write_text("precious")
    assert "nothing was written" in str(refusal(create, plan(tmp_path / "tools")))
    assert tree(tmp_path) == {"tools": b"precious"}


KILLED = """
import os, signal, sys
from toolcrib.sources import workshop

def rename(source, target):
    os.kill(os.getpid(), signal.SIGKILL)

plan = workshop.plan(sys.argv[1], "one", description="Is one.", prefix="custom_tool_")
os.rename = rename
workshop.create(plan)
"""


def test_killed_between_writing_and_renaming(shelf) -> None:
    """What is left has a name that no listing looks at; the next one removes it."""
    done = subprocess.run([sys.executable, "-c", KILLED, shelf.user_tools], timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert [path.name for path in shelf.user_tools.iterdir()] == [".one.new"]
    assert (shelf.user_tools / ".one.new" / "one.py").exists()
    assert shelf.opened() == [] and shelf.problems() == {}
    create(plan(shelf.user_tools))
    assert [path.name for path in shelf.user_tools.iterdir()] == ["one"]
    assert shelf.opened() == ["custom_tool_one"]


@pytest.mark.parametrize("kind", ["link", "file", "folder"])
def test_what_lies_in_the_place_where_it_is_made(tmp_path: Path, kind: str) -> None:
    """A link is removed, and what it leads to stays."""
    directory, target = tmp_path / "tools", tmp_path / "target"
    directory.mkdir()
    put(target)
    before = tree(target)
    place = directory / ".one.new"
    if kind == "link":
        place.symlink_to(target)
    elif kind == "file":
        place.write_text("old")
    else:
        place.mkdir()
        (place / "link").symlink_to(target)
    create(plan(directory))
    assert [path.name for path in directory.iterdir()] == ["one"]
    assert tree(target) == before


def test_a_lock_that_is_not_let_go_of_is_named_and_nothing_is_written(tmp_path: Path, monkeypatch) -> None:
    directory = tmp_path / "tools"
    create(plan(directory))
    before = tree(directory)
    monkeypatch.setattr(lock, "LOCK_SECONDS", 0.1)
    fd = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        for refused in (refusal(create, plan(directory, "two")), refusal(delete, str(directory), "one")):
            assert refused.code == "RESOURCE_EXHAUSTED" and str(directory) in str(refused)
    finally:
        os.close(fd)
    assert tree(directory) == before


def test_one_writes_at_a_time(tmp_path: Path, monkeypatch) -> None:
    """Nobody else can begin while the files are being written, nor while a folder is being removed."""
    directory = tmp_path / "tools"
    held = []
    written, removed = workshop.write, workshop.shutil.rmtree

    def look(work, *args, **how):
        fd = os.open(directory, os.O_RDONLY)
        try:
            with pytest.raises(BlockingIOError):
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held.append(work.__name__)
        finally:
            os.close(fd)
        return work(*args, **how)

    monkeypatch.setattr(workshop, "write", lambda *args, **how: look(written, *args, **how))
    monkeypatch.setattr(workshop.shutil, "rmtree", lambda *args, **how: look(removed, *args, **how))
    create(plan(directory))
    delete(str(directory), "one")
    monkeypatch.undo()
    assert held[:2] == ["write", "write"] and len(held) == 3
    assert list(directory.iterdir()) == []


def test_of_two_plans_the_second_finds_the_name_taken(tmp_path: Path) -> None:
    """Though it was free when the plan was made."""
    first, second = plan(tmp_path / "tools"), plan(tmp_path / "tools", language="bash")
    create(first)
    assert refusal(create, second).code == "TOOL_NAME_CONFLICT"
    assert sorted(path.name for path in (tmp_path / "tools" / "one").iterdir()) == ["one.py", "tool.yaml"]


def test_deleting_takes_the_folder_and_follows_no_link(tmp_path: Path) -> None:
    """F36."""
    outside = put(tmp_path / "outside")
    directory = tmp_path / "tools"
    folder = put(directory / "one")
    put(directory / "two")
    (folder / "link").symlink_to(outside)
    (folder / "sub").mkdir()
    before = tree(outside)
    delete(str(directory), "one")
    assert [path.name for path in directory.iterdir()] == ["two"]
    assert tree(outside) == before


@pytest.mark.parametrize("name", ["../outside", "..", ".", "", "a/b", "missing", "program", "plain", "link"])
def test_what_is_not_deleted(tmp_path: Path, name: str) -> None:
    """Only a folder that has a manifest, by its own name."""
    put(tmp_path / "outside")
    directory = tmp_path / "tools"
    directory.mkdir()
    (directory / "program").write_text("#!/bin/sh\n")
    (directory / "plain").mkdir()
    (directory / "plain" / "notes").write_text("precious")
    (directory / "link").symlink_to(tmp_path / "outside")
    before = tree(tmp_path)
    assert refusal(delete, str(directory), name).code in ("TOOL_NAME_INVALID", "TOOL_NOT_FOUND", "PATH_NOT_REGULAR")
    assert tree(tmp_path) == before


def test_what_an_earlier_deletion_left_is_cleared(shelf) -> None:
    put(shelf.user_tools / ".one.old")
    put(shelf.user_tools / "one")
    assert shelf.opened() == ["custom_tool_one"]
    delete(str(shelf.user_tools), "one")
    assert list(shelf.user_tools.iterdir()) == []


@pytest.mark.parametrize("language", ["python", "bash"])
def test_a_new_tool_is_there_for_every_later_session(shelf, language: str) -> None:
    """F1, F5: it is on offer as it was written, to a crib that knew nothing of its making."""
    create(plan(shelf.user_tools, language=language, parameters=[Parameter("since", required=True)]))
    tool = shelf.one()
    assert (tool.name, tool.version, tool.source) == ("custom_tool_one", "0.1.0", "manifest")
    for _ in range(2):
        result = shelf.opened(lambda crib: crib.call("custom_tool_one", {"since": "-- $(x)\n"}))
        assert result.data == "one works.\nsince: -- $(x)\n\n"
