"""Every fault of a program that wants to be a tool: it is started afresh and its answers are looked at one by one."""

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass

from ..core.errors import InvalidJson, ToolcribError
from ..core.jsontext import JSON, dump, parse
from ..core.process import Completed
from ..core.tool import NAME
from ..core.validator import compiled
from ..runtime.runtime import Crib
from ..sources.probe import SECONDS, Description
from ._literals import literals
from ._program import Finding, file_findings
from ._schema import properties
from ._text import readable

_LONGEST_TEXT = 1024 * 1024
UNKNOWN_VERB = "toolcrib-check-unknown-verb"
_SAMPLE = '{"name": "NAME", "description": "…", "input_schema": {"type": "object", "properties": {}}}'
_FIXES = {
    "TIMEOUT": "make `description` print its answer and exit, without reading stdin or waiting for anything",
    "VALIDATION_ERROR": f"let `description` print {_SAMPLE}",
    "EXECUTION_ERROR": "type the program's path with the word description, and see what it says",
    "RESOURCE_EXHAUSTED": "try again when less is running",
    "SCHEMA_REJECTED": "write a JSON Schema (2020-12) of an object, with no references to other documents",
}


@dataclass(frozen=True, slots=True)
class Checked:
    """One program and everything that was found."""

    origin: str
    name: str | None
    """The name under which it is offered, where it could be learnt."""
    findings: tuple[Finding, ...]

    @property
    def faults(self) -> int:
        return sum(not finding.warning for finding in self.findings)

    def to_dict(self) -> dict[str, JSON]:
        return {
            "origin": readable(self.origin),
            "name": self.name,
            "findings": [each.to_dict() for each in self.findings],
        }


class Examiner:
    """Examines programs for one crib."""

    def __init__(self, crib: Crib, *, verbs: bool) -> None:
        self._prober, self._config = crib.prober(), crib.config
        self._verbs = verbs
        self._at_once = asyncio.Semaphore(4)

    async def examine(self, path: str, *, pinned: str | None = None) -> Checked:
        """Everything that is wrong with one program. With `pinned`, nothing of another digest is started."""
        found = file_findings(path, os.environ.get("PATH", os.defpath) if "PATH" in self._config.variables else "")
        found += _literal_findings(path)
        if any(not finding.warning for finding in found):
            return Checked(path, None, tuple(found))
        async with self._at_once:
            try:
                about = await self._prober.describe(path, pinned=pinned)
            except ToolcribError as exc:
                wrong = exc.code in ("VALIDATION_ERROR", "TOOL_NAME_INVALID", "SCHEMA_REJECTED")
                answer = await self._answer(path, "description", pinned) if wrong else None
                faults = list(_answer_findings(answer)) or [_finding(exc)]
                return Checked(path, None, (*found, *faults))
            found += _description_findings(about, os.path.basename(path), self._config.prefix)
            if about.serve:
                found += await self._serve_findings(path, pinned)
            if self._verbs and about.dialect == "run":
                found += _verb_findings(await self._answer(path, UNKNOWN_VERB, pinned))
        return Checked(path, self._config.prefix + about.name, tuple(found))

    async def _serve_findings(self, path: str, pinned: str | None) -> list[Finding]:
        """What keeps a program from serving that says it does. It is started, and asked nothing."""
        try:
            fault = await self._prober.why_not_serving(path, pinned=pinned)
        except ToolcribError as exc:
            return [_finding(exc)]
        if fault is None:
            return []
        fix = 'let `serve` print {"serve": 1}, flushed, before it reads stdin; or take `serve` out of `config`'
        return [Finding("EXECUTION_ERROR", f"`config` says that it can serve, but {fault}", fix, "/serve")]

    async def _answer(self, path: str, verb: str, pinned: str | None) -> Completed | None:
        """How it answers to a word; None when it does not."""
        try:
            return await self._prober.ask(path, verb, pinned=pinned)
        except ToolcribError:
            return None


def _literal_findings(path: str) -> list[Finding]:
    """Secrets that stand in the program's own text. A longer or binary file is not searched."""
    try:
        with open(path, "rb") as file:
            raw = file.read(_LONGEST_TEXT + 1)
    except OSError:  # what that means has been said
        return []
    return [] if len(raw) > _LONGEST_TEXT or b"\0" in raw else literals(raw.decode("utf-8", "replace"), path)


def _answer_findings(done: Completed | None) -> Iterator[Finding]:
    """Each thing that is wrong with a description that is JSON. Nothing when it is not even that."""
    if done is None or done.code:
        return
    try:
        value = parse(done.stdout.text())
    except InvalidJson:
        return
    if not isinstance(value, dict):
        return
    name, text = value.get("name"), value.get("description")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        message = f"`name` is {_shown(name)}; a tool name is 1 to 64 of A-Z a-z 0-9 _ -"
        yield Finding("TOOL_NAME_INVALID", message, "give it a name such as word_count", "/name")
    if not isinstance(text, str) or not text.strip():
        fix = "write a sentence; the model chooses tools by it"
        yield Finding("VALIDATION_ERROR", f"`description` is {_shown(text)}, not words", fix, "/description")
    key = next((key for key in ("input_schema", "inputSchema", "args") if key in value), None)
    if key is None:
        fix = 'add "input_schema": {"type": "object", "properties": {}}'
        yield Finding("VALIDATION_ERROR", "`input_schema` is missing", fix, "/input_schema")
    elif key != "args":
        try:
            compiled(value[key])
        except ToolcribError as exc:
            yield Finding(exc.code, str(exc), _FIXES["SCHEMA_REJECTED"], _pointer(str(exc), f"/{key}"))


def _pointer(message: str, root: str) -> str:
    """The place that the message names, in the whole answer."""
    where = message.partition("rejected: ")[2].partition(": ")[0]
    return root + where if where.startswith("/") else root


def _description_findings(about: Description, file: str, prefix: str) -> Iterator[Finding]:
    exposed = prefix + about.name
    if not NAME.fullmatch(exposed):
        message = f"with its prefix it is called {exposed}, which is not 1 to 64 of A-Z a-z 0-9 _ -"
        yield Finding("TOOL_NAME_INVALID", message, f"use at most {64 - len(prefix)} characters", "/name")
    if "-" in about.name:
        message = f"some clients write {about.name} as {about.name.replace('-', '_')}"
        fix = "use _ in the name, so that it is the same everywhere"
        yield Finding("TOOL_NAME_INVALID", message, fix, "/name", warning=True)
    if file.split(".")[0].replace("-", "_") != about.name.replace("-", "_"):
        message = f"the file is called {file}, and the tool {about.name}"
        yield Finding("TOOL_NAME_INVALID", message, f"rename the file to {about.name}", "/name", warning=True)
    schema = parse(about.schema)
    known, required = properties(schema), schema.get("required")
    for name, spec in known.items():
        if not (isinstance(spec, dict) and spec.get("description")):
            at = "/input_schema/properties/" + name.replace("~", "~0").replace("/", "~1")
            fix = 'add a "description"; the model knows nothing else of it'
            yield Finding("VALIDATION_ERROR", f"the argument {name} is not described", fix, at, warning=True)
    for name in required if isinstance(required, list) else ():
        if name not in known:
            fix = "describe it in `properties`, or remove it from `required`"
            yield Finding(
                "SCHEMA_REJECTED", f"{name} is required and not described", fix, "/input_schema/required", warning=True
            )


def _verb_findings(done: Completed | None) -> Iterator[Finding]:
    fix = "for any other word, print the usage on stderr and exit with status 1"
    if done is None:
        yield Finding("TIMEOUT", f"a word it does not know ({UNKNOWN_VERB}) keeps it running for {SECONDS:g} s", fix)
    elif done.code == 0:
        yield Finding("EXECUTION_ERROR", f"a word it does not know ({UNKNOWN_VERB}) is answered with success", fix)


def _finding(exc: ToolcribError) -> Finding:
    return Finding(exc.code, str(exc), _FIXES.get(exc.code, "put that right and check again"))


def _shown(value: JSON) -> str:
    return "missing" if value is None else dump(value).decode()[:100]
