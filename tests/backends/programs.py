"""Script and binary tools without a skill around them, called through the real gate."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.unconfined import unconfined

import toolcrib
from toolcrib.backends.declared import Downloads, Maker, Place, Surroundings
from toolcrib.core.call import Result
from toolcrib.core.context import Context
from toolcrib.core.errors import Refused
from toolcrib.core.schema import Schema
from toolcrib.core.tool import Tool
from toolcrib.runtime.runtime import Crib

MARK = "sha256:" + "0" * 64
TEXT = {"type": "string"}
TELLS = (
    f"#!{sys.executable}"
    + """
import json, os, sys
print(json.dumps({"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(), "stdin": sys.stdin.read()}))
"""
)
"""A program that says how it was started."""


class NoDownloads:
    async def obtained(self, url: str, sha256: str, member: str, ctx: Context) -> str:
        raise AssertionError("nothing is to be downloaded")


def no_secret(tool: str, name: str, *, host: str, own: str | None) -> str:
    raise Refused(f"{tool} has no secrets", code="ENV_NOT_ALLOWED")


class Bench:
    """A workspace, a home and a skill's folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.workspace, self.home, self.folder = root / "work", root / "home", root / "skill"
        self.folder.mkdir()
        self.workspace.mkdir(exist_ok=True)
        self.home.mkdir(mode=0o700, exist_ok=True)
        unconfined(self.home)

    def program(self, text: str = TELLS, name: str = "tells") -> str:
        """The path of an executable file in the skill's folder."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    def tool(
        self,
        make: Maker,
        fields: Mapping[str, Any],
        parameters: Mapping[str, Any] | None = None,
        *,
        name: str = "tool",
        folder: str | None = None,
        downloads: Downloads | None = None,
    ) -> Tool:
        """As a skill's declaration would give it."""
        schema = {"type": "object", **(parameters or {})}
        around = Surroundings(no_secret, downloads or NoDownloads())
        made = make(fields, schema, Place(str(self.folder) if folder is None else folder, MARK), around)
        return Tool(
            name, "A tool.", Schema(schema), made.backend, source="skill", origin="skill test",
            digest=made.backend.digest(), capabilities=made.capabilities, limits=made.limits, hooks=made.hooks,
        )  # fmt: skip

    @asynccontextmanager
    async def open(self, *tools: Tool) -> AsyncIterator[Crib]:
        async with toolcrib.open(
            workspace=self.workspace, home=self.home, tools=list(tools), approver=toolcrib.SaysYes()
        ) as crib:
            yield crib

    def call(self, tool: Tool, args: Mapping[str, Any] | None = None, **about: Any) -> Result:
        async def once() -> Result:
            async with self.open(tool) as crib:
                return await crib.call(tool.name, dict(args or {}), **about)

        return asyncio.run(once())


def leftovers(mark: str) -> list[int]:
    """Processes with this text in their environment or command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as env, open(f"/proc/{pid}/cmdline", "rb") as line:
                if mark.encode() in env.read() + line.read():
                    found.append(int(pid))
        except OSError:
            continue
    return found
