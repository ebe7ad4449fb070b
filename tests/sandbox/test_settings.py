"""The copy of the system's settings that a contained program finds."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolcrib.sandbox import _settings
from toolcrib.sandbox._settings import Settings

MOST_ENTRIES, MOST_BYTES = 40, 1 << 20


class Clock:
    """Time that passes when it is told to."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(_settings, "time", clock)
    return clock


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """So that modes are those that are asked for."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    path = tmp_path / "etc"
    path.mkdir()
    return path


def write(path: Path, text: str = "x", *, mode: int = 0o644) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def of(etc: Path, *names: str) -> Settings:
    return Settings([str(etc / name) for name in names], str(etc.parent / "copies"), top=str(etc))


def tree(place: str) -> dict[str, object]:
    """What is in a directory: the text of files, where links lead, and None for directories."""
    found: dict[str, object] = {}
    for path in sorted(Path(place).rglob("*")):
        content: object = None
        if path.is_symlink():
            content = ("link", os.readlink(path))
        elif path.is_file():
            content = path.read_text()
        found[str(path.relative_to(place))] = content
    return found


def test_files_and_directories_are_copied(etc: Path) -> None:
    write(etc / "hosts", "here")
    write(etc / "ssl" / "certs" / "a.pem", "a")
    write(etc / "ssl" / "certs" / "deep" / "b.pem", "b")
    write(etc / "ssl" / "private", "not asked for")
    write(etc / "ssl" / "openssl.cnf", "c")
    place, mounted = of(etc, "hosts", "ssl/certs", "ssl/openssl.cnf", "missing").current()
    assert mounted == ()
    assert tree(place) == {
        "hosts": "here",
        "ssl": None,
        "ssl/certs": None,
        "ssl/certs/a.pem": "a",
        "ssl/certs/deep": None,
        "ssl/certs/deep/b.pem": "b",
        "ssl/openssl.cnf": "c",
    }


def test_everybody_may_read_the_copies_and_nobody_else_may_write_them(etc: Path) -> None:
    write(etc / "ssl" / "certs" / "a.pem", mode=0o666)
    write(etc / "big", "x" * (MOST_BYTES + 1), mode=0o666)
    place, _ = of(etc, "ssl/certs", "big").current()
    names = (".", "ssl", "ssl/certs", "ssl/certs/a.pem", "big")
    modes = {name: stat.S_IMODE(os.stat(os.path.join(place, name)).st_mode) for name in names}
    assert modes == {".": 0o755, "ssl": 0o755, "ssl/certs": 0o755, "ssl/certs/a.pem": 0o444, "big": 0o444}


def test_the_settings_of_the_system_are_meant_unless_others_are_named(tmp_path: Path) -> None:
    place, mounted = Settings(["/etc/passwd"], str(tmp_path)).current()
    assert (tree(place), mounted) == ({"passwd": Path("/etc/passwd").read_text()}, ())


def test_a_link_into_the_system_stays_one_and_any_other_becomes_what_it_leads_to(etc: Path) -> None:
    write(etc.parent / "real", "text")
    write(etc.parent / "usr" / "file", "not the system's")
    write(etc.parent / "folder" / "x", "in it")
    for name, target in (
        ("program", "/usr/bin/env"),
        ("file", str(etc.parent / "real")),
        ("like", str(etc.parent / "usr" / "file")),
        ("directory", str(etc.parent / "folder")),
        ("gone", "nowhere"),
    ):
        (etc / "all").mkdir(exist_ok=True)
        (etc / "all" / name).symlink_to(target)
    place, mounted = of(etc, "all").current()
    assert mounted == ()
    assert tree(place) == {
        "all": None,
        "all/program": ("link", "/usr/bin/env"),
        "all/file": "text",
        "all/like": "not the system's",
        "all/directory": None,
        "all/directory/x": "in it",
    }


def test_what_is_not_for_everybody_or_no_file_is_left_out(etc: Path) -> None:
    write(etc / "all" / "a-secret", "key", mode=0o640)
    os.mkfifo(etc / "all" / "b-fifo")
    write(etc / "all" / "c-open", "text")
    write(etc / "all" / "d-only-for-others", "text", mode=0o604)
    place, mounted = of(etc, "all", "all/a-secret", "all/b-fifo").current()
    assert (tree(place), mounted) == ({"all": None, "all/c-open": "text", "all/d-only-for-others": "text"}, ())


@pytest.mark.parametrize("kind", [PermissionError, FileNotFoundError])
def test_what_cannot_be_looked_at_does_not_keep_the_rest_from_being_copied(
    etc: Path, monkeypatch: pytest.MonkeyPatch, kind: type[OSError]
) -> None:
    for name in "abc":
        write(etc / "all" / name, name)
    looked = os.lstat

    def lstat(path: str) -> os.stat_result:
        if path.endswith("/b"):
            raise kind(path)
        return looked(path)

    monkeypatch.setattr(_settings.os, "lstat", lstat)
    place, mounted = of(etc, "all").current()
    assert (sorted(tree(place)), mounted) == (["all", "all/a", "all/c"], ())


@pytest.mark.parametrize(("size", "is_mounted"), [(MOST_BYTES, False), (MOST_BYTES + 1, True)])
def test_a_large_file_is_mounted_over_an_empty_one(etc: Path, size: int, is_mounted: bool) -> None:
    path = write(etc / "big", "x" * size)
    place, mounted = of(etc, "big").current()
    assert mounted == ((str(path),) if is_mounted else ())
    assert tree(place) == {"big": "" if is_mounted else "x" * size}


@pytest.mark.parametrize(("count", "is_mounted"), [(MOST_ENTRIES, False), (MOST_ENTRIES + 1, True)])
def test_a_crowded_directory_is_mounted_over_an_empty_one(etc: Path, count: int, is_mounted: bool) -> None:
    for number in range(count):
        write(etc / "many" / str(number))
    place, mounted = of(etc, "many").current()
    assert mounted == ((str(etc / "many"),) if is_mounted else ())
    assert len(tree(place)) == (1 if is_mounted else 1 + count)


@pytest.mark.parametrize(("depth", "is_mounted"), [("a/b/c", False), ("a/b/c/d", True)])
def test_a_deep_directory_is_mounted_over_an_empty_one(etc: Path, depth: str, is_mounted: bool) -> None:
    (etc / "top" / depth).mkdir(parents=True)
    place, mounted = of(etc, "top").current()
    assert mounted == ((str(etc / "top"),) if is_mounted else ())
    assert list(tree(place)) == (["top"] if is_mounted else ["top", "top/a", "top/a/b", "top/a/b/c"])


def test_what_is_mounted_as_a_whole_is_not_half_there(etc: Path) -> None:
    """Whatever was copied before it showed: files, directories, and links, of which none is followed."""
    write(etc / "top" / "aa" / "deep" / "file")
    write(etc / "top" / "ab")
    (etc / "top" / "ac").symlink_to("/usr/bin")
    write(etc / "top" / "zz", "x" * (MOST_BYTES + 1))
    write(etc / "other" / "file", "kept")
    place, mounted = of(etc, "top", "other").current()
    assert mounted == (str(etc / "top"),)
    made = tree(place)
    assert made == {"top": None, "other": None, "other/file": "kept"}
    assert os.path.exists("/usr/bin/env")


# What changes


def test_for_a_second_nothing_is_looked_at(etc: Path, clock: Clock) -> None:
    write(etc / "hosts", "one")
    settings = of(etc, "hosts")
    first = settings.current()
    write(etc / "hosts", "another")
    clock.now += 0.99
    assert settings.current() == first
    clock.now += 0.01
    place, _ = settings.current()
    assert (place != first[0], tree(place)) == (True, {"hosts": "another"})
    assert tree(first[0]) == {"hosts": "one"}  # a program that started with it may still read it


def test_while_nothing_changes_it_is_the_same_and_is_looked_at_once_in_a_second(etc: Path, clock: Clock) -> None:
    write(etc / "hosts", "one")
    write(etc / "big", "x" * (MOST_BYTES + 1))
    settings = of(etc, "hosts", "missing", "big")
    first = settings.current()
    clock.now += 5
    assert settings.current() == first
    write(etc / "hosts", "another")
    clock.now += 0.5
    assert settings.current() == first


def in_place(path: Path) -> None:
    """The same length."""
    path.write_text("two")
    os.utime(path, ns=(0, 1))


def in_length(path: Path) -> None:
    """At the same time."""
    about = path.stat()
    path.write_text("longer")
    os.utime(path, ns=(0, about.st_mtime_ns))


def by_another(path: Path) -> None:
    """Of the same length and time."""
    fresh = write(path.with_name("fresh"), "two")
    os.utime(fresh, ns=(0, path.stat().st_mtime_ns))
    fresh.replace(path)


def by_removing(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("change", [in_place, in_length, by_another, by_removing])
def test_every_change_is_noticed(etc: Path, clock: Clock, change) -> None:
    settings = of(etc, "a", "hosts")
    write(etc / "a", "a")
    path = write(etc / "hosts", "one")
    settings.current()
    change(path)
    clock.now += 2
    place, _ = settings.current()
    assert tree(place) == {"a": "a"} | ({"hosts": path.read_text()} if path.exists() else {})


@pytest.mark.parametrize("seconds", [0.0, 2.0])
def test_copies_that_somebody_removed_are_made_anew(etc: Path, clock: Clock, seconds: float) -> None:
    write(etc / "hosts", "one")
    settings = of(etc, "hosts")
    place, _ = settings.current()
    os.unlink(f"{place}/hosts")
    os.rmdir(place)
    clock.now += seconds
    place, _ = settings.current()
    assert tree(place) == {"hosts": "one"}


def test_no_room_for_the_copies_is_an_error_each_time(etc: Path) -> None:
    write(etc / "hosts")
    write(etc.parent / "copies", "a file is in the way")
    settings = of(etc, "hosts")
    for _ in range(2):
        with pytest.raises(OSError):
            settings.current()


def test_two_of_one_runtime_stand_beside_each_other(tmp_path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "hosts").write_text("127.0.0.1 localhost\n")
    paths, top = (str(tmp_path / "etc" / "hosts"),), str(tmp_path / "etc")
    made = [Settings(paths, str(tmp_path / "below"), top=top).current()[0] for _ in range(2)]
    assert len(set(made)) == 2
    for place in made:
        assert (Path(place) / "hosts").read_text() == "127.0.0.1 localhost\n"
        assert os.stat(place).st_mode & 0o777 == 0o755
