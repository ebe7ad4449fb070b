"""Hundreds of paths that lead out of the workspace, or seem to, against every tool that takes a path.

Nothing outside is read: no secret is in any answer. Nothing outside is written: all of it is as it was, to the inode.
"""

import asyncio
import os
import shutil
import socket
import stat
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import toolcrib

SECRET = "sesame-4711"
CODED = "sesame_4711"
"""The name of a function outside."""
TOOLS: dict[str, dict[str, Any]] = {
    "read_file": {},
    "write_file": {"content": "overwritten"},
    "edit_file": {"old_string": SECRET, "new_string": "overwritten"},
    "delete_file": {},
    "list_directory": {},
    "list_files": {},
    "file_exists": {},
    "file_info": {},
    "glob": {"pattern": "**/*"},
    "grep": {"pattern": "sesame"},
    "search_code": {"query": "sesame*"},
    "get_codebase_map": {},
    "build_dependency_graph": {},
    "find_references": {"symbol": CODED},
    "get_symbol_info": {"symbol": CODED},
    "resolve_symbol": {"symbol": CODED},
    "get_imports_exports": {},
    "detect_project_type": {},
    "extract_conventions": {},
    "get_project_overview": {},
}
BY_FILE = ("get_symbol_info", "resolve_symbol", "get_imports_exports")
"""Those that call the path `file`."""


@pytest.fixture
def yard(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace full of traps, with a secret in every place around it."""
    for place in ("secret", "outside/secret", "outside/deep/secret", "work-evil/secret", "wor/secret"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(SECRET)
    for place in ("outside", "outside/deep", "work-evil"):
        (tmp_path / place / "told.py").write_text(f"import hidden_module\n\ndef {CODED}():\n    return '{SECRET}'\n")
        (tmp_path / place / "pyproject.toml").write_text(f'[project]\nname = "{SECRET}"\n')
    (workspace / "sub" / "deep").mkdir(parents=True)
    (workspace / "sub" / "file").write_text("inside")
    links = {
        "abs": tmp_path / "outside",
        "abs_file": tmp_path / "secret",
        "rel": "../outside",
        "rel_file": "../secret",
        "sub/up": "../..",
        "sub/up_file": "../../secret",
        "sub/deep/far": "../../../outside/deep",
        "chain": "sub/up",
        "chain2": "chain/outside",
        "dangling": "../not-there",
        "dangling_abs": tmp_path / "not-there-either",
        "loop": "loop",
        "loop_a": "loop_b",
        "loop_b": "loop_a",
        "root": "/",
        "proc": "/proc/self/root",
        "cwd": "/proc/self/cwd",
        "dot": ".",
        "null": "/dev/null",
        "zero": "/dev/zero",
        "mem": "/proc/self/mem",
        "environ": "/proc/self/environ",
        "home": os.path.expanduser("~"),
    }
    for name, target in links.items():
        (workspace / name).symlink_to(target)
    os.mkfifo(workspace / "fifo")
    server = socket.socket(socket.AF_UNIX)
    monkeypatch.chdir(workspace)  # the path of a socket must be short
    server.bind("sock")
    server.close()
    return tmp_path


def attacks(yard: Path) -> list[str]:
    """At least 500 spellings of ways out."""
    out = ("..", "../", "../.", "../..", "../secret", "../outside", "../outside/secret", "../outside/deep/secret")
    out += ("../work-evil/secret", "../wor/secret", "../work/../secret", "../home", "../new")
    ups = ["../" * count + "etc/passwd" for count in (1, 2, 3, 8, 20, 40)]
    before = (
        "",
        "./",
        ".//",
        "sub/../",
        "sub/deep/../../",
        "sub//..//",
        "dot/",
        "dot/dot/",
        "sub/./.././",
        "nothing/../",
    )
    found = [lead + way for lead in before for way in (*out, *ups)]
    linked = ["abs", "rel", "sub/up", "sub/deep/far", "chain", "chain2", "root", "proc", "cwd", "home"]
    below = (
        "",
        "/",
        "/.",
        "/..",
        "/secret",
        "/../secret",
        "/deep",
        "/deep/secret",
        "/new",
        "/a/b/new",
        "/./secret",
        "//secret",
    )
    found += [link + rest for link in linked for rest in below]
    found += [f"{link}/told.py" for link in linked] + ["../outside/told.py", "sub/../../work-evil/told.py"]
    found += [
        "abs_file",
        "rel_file",
        "sub/up_file",
        "dangling",
        "dangling_abs",
        "loop",
        "loop/x",
        "loop_a",
        "loop_b/../x",
    ]
    found += ["null", "zero", "mem", "environ", "fifo", "sock", "dangling/x", "dangling_abs/a/b"]
    places = [
        yard,
        yard / "secret",
        yard / "outside",
        yard / "outside/secret",
        yard / "work-evil/secret",
        yard / "home",
    ]
    found += [f"{place}{tail}" for place in places for tail in ("", "/", "/.", "/new", "/../secret", "//")]
    found += [
        f"{yard}/work/{way}" for way in (*out, "abs/secret", "rel/secret", "sub/up/secret", "chain2/secret", "root/etc")
    ]
    found += [
        f"{yard}/work/../work/../secret",
        f"{yard}/work/./sub/../../secret",
        f"//{yard}/secret",
        f"///{yard}/secret",
    ]
    for target in ("/etc/passwd", "/etc", "/", "/root", "/tmp", "/dev/null", "/dev/zero", "/dev/tty", "/dev/stdin"):
        found += [
            target,
            target + "/",
            target + "/.",
            "/." + target,
            "//" + target,
            target + "/../" + target.strip("/"),
        ]
    for pid in ("self", "thread-self", str(os.getpid()), "1"):
        found += [
            f"/proc/{pid}/{each}" for each in ("root", "cwd", "environ", "mem", "fd/0", "root/etc/passwd", "maps")
        ]
    found += [f"/proc/self/root{yard}/secret", "/proc/self/cwd/../secret", f"/proc/{os.getpid()}/cwd/../secret"]
    found += [f"/proc/self/fd/{fd}/../secret" for fd in range(8)]
    found += [
        "~",
        "~/secret",
        "~root/.ssh/id_rsa",
        "$HOME/secret",
        "${HOME}",
        "%2e%2e/secret",
        "..%2fsecret",
        "..%c0%af",
    ]
    found += [
        "..\\secret",
        "..\\..\\secret",
        "C:\\secret",
        "\\\\host\\share",
        "file:///etc/passwd",
        "file://localhost/etc",
    ]
    found += [
        "..\0/secret",
        "a\0",
        "\0",
        "../secret\0.txt",
        "．．/secret",
        "‥/secret",
        "..∕secret",
        "..⁄secret",
        "\u202e../secret",
    ]
    found += [
        "../" * 1000 + "etc/passwd",
        "sub/../" * 500 + "../secret",
        "a/" * 3000,
        "x" * 300,
        "x" * 5000,
        "/" + "x" * 5000,
    ]
    found += [
        " ../secret",
        "../secret ",
        "\t../secret",
        "\n../secret",
        "../secret\n",
        "../secret/",
        "../secret/.",
        "./../secret",
    ]
    found += [
        "\ud800",
        "\udcff/../../secret",
        "..\udcff",
        "-",
        "--",
        "-rf",
        "--help",
        "-e",
        "@file",
        "|id",
        ";id",
        "$(id)",
        "`id`",
        "*",
    ]
    return list(dict.fromkeys(found))


def snapshot(yard: Path) -> dict[str, object]:
    """All that lies around the workspace and the home."""
    seen: dict[str, object] = {}
    for path in sorted(yard.rglob("*")):
        if path.parts[len(yard.parts)] in ("work", "home"):
            continue
        about = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(about.st_mode) else None
        seen[str(path)] = (about.st_mode, about.st_ino, about.st_mtime_ns, content)
    return seen


def test_there_are_enough(yard: Path) -> None:
    assert len(attacks(yard)) >= 500


@pytest.mark.parametrize("tool", TOOLS)
def test_nothing_outside_is_read_or_written(yard: Path, home: Path, workspace: Path, tool: str) -> None:
    """A35, A36, K47, with a person who says yes to everything."""
    before = snapshot(yard)
    top = set(os.listdir("/")) | set(os.listdir("/tmp"))

    async def attack() -> list[tuple[str, toolcrib.Result]]:
        async with toolcrib.open(workspace=workspace, home=home, approver=toolcrib.SaysYes()) as crib:
            where = "file" if tool in BY_FILE else "path"
            return [(path, await crib.call(tool, {**TOOLS[tool], where: path})) for path in attacks(yard)]

    for path, result in asyncio.run(attack()):
        said = str(result.to_dict())
        assert SECRET not in said.replace(repr(TOOLS[tool]), ""), path
        assert "told.py" not in said.replace(path, ""), path
        assert "root:" not in said, path
        if result.success:
            assert inside(path, result, workspace), (path, result)
    assert snapshot(yard) == before
    assert {name for name in (set(os.listdir("/")) | set(os.listdir("/tmp"))) - top if "x" * 10 in name} == set()
    assert not (Path("/") / "new").exists()


def inside(path: str, result: toolcrib.Result, workspace: Path) -> bool:
    """What went well was about the workspace itself: its own files, its own links, or nothing at all."""
    if result.metadata["tool"] == "file_exists" and result.data is False:
        return True
    real = os.path.realpath(os.path.join(workspace, path))
    return real == str(workspace) or real.startswith(f"{workspace}/")


SWAPPED = ("read_file", "write_file", "edit_file", "list_directory", "file_info", "glob", "grep", "delete_file")


@pytest.mark.parametrize("tool", SWAPPED)
def test_nothing_outside_is_reached_while_links_are_swapped(yard: Path, home: Path, workspace: Path, tool: str) -> None:
    """A thread puts a directory and a link to the outside in turn into the same place, all the time."""
    (workspace / "real").mkdir()
    (workspace / "evil").symlink_to(yard / "outside")
    before = snapshot(yard)
    stop = threading.Event()

    def swap() -> None:
        place, real, evil = (str(workspace / name) for name in ("swap", "real", "evil"))
        while not stop.is_set():
            for away in (real, evil):
                with suppress(OSError):
                    if away == real:
                        (workspace / "real" / "secret").write_text("inside")
                    os.rename(away, place)
                    os.rename(place, away)
            if not os.path.lexists(real) and os.path.isdir(place):
                os.rename(place, real)
            elif os.path.isdir(place) and not os.path.islink(place):  # a tool made it, in between
                shutil.rmtree(place, ignore_errors=True)

    path = "swap" if tool in ("list_directory", "glob", "grep") else "swap/secret"

    async def attack() -> list[toolcrib.Result]:
        async with toolcrib.open(workspace=workspace, home=home, approver=toolcrib.SaysYes()) as crib:
            return [await crib.call(tool, {**TOOLS[tool], "path": path}) for _ in range(400)]

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        results = asyncio.run(attack())
    finally:
        stop.set()
        swapper.join()
    assert all(SECRET not in str(result.data) for result in results)
    assert snapshot(yard) == before
