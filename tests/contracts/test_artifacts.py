"""What every store of artifacts keeps to: `core.process.Artifacts`."""

import os
import stat

import pytest

from toolcrib.store.artifacts import ArtifactFiles
from toolcrib.store.home import Home


@pytest.fixture
def artifacts(tmp_path) -> ArtifactFiles:
    return ArtifactFiles(Home(tmp_path / "home"))


def test_it_makes_a_file_to_write_to_that_nobody_else_can_read(artifacts) -> None:
    ident, path, fd = artifacts.create("tc1-1.stdout")
    os.write(fd, b"whole")
    os.close(fd)
    with open(path, "rb") as file:
        assert (ident, file.read()) == ("tc1-1.stdout", b"whole")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700


def test_the_descriptor_does_not_reach_programs(artifacts) -> None:
    _, _, fd = artifacts.create("one")
    assert not os.get_inheritable(fd)
    os.close(fd)


def test_it_never_writes_over_another_or_through_a_link(artifacts, tmp_path) -> None:
    _, path, fd = artifacts.create("one")
    os.close(fd)
    canary = tmp_path / "canary"
    canary.write_text("alive")
    os.symlink(canary, os.path.join(os.path.dirname(path), "two"))
    for name in ("one", "two"):
        with pytest.raises(FileExistsError):
            artifacts.create(name)
    assert canary.read_text() == "alive"


@pytest.mark.parametrize("ident", ["../one", "/etc/passwd", "", ".", "..", ".hidden", "a/b", "a\0b", "a\nb", "x" * 200])
def test_an_id_is_a_name_and_never_a_path(artifacts, ident) -> None:
    os.close(artifacts.create("one")[2])
    assert artifacts.find("one") is not None
    assert artifacts.find(ident) is None
