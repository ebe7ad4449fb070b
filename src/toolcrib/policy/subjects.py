"""What a call would do, taken apart into things that are judged one by one: each command, each file, each host."""

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from glob import iglob
from itertools import accumulate, islice
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ..core.call import Call
from ..core.policy import Decision, Verdict
from ..core.tool import Subject, Tool
from .names import host_of, strings

if TYPE_CHECKING:
    from .shell import Script

_READS = Verdict(Decision.PRE_APPROVED, "reading in the workspace")
_WRITES = Verdict(Decision.ASK, "writing in the workspace")
_RUNS = Verdict(Decision.ASK, "running a program")
_REACHES = Verdict(Decision.ASK, "reaching another machine")
_MOVES = Verdict(Decision.PRE_APPROVED, "going to another directory of the workspace")
_LOOKS_INTO = Verdict(Decision.ASK, "reading what a tool is made of")
_CHANGES = Verdict(Decision.ASK, "changing a tool")
_CRAFTS = {
    "make": Verdict(Decision.ASK, "making a tool"),
    "build": Verdict(Decision.ASK, "running what builds a tool"),
    "remove": Verdict(Decision.ASK, "removing a tool"),
}
"""What is done to a tool's own folder, whose path such a subject begins with."""


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

    @property
    def tool(self) -> str: ...


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
    bases: tuple[str, ...] = ("",)
    """The directories it might run them in."""
    given: str = ""
    """A path as the caller wrote it."""
    asked: Subject | None = None
    """What a person is asked about, and an answer is remembered for, where this alone does not say where it runs."""


WHOLE = (Judged(Subject()),)
_MOST_TEXTS = 1000
_LONGEST_TEXT = 4096
_PIECES = re.compile(r"[\s;&|<>(){}`'\"]+")
"""Between what may be words in a text that cannot be taken apart."""


class Mentions:
    """What the texts of a call might mean, whatever its tool says of them. Looked at once, if at all.

    The texts are those in the arguments; of a command, its words and the values of its options.
    """

    def __init__(self, call: Call, judged: Judged, places: Places) -> None:
        self._call, self._judged, self._places = call, judged, places

    @cached_property
    def _texts(self) -> list[str]:
        subject, commands = self._judged.subject, self._judged.commands
        if subject.kind == "shell":
            found = _words((*commands, _PIECES.split(subject.value[0])))
        else:
            found = _words(commands) if commands else strings(self._call.args)
        distinct = dict.fromkeys(text for text in found if 0 < len(text) <= _LONGEST_TEXT)
        return list(islice(distinct, _MOST_TEXTS + 1))

    @property
    def too_many(self) -> bool:
        """More than are looked at; then any might be meant."""
        return len(self._texts) > _MOST_TEXTS

    @cached_property
    def paths(self) -> list[str]:
        roots = [(base, self._places.locate(base or ".").real) for base in dict.fromkeys(self._judged.bases)]
        named = [(text, base, root) for text in self._texts for base, root in roots]
        if self._judged.subject.kind == "shell":  # which stands for the files it matches
            named += [(name, base, root) for text, base, root in named if "*" in text or "?" in text
                      for name in islice(iglob(text, root_dir=root), _MOST_TEXTS)]  # fmt: skip
        return [self._real(*each) for each in named]

    def _real(self, text: str, base: str, root: str) -> str:
        """Where a text would lead as a path. Most are plain words, and name nothing that is there."""
        beside = f"{root}/{text}"
        if "/" not in text and "\0" not in text and text not in (".", "..") and not os.path.lexists(beside):
            return beside
        return self._places.locate(os.path.join(base, text)).real

    @cached_property
    def hosts(self) -> list[str]:
        return [host for text in self._texts if (host := host_of(text))]


def _words(commands: Sequence[Sequence[str | None]]) -> Iterator[str]:
    """The words of commands that are known, and what an option may be joined to: `--file=x`, `-fx`, `@x`."""
    for words in commands:
        for at, word in enumerate(words):
            if not word:
                continue
            if word[0] == "-":
                yield word.partition("=")[2] or ("" if word.startswith("--") else word[2:])
                if "--" in words[:at]:
                    yield word
            elif at or "/" in word:  # a bare name is no path of a program
                yield word.lstrip("@")
                yield word.partition("=")[2]


def subjects(call: Call, tool: Tool, places: Places) -> Sequence[Judged]:
    """Never empty. What a tool does not say it touches is judged as a whole."""
    if tool.hooks.touches is None:
        return WHOLE
    found: list[Judged] = []
    for kind, value in tool.hooks.touches(call.args):
        if kind in ("read", "write"):
            found.append(_file(kind, value[0], places))
            continue
        if kind in _CRAFTS:
            found.append(_folder(kind, value))
            continue
        from .shell import analyse, analyse_argv  # late: most runtimes start before they are asked about a command

        if kind in ("shell", "moved"):  # to another directory, which no answer about the workspace covers
            whole = Subject("shell", value)
            parts = _commands(analyse(value[0], here=partial(_is_workspace, places)), whole, places)
            found += parts if kind == "shell" else (part._replace(asked=whole) for part in parts)
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
    elif at.tool:  # also where files are written without asking
        own = _CHANGES if kind == "write" else _LOOKS_INTO
    value = (at.real, at.tool) if at.tool else (at.real,)
    return Judged(Subject(kind, value), _WRITES if kind == "write" else _READS, own, given=path)


def _folder(kind: str, value: tuple[str, ...]) -> Judged:
    """Of a build, what lies in the folder follows its path, and then each command: what was judged is what is built."""
    folder, own = value[0], None
    commands: list[tuple[str | None, ...]] = [("", folder)]
    for text in value[2:] if kind == "build" else ():
        from .commands import candidates  # late, as above
        from .shell import analyse_argv

        script = analyse_argv(shlex.split(text))
        commands += candidates(script)
        if script.refusal:
            own = Verdict(Decision.BLOCKED, script.refusal, "COMMAND_NOT_ANALYSABLE")
    given = f"{folder}@{value[1]}" if kind == "build" else ""
    return Judged(Subject(kind, value), _CRAFTS[kind], own, tuple(commands), (folder,), given)


def _commands(script: "Script", whole: Subject, places: Places) -> Iterator[Judged]:
    from .commands import candidates  # late, as above

    if script.refusal:
        verdict = Verdict(Decision.BLOCKED, script.refusal, "COMMAND_NOT_ANALYSABLE")
        yield Judged(whole, _RUNS, verdict, candidates(script))
    elif script.doubts:
        verdict = Verdict(Decision.ASK, f"never pre-approved: {'; '.join(script.doubts)}")
        found = candidates(script)
        moves = [words[1] for words in found if words[:1] == ("cd",) and len(words) == 2 and words[1]]
        yield Judged(whole, _RUNS, verdict, found, ("", *accumulate(moves, os.path.join), *moves))
    else:
        here = ""
        for part in script.parts:
            if part[0] == "cd" and whole.kind == "shell" and len(part) == 2:
                here = os.path.join(here, part[1])
                inside = places.locate(here).zone == "workspace"
                yield Judged(Subject("command", part), _MOVES if inside else _RUNS, commands=(part,))
            else:
                yield from _part(part, here)


def _part(part: tuple[str, ...], here: str) -> Iterator[Judged]:
    from .argv import unwrap  # late, as above

    seen, bases = unwrap(part), (here,)
    if seen.doubts:
        verdict = Verdict(Decision.ASK, f"never pre-approved: {'; '.join(seen.doubts)}")
        yield Judged(Subject("command", part), _RUNS, verdict, seen.chain, bases)
    else:
        for inner in seen.leaves:
            yield Judged(Subject("command", inner), _RUNS, commands=seen.chain, bases=bases)
