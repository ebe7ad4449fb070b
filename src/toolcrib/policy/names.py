"""Patterns over names, hosts, paths and arguments. Each matches what it says, whole segment by whole segment."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from ..core.jsontext import JSON, canonical

_SEGMENTS = re.compile(r"[_:./-]+")
_HOST = re.compile(r"(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*(:[0-9]{1,5})?")
_ADDRESS = re.compile(r"\[[0-9a-f:.]+\](:[0-9]{1,5})?")


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A tool's name, or one with `*` for one or more whole segments: `git_*` is not `gitleaks`."""

    text: str
    _expression: re.Pattern[str] | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.text:
            raise ValueError("a tool's name is empty")
        for piece in _SEGMENTS.split(self.text):
            if "*" in piece and piece != "*":
                raise ValueError(
                    f"{self.text!r}: * stands for whole segments, between _ or -; write {piece.strip('*') or 'x'}_*, "
                    "or name the tools one by one"
                )
        if "*" in self.text:
            expression = ".+".join(map(re.escape, self.text.split("*")))
            object.__setattr__(self, "_expression", re.compile(expression + r"\Z", re.DOTALL))

    def matches(self, name: str) -> bool:
        return name == self.text if self._expression is None else self._expression.match(name) is not None


@dataclass(frozen=True, slots=True)
class PathPattern:
    """A file, a directory with all below it, or a glob: `*` within one name, `**` across directories."""

    text: str
    real: str
    """The same, absolute, with the links in its literal part resolved."""
    prefix: str
    """What every path that is meant begins with."""
    _expression: re.Pattern[str] = field(repr=False, compare=False)

    @classmethod
    def made(cls, text: str, base: str) -> "PathPattern":
        """Relative to `base`; `~` is the user's home."""
        if not text or "\0" in text:
            raise ValueError(f"{text!r} is not a path")
        whole = os.path.join(base, os.path.expanduser(text))
        steps = whole.split("/")
        if ".." in steps:
            raise ValueError(f"{text!r} leads upwards; write where it leads to")
        literal = next((at for at, step in enumerate(steps) if "*" in step or "?" in step), len(steps))
        real = os.path.realpath("/".join(steps[:literal]) or "/")
        pattern = os.path.normpath("/".join([real.rstrip("/"), *steps[literal:]]))
        return cls(text, pattern, real, re.compile(_path_expression(pattern), re.DOTALL))

    def matches(self, path: str) -> bool:
        """Whether this is `path`, or a directory above it."""
        return path.startswith(self.prefix) and self._expression.match(path) is not None


def _path_expression(pattern: str) -> str:
    found = []
    for step in pattern.strip("/").split("/"):
        if step == "**":
            found.append(r"(?:/[^/]+)*")
        elif step:
            inner = re.escape(step).replace(r"\*\*", "[^/]*").replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
            found.append("/" + inner)
    return "".join(found) + r"(?:/.*)?\Z"


@dataclass(frozen=True, slots=True)
class HostPattern:
    """A host, or `*.` and a domain for every host below it; with `:port`, only that port."""

    text: str

    def __post_init__(self) -> None:
        if not _HOST.fullmatch(self.text.lower()) and not _ADDRESS.fullmatch(self.text.lower()):
            raise ValueError(f"{self.text!r} is not a host; write api.example.com, *.example.com or 127.0.0.1:8080")

    def matches(self, host: str) -> bool:
        """Of a host as `host_of` gives it."""
        wanted, given = self.text.lower(), host
        if ":" not in wanted.rsplit("]", 1)[-1]:
            given = given.rsplit(":", 1)[0]
        return given.endswith(wanted[1:]) and len(given) >= len(wanted) if wanted.startswith("*.") else given == wanted


def host_of(url: str) -> str | None:
    """The host and port of a URL, folded, as `host:port`; None for what is no plain URL of a host."""
    if any(char <= " " or char > "~" or char == "\\" for char in url):
        return None
    try:
        parts = urlsplit(url)
        port = parts.port or {"https": 443, "http": 80, "wss": 443, "ws": 80}.get(parts.scheme)
    except ValueError:
        return None
    if not parts.hostname or parts.username is not None or parts.password is not None or port is None:
        return None
    name = parts.hostname.rstrip(".")
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"


@dataclass(frozen=True, slots=True)
class ArgumentPattern:
    """What a JSON pointer into the arguments must lead to: one of these values."""

    pointer: str
    values: frozenset[bytes]
    """As canonical JSON, so that 1 is not true."""
    _texts: frozenset[str] = field(repr=False, compare=False)
    """Those of the values that are text, which is compared as it is."""
    _steps: tuple[str, ...] = field(repr=False, compare=False)

    @classmethod
    def made(cls, pointer: str, value: JSON) -> "ArgumentPattern":
        if pointer and not pointer.startswith("/"):
            raise ValueError(f"{pointer!r} is not a JSON pointer; it begins with /, as in /path")
        if isinstance(value, dict):
            raise ValueError(f"{pointer}: write a value, or a list of values of which one must be there")
        values = value if isinstance(value, list) else [value]
        texts = frozenset(each for each in values if isinstance(each, str))
        steps = tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])
        return cls(pointer, frozenset(map(canonical, values)), texts, steps)

    def matches(self, args: Mapping[str, JSON]) -> bool:
        here: JSON = args
        for key in self._steps:
            if isinstance(here, Mapping) and key in here:
                here = here[key]
            elif isinstance(here, list) and key.isdecimal() and int(key) < len(here):
                here = here[int(key)]
            else:
                return False
        return here in self._texts if isinstance(here, str) else canonical(here) in self.values


def strings(value: JSON) -> Iterator[str]:
    """Every text in a value, at any depth, keys too."""
    waiting = [value]
    while waiting:
        here = waiting.pop()
        if isinstance(here, str):
            yield here
        elif isinstance(here, Mapping):
            waiting += [*here.keys(), *here.values()]
        elif isinstance(here, list):
            waiting += here
