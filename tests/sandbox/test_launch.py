"""Starting a program in its cage: which tier holds it, and within what bounds."""

import asyncio
import os
from pathlib import Path

import pytest

from toolcrib.sandbox import bubblewrap, landlock, seatbelt
from toolcrib.sandbox.cage import Bounds, Cage
from toolcrib.sandbox.launch import launch
from toolcrib.sandbox.poller import Poller
from toolcrib.sandbox.spawn import Start

MIB = 1 << 20
LANDLOCK_NOT = landlock.canary()
BUBBLEWRAP_NOT = bubblewrap.canary()


def ran(cage: Cage | None, *argv: str, tmp: Path, memory_bytes: int | None = None) -> tuple[int, str]:
    """Its status, and what it printed."""

    async def story() -> tuple[int, str]:
        poller = Poller(asyncio.get_running_loop())
        said = tmp.parent / "said"
        try:
            with open(said, "wb") as out, open(os.devnull, "rb") as null:
                about = Start(argv, "/", {"PATH": "/usr/bin:/bin"}, (null.fileno(), out.fileno(), out.fileno()))
                child = launch(cage, about, poller, tmp=str(tmp), memory_bytes=memory_bytes)
            exited = asyncio.Event()
            child.on_exit(exited.set)
            async with asyncio.timeout(20):
                await exited.wait()
            child.close()
            return child.collect(), said.read_text()
        finally:
            poller.close()

    return asyncio.run(story())


@pytest.fixture
def tmp(tmp_path: Path) -> Path:
    path = Path(os.path.realpath(tmp_path)) / "tmp"
    path.mkdir()
    return path


@pytest.mark.parametrize(
    ("cage", "memory_bytes", "kibibytes"),
    [
        (None, None, "unlimited"),
        (None, 300 * MIB, "307200"),
        (Cage(), 300 * MIB, "307200"),
        (Cage(bounds=Bounds(memory_bytes=400 * MIB)), None, "409600"),
        (Cage(bounds=Bounds(memory_bytes=400 * MIB)), 300 * MIB, "307200"),
        (Cage(bounds=Bounds(memory_bytes=400 * MIB)), 500 * MIB, "409600"),
    ],
)
def test_of_two_limits_of_memory_the_stricter_one_holds(tmp, cage, memory_bytes, kibibytes) -> None:
    said = ran(cage, "/bin/sh", "-c", "ulimit -v", tmp=tmp, memory_bytes=memory_bytes)
    assert said == (0, f"{kibibytes}\n")


def test_a_limit_of_memory_lifts_no_other(tmp) -> None:
    cage = Cage(bounds=Bounds(file_bytes=MIB, cpu_seconds=77))
    said = ran(cage, "/bin/sh", "-c", "ulimit -f; ulimit -t; ulimit -v", tmp=tmp, memory_bytes=300 * MIB)
    assert said == (0, "2048\n77\n307200\n")


TIERS = [
    pytest.param("landlock", marks=pytest.mark.skipif(bool(LANDLOCK_NOT), reason=LANDLOCK_NOT or "it holds")),
    pytest.param("bubblewrap", marks=pytest.mark.skipif(bool(BUBBLEWRAP_NOT), reason=BUBBLEWRAP_NOT or "it holds")),
]


@pytest.mark.parametrize("tier", TIERS)
def test_held_by_a_tier_it_writes_to_its_own_place_alone(tmp, tier) -> None:
    text = '(: > "$1/outside"); : > "$1/tmp/inside"; ulimit -f'
    cage = Cage(tier, bounds=Bounds(file_bytes=MIB))
    code, said = ran(cage, "/bin/sh", "-c", text, "sh", str(tmp.parent), tmp=tmp)
    assert (code, said.splitlines()[-1]) == (0, "2048")
    assert (os.listdir(tmp), (tmp.parent / "outside").exists()) == (["inside"], False)


@pytest.mark.parametrize("tier", TIERS)
def test_where_its_own_place_is_a_link_it_is_let_in_nowhere(tmp, tier) -> None:
    (tmp / "secret").write_text("the secret")
    link = tmp.parent / "link"
    link.symlink_to(tmp)
    text = 'cat "$1/secret" "$2/secret"; : > "$1/new"; : > "$2/new"'
    _, said = ran(Cage(tier), "/bin/sh", "-c", text, "sh", str(link), str(tmp), tmp=link)
    assert ("the secret" in said, os.listdir(tmp)) == (False, ["secret"])


@pytest.mark.parametrize("tier", ["off", "process"])
def test_without_a_tier_nothing_holds_it(tmp, tier) -> None:
    assert ran(Cage(tier), "/bin/sh", "-c", ': > "$1/outside"', "sh", str(tmp.parent), tmp=tmp) == (0, "")
    assert (tmp.parent / "outside").exists()


def test_seatbelt_s_own_program_is_what_starts_it(tmp, monkeypatch) -> None:
    """Here one that says what it was told."""
    stand_in = tmp.parent / "sandbox-exec"
    stand_in.write_text('#!/bin/sh\nfor word; do echo "$word"; done\n')
    stand_in.chmod(0o755)
    monkeypatch.setattr(seatbelt, "PROGRAM", str(stand_in))
    code, said = ran(Cage("seatbelt"), "/bin/echo", "word", tmp=tmp)
    words = said.splitlines()
    assert (code, words[0], words[-2:]) == (0, "-p", ["/bin/echo", "word"])
    assert any(word.startswith("PATH_") and word.endswith(f"={tmp}") for word in words)
