"""Where temporary files go, also where they can go nowhere."""

import tempfile
from pathlib import Path

import pytest

from toolcrib.sandbox.temporary import temporary_directory


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def nowhere() -> str:
    raise FileNotFoundError(2, "No usable temporary directory found")


def test_it_is_where_the_library_puts_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert temporary_directory() == tempfile.gettempdir()
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert temporary_directory() == str(tmp_path), "where we are, if that is what the user says"


def test_where_no_disk_has_room_it_is_named_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", nowhere)
    assert temporary_directory() == "/tmp"
    monkeypatch.setenv("TMP", "/srv/tmp")
    assert temporary_directory() == "/srv/tmp"


def test_it_is_never_the_workspace_for_want_of_another(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    assert temporary_directory() == "/tmp"
