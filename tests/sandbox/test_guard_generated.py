"""The guard against a model of it: generated paths over a tree with links in and out."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolcrib.core.errors import ToolError
from toolcrib.sandbox import _beneath, _openat2
from toolcrib.sandbox.guard import GuardedFiles
from toolcrib.sandbox.places import Places

SECRET = b"top secret of somebody else"
LINKS = {
    "in": "folder",
    "up": "..",
    "folder/back": "..",
    "folder/sub/far": "../../..",
    "out": "../outside",
    "away": "/",
    "self": "self",
    "two": "in/sub",
    "leaf": "folder/sub/file",
    "gone": "folder/nothing",
    "dot": ".",
}
FILES = {"file", "folder/file", "folder/sub/file"}
FOLDERS = {"", "folder", "folder/sub"}
STEPS = [
    "..",
    ".",
    "",
    "file",
    "folder",
    "sub",
    "back",
    "far",
    "in",
    "up",
    "out",
    "away",
    "self",
    "two",
    "leaf",
    "gone",
]
ODD = ["dot", "work", "secret", "outside", "etc", "~", "..\\", "... ", "%2e%2e", "‥", "\ud800", "a\0", "x" * 256, " "]
PATHS = st.lists(st.sampled_from(STEPS * 3 + ODD), min_size=1, max_size=9).map("/".join)


def model(path: str) -> str:
    """What a path leads to: the name of a file, `folder`, `outside`, `missing` or `odd`. Knows nothing of any kernel."""
    if "\0" in path or "\ud800" in path:
        return "odd"
    if path.startswith("/"):
        return "outside"
    if not path:
        return "missing"
    todo, at, links = path.split("/")[::-1], [], 0
    while todo:
        step = todo.pop()
        here = "/".join(at)
        if here in FILES or here not in FOLDERS:
            return "missing"
        if step == "..":
            if not at:
                return "outside"
            at.pop()
        elif step not in ("", "."):
            name = "/".join([*at, step])
            if name in LINKS:
                links += 1
                if links > 40 or LINKS[name].startswith("/"):
                    return "outside"
                todo += LINKS[name].split("/")[::-1]
            elif len(step) > 255:
                return "odd"
            elif name in FILES or name in FOLDERS:
                at.append(step)
            else:
                return "missing"
    name = "/".join(at)
    return name if name in FILES else "folder"


CODES = {
    "PATH_OUTSIDE_WORKSPACE": "outside",
    "FILE_NOT_FOUND": "missing",
    "READ_ERROR": "odd",
    "PATH_NOT_REGULAR": "folder",
}


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("generated")
    (top / "outside").mkdir()
    for name in ("secret", "outside/file", "outside/secret"):
        (top / name).write_bytes(SECRET)
    for name in sorted(FOLDERS):
        (top / "work" / name).mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (top / "work" / name).write_text(name)
    for name, target in LINKS.items():
        os.symlink(target, top / "work" / name)
    return top


@pytest.fixture(params=["kernel", "walk"])
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "kernel" and not _openat2.AVAILABLE:
        pytest.skip("this kernel has no openat2")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_beneath, "BY_KERNEL", request.param == "kernel")
        yield str(request.param)


def outside(top: Path) -> dict[str, bytes | None]:
    names = [name for name in os.listdir(top) if name != "work"]
    return {name: (top / name).read_bytes() if name == "secret" else None for name in names} | {
        str(path): path.read_bytes() for path in (top / "outside").iterdir()
    }


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=PATHS)
def test_every_generated_path_leads_where_the_model_says(top: Path, mode: str, path: str) -> None:
    files = GuardedFiles(Places(str(top / "work")))
    try:
        data = files.read(path)
    except ToolError as exc:
        assert SECRET.decode() not in str(exc)
        assert CODES[exc.code] == model(path), exc
    else:
        assert data.decode() == model(path)
    zone = files.places.locate(path).zone
    assert (zone == "outside") is (model(path) in ("outside", "odd")) or model(path) == "missing"


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=PATHS, prefix=st.sampled_from(["", "", "{top}/", "{top}/work/", "{top}/work/../", "/", "//", "{top}/outside/"])
)
def test_no_generated_path_writes_or_removes_outside(top: Path, mode: str, path: str, prefix: str) -> None:
    path = prefix.format(top=top) + path
    before = outside(top)
    files = GuardedFiles(Places(str(top / "work")))
    inside = files.places.locate(path).zone == "workspace"
    try:
        files.write(path, "written")
        assert inside
        assert files.read(path) == b"written"
    except ToolError as exc:
        assert SECRET.decode() not in str(exc)
    try:
        files.unlink(path)
    except ToolError as exc:
        assert SECRET.decode() not in str(exc)
    assert outside(top) == before
    restore(top)


def restore(top: Path) -> None:
    """The workspace as it was, since the next example counts on it."""
    for name, target in LINKS.items():
        if not os.path.islink(top / "work" / name):
            os.symlink(target, top / "work" / name)
    for name in FILES:
        (top / "work" / name).write_text(name)
    for root, folders, names in os.walk(top / "work", topdown=False):
        for name in names + folders:
            place = os.path.relpath(os.path.join(root, name), top / "work")
            if place not in FILES | FOLDERS | set(LINKS):
                full = os.path.join(root, name)
                os.rmdir(full) if os.path.isdir(full) and not os.path.islink(full) else os.unlink(full)
