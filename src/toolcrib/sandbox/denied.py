"""What confinement probably refused a program that failed, in plain words, and the command that would allow it.

It is a guess from what the program printed, and made without looking at anything outside the cage: a hint must not tell
whether a file exists that the program could not see. A program that prints lies gets a hint for them, so nothing is
ever suggested that nobody should grant: a whole home, the system, a place where keys lie. What a program printed is
shown escaped, and only if it is a path.
"""

import itertools
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..core.process import Captured, Completed
from ._beneath import is_below
from .cage import BUBBLEWRAP, UNCONFINED, Cage
from .grantable import too_wide, why_not_asked
from .protected import why_protected
from .system import readable_paths

if TYPE_CHECKING:
    from .aftermath import PutAside

_LOOKED_AT = 16 * 1024
_MOST_CANDIDATES, _MOST_HINTS, _LONGEST, _SHOWN = 64, 3, 4096, 200
_MOST_LINKS = 40
"""As many as the kernel follows."""
_ELSEWHERE = ("/proc", "/sys", "/dev")
_SHARED = ("/tmp", "/var/tmp", "/dev/shm")

_NETWORK = re.compile(
    r"network is unreachable|ENETUNREACH|name resolution|EAI_AGAIN|getaddrinfo|gaierror|no address associated"
    r"|(?:could not|couldn't|cannot|can't|unable to|failed to) resolve|name or service not known"
    r"|nodename nor servname|connect EACCES|network is down|dial (?:tcp|udp).{0,200}(?:unreachable|denied|no such host)"
    r"|socket: (?:permission denied|operation not permitted|network is unreachable)|errno 101|os error 101"
    r"|failed to lookup address|unknown ?host|connection refused|ECONNREFUSED|could ?n[o']t connect|failed to connect"
    r"|errno 111|os error 111",
    re.IGNORECASE,
)
_WITHOUT_A_WORD = (4, 6, 7, 56)
"""With which `wget -q` and `curl -s` end that came nowhere."""
_PROXY = re.compile(r"(?:proxy|tunnel|CONNECT).{0,80}\b403\b|\b403\b.{0,80}(?:proxy|tunnel|CONNECT)", re.IGNORECASE)
_REFUSED = re.compile(
    r"permission denied|operation not permitted|read-only file system|\bE(?:ACCES|PERM|ROFS)\b|resource busy|\bEBUSY\b"
    r"|errno (?:1|13|16|30)\b|os error (?:1|13|16|30)\b|access is denied",
    re.IGNORECASE,
)
_MISSING = re.compile(r"no such file|\bENOENT\b|errno 2\b|os error 2\b|does not exist|not found", re.IGNORECASE)
_WRITING = re.compile(
    r"read-only|\bEROFS\b|errno 30\b|os error 30\b|cannot (?:create|touch|remove|make|move|write|overwrite)"
    r"|mkdir|rmdir|unlink|rename|for writing|unable to (?:create|write)|failed to (?:create|write)",
    re.IGNORECASE,
)
_PATH = re.compile(
    r"""(?P<quote>['"`])(?P<quoted>(?:/|\.\.?/)[^'"`\n]*)(?P=quote)"""
    r"""|(?<![\w.'"`/~:-])(?P<plain>(?:/|\.\.?/)[^\s:;,'"`<>|()\[\]{}]*)"""
)
_WORD = re.compile(r"""[^\s:;,'"`<>|()\[\]{}]+""")
_WHICH_SCRIPT = re.compile(r"^[^\s:]+: (?:line )?[0-9]+: ")
"""With which shells begin a message: it is refused nothing."""
_SPELLED_OUT = ("/", "./", "../", "-", "~")


class Hint(NamedTuple):
    """One thing that was probably refused."""

    what: str
    """`env`, `network`, `files`, `protected`, `put_aside`, `put_back` or `changed`."""
    message: str
    command: str = ""
    """What a person types to allow it; empty where nobody should, or where it cannot be written down plainly."""


def hints(tool: str, cage: Cage, done: Completed, *, said: str = "") -> list[Hint]:
    """What was probably refused, most telling first. `said` is an error that the tool told in another way.

    Nothing where nothing is confined, or nothing failed.
    """
    if cage.tier in UNCONFINED or not (done.code or said):
        return []
    text = "\n".join((said[-_LOOKED_AT:], _end(done.stderr), _end(done.stdout)))
    silent = done.code in _WITHOUT_A_WORD and not text.strip()
    found = dict.fromkeys(_of_network(tool, cage, text, silent=silent))
    for hint in (*_of_words(tool, cage, text), *_of_paths(tool, cage, text)):
        found[hint] = None
    return list(found)[:_MOST_HINTS]


def of_withheld(tool: str, variables: Sequence[str]) -> Iterator[Hint]:
    """What to say of variables that a tool declares and does not see, because nobody who saw that said yes."""
    if variables:
        message = f"{tool} declares {', '.join(variables)}, and nobody allowed this version to see that; the user can"
        yield Hint("env", message, f"toolcrib grant {tool} env {' '.join(variables)}")


def of_aftermath(tool: str, workspace: str, found: "Sequence[PutAside]") -> list[Hint]:
    """What to say of protected things that a program made or changed; also when it succeeded."""
    said = []
    for each in found[:_MOST_HINTS]:
        beside = f" (and {each.more} more beside it)" if each.more else ""
        message = f"{_shown(each.path)}{beside} is protected, as {each.why}, and {_fate(each)}"
        if each.moved_to or each.back:
            what = "put_back" if each.back else "put_aside"
            said.append(_files(tool, os.path.join(workspace, each.path), message, writing=True, what=what))
        else:
            said.append(Hint("changed", f"{message}; look at it before you go on"))
    if rest := found[_MOST_HINTS:]:
        count = len(rest) + sum(each.more for each in rest)
        places = sorted({os.path.dirname(each.moved_to) for each in rest if each.moved_to})
        where = f"; what was put aside is in {_shown(places[0])}" if places else ""
        left = sum(not (each.moved_to or each.back) for each in rest)
        look = f"; {left} of them are still there, or were changed: look at them before you go on" if left else ""
        said.append(Hint("changed" if left else "put_aside", f"so it is with {count} more{where}{look}"))
    return said


def _fate(thing: "PutAside") -> str:
    if thing.stays:
        return "was made, or changed, and cannot be moved away: it is still there"
    before = f"; what was there before is now {_shown(thing.kept_in[0])}" if thing.kept_in else ""
    if len(thing.kept_in) > 1:
        before += f", and {len(thing.kept_in) - 1} more files beside it"
    if thing.missing:
        before += "; it is put back before the next call, if there is room by then"
    if not thing.moved_to:
        return "was changed and put back" if thing.back else f"was changed{before}"
    happened = "changed and put back; what stood there instead" if thing.back else "made, or changed, and put aside: it"
    return f"was {happened} is now {_shown(thing.moved_to)}{before}"


def _end(stream: Captured) -> str:
    return (stream.head + stream.tail)[-_LOOKED_AT:].decode("utf-8", "replace")


def _of_network(tool: str, cage: Cage, text: str, *, silent: bool) -> Iterator[Hint]:
    if cage.network:
        return
    if cage.hosts:
        if silent or _PROXY.search(text) or _NETWORK.search(text):
            message = (
                f"{tool} reaches only {', '.join(map(_shown, cage.hosts))}; the user can let it reach another host"
            )
            yield Hint("network", message, f"toolcrib grant {tool} network HOST")
    elif silent or _NETWORK.search(text):
        yield Hint(
            "network", f"{tool} runs without a network; the user can give it one", f"toolcrib grant {tool} network"
        )


def _named(text: str) -> Iterator[tuple[str, str]]:
    """Lines that tell of a refusal, each with a path in them."""
    count = 0
    for line in text.splitlines():
        line = _WHICH_SCRIPT.sub("", line[:_LONGEST])
        if not _REFUSED.search(line) and not _MISSING.search(line):
            continue
        for match in _PATH.finditer(line):
            count += 1
            if count > _MOST_CANDIDATES:
                return
            yield line, match["quoted"] or match["plain"].rstrip(".")


def _of_paths(tool: str, cage: Cage, text: str) -> Iterator[Hint]:
    found = (_of_path(tool, cage, line, path) for line, path in _named(text))
    return itertools.islice(dict.fromkeys(hint for hint in found if hint is not None), _MOST_HINTS)


def _of_words(tool: str, cage: Cage, text: str) -> Iterator[Hint]:
    """What is protected in the workspace, by a name that could be any word: `.envrc: Read-only file system`."""
    if not cage.workspace:
        return
    lines = (_WHICH_SCRIPT.sub("", line[:_LONGEST]) for line in text.splitlines())
    words = (
        word for line in lines if _REFUSED.search(line) for word in _WORD.findall(line) if "." in word or "/" in word
    )
    for word in itertools.islice((word for word in words if not word.startswith(_SPELLED_OUT)), _MOST_CANDIDATES):
        path = os.path.normpath(os.path.join(cage.workspace, word.rstrip(".")))
        if "\0" not in path and is_below(path, cage.workspace):
            hint = _in_workspace(tool, cage, path, refused=True)
            if hint is not None:
                yield hint


def _of_path(tool: str, cage: Cage, line: str, said: str) -> Hint | None:
    path = os.path.normpath(os.path.join(cage.workspace or "/", said))
    refused = _REFUSED.search(line) is not None
    if "\0" in path or (not refused and cage.tier != BUBBLEWRAP):  # elsewhere what is missing is missing
        return None
    if cage.workspace and is_below(path, cage.workspace):
        return _in_workspace(tool, cage, path, refused=refused)
    writing = refused and _WRITING.search(line) is not None
    if any(is_below(path, place) for place in cage.writable):
        return None
    if any(is_below(path, place) for place in cage.readable):
        return _files(tool, path, f"{_shown(path)} may be read, and not written", writing=True) if refused else None
    if any(is_below(path, place) for place in _SHARED):
        message = f"{_shown(path)} is closed to {tool}, which has a temporary directory of its own: TMPDIR names it"
        return _files(tool, path, message, writing=writing)
    if any(is_below(path, place) for place in (*_ELSEWHERE, *readable_paths())):
        return None
    there = "" if refused else ", if it is there,"
    return _files(tool, path, f"{_shown(path)} lies{there} outside what {tool} can reach", writing=writing)


def _in_workspace(tool: str, cage: Cage, path: str, *, refused: bool) -> Hint | None:
    if any(is_below(path, place) for place in cage.writable):
        return None
    end = _end_within(path, cage.workspace)
    if not is_below(end, cage.workspace):
        reachable = (*cage.writable, *cage.readable, *readable_paths(), *_ELSEWHERE)
        if any(is_below(end, place) for place in reachable):
            return None
        return _files(tool, end, f"{_shown(path)} is a link that leads outside what {tool} can reach", writing=False)
    if not refused:
        return None
    if why := why_protected(path, cage.workspace):
        message = f"{_shown(path)} is protected from writing: it is {why}"
        return _files(tool, path, message, writing=True, what="protected")
    if cage.workspace_writable:
        return None
    anew = f"`tools: {{{tool}: {{warm: false}}}}` has it run anew for each call, where it may"
    message = f"{tool} stays running, and writes nothing in the workspace, as {_shown(path)}; {anew}"
    return _files(tool, path, message, writing=True)


def _end_within(path: str, workspace: str) -> str:
    """Where a path of the workspace leads by the links that lie in there.

    What the first link out of it says is the end, as it is written: where that leads further, the program cannot see.
    """
    at, left, links = workspace, _parts(path.removeprefix(workspace)), 0
    while left:
        name = left.pop()
        at = os.path.dirname(at) if name == ".." else os.path.join(at, name)
        if not is_below(at, workspace):
            break
        try:
            target = os.readlink(at)
        except OSError:  # no link, or nothing at all
            continue
        links += 1
        if links > _MOST_LINKS:
            return path
        at = os.path.dirname(at)
        if target.startswith("/"):
            at = workspace if is_below(target, workspace) else "/"
            target = target.removeprefix(workspace) if at == workspace else target
        left += _parts(target)
    return os.path.normpath(os.path.join(at, *reversed(left)))


def _parts(path: str) -> list[str]:
    """The last first."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]


def _files(tool: str, path: str, message: str, *, writing: bool, what: str = "files") -> Hint:
    home = os.path.realpath(os.path.expanduser("~"))
    wide = too_wide(path, home=home, own="")
    kept = why_not_asked(f"~/{os.path.relpath(path, home)}") if what == "files" and is_below(path, home) else ""
    if wide or kept:
        return Hint(what, f"{message}; {wide or kept}")
    command = f"toolcrib grant {tool} files {'rw' if writing else 'ro'} {shlex.quote(path)}"
    plain = path.isascii() and path.isprintable() and len(path) <= _SHOWN
    return Hint(what, f"{message}; the user can allow it", command if plain else "")


def _shown(text: str) -> str:
    """On one line, in ASCII, not too long."""
    shown = text.encode("unicode_escape").decode("ascii")
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
