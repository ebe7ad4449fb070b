"""The sandbox of one tool: whatever it starts is in its cage, and what was refused or put aside is said."""

import asyncio
from collections.abc import Callable, Hashable
from typing import Any

import pytest

from toolcrib.core.process import Captured, Command, Completed, Ended
from toolcrib.sandbox.aftermath import PutAside
from toolcrib.sandbox.cage import LANDLOCK, Cage
from toolcrib.sandbox.confined import Confined

CAGE = Cage(LANDLOCK, workspace="/srv/work", readable=("/a", "/b"))
COMMAND = Command(("program",), "/srv/work", "mark", {})


class Heard:
    """Stands for the processes of a runtime, and says what it was to start."""

    async def exec(self, command: Command, *, ended: Ended | None = None) -> Any:
        return "exec", command, ended

    def begin(self, command: Command) -> Any:
        return "begin", command

    def lend(self, command: Command, *, key: Hashable, marks: Callable[[], str]) -> Any:
        return "lend", command, key, marks()


@pytest.fixture
def confined() -> Callable[..., Confined]:
    def make(cage: Cage = CAGE, **told: Any) -> Confined:
        return Confined(Heard(), cage, **told)  # type: ignore[arg-type]  # it stands for them

    return make


def test_it_goes_by_the_name_of_its_tier(confined) -> None:
    assert (confined().name, confined().cage) == (LANDLOCK, CAGE)


def test_whatever_is_started_is_in_the_cage(confined) -> None:
    def ended(*_: object) -> None: ...

    caged = COMMAND._replace(cage=CAGE)
    assert asyncio.run(confined().exec(COMMAND, ended=ended)) == ("exec", caged, ended)
    assert asyncio.run(confined().exec(COMMAND)) == ("exec", caged, None)
    assert confined().begin(COMMAND) == ("begin", caged)
    assert confined().lend(COMMAND, key="key", marks=lambda: "lent") == ("lend", caged, "key", "lent")


def test_a_cage_that_a_command_brings_along_counts_for_nothing(confined) -> None:
    """It would be one of its own choice."""
    assert confined().begin(COMMAND._replace(cage=Cage())) == ("begin", COMMAND._replace(cage=CAGE))


def test_what_a_command_needs_to_read_is_there_once(confined) -> None:
    command = COMMAND._replace(reads=("/c", "/b", "/c"))
    _, caged = confined().begin(command)
    assert caged == command._replace(cage=CAGE._replace(readable=("/a", "/b", "/c")))


def test_what_was_probably_refused_is_told_as_plain_data(confined) -> None:
    failed = Completed(1, Captured(b""), Captured(b"cat: /srv/data: Permission denied"))
    [hint] = confined().denied("fetch", failed)
    assert hint == {"what": "files", "message": hint["message"], "command": "toolcrib grant fetch files ro /srv/data"}
    fine = Completed(0, Captured(b""), Captured(b""))
    assert confined().denied("fetch", fine) == []
    [hint] = confined().denied("fetch", fine, said="Network is unreachable")
    assert hint["command"] == "toolcrib grant fetch network"


def test_what_was_put_aside_is_told_once_and_to_whom_it_concerns(confined) -> None:
    told = {"mark": [PutAside(".vscode", "/aside/1", "settings")], "other": [PutAside(".idea", "", "settings")]}
    sandbox = confined(told=told)
    [hint] = sandbox.put_aside("fetch", "mark")
    assert hint == {
        "what": "put_aside", "message": hint["message"], "command": "toolcrib grant fetch files rw /srv/work/.vscode",
    }  # fmt: skip
    assert sandbox.put_aside("fetch", "mark") == sandbox.put_aside("fetch", "unknown") == []
    assert list(told) == ["other"]


def test_where_nobody_looks_nothing_was_put_aside(confined) -> None:
    assert confined().put_aside("fetch", "mark") == []


def test_who_looks_later_tells_it_all_the_same(confined) -> None:
    """The list is empty when a tool is given its sandbox."""
    told: dict[str, list[PutAside]] = {}
    sandbox = confined(told=told)
    told["mark"] = [PutAside(".idea", "", "settings")]
    assert [hint["what"] for hint in sandbox.put_aside("fetch", "mark")] == ["changed"]
