"""What a call would do, taken apart into things that are judged one by one: each command, each file, each host."""

import os
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from itertools import islice
from typing import NamedTuple, Protocol

from ..core.call import Call
from ..core.policy import Decision, Verdict
from ..core.tool import Subject, Tool
from .argv import unwrap
from .commands import candidates
from .names import host_of, strings
from .shell import Script, analyse, analyse_argv

_READS = Verdict(Decision.PRE_APPROVED, "reading in the workspace")
_WRITES = Verdict(Decision.ASK, "writing in the workspace")
_RUNS = Verdict(Decision.ASK, "running a program")
_REACHES = Verdict(Decision.ASK, "reaching another machine")
_MOVES = Verdict(Decision.PRE_APPROVED, "going to another directory of the workspace")


class Located(Protocol):
    """Where a path leads, as the guard sees it."""

    @property
    def real(self) -> str: ...

    @property
    def zone(self) -> str: ...

    @property
    def writable(self) -> bool: ...

    @property
    def protected(self) -> str: ...


class Places(Protocol):
    """The directories that tools may touch."""

    def locate(self, path: str, *, write: bool = False) -> Located: ...


class Judged(NamedTuple):
    """One subject, and what is known of it before any rule is read."""

    subject: Subject
    default: Verdict | None = None
    """What holds for it when nothing speaks; None: what holds for its tool."""
    own: Verdict | None = None
    """What its analysis says; it speaks as every rule does."""
    commands: tuple[tuple[str | None, ...], ...] = ()
    """Every command it might run, for rules that tighten."""
    given: str = ""
    """A path as the caller wrote it."""


WHOLE = (Judged(Subject()),)
_MOST_TEXTS = 1000
_LONGEST_TEXT = 4096


class Mentions:
    """What the texts in a call's arguments might mean, whatever the tool says of them. Looked at once, if at all."""

    def __init__(self, call: Call, places: Places) -> None:
        self._call, self._places = call, places

    @cached_property
    def _texts(self) -> list[str]:
        return list(islice((text for text in strings(self._call.args) if len(text) <= _LONGEST_TEXT), _MOST_TEXTS + 1))

    @property
    def too_many(self) -> bool:
        """More than are looked at; then any might be meant."""
        return len(self._texts) > _MOST_TEXTS

    @cached_property
    def paths(self) -> list[str]:
        return [self._places.locate(text).real for text in self._texts]

    @cached_property
    def hosts(self) -> list[str]:
        return [host for text in self._texts if (host := host_of(text))]


def subjects(call: Call, tool: Tool, places: Places) -> Sequence[Judged]:
    """Never empty. What a tool does not say it touches is judged as a whole."""
    if tool.hooks.touches is None:
        return WHOLE
    found: list[Judged] = []
    for kind, value in tool.hooks.touches(call.args):
        if kind in ("read", "write"):
            found.append(_file(kind, value[0], places))
        elif kind == "shell":
            found += _commands(analyse(value[0], here=partial(_is_workspace, places)), Subject("shell", value), places)
        elif kind == "command":
            found += _commands(analyse_argv(value), Subject("command", tuple(value)), places)
        else:
            found.append(Judged(Subject(kind, value), _REACHES if kind == "host" else None))
    return found or WHOLE


def _is_workspace(places: Places, path: str) -> bool:
    """Agents like to say where they are: `cd /the/workspace && make` is `make`."""
    return os.path.isabs(path) and places.locate(path).real == places.locate(".").real


def _file(kind: str, path: str, places: Places) -> Judged:
    at = places.locate(path, write=kind == "write")
    own = None
    if at.zone == "outside":
        own = Verdict(Decision.BLOCKED, f"{path} is outside the workspace", "PATH_OUTSIDE_WORKSPACE")
    elif kind == "write" and at.protected:
        own = Verdict(Decision.BLOCKED, f"{path} is protected: {at.protected}", "PATH_PROTECTED")
    elif kind == "write" and not at.writable:
        own = Verdict(Decision.BLOCKED, f"{path} is in a place that may only be read", "PATH_PROTECTED")
    return Judged(Subject(kind, (at.real,)), _WRITES if kind == "write" else _READS, own, given=path)


def _commands(script: Script, whole: Subject, places: Places) -> Iterator[Judged]:
    if script.refusal:
        verdict = Verdict(Decision.BLOCKED, script.refusal, "COMMAND_NOT_ANALYSABLE")
        yield Judged(whole, _RUNS, verdict, candidates(script))
    elif script.doubts:
        verdict = Verdict(Decision.ASK, f"never pre-approved: {'; '.join(script.doubts)}")
        yield Judged(whole, _RUNS, verdict, candidates(script))
    else:
        here = ""
        for part in script.parts:
            if part[0] == "cd" and whole.kind == "shell" and len(part) == 2:
                here = os.path.join(here, part[1])
                inside = places.locate(here).zone == "workspace"
                yield Judged(Subject("command", part), _MOVES if inside else _RUNS, commands=(part,))
            else:
                yield from _part(part)


def _part(part: tuple[str, ...]) -> Iterator[Judged]:
    seen = unwrap(part)
    if seen.doubts:
        verdict = Verdict(Decision.ASK, f"never pre-approved: {'; '.join(seen.doubts)}")
        yield Judged(Subject("command", part), _RUNS, verdict, seen.chain)
    else:
        for inner in seen.leaves:
            yield Judged(Subject("command", inner), _RUNS, commands=seen.chain)
