"""A shelf of programs, looked at through a crib as anybody would."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.cli._project import keep_texts
from toolcrib.policy.project_files import project_files
from toolcrib.policy.trust import Trust
from toolcrib.store.blobs import Blobs
from toolcrib.store.home import Home


class Shelf:
    """Programs of the user and of a project. Each notes in a file outside that it was started, and how."""

    def __init__(self, home: Path, project: Path, log: Path) -> None:
        self.home, self.project, self.log = home, project, log
        self.user_tools, self.project_tools = home / "tools", project / ".toolcrib" / "tools"

    def program(self, file: str, text: str, *, of_project: bool = False, mode: int = 0o755) -> Path:
        path = (self.project_tools if of_project else self.user_tools) / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!/bin/sh\necho "{file} $*" >> {self.log}\n{text}\n')
        path.chmod(mode)
        return path

    def tool(self, file: str, *, name: str | None = None, does: str = "cat", **about: Any) -> Path:
        """One that describes itself well."""
        where = {key: about.pop(key) for key in ("of_project", "mode") if key in about}
        words = {"name": name or file, "description": f"Is {file}.", "input_schema": {"type": "object"}} | about
        return self.program(file, describing(json.dumps(words), does), **where)

    def trust(self) -> None:
        home = Home(self.home)
        trust = Trust(home.file("trust.json"), lambda data: home.replace(data, "trust.json"))
        found = project_files(str(self.project))
        trust.add(str(self.project), found)
        keep_texts(str(self.project), found, Blobs(home))

    def opened(self, work: Callable[[toolcrib.Crib], Any] | None = None) -> Any:
        """What `work` makes of an open crib; without it, the names on offer."""

        async def visit() -> Any:
            async with toolcrib.open(workspace=self.project, home=self.home, approver=toolcrib.SaysYes()) as crib:
                if work is None:
                    return [tool.name for tool in crib.tools()]
                made = work(crib)
                return await made if asyncio.iscoroutine(made) else made

        return asyncio.run(visit())

    def problems(self) -> dict[str, tuple[str, str]]:
        """Code and message of what is not on offer, by the file's name."""
        return self.opened(lambda crib: {os.path.basename(p.origin): (p.code, p.message) for p in crib.problems()})

    def problem(self, file: str) -> tuple[str, str]:
        return self.problems()[file]

    def one(self) -> toolcrib.Tool:
        (tool,) = self.opened(lambda crib: crib.tools())
        return tool

    def started(self) -> list[str]:
        """Which programs were started since the last time this was asked, and with what."""
        lines = sorted(self.log.read_text().splitlines()) if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return lines


def describing(words: str, does: str = "cat") -> str:
    return f"if [ \"$1\" = description ]; then cat <<'END'\n{words}\nEND\nelse\n{does}\nfi"


@pytest.fixture
def shelf(home: Path, workspace: Path, tmp_path: Path) -> Shelf:
    (home / "config.yaml").write_text("toolsets: {}\n")  # programs only
    return Shelf(home, workspace, tmp_path / "started.log")


class Modules:
    """A Python module of the user's, and the tools that a crib makes of it."""

    def __init__(self, home: Path, workspace: Path, isolation: str = "inline") -> None:
        self.home, self.workspace, self.isolation = home, workspace, isolation
        self.path = home / "tools.py"

    def named(self, *tools: str, more: str = "", approval: str = "") -> None:
        """Write the configuration: these exports of `./tools.py`."""
        approval = f", approval: {approval}" if approval else ""
        names = ", ".join(json.dumps(tool) for tool in tools)
        isolation = "" if self.isolation == "inline" else f", isolation: {self.isolation}"
        line = f"toolsets: {{custom: {{module: ./tools.py, tools: [{names}]{approval}{isolation}}}}}\n"
        (self.home / "config.yaml").write_text(line + more)

    def write(self, text: str, *tools: str, **config: str) -> None:
        self.path.write_text(text)
        if tools:
            self.named(*tools, **config)

    def opened(self, work: Callable[[toolcrib.Crib], Any], *, approver: Any = None) -> Any:
        async def visit() -> Any:
            asked = toolcrib.SaysYes() if approver is None else approver
            async with toolcrib.open(workspace=self.workspace, home=self.home, approver=asked) as crib:
                made = work(crib)
                return await made if asyncio.iscoroutine(made) else made

        return asyncio.run(visit())

    def names(self) -> list[str]:
        return self.opened(lambda crib: [tool.name for tool in crib.tools()])

    def tool(self, name: str) -> toolcrib.Tool:
        return self.opened(lambda crib: crib.find(name))

    def problems(self) -> list[tuple[str, str]]:
        return self.opened(lambda crib: [(problem.code, problem.message) for problem in crib.problems()])

    def approvals(self) -> dict[str, str]:
        return self.opened(lambda crib: {tool.name: crib.verdict(tool).decision.wire for tool in crib.tools()})

    def call(self, name: str, args: dict[str, Any] | None = None, **how: Any) -> toolcrib.Result:
        approver = how.pop("approver", None)
        return self.opened(lambda crib: crib.call(name, args or {}, **how), approver=approver)


@pytest.fixture
def modules(request: pytest.FixtureRequest, home: Path, workspace: Path) -> Modules:
    """In this process, or, where the test asks for it, in processes of its own."""
    return Modules(home, workspace, getattr(request, "param", "inline"))


@pytest.fixture
def swapping() -> Iterator[Callable[[Path, Path, Path, Path], None]]:
    """`swapping(path, good, bad, draft)` renames both over a path, as fast as it can, in a process of its own."""
    running: list[subprocess.Popen[bytes]] = []

    def start(path: Path, good: Path, bad: Path, draft: Path) -> None:
        text = f"""
import os, random
while True:
    for each in ({str(bad)!r}, {str(good)!r}):
        os.link(each, {str(draft)!r})
        os.rename({str(draft)!r}, {str(path)!r})
        print(end=".", flush=True)
    for _ in range(random.randrange(8000)):  # the good one stays a little longer, never equally long
        pass
"""
        running.append(subprocess.Popen([sys.executable, "-S", "-c", text], stdout=subprocess.PIPE))
        running[-1].stdout.read(4)  # it is at work
        threading.Thread(target=running[-1].stdout.read, daemon=True).start()

    yield start
    for each in running:
        each.kill()
        each.wait()
        each.stdout.close()
