"""A look at the workspace before and after each call of a program that stays running."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import pytest

from toolcrib.core.process import Command
from toolcrib.sandbox.aftermath import Seen
from toolcrib.sandbox.cage import Cage
from toolcrib.sandbox.lending import Loan
from toolcrib.sandbox.processes import Processes
from toolcrib.sandbox.watched import Watched

CAGE = Cage()
ECHO = ": > started; while IFS= read -r line; do echo $$; done"


class Watcher:
    """Lends a program in a directory, and notes what it was told."""

    def __init__(self, root: Path) -> None:
        self.root, self.processes = root, Processes(f"watch{os.getpid()}")
        self.noted: list[object] = []

    def before(self, cage: Cage | None) -> Seen:
        assert cage is CAGE
        seen = Seen(str(self.root), tuple(os.listdir(self.root)), False)
        self.noted.append(seen.writable)
        return seen

    def after(self, seen: Seen | None, mark: str) -> None:
        assert mark == "mark"
        self.noted.append(seen)

    def forget(self, seen: Seen | None) -> None:
        self.noted.append("forgotten")

    def lend(self, key: str = "key") -> Watched:
        command = Command(("/bin/sh", "-c", ECHO), str(self.root), "mark", {"PATH": os.environ["PATH"]})
        loan = self.processes.lend(command, key=key, marks=lambda: "mark")
        return Watched(loan, self, CAGE, "mark")  # type: ignore[arg-type]  # it looks as an aftermath does

    async def ask(self, *, key: str = "key", fail: bool = False) -> bytes:
        """The number of the process that answers."""
        async with self.lend(key) as peer:
            assert peer.send(b"hello\n")
            answer = await peer.receive()
            if fail:
                raise ValueError(answer)
            return answer


@pytest.fixture
def watcher(tmp_path: Path) -> Iterator[Watcher]:
    watcher = Watcher(tmp_path)
    yield watcher
    watcher.processes.close()


def test_each_call_is_looked_at_before_and_after(watcher: Watcher) -> None:
    """Before anything is started; and with what was seen before that very call."""

    async def twice() -> list[bytes]:
        return [await watcher.ask(), await watcher.ask()]

    first, second = asyncio.run(twice())
    assert first == second  # it is lent as it would be without anybody looking
    nothing, started = Seen(str(watcher.root), (), False), Seen(str(watcher.root), ("started",), False)
    assert watcher.noted == [(), nothing, ("started",), started]


def test_a_program_of_another_kind_is_another_one(watcher: Watcher) -> None:
    async def thrice() -> list[bytes]:
        return [await watcher.ask(key=key) for key in ("one", "two", "one")]

    first, second, third = asyncio.run(thrice())
    assert (first == third, first == second) == (True, False)


def test_why_a_call_ends_is_passed_on(watcher: Watcher, monkeypatch: pytest.MonkeyPatch) -> None:
    ends, told = Loan.__aexit__, []

    async def listens(self: Loan, *about: object) -> None:
        told.append(about)
        await ends(self, *about)  # type: ignore[arg-type]  # as it was given

    monkeypatch.setattr(Loan, "__aexit__", listens)
    with pytest.raises(ValueError) as caught:
        asyncio.run(watcher.ask(fail=True))
    ((kind, exc, trace),) = told
    assert (kind, exc) == (ValueError, caught.value) and isinstance(trace, TracebackType)


def test_a_call_that_fails_is_looked_at_as_well_and_its_program_ended(watcher: Watcher) -> None:
    async def twice() -> tuple[bytes, bytes]:
        with pytest.raises(ValueError) as caught:
            await watcher.ask(fail=True)
        return caught.value.args[0], await watcher.ask()

    failed, fresh = asyncio.run(twice())
    assert failed != fresh
    assert [type(each) for each in watcher.noted] == [tuple, Seen, tuple, Seen]


def test_what_goes_wrong_at_its_end_hides_nothing(watcher: Watcher, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = Loan.__aexit__

    async def fails(self: Loan, *about: object) -> None:
        await ends(self, *about)  # type: ignore[arg-type]  # as it was given
        raise OSError("it did not end well")

    monkeypatch.setattr(Loan, "__aexit__", fails)
    with pytest.raises(OSError, match="did not end well"):
        asyncio.run(watcher.ask())
    assert [type(each) for each in watcher.noted] == [tuple, Seen]


def test_one_that_is_not_lent_is_forgotten(watcher: Watcher, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(self: Loan) -> None:
        raise OSError("there is none")

    monkeypatch.setattr(Loan, "__aenter__", fails)
    with pytest.raises(OSError, match="there is none"):
        asyncio.run(watcher.ask())
    assert watcher.noted == [(), "forgotten"]
