"""A folder as it is at one moment: hashed whole, and whatever changes afterwards is noticed."""

import os
from pathlib import Path

import pytest

from toolcrib.backends import folder as subject
from toolcrib.backends.folder import content_of, read_folder, states_of
from toolcrib.core.errors import ToolcribError


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "one"
    (path / "lib").mkdir(parents=True)
    (path / "tool.yaml").write_text("name: one\n")
    (path / "lib" / "words").write_text("hello\n")
    return path


def test_the_list_of_its_files_is_its_digest(place) -> None:
    before = read_folder(str(place))
    assert [path for path, _, _ in before.files] == ["lib/words", "tool.yaml"]
    assert before.manifest == b"name: one\n"
    (place / "lib" / "words").write_text("other\n")
    assert read_folder(str(place)).digest != before.digest


def test_a_file_that_comes_while_it_is_read_is_noticed(place, monkeypatch) -> None:
    """The state of a directory is that of before it was listed: what comes later makes it another one."""
    scandir = os.scandir

    def slow(path):
        with scandir(path) as entries:
            found = list(entries)
        (Path(path) / "late").touch()
        return Listed(found)

    class Listed(list):
        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

    monkeypatch.setattr(subject.os, "scandir", slow)
    content = read_folder(str(place))
    monkeypatch.undo()
    assert "late" not in [path for path, _, _ in content.files]
    assert states_of(content.paths) != content.states


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 1 << 20, (1 << 20) + 1, 3 << 20])
def test_a_file_of_any_length_is_hashed_whole(place, size) -> None:
    (place / "data").write_bytes(b"x" * size)
    before = read_folder(str(place)).digest
    with (place / "data").open("r+b") as file:
        file.seek(max(0, size - 1))
        file.write(b"y")
    assert read_folder(str(place)).digest != before


def test_a_very_long_manifest_is_not_kept_whole(place) -> None:
    (place / "tool.yaml").write_bytes(b"#" * (5 << 20))
    assert len(read_folder(str(place)).manifest) == 1 << 20


def test_an_unchanged_folder_is_not_read_again(place, monkeypatch) -> None:
    while not content_of(str(place)).settled:
        pass
    first = content_of(str(place))
    monkeypatch.setattr(subject, "_read", lambda *args, **more: pytest.fail("it was read"))
    assert content_of(str(place)) is first


def test_one_that_is_not_there(tmp_path) -> None:
    with pytest.raises(ToolcribError) as raised:
        read_folder(str(tmp_path / "none"))
    assert raised.value.code == "READ_ERROR"
