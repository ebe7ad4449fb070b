"""The attempts of the self-test: each can be made, and its canary lies where it says."""

import os
from pathlib import Path

import pytest

from toolcrib.sandbox._attempts import ATTEMPTS
from toolcrib.sandbox.canary_cases import CASES


def test_they_are_told_apart_and_can_be_made() -> None:
    assert len({case.name for case in CASES}) == len(CASES) == len({case.what for case in CASES})
    assert {case.attempt for case in CASES} <= set(ATTEMPTS)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("read", "{near}/read/secret"),
        ("read-elsewhere", "{far}/read-elsewhere/secret"),
        ("ssh-key", "{home}/.ssh/id_ed25519"),
    ],
)
def test_what_must_not_be_read(ground, name, path) -> None:
    found = next(case for case in CASES if case.name == name).canary(ground, name)
    assert found.about == {"path": path.format(**vars(ground))}
    word = Path(found.about["path"]).read_bytes()
    assert (found.sprung(b""), found.sprung(word)) == (False, True)


@pytest.mark.parametrize(
    ("name", "path", "there"),
    [
        ("write", "{near}/write/file", True),
        ("create", "{near}/create/new", False),
        ("shell-start", "{home}/.bashrc", True),
        ("git-config", "{workspace}/.git/config", True),
        ("new-envrc", "{workspace}/.envrc", False),
    ],
)
def test_what_must_not_be_written(ground, name, path, there) -> None:
    found = next(case for case in CASES if case.name == name).canary(ground, name)
    assert found.about == {"path": path.format(**vars(ground))}
    assert (os.path.lexists(found.about["path"]), found.sprung(b"")) == (there, False)
    Path(found.about["path"]).write_text("changed")
    assert found.sprung(b"")
