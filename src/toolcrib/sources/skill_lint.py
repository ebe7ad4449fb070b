"""A strict look at a skill: what is wrong with it, and where another program would not take it."""

import os
import re
import shlex
import shutil
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..core.jsontext import JSON
from ..store.yamltext import Document
from .form import At, kind
from .manifest_offer import Misread
from .skill import SIDECAR, Skill, SkillError, skill_file
from .skill_file import Front, read_front, read_mending

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
"""What the Agent Skills standard takes for a name."""
MOST_NAME, MOST_DESCRIPTION, MOST_COMPATIBILITY = 64, 1024, 500
PORTABLE = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
"""The keys of the standard."""
MOST_BODY_LINES = 500
_PLACEHOLDER = re.compile(r"\$(?:\$|\{([^{}]*)\})")
_SECRET_HEADER = re.compile(r"auth|token|secret|key|cookie|session|password|credential", re.IGNORECASE)
_INTERPRETERS = {"python": ("python", "python3")}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a skill, where, and what puts it right."""

    path: str
    line: int
    code: str
    message: str
    fix: str
    warning: bool = False
    """It works all the same."""
    portability: bool = False
    """Other programs that follow the standard do not take it."""

    def to_dict(self) -> dict[str, JSON]:
        about: dict[str, JSON] = {"path": self.path, "line": self.line, "code": self.code, "message": self.message}
        severity = "warning" if self.warning else "error"
        return about | {"fix": self.fix, "severity": severity, "portability": self.portability}


def lint(
    skill: Skill, *, allow: Collection[str] = (), taken: Collection[str] = (), search_path: str = ""
) -> list[Finding]:
    """Everything that can be said against a skill that was read, in the order of its lines.

    `allow` are the hosts that the configuration lists; `taken` are names that no skill's tool may have; `search_path`
    is where programs are looked for.
    """
    data = skill_file(skill, os.path.basename(skill.origin))
    look = _Look(skill, read_front(data, skill.origin), data, allow)
    found = [*look.problems(), *look.front(), *look.body()]
    for document, path, root in look.documents():
        found += look.tools(document, path, root, taken, search_path)
    return sorted(dict.fromkeys(found), key=lambda each: (each.path != skill.origin, each.path, each.line))


class _Look:
    """At one skill."""

    def __init__(self, skill: Skill, front: Front, data: bytes, allow: Collection[str]) -> None:
        self._skill, self._front, self._data, self._allow = skill, front, data, allow
        self._document = front.document
        self._value: dict[str, Any] = front.document.value

    def problems(self) -> Iterator[Finding]:
        """What was already seen when it was read."""
        for each in self._skill.problems:
            line = each.line if isinstance(each, Misread) else 1
            message, _, fix = each.message.rpartition("; ")
            if isinstance(each, Misread):  # the line stands beside it
                message = message.partition(": ")[2]
            strict = isinstance(each, Misread) and each.origin == self._skill.origin
            yield Finding(each.origin, line, each.code, message or fix, fix, portability=strict)

    def front(self) -> Iterator[Finding]:
        yield from self._name()
        yield from self._texts()
        yield from self._portability()

    def _name(self) -> Iterator[Finding]:
        name = self._skill.name
        if not NAME.fullmatch(name) or len(name) > MOST_NAME:
            message = f"the name {name} is not 1 to {MOST_NAME} small letters, digits and single hyphens"
            fix = f"call it {re.sub('[^a-z0-9]+', '-', name.lower()).strip('-') or 'my-skill'}, and its folder too"
            yield self._finding("TOOL_NAME_INVALID", message, fix, "name", portability=True)

    def _texts(self) -> Iterator[Finding]:
        for key, most in (("description", MOST_DESCRIPTION), ("compatibility", MOST_COMPATIBILITY)):
            text = self._value.get(key)
            if isinstance(text, str) and len(text.strip()) > most:
                message = f"`{key}` has {len(text.strip())} characters, and the standard allows {most}"
                yield self._finding("CONFIG_INVALID", message, "shorten it", key, portability=True)
        for name, value in (self._value.get("metadata") or {}).items() if self._has_map("metadata") else ():
            if not isinstance(value, str | int | float):
                message = f"`metadata` holds {kind(value)} at {name}; the standard has words only"
                yield self._finding("CONFIG_INVALID", message, "write words", "metadata", name, portability=True)
        if self._skill.tools and self._skill.version == "0.0.0":
            message = "it has tools and no version, so nobody can say which one was approved"
            fix = 'write below `metadata:`: version: "1.0.0"'
            yield self._finding("CONFIG_INVALID", message, fix, warning=True)

    def _has_map(self, key: str) -> bool:
        return isinstance(self._value.get(key), dict)

    def _portability(self) -> Iterator[Finding]:
        """Where the standard's own validator would refuse it."""

        def other(message: str, fix: str, *keys: str, line: int = 0) -> Finding:
            return self._finding("CONFIG_INVALID", message, fix, *keys, warning=True, portability=True, line=line)

        if self._data.startswith(b"\xef\xbb\xbf"):
            yield other("a byte order mark stands before the front matter", "save it without one", line=1)
        for key in ("tools", "version"):
            if key in self._value:
                message = f"`{key}` is no key of the standard, so other programs refuse the skill"
                yield other(message, f"type: toolcrib skill migrate {shlex.quote(self._skill.folder)}", key)
        inside = self._front.lines[: max(0, self._front.end - 1)]
        for number, line in enumerate(inside, 1):
            if "---" in line and number > 1:
                message = "`---` stands inside the front matter, which ends it for other programs"
                yield other(message, "write it another way", line=number)
        portable = [key for key in PORTABLE if isinstance(self._value.get(key), dict | list)]
        for key in portable:
            at = self._document.line(key) or 1
            if re.search(r":[ \t]*[\[{]", self._front.lines[at - 1]):
                message = f"`{key}` is written with brackets, which other programs do not read"
                yield other(message, "write each entry on a line of its own", key)

    def body(self) -> Iterator[Finding]:
        start = self._front.end
        if not self._skill.body:
            message = "there is no text after the front matter, so an agent is told nothing"
            yield self._finding("CONFIG_INVALID", message, "say how it is used", line=start or 1, warning=True)
        if (lines := self._skill.body.count("\n") + 1) > MOST_BODY_LINES:
            message = f"the text has {lines} lines, all of which an agent reads"
            fix = f"keep it below {MOST_BODY_LINES}, and put the rest into files beside it"
            yield self._finding("INPUT_TOO_LARGE", message, fix, line=start or 1, warning=True)

    def documents(self) -> Iterator[tuple[Document, str, At]]:
        """The documents that tools stand in, and where."""
        if isinstance(self._value.get("tools"), list):
            yield self._document, self._skill.origin, ("tools",)
        if sidecar := self._skill.metadata.get(SIDECAR):
            try:
                data = skill_file(self._skill, sidecar)
            except SkillError:  # which is among the problems
                return
            path = f"{self._skill.folder}/{sidecar}"
            document = read_mending(data.decode("utf-8-sig", "replace").replace("\r\n", "\n"), path).document
            root: At = ("tools",) if isinstance(document.value, dict) else ()
            listed = document.value.get("tools") if root else document.value
            if isinstance(listed, list):
                yield document, path, root

    def tools(
        self, document: Document, path: str, root: At, taken: Collection[str], search_path: str
    ) -> Iterator[Finding]:
        listed = document.value["tools"] if root else document.value
        for index, tool in enumerate(listed):
            if isinstance(tool, dict):
                look = _ToolLook(document, path, (*root, index), tool, self._allow)
                yield from look.findings(taken, search_path)

    def _finding(
        self, code: str, message: str, fix: str, *keys: str, warning: bool = False, portability: bool = False,
        line: int = 0,
    ) -> Finding:  # fmt: skip
        at = line or self._document.line(*keys) or 1
        return Finding(self._skill.origin, at, code, message, fix, warning, portability)


class _ToolLook:
    """At one declaration of a tool, which need not be one that can be used."""

    def __init__(self, document: Document, path: str, at: At, tool: dict[str, Any], allow: Collection[str]) -> None:
        self._document, self._path, self._at, self._tool, self._allow = document, path, at, tool, allow
        found = tool.get("backend")
        self._backend: dict[str, Any] = found if isinstance(found, dict) else {}
        schema = tool.get("parameters")
        found = schema.get("properties") if isinstance(schema, dict) else None
        self._parameters: dict[str, Any] = found if isinstance(found, dict) else {}

    def findings(self, taken: Collection[str], search_path: str) -> Iterator[Finding]:
        name = self._tool.get("name")
        if name in taken:
            message = f"{name} is the name of a built-in tool, which no skill covers"
            yield self._finding("TOOL_NAME_CONFLICT", message, "give it another name", "name")
        yield from self._arguments()
        yield from self._placeholders()
        yield from self._secrets()
        yield from self._network()
        yield from self._programs(search_path)

    def _arguments(self) -> Iterator[Finding]:
        for name, about in self._parameters.items():
            if isinstance(about, dict) and not about.get("description"):
                message = f"the argument {name} is not described; the model knows nothing else of it"
                at = ("parameters", "properties", name)
                yield self._finding("VALIDATION_ERROR", message, "add a `description`", *at, warning=True)

    def _placeholders(self) -> Iterator[Finding]:
        used = set()
        for at, text in _texts({key: each for key, each in self._backend.items() if key not in ("script", "query")}):
            for match in _PLACEHOLDER.finditer(text):
                name = match[1]
                used.add(name)
                if name is not None and not name.startswith("env:") and name not in self._parameters:
                    has = ", ".join(self._parameters) or "none"
                    message = f"${{{name}}} is no argument of this tool; it has {has}"
                    fix = f"add {name} to `parameters`, or write $${{{name}}} for the text"
                    yield self._finding("VALIDATION_ERROR", message, fix, "backend", *at)
        sends_all = self._backend.get("type") not in ("binary", "http") or (
            self._backend.get("type") == "http" and "body_template" not in self._backend
        )
        for name in () if sends_all else self._parameters:
            if name not in used:
                message = f"the argument {name} is used nowhere"
                at = ("parameters", "properties", name)
                yield self._finding("VALIDATION_ERROR", message, f"write ${{{name}}}, or remove it", *at, warning=True)

    def _secrets(self) -> Iterator[Finding]:
        headers = self._backend.get("headers")
        for name, value in headers.items() if isinstance(headers, dict) else ():
            if isinstance(value, str) and _SECRET_HEADER.search(name) and "${" not in value:
                message = f"the header {name} holds its value as it is, for everybody who gets the file to read"
                fix = "write ${env:NAME} in its place, and allow it in config.yaml: tools: {TOOL: {secrets: [NAME]}}"
                yield self._finding("ENV_NOT_ALLOWED", message, fix, "backend", "headers", name)

    def _network(self) -> Iterator[Finding]:
        url = self._backend.get("url")
        if not isinstance(url, str):
            return
        scheme, _, rest = url.partition("://")
        host = re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]
        allowed = host in self._allow or host.partition(":")[0] in self._allow
        if scheme.lower() in ("http", "ws") and not allowed:
            message = f"{scheme.lower()} is open to everybody on the way"
            fix = f"write {scheme.lower()}s://, or list {host} in config.yaml below `network: {{allow: […]}}`"
            yield self._finding("NETWORK_DENIED", message, fix, "backend", "url")
        if self._backend.get("type") == "binary" and not self._backend.get("sha256"):
            message = "a program from a URL has no checksum, so nobody can say that it is the one that was meant"
            fix = "add `sha256:` with what sha256sum says of the file"
            yield self._finding("DOWNLOAD_UNVERIFIED", message, fix, "backend", "url")

    def _programs(self, search_path: str) -> Iterator[Finding]:
        if self._backend.get("type") != "script" or not isinstance(self._backend.get("interpreter"), str):
            return
        interpreter = self._backend["interpreter"]
        names = _INTERPRETERS.get(interpreter, (interpreter,))
        if search_path and not any(shutil.which(name, path=search_path) for name in names):
            message = f"{interpreter} is not installed here"
            yield self._finding("ENGINE_NOT_AVAILABLE", message, "install it", "backend", "interpreter", warning=True)

    def _finding(self, code: str, message: str, fix: str, *keys: str | int, warning: bool = False) -> Finding:
        marks = (self._document.line(*self._at, *keys[:end]) for end in range(len(keys), -1, -1))
        line = next(filter(None, marks), 1)
        named = self._tool.get("name")
        whose = f"{named}: " if isinstance(named, str) and named.isprintable() else ""
        return Finding(self._path, line, code, whose[:70] + message, fix, warning)


def _texts(value: JSON, at: At = ()) -> Iterator[tuple[At, str]]:
    """All texts in a document, and where each stands. It is no deeper than the parser lets it be."""
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _texts(each, (*at, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _texts(each, (*at, index))
