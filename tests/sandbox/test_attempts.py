"""What makes the attempts of a self-test: that each is really made, and that how it went is told."""

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolcrib.sandbox import _attempts
from toolcrib.sandbox._syscalls import machine, numbers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the attempts are made for Linux")


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    """Whoever makes an attempt in this process has its alarm set for a while."""
    before = signal.getsignal(signal.SIGALRM)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "workspace"
    path.mkdir()
    monkeypatch.setenv("TOOLCRIB_WORKSPACE", str(path))
    return path


@pytest.fixture
def secret(tmp_path: Path) -> str:
    path = tmp_path / "secret"
    path.write_bytes(b"\xffword")
    return str(path)


def tried(attempt: str, **about: Any) -> dict[str, Any]:
    return _attempts.tried({"name": "a case", "attempt": attempt, "about": about})


# The kernel, by numbers


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_attempts, "NUMBERS", numbers(machine()))


def test_a_call_by_its_number_gets_its_arguments_whole(known, tmp_path) -> None:
    """Also one that needs more than 32 bits."""
    (tmp_path / "file").touch()
    assert _attempts.kernel("truncate", os.fsencode(tmp_path / "file"), (1 << 33) + 1) == 0
    assert (tmp_path / "file").stat().st_size == (1 << 33) + 1


def test_what_the_kernel_refuses_is_an_error(known, tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match="No such file"):
        _attempts.kernel("truncate", os.fsencode(tmp_path / "missing"), 0)


def test_a_call_whose_number_nobody_told_is_one_that_this_kernel_does_not_have(monkeypatch) -> None:
    monkeypatch.setattr(_attempts, "NUMBERS", {})
    with pytest.raises(OSError, match="add_key") as failure:
        _attempts.kernel("add_key", 1)
    assert failure.value.errno == 38


# How one went


def test_what_was_got_is_told_byte_by_byte(secret) -> None:
    assert tried("read", path=secret) == {"name": "a case", "said": "it was let", "got": "\xffword"}


def test_what_is_no_bytes_is_told_as_it_is_shown(tmp_path, secret) -> None:
    assert tried("names", path=str(tmp_path)) == {"name": "a case", "said": "it was let", "got": "['secret']"}


def test_where_nothing_was_got_nothing_is_told(secret) -> None:
    assert tried("write", path=secret) == {"name": "a case", "said": "it was let", "got": ""}
    assert Path(secret).read_bytes() == b"written by a tool"


@pytest.mark.parametrize(("path", "said"), [("/nowhere/at/all", "/nowhere/at/all"), ("a\0b", "null")])
def test_why_it_failed_is_told(path, said) -> None:
    done = tried("read", path=path)
    assert (done["name"], said in done["said"], done["got"]) == ("a case", True, "")


def test_each_has_so_long_and_the_next_so_long_again(monkeypatch) -> None:
    monkeypatch.setitem(_attempts.ATTEMPTS, "left", lambda: signal.getitimer(signal.ITIMER_REAL)[0])
    for _ in range(2):
        assert 9 < float(tried("left")["got"]) <= 10
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_one_that_takes_too_long_is_given_up(monkeypatch) -> None:
    monkeypatch.setitem(_attempts.ATTEMPTS, "wait", lambda: signal.raise_signal(signal.SIGALRM))
    assert tried("wait") == {"name": "a case", "said": "it took too long", "got": ""}


# Its own files


def test_links_are_made_in_the_workspace_and_each_by_another_name(workspace, secret) -> None:
    assert [tried("read_through_link", path=secret)["got"] for _ in range(2)] == ["\xffword"] * 2
    assert {(path.name[:5], os.readlink(path)) for path in workspace.iterdir()} == {("link ", secret)}
    assert len(list(workspace.iterdir())) == 2


def test_without_a_workspace_they_are_made_where_it_stands(monkeypatch, tmp_path, secret) -> None:
    monkeypatch.delenv("TOOLCRIB_WORKSPACE", raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert tried("read_through_link", path=secret)["said"] == "it was let"
    assert [os.readlink(path) for path in (tmp_path / "here").iterdir()] == [secret]


# All of them


def test_all_are_made_in_their_order_and_told_one_by_one(monkeypatch, capsys, secret) -> None:
    jobs = [{"name": name, "attempt": "read", "about": {"path": path}} for name, path in (("b", secret), ("a", "/no"))]
    monkeypatch.setattr(_attempts, "NUMBERS", {"kept": 1})
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps({"numbers": {"told": 2}, "jobs": jobs})))
    _attempts.main()
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["name"], line["got"]) for line in said] == [("b", "\xffword"), ("a", "")]
    assert _attempts.NUMBERS == {"kept": 1, "told": 2}


def test_what_was_told_before_the_program_is_ended_is_not_lost(secret) -> None:
    """A sandbox may answer an attempt by ending the program."""
    itself = {"name": "itself", "attempt": "terminate", "about": {"pid": 0}}
    first = {"name": "first", "attempt": "stat", "about": {"path": secret}}
    done = subprocess.run(
        [sys.executable, "-I", "-S", _attempts.__file__], input=json.dumps({"numbers": {}, "jobs": [first, itself]}),
        capture_output=True, text=True, start_new_session=True, timeout=30,
    )  # fmt: skip
    assert done.returncode == -signal.SIGTERM
    assert json.loads(done.stdout) == {"name": "first", "said": "it was let", "got": "5"}
