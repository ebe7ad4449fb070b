"""Tools from declarations, without a skill around them, and calls of them through the real gate."""

import asyncio
import random
from collections.abc import Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import toolcrib
from toolcrib.backends.declared import Maker, Place, Surroundings
from toolcrib.core.call import Result
from toolcrib.core.errors import Refused
from toolcrib.core.schema import Schema
from toolcrib.core.tool import Tool

TEXT = {"type": "string"}
_PARTS = (
    "'", '"', "`", ";", "--", "/*", "*/", "\\", "\\'", "''", ")", "(", ",", "}", "{", "]", "[", ":", "::", "$1", "?1",
    "%s", "%(a)s", "${x}", "${env:SECRET}", "$${", ":x", "\n", "\r\n", "\t", "\x00", "\x1b[2J", "\u2028", "\ufeff", "\u202e",
    "é", "漢", "🙂", "NULL", "true", "1e9", "-1", "../", "%2e%2e", "%00", "%0d%0a", "&a=b", "#f", "?q=1", "@h", " ",
    "' OR '1'='1", "'; DROP TABLE kept; --", "\"}, {\"extra\": 1", "\\u0022", "$$", "E'\\''", "\x7f", "\x80", "x" * 300,
)  # fmt: skip


class NoDownloads:
    async def obtained(self, *about: object) -> str:
        raise AssertionError("nothing is to be downloaded")


class Secrets:
    """Gives what it was given, and remembers whom it was asked for."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values, self.asked = dict(values), []

    def __call__(self, tool: str, name: str, *, host: str, own: str | None) -> str:
        self.asked.append((tool, name, host, own))
        if name not in self.values:
            raise Refused(f"{name} is not among the secrets of {tool}", code="ENV_NOT_ALLOWED")
        return self.values[name]


def declare(
    make: Maker,
    fields: Mapping[str, Any],
    properties: Mapping[str, Any] | None = None,
    *,
    required: tuple[str, ...] = (),
    allow: tuple[str, ...] = (),
    folder: str = "",
    secrets: Secrets | None = None,
    name: str = "ask",
) -> Tool:
    """A tool as a skill's declaration would give it."""
    parameters = {"type": "object", "properties": dict(properties or {}), "required": list(required)}
    around = Surroundings(secrets or Secrets({}), NoDownloads(), allow)
    made = make(fields, parameters, Place(folder, "sha256:mark"), around)
    return Tool(
        name, "Asks.", Schema(parameters), made.backend, source="skill", origin="skill test", version="1.0.0",
        digest=made.backend.digest(), capabilities=made.capabilities, limits=made.limits, hooks=made.hooks,
    )  # fmt: skip


class Counter:
    """A workspace and its home, with one tool in it at a time."""

    def __init__(self, root: Path) -> None:
        self.workspace, self.home = root / "work", root / "home"
        self.workspace.mkdir(exist_ok=True)
        self.home.mkdir(mode=0o700, exist_ok=True)

    @asynccontextmanager
    async def open(self, *tools: Tool, approver: Any = None):
        approver = toolcrib.SaysYes() if approver is None else approver
        async with toolcrib.open(
            workspace=self.workspace, home=self.home, tools=list(tools), approver=approver
        ) as crib:
            yield crib

    def call(self, tool: Tool, args: Mapping[str, Any] | None = None, *, approver: Any = None, **about: Any) -> Result:
        async def once() -> Result:
            async with self.open(tool, approver=approver) as crib:
                return await crib.call(tool.name, dict(args or {}), **about)

        return asyncio.run(once())


def hostile_texts(count: int, *, seed: int, without: str = "") -> Iterator[str]:
    """The same texts each time, made of what ends, opens or changes something somewhere."""
    chance = random.Random(seed)
    for _ in range(count):
        text = "".join(chance.choice(_PARTS) for _ in range(chance.randint(1, 8)))
        yield "".join(char for char in text if char not in without)
