"""The user's directory: private, made when it is needed, files whole or not at all."""

import os
import pwd
import stat

import pytest

from toolcrib.core.errors import ConfigError
from toolcrib.store.home import Home


def mode(path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


def test_where_it_is(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("TOOLCRIB_HOME", raising=False)
    assert Home().path == str(tmp_path / ".toolcrib")
    monkeypatch.setenv("TOOLCRIB_HOME", "~/other")
    assert Home().path == str(tmp_path / "other")
    monkeypatch.setenv("TOOLCRIB_HOME", "")
    assert Home().path == str(tmp_path / ".toolcrib")
    assert Home(tmp_path / "given").path == str(tmp_path / "given")


def test_without_a_directory_of_the_user_there_is_no_home(monkeypatch, tmp_path) -> None:
    """It would be made below the directory one stands in, which may be the workspace, or below the root."""

    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.delenv("TOOLCRIB_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    for home in (None, "", "some/where"):
        if home is not None:
            monkeypatch.setenv("HOME", home)
        with pytest.raises(ConfigError, match="name the home in TOOLCRIB_HOME") as caught:
            Home()
        assert caught.value.code == "CONFIG_INVALID"
    with pytest.raises(ConfigError, match="no such user"):
        Home("~nobody of this name/x")
    monkeypatch.setenv("TOOLCRIB_HOME", str(tmp_path))
    assert Home().path == str(tmp_path)


def test_looking_makes_nothing(tmp_path) -> None:
    home = Home(tmp_path / "home")
    home.file("audit", "x")
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_directories_and_files_are_for_nobody_else(tmp_path, umask) -> None:
    before = os.umask(umask)
    try:
        home = Home(tmp_path / "home")
        home.directory("audit", "deep")
        home.replace(b"x", "cache", "file")
    finally:
        os.umask(before)
    assert {mode(tmp_path / "home" / name) for name in ("", "audit", "audit/deep", "cache")} == {0o700}
    assert mode(tmp_path / "home" / "cache" / "file") == 0o600


def test_replace_is_whole_or_not_at_all(tmp_path, monkeypatch) -> None:
    home = Home(tmp_path)
    home.replace(b"old", "trust.json")

    def fails(*_: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr(os, "rename", fails)
    with pytest.raises(OSError, match="no room"):
        home.replace(b"new", "trust.json")
    assert (tmp_path / "trust.json").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["trust.json"]


def test_replace_does_not_write_through_a_link(tmp_path) -> None:
    (tmp_path / "elsewhere").write_text("mine")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "trust.json").symlink_to(tmp_path / "elsewhere")
    Home(tmp_path / "home").replace(b"new", "trust.json")
    assert (tmp_path / "elsewhere").read_text() == "mine"
    assert (tmp_path / "home" / "trust.json").read_bytes() == b"new"
