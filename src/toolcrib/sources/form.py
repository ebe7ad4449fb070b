"""Looking at what a person wrote, one thing after the other, and remembering all that is wrong, each with its place."""

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from ..core.schema import pointer
from ..store.yamltext import Document
from . import wish

MOST_FAULTS = 100
"""Nobody reads more, and a file can hold ten thousands."""

At = tuple[str | int, ...]
"""Where something stands in a document: keys, and places in lists."""


class Fault(NamedTuple):
    """One thing that is wrong."""

    code: str
    message: str
    fix: str
    pointer: str = ""
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.where}{self.message}; {self.fix}"

    @property
    def where(self) -> str:
        return f"line {self.line}, column {self.column}: "


class Form:
    """A document that is looked at, and its faults."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._faults: list[Fault] = []

    @property
    def faults(self) -> tuple[Fault, ...]:
        """In the order of the lines."""
        return tuple(sorted(self._faults, key=lambda fault: (fault.line, fault.column)))

    def wrong(self, message: str, fix: str, at: At = (), *, code: str = "CONFIG_INVALID") -> None:
        """Note a fault. It stands where the document has the place, or the nearest one around it."""
        if len(self._faults) < MOST_FAULTS:
            marks = (self.document.mark(*at[:end]) for end in range(len(at), -1, -1))
            line, column = next(filter(None, marks), (1, 1))
            self._faults.append(Fault(code, message, fix, pointer(at), line, column))

    def known(self, at: At, value: dict[str, Any], keys: Mapping[str, None]) -> None:
        if value.keys() <= keys.keys():
            return
        for key in [key for key in value if key not in keys][:MOST_FAULTS]:
            nearest = get_close_matches(key, keys, n=1) if len(key) <= 100 else []
            fix = f"did you mean {nearest[0]}?" if nearest else f"the keys here are {', '.join(keys)}"
            self.wrong(f"unknown key {shown(key)}", fix, (*at, key))

    def text(self, value: dict[str, Any], key: str, example: str, at: At = ()) -> str | None:
        """A text that must be there; None when it is not one, which is said."""
        found = value.get(key)
        if isinstance(found, str) and found.strip():
            return found
        if key not in value:
            self.wrong(f"`{key}` is missing", f"add `{key}: {example}`", at)
        else:
            fix = f'write it in quotes: {key}: "{found}"' if is_number(found) else f"write `{key}: {example}`"
            self.wrong(f"`{key}` is {kind(found)}, not words", fix, (*at, key))
        return None

    def names(self, key: str, value: Any, form: "re.Pattern[str]", example: str) -> tuple[str, ...]:
        """A list of names, or a map from each name to words about it."""
        if isinstance(value, dict):
            found = []
            for name, about in value.items():
                if not isinstance(about, str | None):
                    message = f"{shown(name)} is {kind(about)}, not words"
                    self.wrong(message, "say in words what it is for, in quotes if need be", (key, name))
                found.append((f"{name} {about}".strip() if key == "requires" and about else name, (key, name)))
        elif isinstance(value, list):
            found = [(each, (key, index)) for index, each in enumerate(value)]
        else:
            self.wrong(f"`{key}` is {kind(value)}, not a list", f"list {example}", (key,))
            return ()
        for text, at in found:
            if not isinstance(text, str) or not form.fullmatch(text):
                self.wrong(f"`{key}` names {shown(text)}", f"list {example}", at)
        return tuple(str(text) for text, _ in found)

    def hosts(self, value: dict[str, Any], at: At = ()) -> tuple[str, ...]:
        """What a tool asks for under `network`: true, false, or hosts. In a map each host has words about it."""
        found, where = value.get("network", False), (*at, "network")
        if isinstance(found, dict):
            found = list(found)
        if isinstance(found, list):
            for index, each in enumerate(found):
                self._read(wish.hosts, [each], (*where, index if isinstance(value["network"], list) else each))
        return self._read(wish.hosts, found, where) or ()

    def files(self, value: dict[str, Any], at: At = ()) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What a tool asks for under `files`: paths to read, and paths to write."""
        found, where = value.get("files", {}), (*at, "files")
        if isinstance(found, dict):
            self.known(where, found, dict.fromkeys(wish.ACCESS))
            found = {access: paths for access, paths in found.items() if access in wish.ACCESS}
        paths = self._read(wish.files, found, where) or {}
        return paths.get("ro", ()), paths.get("rw", ())

    def _read(self, read: Callable[[Any], Any], value: Any, at: At) -> Any:
        try:
            return read(value)
        except ValueError as exc:
            message, _, fix = str(exc).partition("; ")
            if not any(each.pointer.startswith(pointer(at)) for each in self._faults):
                self.wrong(f"`{at[0]}`: {message}", fix or "put it right", at)
            return None


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def kind(value: Any) -> str:
    names = {dict: "a map", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(value), "nothing")


def shown(value: Any) -> str:
    return ascii(value)[:80]
