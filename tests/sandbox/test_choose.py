"""Which tier `auto` is: what is tried, what is remembered, and what is not believed."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcrib.sandbox import bubblewrap, landlock, seatbelt
from toolcrib.sandbox import choose as chosen
from toolcrib.sandbox.choose import FILE, choose, forget, remember


class Tries:
    """Stands for the canaries, and counts how often they are sent."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.said = {"bubblewrap": "", "landlock": ""}
        self.count = 0
        monkeypatch.setattr(chosen, "_canaries", lambda: {tier: self._canary(tier) for tier in self.said})

    def _canary(self, tier: str) -> Callable[[], str]:
        def canary() -> str:
            self.count += 1
            return self.said[tier]

        return canary


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> Tries:
    return Tries(monkeypatch)


@pytest.mark.parametrize(
    ("bubblewrap", "landlock", "best"),
    [("", "", "bubblewrap"), ("no namespaces", "", "landlock"), ("", "old", "bubblewrap"), ("no", "no", "process")],
)
def test_the_best_that_holds(tries: Tries, tmp_path: Path, bubblewrap: str, landlock: str, best: str) -> None:
    """K49: a tier is used where it was seen to work, and of one that does not the reason is kept."""
    tries.said = {"bubblewrap": bubblewrap, "landlock": landlock}
    assert choose(str(tmp_path / "cache")) == (best, tries.said)


def test_it_is_tried_once(tries: Tries, tmp_path: Path) -> None:
    cache = str(tmp_path / "cache")
    first = choose(cache)
    assert (choose(cache), tries.count) == (first, 2)
    forget(cache)
    choose(cache)
    assert tries.count == 4


@pytest.mark.parametrize(
    "written",
    [b"", b"{", b"[]", b"null", b'{"why": {}}', b'{"here": [], "why": {"landlock": ""}}', b"\xff\xfe", b"[" * 5000],
)
def test_what_is_remembered_elsewhere_or_broken_is_tried_anew(tries: Tries, tmp_path: Path, written: bytes) -> None:
    (tmp_path / FILE).write_bytes(written)
    assert choose(str(tmp_path)).tier == "bubblewrap"
    assert tries.count == 2


@pytest.mark.parametrize("why", [["landlock"], {"landlock": 1}, {"landlock": None}, "landlock", 1, None])
def test_nonsense_about_this_very_place_is_not_believed(tries: Tries, tmp_path: Path, why: object) -> None:
    choose(str(tmp_path))
    kept = json.loads((tmp_path / FILE).read_text())
    (tmp_path / FILE).write_text(json.dumps({**kept, "why": why}))
    assert choose(str(tmp_path)).tier == "bubblewrap"
    assert tries.count == 4


def test_another_boot_user_or_program_is_another_place(
    tries: Tries, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(str(tmp_path))
    here = chosen._here()
    for at in range(len(here)):
        other = [*here[:at], "another", *here[at + 1 :]]
        monkeypatch.setattr(chosen, "_here", lambda other=other: other)
        before = tries.count
        choose(str(tmp_path))
        assert tries.count == before + 2


@pytest.mark.parametrize("change", ["made", "written to", "touched", "its rights", "replaced", "removed"])
def test_another_bubblewrap_is_another_place(
    tries: Tries, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    program = tmp_path / "bwrap"
    monkeypatch.setattr(chosen, "_BUBBLEWRAP", str(program))
    if change != "made":
        program.write_text("old")
        os.utime(program, (1, 1))
    choose(str(tmp_path / "cache"))
    if change in ("made", "written to"):
        program.write_text("newer")
        os.utime(program, (1, 1))
    elif change == "touched":
        os.utime(program, (2, 2))
    elif change == "its rights":
        program.chmod(0o4755)
    elif change == "replaced":
        (tmp_path / "other").write_text("old")
        os.utime(tmp_path / "other", (1, 1))
        os.rename(tmp_path / "other", program)
    else:
        program.unlink()
    choose(str(tmp_path / "cache"))
    choose(str(tmp_path / "cache"))
    assert tries.count == 4


CHANGED = """
import ctypes, json, os, sys
from toolcrib.sandbox import choose
libc = ctypes.CDLL(None)
canaries = {"bubblewrap": lambda: tried.append(1) or "", "landlock": lambda: ""}
tried, choose._canaries = [], lambda: canaries
ops = ctypes.create_string_buffer(b"\\x06\\0\\0\\0\\0\\0\\xff\\x7f")   # allows every call
class Program(ctypes.Structure): _fields_ = (("n", ctypes.c_ushort), ("ops", ctypes.c_void_p))
ways = {
    "bounds": lambda: libc.prctl(24, 21, 0, 0, 0),             # CAP_SYS_ADMIN is out of reach
    "network": lambda: libc.unshare(0x40000000), "mounts": lambda: libc.unshare(0x20000),
    "users": lambda: libc.unshare(0x10000000),
    "name": lambda: libc.prctl(15, b"\\xff", 0, 0, 0),          # which the kernel shows as it is
    "privileges": lambda: libc.prctl(38, 1, 0, 0, 0),
    "filter": lambda: libc.prctl(22, 2, ctypes.byref(Program(1, ctypes.addressof(ops))), 0, 0),
}
choose.choose(sys.argv[1])
for name in sys.argv[2:]:
    assert not ways[name](), name
    before = len(tried)
    choose.choose(sys.argv[1]), choose.choose(sys.argv[1])
    print(name, len(tried) - before)
"""


def changed(drive: Callable[..., Any], tmp_path: Path, *names: str) -> dict[str, str]:
    """How often it is tried again, asked twice, after each of these happened to the process."""
    return dict(line.split() for line in drive(CHANGED, str(tmp_path / "cache"), *names).stdout.splitlines())


def test_a_process_that_gave_something_up_is_in_another_place(drive, tmp_path) -> None:
    found = changed(drive, tmp_path, "name", "privileges", "filter")
    assert found == {"name": "0", "privileges": "1", "filter": "1"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give this up")
def test_a_process_of_root_that_gave_something_up_is_in_another_place(drive, tmp_path) -> None:
    names = ("bounds", "network", "mounts", "users")
    assert changed(drive, tmp_path, *names) == dict.fromkeys(names, "1")


def test_another_boot_is_another_place(tries: Tries, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    choose(str(tmp_path))
    text = chosen._text
    boot = "/proc/sys/kernel/random/boot_id"
    assert text(boot)
    monkeypatch.setattr(chosen, "_text", lambda path: "another" if path == boot else text(path))
    choose(str(tmp_path))
    assert tries.count == 4


@pytest.mark.parametrize(
    "switch",
    [
        "kernel/unprivileged_userns_clone",
        "kernel/apparmor_restrict_unprivileged_userns",
        "user/max_user_namespaces",
    ],
)
def test_an_administrator_s_switch_makes_another_place(
    tries: Tries, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, switch: str
) -> None:
    """The remedy that `doctor` names takes no new boot, and is noticed."""
    tries.said["bubblewrap"] = "no namespaces"
    assert choose(str(tmp_path)).tier == "landlock"
    text = chosen._text
    monkeypatch.setattr(chosen, "_text", lambda path: "another" if path == f"/proc/sys/{switch}" else text(path))
    tries.said["bubblewrap"] = ""
    assert choose(str(tmp_path)).tier == "bubblewrap"


def test_another_user_is_in_another_place(tries: Tries, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    choose(str(tmp_path))
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    choose(str(tmp_path))
    choose(str(tmp_path))
    assert tries.count == 4


@pytest.mark.confined
def test_the_tiers_of_this_system_from_the_best_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each by its own canary."""
    monkeypatch.setattr(bubblewrap, "canary", lambda: "no bubblewrap")
    monkeypatch.setattr(landlock, "canary", lambda: "no landlock")
    monkeypatch.setattr(seatbelt, "canary", lambda: "no seatbelt")
    monkeypatch.setattr(chosen.sys, "platform", "linux")
    found = choose(str(tmp_path / "cache"))
    assert list(found.why.items()) == [("bubblewrap", "no bubblewrap"), ("landlock", "no landlock")]
    monkeypatch.setattr(chosen.sys, "platform", "darwin")
    assert dict(choose(str(tmp_path / "cache")).why) == {"seatbelt": "no seatbelt"}, (
        "it is remembered of another system"
    )


def test_what_is_remembered_is_what_was_found(tries: Tries, tmp_path: Path) -> None:
    tries.said = {"bubblewrap": "no namespaces", "landlock": ""}
    first = choose(str(tmp_path / "not" / "there"))
    tries.said = {"bubblewrap": "", "landlock": "old"}
    assert (
        choose(str(tmp_path / "not" / "there"))
        == first
        == ("landlock", {"bubblewrap": "no namespaces", "landlock": ""})
    )
    remember(str(tmp_path / "not" / "there"), {"bubblewrap": "", "landlock": ""})
    assert (choose(str(tmp_path / "not" / "there")).tier, tries.count) == ("bubblewrap", 2)


def test_a_file_that_is_too_long_is_not_believed(tries: Tries, tmp_path: Path) -> None:
    choose(str(tmp_path))
    kept = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(kept + b" " * (65536 - len(kept)))
    choose(str(tmp_path))
    assert tries.count == 2
    (tmp_path / FILE).write_bytes(b" " * 65536 + kept)
    choose(str(tmp_path))
    assert tries.count == 4


def test_to_forget_what_is_not_there_is_nothing(tmp_path: Path) -> None:
    forget(str(tmp_path / "missing"))
    assert os.listdir(tmp_path) == []


def test_where_nothing_can_be_kept_it_is_tried_each_time(tries: Tries, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    assert choose(str(file / "cache")).tier == choose(str(file / "cache")).tier == "bubblewrap"
    assert tries.count == 4


def test_what_is_remembered_is_for_nobody_else_to_write(tries: Tries, tmp_path: Path) -> None:
    remember(str(tmp_path / "cache"), {"landlock": ""})
    assert os.stat(tmp_path / "cache").st_mode & 0o077 == 0
    assert os.listdir(tmp_path / "cache") == [FILE]
