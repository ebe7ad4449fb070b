"""Folders that want more than they should have. Each test has a canary that nobody may touch (F29, F30)."""

import asyncio
import os
import time
from pathlib import Path

import pytest

import toolcrib
from toolcrib.backends.folder import read_folder

from .folders import manifest, put


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    return tmp_path / "canary"


@pytest.fixture
def outside(tmp_path: Path, canary: Path) -> Path:
    """A program that is no part of any tool."""
    path = tmp_path / "outside" / "evil.sh"
    path.parent.mkdir()
    path.write_text(f"#!/bin/sh\n: > {canary}\n")
    path.chmod(0o755)
    return path


def refused(shelf) -> tuple[str, str]:
    """The one problem; and the tool is neither offered nor called."""
    (problem,) = shelf.opened(lambda crib: crib.problems())
    assert shelf.opened() == []
    assert not shelf.opened(lambda crib: crib.call("custom_tool_one")).success
    return problem.code, problem.message


@pytest.mark.parametrize(
    "path", ["../../../outside/evil.sh", "{outside}", "./run.sh", "lib/../run.sh", "~/evil.sh", ""]
)
def test_an_entrypoint_that_leads_out(shelf, outside, canary, path) -> None:
    put(shelf.user_tools / "one", script=f": > {canary}", entrypoint=path.replace("{outside}", str(outside)))
    code, message = refused(shelf)
    assert code in ("PATH_OUTSIDE_WORKSPACE", "FILE_NOT_FOUND", "CONFIG_INVALID") and message.startswith(
        "line 4, column 1: "
    )
    assert not canary.exists()


@pytest.mark.parametrize("absolute", [True, False])
def test_a_link_that_leads_out(shelf, outside, canary, absolute) -> None:
    folder = put(shelf.user_tools / "one", entrypoint="evil.sh")
    (folder / "evil.sh").symlink_to(outside if absolute else os.path.relpath(outside, folder))
    code, message = refused(shelf)
    assert code == "PATH_OUTSIDE_WORKSPACE" and "evil.sh" in message
    assert not canary.exists()


def test_a_directory_that_is_a_link_out(shelf, outside, canary) -> None:
    folder = put(shelf.user_tools / "one", entrypoint="lib/evil.sh")
    (folder / "lib").symlink_to(outside.parent)
    assert refused(shelf)[0] == "PATH_OUTSIDE_WORKSPACE"
    assert not canary.exists()


def test_a_link_within_the_folder_stays_one(shelf) -> None:
    folder = put(shelf.user_tools / "one", script='cat "$(dirname "$0")/words"; readlink "$(dirname "$0")/words"')
    (folder / "lib").mkdir()
    (folder / "lib" / "words").write_text("hello\n")
    (folder / "words").symlink_to("lib/words")
    assert shelf.opened(lambda crib: crib.call("custom_tool_one")).data == "hello\nlib/words\n"


@pytest.mark.parametrize("file", ["tool.yaml", "extra"])
def test_a_pipe_is_not_waited_for(shelf, canary, file) -> None:
    folder = put(shelf.user_tools / "one", script=f": > {canary}")
    (folder / file).unlink(missing_ok=True)
    os.mkfifo(folder / file)
    began = time.monotonic()
    assert refused(shelf)[0] == "PATH_NOT_REGULAR"
    assert time.monotonic() - began < 10
    assert not canary.exists()


def test_a_manifest_that_is_a_link(shelf, tmp_path) -> None:
    folder = put(shelf.user_tools / "one")
    os.rename(folder / "tool.yaml", folder / "real.yaml")
    (folder / "tool.yaml").symlink_to("real.yaml")
    assert refused(shelf)[0] == "PATH_NOT_REGULAR"


BOMBS = {
    "100,000 lines": "".join(f"k{number}: v\n" for number in range(100_000)),
    "aliases": "a: &a [x]\n" + "".join(f"b{n}: &b{n} [*a, *a]\n" for n in range(50)),
    "depth": "a: " + "[" * 50_000,
    "a long number": "limits: {timeout: " + "9" * 5000 + "}",
    "an object": "name: !!python/object/apply:os.system ['touch {canary}']\n",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_in_no_time(shelf, canary, bomb) -> None:
    put(shelf.user_tools / "one", text=BOMBS[bomb].replace("{canary}", str(canary)))
    began = time.monotonic()
    assert "line " in refused(shelf)[1]
    assert time.monotonic() - began < 10
    assert not canary.exists()


@pytest.mark.parametrize("name", ["../x", "a/b", "one\n", "a b", "", "ｏne", "-" * 65, 'x\\ud800"'])
def test_names_that_are_none(shelf, canary, name) -> None:
    text = manifest("one").replace('name: "one"', f'name: "{name}"')
    put(shelf.user_tools / "one", script=f": > {canary}", text=text)
    code, message = refused(shelf)
    assert code in ("TOOL_NAME_INVALID", "CONFIG_INVALID") and message.startswith("line ")
    assert not canary.exists()


def test_a_folder_whose_name_is_none(shelf) -> None:
    put(shelf.user_tools / "a b")
    put(shelf.user_tools / os.fsdecode(b"one\xff"), text=manifest("one"))
    put(shelf.user_tools / ("x" * 60))
    codes = shelf.opened(lambda crib: [problem.code for problem in crib.problems()])
    assert (shelf.opened(), codes) == ([], ["TOOL_NAME_INVALID", "TOOL_NAME_INVALID"])


def test_a_file_whose_name_is_not_utf_8(shelf) -> None:
    folder = put(shelf.user_tools / "one")
    (folder / os.fsdecode(b"x\xff")).write_text("")
    assert refused(shelf)[0] == "TOOL_NAME_INVALID"


def test_a_folder_is_bounded(shelf) -> None:
    folder = put(shelf.user_tools / "one")
    with (folder / "big").open("wb") as file:
        file.truncate(65 * 1024**2)
    assert refused(shelf)[0] == "INPUT_TOO_LARGE"
    (folder / "big").unlink()
    for number in range(2000):
        (folder / f"f{number}").touch()
    assert refused(shelf)[0] == "INPUT_TOO_LARGE"


def test_deep_directories_are_bounded(shelf) -> None:
    folder = put(shelf.user_tools / "one")
    (folder / "/".join("d" * 40)).mkdir(parents=True)
    assert refused(shelf)[0] == "INPUT_TOO_LARGE"


# What was listed is what runs


def to_evil(folder: Path, outside: Path) -> None:
    (folder / "run.sh").write_bytes(outside.read_bytes())


def helper(folder: Path, outside: Path) -> None:
    (folder / "lib.sh").write_bytes(outside.read_bytes())


def swapped_for_a_link(folder: Path, outside: Path) -> None:
    other = put(outside.parent / "one", script=outside.read_text())
    os.rename(folder, folder.with_name(".moved"))
    folder.symlink_to(other)


def program_is_a_link(folder: Path, outside: Path) -> None:
    (folder / "run.sh").unlink()
    (folder / "run.sh").symlink_to(outside)


def out_of_use(folder: Path, outside: Path) -> None:
    (folder / "run.sh").chmod(0o644)


def with_the_old_times(folder: Path, outside: Path) -> None:
    seen = (folder / "run.sh").stat()
    to_evil(folder, outside)
    os.utime(folder / "run.sh", ns=(seen.st_atime_ns, seen.st_mtime_ns))


def something_more(folder: Path, outside: Path) -> None:
    (folder / "more").touch()


@pytest.mark.parametrize(
    "change",
    [to_evil, helper, swapped_for_a_link, program_is_a_link, out_of_use, with_the_old_times, something_more],
)
@pytest.mark.parametrize("of_project", [False, True])
def test_a_folder_that_changed_does_not_run(shelf, outside, canary, change, of_project) -> None:
    place = shelf.project_tools if of_project else shelf.user_tools
    folder = put(place / "one", script=f'. "$TOOLCRIB_TOOL_DIR/lib.sh"; : > {canary}', more={"lib.sh": ":\n"})
    shelf.trust()

    async def after(crib: toolcrib.Crib) -> str:
        change(folder, outside)
        return (await crib.call("custom_tool_one")).error.code

    assert shelf.opened(after) == "TOOL_PIN_MISMATCH"
    assert not canary.exists()


def test_a_change_while_a_person_decides(shelf, home, outside, canary) -> None:
    folder = put(shelf.user_tools / "one")

    class Slow:
        async def approve(self, question):
            to_evil(folder, outside)
            return toolcrib.Answer(allowed=True, by="test")

    async def visit():
        async with toolcrib.open(workspace=shelf.project, home=home, approver=Slow()) as crib:
            return (await crib.call("custom_tool_one")).error.code

    assert asyncio.run(visit()) == "TOOL_PIN_MISMATCH"
    assert not canary.exists()


@pytest.mark.parametrize("file", ["run.sh", "lib.sh"])
def test_a_folder_that_is_swapped_all_the_time_never_runs_as_the_other(
    shelf, outside, canary, swapping, home, file
) -> None:
    """1,000 calls through the whole pipeline, every other with its copy damaged before, so that it has to be mended."""
    folder = put(shelf.user_tools / "one", script='. "$TOOLCRIB_TOOL_DIR/lib.sh"', more={"lib.sh": ":\n"})
    mode = (folder / file).stat().st_mode & 0o777
    bad, good = outside.with_name("bad"), outside.with_name("good")
    bad.write_bytes(outside.read_bytes())
    bad.chmod(mode)
    os.link(folder / file, good)
    copy = home / "cache" / "programs" / read_folder(str(folder)).digest.removeprefix("sha256:") / "one"

    async def swapped(crib: toolcrib.Crib) -> dict[str, int]:
        swapping(folder / file, good, bad, outside.with_name("draft"))
        said: dict[str, int] = {}
        for turn in range(1000):
            if turn % 2 and copy.exists():
                copy.chmod(0o700)
                (copy / file).unlink(missing_ok=True)
            result = await crib.call("custom_tool_one")
            code = result.error.code if result.error else "ran"
            said[code] = said.get(code, 0) + 1
        return said

    said = shelf.opened(swapped)
    assert not canary.exists()
    assert set(said) == {"ran", "TOOL_PIN_MISMATCH"}, said
