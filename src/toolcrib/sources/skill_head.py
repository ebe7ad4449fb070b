"""What a SKILL.md says of itself: its name, what it is for, and what it would like to use."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..core.errors import ToolcribError
from ..core.tool import NAME
from .form import Fault, kind, shown
from .skill_file import Front, as_text, heading_of

KEYS = dict.fromkeys(
    ("name", "description", "license", "compatibility", "metadata", "allowed-tools", "version", "tools")
)
MOST_DESCRIPTION = 1024
_NO_VERSION = "0.0.0"
_MOST_UNKNOWN = 20
_TOOL_PATTERN = re.compile(r"[^\s,()]+(?:\([^()]*\))?")


class SkillError(ToolcribError):
    """A skill of which nothing can be used, or that may not be used."""

    code = "CONFIG_INVALID"


class Head(NamedTuple):
    """What a SKILL.md says of itself. Cheap: no tool is made for it."""

    name: str
    description: str
    version: str
    license: str
    compatibility: str
    allowed_tools: tuple[str, ...] | None
    metadata: Mapping[str, str]
    faults: tuple[Fault, ...]


def read_head(front: Front, *, folder: str = "", named: str = "") -> Head:
    """What a SKILL.md says of itself, with everything that is wrong with it.

    Raises:
        SkillError: neither it nor its folder has a name that can be used.
    """
    reader = _Head(front)
    return reader.read(folder, named)


def tool_patterns(value: Any) -> tuple[str, ...] | None:
    """The tools that `allowed-tools` names: words, or a list of them; None when it is neither."""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return tuple(each.strip() for each in value if each.strip())
    return tuple(_TOOL_PATTERN.findall(value)) if isinstance(value, str) else None


class _Head:
    """Looks at one key of the front matter after the other."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self._value: dict[str, Any] = front.document.value
        self._faults = list(front.faults)

    def read(self, folder: str, named: str) -> Head:
        if not self._front.present:
            message = "there is no front matter; name and description were taken from elsewhere"
            self._faults.append(Fault("CONFIG_INVALID", message, "begin with `---`, `name: …`, `description: …`"))
        for key in [key for key in self._value if key not in KEYS][:_MOST_UNKNOWN]:
            self._wrong(f"unknown key {shown(key)}", f"the keys here are {', '.join(KEYS)}", key)
        name, description = self._name(folder, named), self._description()
        metadata = self._metadata()
        version = self._text("version") or metadata.get("version") or _NO_VERSION
        about = (name, description, version, self._text("license"), self._text("compatibility"))
        return Head(*about, self._allowed(), metadata, tuple(self._faults))

    def _wrong(self, message: str, fix: str, key: str = "", *, code: str = "CONFIG_INVALID") -> None:
        mark = self._front.document.mark(key) if key else None
        self._faults.append(Fault(code, message, fix, f"/{key}" if key else "", *(mark or ())))

    def _text(self, key: str) -> str:
        """Words at a key; nothing where there are none, which is said where something else stands."""
        value = self._value.get(key)
        found = as_text(value, self._front.written(key))
        if value is not None and found is None:
            self._wrong(f"`{key}` is {kind(value)}, not words", "put it in quotes", key)
        return found or ""

    def _name(self, folder: str, named: str) -> str:
        own = self._text("name")
        if named:
            if own and own != named:
                self._wrong(f"it calls itself {shown(own)}, and is called {named}", "rename one of them", "name")
            return named
        if NAME.fullmatch(own):
            if folder and own != folder:
                message = f"`name` is {own}, and the folder is called {shown(folder)}"
                self._wrong(message, "rename one of them", "name")
            return own
        if not NAME.fullmatch(folder):
            raise unnamed(own or folder)
        if "name" in self._value:
            message = f"`name` is {shown(own)}, which is no name; the folder's is taken"
            self._wrong(message, f"write `name: {folder}`", "name", code="TOOL_NAME_INVALID")
        elif self._front.present:
            self._wrong("`name` is missing; the folder's is taken", f"write `name: {folder}`")
        return folder

    def _description(self) -> str:
        found = self._text("description")
        if not found:
            found = heading_of(self._front.body)
            if self._front.present:
                fix = "add `description: …`: what it does, and when to use it"
                self._wrong("`description` is missing; the body's first words are taken", fix)
        return found if len(found) <= MOST_DESCRIPTION else found[: MOST_DESCRIPTION - 1] + "…"

    def _metadata(self) -> dict[str, str]:
        value = self._value.get("metadata")
        if value is None:
            return {}
        if not isinstance(value, dict):
            self._wrong(f"`metadata` is {kind(value)}, not a map", "write one key for each entry", "metadata")
            return {}
        plain = {key: str(each) for key, each in value.items() if isinstance(each, str | int | float)}
        if len(plain) < len(value):
            self._wrong("`metadata` holds more than words", "write words, in quotes if need be", "metadata")
        return plain

    def _allowed(self) -> tuple[str, ...] | None:
        value = self._value.get("allowed-tools")
        found = tool_patterns(value)
        if value is not None and found is None:
            self._wrong(
                f"`allowed-tools` is {kind(value)}, not words", "write `allowed-tools: Read Grep`", "allowed-tools"
            )
            return ()
        return found


def unnamed(name: str) -> SkillError:
    message = f"{shown(name)} is no name of a skill: use 1 to 64 of A-Z a-z 0-9 _ -"
    return SkillError(message, code="TOOL_NAME_INVALID")
