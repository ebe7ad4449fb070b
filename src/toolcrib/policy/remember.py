"""What a remembered answer covers: patterns as plain JSON, each exactly as broad as the words a person was shown.

{"command": "git log ..."}                              a command pattern (`policy.commands`)
{"argv": ["git", "log"]}                                these very words
{"shell": "a; b"}                                       this very text
{"path": "/ws", "access": "write", "below": true}       that place and all below it; or with false, that file alone
{"path": …, "access": …, "below": …, "tool": true}      the same in the folder of a tool, where no other one counts
{"host": "example.org"}                                 this host
{"build": ["/tools/x", "sha256:…"]}                     building that folder, with exactly what lies in it
{"any": true}                                           the call, whatever its arguments
{"arguments": "sha256:…"}                               the call with exactly these arguments
"""

import hashlib
import os
import shlex
from collections.abc import Mapping
from dataclasses import replace

from ..core.jsontext import JSON, canonical
from ..core.policy import Question
from ..core.tool import Subject

Remembered = Mapping[str, JSON]
"""One pattern, as it is stored."""

_ACCESSES = {"read": "reading", "write": "writing"}


def arguments_digest(args: Mapping[str, JSON]) -> str:
    """Of a call's arguments: the same for the same values, whatever the order of their keys."""
    return "sha256:" + hashlib.sha256(canonical(args)).hexdigest()


def wide(subject: Subject, question: Question, workspace: str) -> Remembered | None:
    """What is offered to be remembered, beyond this very thing; None where nothing broader is safe to offer."""
    kind, value = subject
    if kind == "call":
        return {"any": True}
    if kind == "command":
        return _command_offered(value)
    if kind in _ACCESSES and len(value) > 1:
        return {"path": value[1], "access": kind, "below": True, "tool": True}
    if kind in _ACCESSES:
        place = _offered_place(value[0], workspace)
        return None if place is None else {"path": place, "access": kind, "below": True}
    return {"host": value[0]} if kind == "host" else None


def exact(subject: Subject, question: Question) -> Remembered:
    """This very thing and nothing else."""
    kind, value = subject
    if kind == "command":
        return {"argv": list(value)}
    if kind == "shell":
        return {"shell": value[0]}
    if kind in _ACCESSES:
        return {"path": value[0], "access": kind, "below": False, **({"tool": True} if len(value) > 1 else {})}
    if kind == "build":
        return {"build": list(value[:2])}
    return {"host": value[0]} if kind == "host" else {"arguments": arguments_digest(question.call.args)}


def covers(pattern: Remembered, subject: Subject, question: Question) -> bool:
    """Whether an answer that was remembered is an answer to this. What is not understood covers nothing."""
    kind, value = subject
    match dict(pattern):
        case {"arguments": str(digest), **rest} if not rest:
            return digest == arguments_digest(question.call.args)
        case {"any": True, **rest} if not rest:
            return kind == "call"
        case {"argv": list(words), **rest} if not rest:
            return kind == "command" and list(value) == words
        case {"shell": str(text), **rest} if not rest:
            return kind == "shell" and value == (text,)
        case {"build": [str(folder), str(digest)], **rest} if not rest:
            return kind == "build" and value[:2] == (folder, digest)
        case {"host": str(host), **rest} if not rest:
            return kind == "host" and value == (host,)
        case {"command": str(text), **rest} if not rest:
            return kind == "command" and _command_covers(text, value)
        case {"path": str(place), "access": str(access), "below": bool(below), **rest} if not rest:
            return kind == access and len(value) == 1 and _holds(place, value[0], below=below)
        case {"path": str(place), "access": str(access), "below": bool(below), "tool": True, **rest} if not rest:
            return kind == access and len(value) == 2 and _holds(place, value[0], below=below)
    return False


def shown(pattern: Remembered) -> str:
    """A pattern in words, exactly as broad as it is. It may hold anything the call held: make it visible to draw it."""
    match dict(pattern):
        case {"any": True}:
            return "this tool, with any arguments"
        case {"arguments": _}:
            return "this tool, with exactly these arguments"
        case {"argv": list(words)}:
            return f"exactly: {shlex.join(words)}"
        case {"shell": text}:
            return f"exactly this shell text: {text}"
        case {"build": [str(folder), str()]}:
            return f"building {folder}, as long as nothing in it changes"
        case {"host": host}:
            return f"reaching {host}"
        case {"command": str(text)}:
            return _command_shown(text)
        case {"path": place, "access": access, "below": True, "tool": True}:
            return f"{_ACCESSES.get(access, access)} any file of the tool {place} (protected places aside)"
        case {"path": place, "access": access, "below": True}:
            aside = " (protected places aside)" if access == "write" else ""
            return f"{_ACCESSES.get(access, access)} any file below {place}{aside}"
        case {"path": place, "access": access}:
            return f"{_ACCESSES.get(access, access)} exactly {place}"
    return "nothing that this version understands"


def project_key(path: str) -> str:
    """Names the very directory, not another that came to its place; empty when it is not there."""
    try:
        real = os.path.realpath(path)
        seen = os.stat(real)
    except OSError:
        return ""
    return f"{real} {seen.st_dev}:{seen.st_ino}"


def _offered_place(path: str, workspace: str) -> str | None:
    """The workspace for what lies in it; else the file's directory, unless half the machine lies below that."""
    workspace = os.path.realpath(workspace)
    if _holds(workspace, path, below=True):
        return workspace
    place = os.path.dirname(path)
    held = (workspace, os.path.realpath(os.path.expanduser("~")))
    if place.count("/") < 2 or any(_holds(place, each, below=True) for each in held):
        return None
    return place


def _holds(place: str, path: str, *, below: bool) -> bool:
    """By components of real paths: `/ws` does not hold `/ws-evil`, nor anything that is not a plain absolute path."""
    parts, wanted = path.split("/"), place.split("/")
    if not _plain(parts) or not _plain(wanted):
        return False
    return parts == wanted or (below and len(parts) > len(wanted) and parts[: len(wanted)] == wanted)


def _plain(parts: list[str]) -> bool:
    return len(parts) > 1 and parts[0] == "" and not any(part in ("", ".", "..") for part in parts[1:])


def _command_offered(words: tuple[str, ...]) -> Remembered | None:
    from .commands import Pattern, offered  # late: it brings the table of programs

    pattern = offered(words)
    if pattern is None:
        return None
    try:
        again = Pattern.parse(str(pattern))
    except ValueError:
        return None
    return {"command": str(pattern)} if again == pattern and again.covers(words) else None  # as it will be read again


def _command_covers(text: str, words: tuple[str, ...]) -> bool:
    from .commands import Pattern

    try:
        return bool(Pattern.parse(text).covers(words))
    except ValueError:  # written by another version
        return False


def _command_shown(text: str) -> str:
    from .commands import Pattern

    try:
        pattern = Pattern.parse(text)
    except ValueError:
        return "nothing that this version understands"
    words = str(replace(pattern, options=frozenset()))
    if not pattern.rest:
        return f"exactly: {words.removesuffix(' $')}"
    named = ", ".join(sorted(pattern.options))
    return f"{words}, with any operands and options known to be harmless{f', and with {named}' if named else ''}"
