"""The user's directory of tools: a tool's own folder can be worked on, and nothing else there."""

import os
import threading
from pathlib import Path

import pytest

from toolcrib.core.errors import Refused, ToolError
from toolcrib.sandbox import _beneath, _openat2
from toolcrib.sandbox.guard import GuardedFiles
from toolcrib.sandbox.places import Located, Places


@pytest.fixture(params=["kernel", "walk"], autouse=True)
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "walk":
        monkeypatch.setattr(_beneath, "BY_KERNEL", False)
    elif not _openat2.AVAILABLE:
        pytest.skip("this kernel has no openat2")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A home with two tools, a program, a folder that is no tool, and what decides about everything."""
    tools = tmp_path / "home" / "tools"
    for name in ("shout", "other", "plain", "shout/lib"):
        (tools / name).mkdir(parents=True)
        (tools / name / "file").write_text("old")
    for name in ("shout", "other"):
        (tools / name / "tool.yaml").write_text(f"name: {name}\n")
    (tools / "program").write_text("#!/bin/sh\n")
    for name in ("config.yaml", "policy.yaml", "trust.json", "state.db"):
        (tmp_path / "home" / name).write_text("precious")
    (tmp_path / "work").mkdir()
    return Path(os.path.realpath(tmp_path))


def places_in(top: Path, workspace: str = "work", **roots: str) -> Places:
    home = top / "home"
    named = {str(top / path): kind for path, kind in roots.items()}
    protected = (str(home), str(home / "tools"))
    return Places(str(top / workspace), roots=named, protected=protected, bench=str(home / "tools"))


def snapshot(top: Path) -> dict[str, object]:
    return {str(path): path.read_bytes() if path.is_file() else os.path.islink(path) for path in sorted(top.rglob("*"))}


def test_in_a_tool_s_folder_files_are_read_made_and_replaced(top: Path) -> None:
    """F32."""
    files, folder = GuardedFiles(places_in(top)), top / "home/tools/shout"
    assert files.read(f"{folder}/file") == b"old"
    files.write(f"{folder}/file", "new")
    files.write(f"{folder}/deep/er/file", "made")
    files.write(f"{folder}/tool.yaml", "name: shout\nversion: 2\n")
    assert (folder / "file").read_text() == "new"
    assert (folder / "deep/er/file").read_text() == "made"
    at = files.places.locate(f"{folder}/file", write=True)
    assert at == Located(f"{folder}/file", "tool", True, tool=str(folder))


@pytest.mark.parametrize(
    "path",
    [
        "tools/new", "tools/program", "tools/plain/file", "tools/plain/tool.yaml", "tools/new/tool.yaml",
        "tools/new/run.sh", "tools", "tools/", "tools/.", "tools/shout/../program", "tools/shout/../../config.yaml",
        "tools/shout/../plain/file", "tools/../config.yaml", "config.yaml", "policy.yaml",
        "trust.json", "state.db", "audit/2026-01.jsonl", "tools/.hidden/file", "tools/./program", "tools//program",
        "tools/SHOUT/file", "tools/shout\u200c/file", "tools/Shout/file", "tools/shout./file", "tools/shout /file",
        "tools/shout:x", "tools/\x00", "tools/shout/\x00",
    ],
    ids=ascii,
)  # fmt: skip
@pytest.mark.parametrize("workspace", ["work", "."], ids=["beside", "around"])
def test_the_rest_stays_closed(top: Path, path: str, workspace: str) -> None:
    """F32: every other path restriction stays. Also where the workspace is around all of it."""
    if os.path.exists(top / "home/tools/SHOUT"):
        pytest.skip("this file system does not tell upper case from lower")
    files, before = GuardedFiles(places_in(top, workspace)), snapshot(top)
    for change in (lambda: files.write(f"{top}/home/{path}", "evil"), lambda: files.unlink(f"{top}/home/{path}")):
        with pytest.raises(ToolError):
            change()
    at = files.places.locate(f"{top}/home/{path}", write=True)
    assert at.zone == "outside" or at.protected
    assert snapshot(top) == before


@pytest.mark.parametrize("path", ["tools/program", "tools/plain/file", "config.yaml", "tools/.hidden/x"])
def test_what_is_no_tool_s_folder_is_not_read_either(top: Path, path: str) -> None:
    files = GuardedFiles(places_in(top))
    with pytest.raises(ToolError) as caught:
        files.read(f"{top}/home/{path}")
    assert caught.value.code == "PATH_OUTSIDE_WORKSPACE"


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("home/tools/evil", "{top}/home"),
        ("home/tools/evil", ".."),
        ("home/tools/evil", "shout"),
        ("home/tools/evil", "plain"),
        ("home/tools/evil", "{top}/outside"),
    ],
)
def test_a_link_is_no_tool_s_folder(top: Path, link: str, target: str) -> None:
    """Wherever it leads, and whatever lies there."""
    (top / "outside").mkdir()
    for place in ("outside", "home", "home/tools/plain"):
        (top / place / "tool.yaml").write_text("name: evil\n")
    os.symlink(target.format(top=top), top / link)
    files, before = GuardedFiles(places_in(top)), snapshot(top)
    for name in ("file", "config.yaml", "tool.yaml", "new"):
        with pytest.raises(ToolError):
            files.write(f"{top}/{link}/{name}", "evil")
        with pytest.raises(ToolError):
            files.read(f"{top}/{link}/{name}")
    assert snapshot(top) == before


@pytest.mark.parametrize("what", ["link", "dangling", "directory", "fifo"])
def test_a_manifest_that_is_no_file_makes_no_tool(top: Path, what: str) -> None:
    manifest = top / "home/tools/plain/tool.yaml"
    if what == "link":
        manifest.symlink_to("../shout/tool.yaml")
    elif what == "dangling":
        manifest.symlink_to("nowhere")
    elif what == "directory":
        manifest.mkdir()
    else:
        os.mkfifo(manifest)
    files, before = GuardedFiles(places_in(top)), snapshot(top)
    with pytest.raises(ToolError) as caught:
        files.write(f"{top}/home/tools/plain/file", "evil")
    assert caught.value.code == "PATH_OUTSIDE_WORKSPACE"
    assert snapshot(top) == before


@pytest.mark.parametrize(
    "target", ["../../config.yaml", "../program", "../other/file", "/etc/hostname", "{top}/work/x"]
)
def test_a_link_in_a_tool_s_folder_leads_nowhere_else(top: Path, target: str) -> None:
    (top / "work/x").write_text("x")
    (top / "home/tools/shout/way").symlink_to(target.format(top=top))
    (top / "home/tools/shout/dir").symlink_to("../..")
    files, before = GuardedFiles(places_in(top)), snapshot(top)
    for path in ("way", "dir/config.yaml", "dir/tools/program"):
        with pytest.raises(ToolError) as caught:
            files.write(f"{top}/home/tools/shout/{path}", "evil")
        assert caught.value.code == "PATH_OUTSIDE_WORKSPACE"
    assert snapshot(top) == before


def test_what_runs_later_is_protected_in_a_tool_s_folder_too(top: Path) -> None:
    files, folder = GuardedFiles(places_in(top)), top / "home/tools/shout"
    for path in (".git/config", ".git/hooks/pre-commit", ".envrc", "lib/.vscode/tasks.json"):
        with pytest.raises(Refused) as caught:
            files.write(f"{folder}/{path}", "evil")
        assert caught.value.code == "PATH_PROTECTED"
    assert not (folder / ".git").exists()


def test_from_the_workspace_no_way_leads_there(top: Path) -> None:
    """A relative path is looked up in the workspace alone, and a link there leads out."""
    (top / "work/way").symlink_to(top / "home/tools/shout")
    files, before = GuardedFiles(places_in(top)), snapshot(top)
    for path in ("way/file", "../home/tools/shout/file"):
        with pytest.raises(ToolError):
            files.write(path, "evil")
    assert snapshot(top) == before


def test_from_one_tool_no_way_leads_to_another(top: Path) -> None:
    files, before = GuardedFiles(places_in(top)), snapshot(top)
    with pytest.raises(ToolError) as caught:
        files.write(f"{top}/home/tools/shout/../other/file", "evil")
    assert caught.value.code == "PATH_OUTSIDE_WORKSPACE"
    assert snapshot(top) == before


def test_a_workspace_around_the_tools_reaches_them_by_any_spelling(top: Path) -> None:
    files = GuardedFiles(places_in(top, "."))
    files.write("home/tools/shout/file", "new")
    assert (top / "home/tools/shout/file").read_text() == "new"
    path, folder = "home/tools/shout/file", str(top / "home/tools/shout")
    assert files.places.locate(path, write=True) == Located(str(top / path), "workspace", True, tool=folder)
    assert files.places.locate(path) == Located(str(top / path), "workspace", True)


def test_who_works_in_a_tool_s_folder_is_at_home_there(top: Path) -> None:
    files, folder = GuardedFiles(places_in(top, "home/tools/shout")), top / "home/tools/shout"
    files.write("file", "new")
    assert files.places.locate("file") == Located(f"{folder}/file", "workspace", True)
    assert files.places.locate("new", write=True) == Located(f"{folder}/new", "workspace", True, tool=str(folder))
    for path in ("../program", "../other/file", "../../config.yaml"):
        with pytest.raises(ToolError):
            files.write(path, "evil")
    assert (top / "home/config.yaml").read_text() == "precious"


def test_a_home_that_is_itself_called_like_a_tool_stays_closed(tmp_path: Path) -> None:
    """Even where the directory of tools is the one that the home lies in, and the home has a manifest."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "tool.yaml").write_text("name: home\n")
    (tmp_path / "work").mkdir()
    places = Places(str(tmp_path / "work"), protected=(str(home), str(tmp_path)), bench=str(tmp_path))
    with pytest.raises(Refused):
        GuardedFiles(places).write(f"{home}/config.yaml", "evil")
    assert not (home / "config.yaml").exists()


@pytest.mark.parametrize(("kind", "zone", "writable"), [("read", "root", False), ("write", "root", True)])
def test_what_the_user_names_goes_before(top: Path, kind: str, zone: str, writable: bool) -> None:
    at = places_in(top, **{"home/tools": kind}).locate(f"{top}/home/tools/shout/file", write=True)
    assert (at.zone, at.writable) == (zone, writable)


def test_a_wider_root_does_not_close_a_tool_s_folder(top: Path) -> None:
    at = places_in(top, home="read").locate(f"{top}/home/tools/shout/file", write=True)
    assert (at.zone, at.writable, at.protected) == ("tool", True, "")


def test_without_a_bench_there_is_none(top: Path) -> None:
    places = Places(str(top / "work"), protected=(str(top / "home"), str(top / "home/tools")))
    assert places.locate(f"{top}/home/tools/shout/file").zone == "outside"


def test_a_bench_that_is_a_link_is_known_by_both_names(top: Path) -> None:
    (top / "kept").mkdir()
    (top / "home/tools").rename(top / "kept/tools")
    (top / "home/tools").symlink_to(top / "kept/tools")
    files = GuardedFiles(places_in(top))
    files.write(f"{top}/home/tools/shout/file", "one")
    files.write(f"{top}/kept/tools/shout/file", "two")
    assert (top / "kept/tools/shout/file").read_text() == "two"
    with pytest.raises(ToolError):
        files.write(f"{top}/home/tools/program", "evil")


def test_a_folder_that_is_another_when_it_is_written_to(top: Path) -> None:
    """Judged while it was a tool's folder; by then a link to the home stands in its place."""
    places, path = places_in(top), f"{top}/home/tools/shout/config.yaml"
    judged = {path: places.locate(path, write=True).real}
    (top / "home/tools/shout").rename(top / "aside")
    (top / "home/tools/shout").symlink_to("..")
    (top / "home/tool.yaml").write_text("name: shout\n")
    before = snapshot(top)
    with pytest.raises(ToolError):
        GuardedFiles(places, {}, judged).write(path, "evil")
    assert snapshot(top) == before


def test_while_it_is_swapped_for_a_link_nothing_outside_changes(top: Path) -> None:
    """A race: what is written lands in the tool's folder, or nowhere."""
    folder, aside, link = top / "home/tools/shout", top / "aside", top / "link"
    (top / "home/tool.yaml").write_text("name: home\n")
    link.symlink_to(top / "home")
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            os.rename(folder, aside)
            os.rename(link, folder)
            os.rename(folder, link)
            os.rename(aside, folder)

    swapping = threading.Thread(target=swap)
    swapping.start()
    files, written = GuardedFiles(places_in(top)), 0
    try:
        for number in range(400):
            try:
                files.write(f"{folder}/config.yaml", str(number))
                written += 1
            except (ToolError, OSError):
                pass
    finally:
        over.set()
        swapping.join()
    assert (top / "home/config.yaml").read_text() == "precious"
    assert (folder / "config.yaml").exists() == bool(written)
