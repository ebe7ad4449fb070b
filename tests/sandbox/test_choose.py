"""Which tier `auto` is: what is tried, what is remembered, and what is not believed."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

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


def test_where_nothing_can_be_kept_it_is_tried_each_time(tries: Tries, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    assert choose(str(file / "cache")).tier == choose(str(file / "cache")).tier == "bubblewrap"
    assert tries.count == 4


def test_what_is_remembered_is_for_nobody_else_to_write(tries: Tries, tmp_path: Path) -> None:
    remember(str(tmp_path / "cache"), {"landlock": ""})
    assert os.stat(tmp_path / "cache").st_mode & 0o077 == 0
    assert os.listdir(tmp_path / "cache") == [FILE]
