"""A crib whose person answers as a test says, and remembers what was asked."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.core.policy import Answer, Question


class Person:
    """Says yes to all but what it was told to refuse."""

    def __init__(self, *refuses: str) -> None:
        self.refuses = refuses
        self.asked: list[Question] = []

    async def approve(self, question: Question) -> Answer:
        self.asked.append(question)
        return Answer(allowed=question.tool.name not in self.refuses, by="test")

    @property
    def names(self) -> list[str]:
        """Of the tools that were asked about."""
        return [question.tool.name for question in self.asked]


class Shop:
    """The home, the workspace and the person of one test."""

    def __init__(self, home: Path, workspace: Path) -> None:
        self.home, self.workspace, self.person = home, workspace, Person()
        self.tools = home / "tools"

    def use(self, work: Callable[[toolcrib.Crib], Awaitable[Any]]) -> Any:
        """What some work with a crib comes to."""

        async def opened() -> Any:
            async with toolcrib.open(home=self.home, workspace=self.workspace, approver=self.person) as crib:
                return await work(crib)

        return asyncio.run(opened())

    def call(self, name: str, args: dict[str, Any], **options: Any) -> toolcrib.Result:
        return self.use(lambda crib: crib.call(name, args, **options))  # type: ignore[no-any-return]

    def create(self, name: str = "shout", **more: Any) -> Path:
        """Make a tool by the front door."""
        made = self.call("create_custom_tool", {"name": name, "description": "Say it loudly.", **more})
        assert made.success, made.error
        return Path(made.data["folder"])

    def tree(self) -> dict[str, Any]:
        """All that lies in the home and the workspace, but for the record and the memory of answers."""
        kept = {}
        for root in (self.home, self.workspace):
            for path in sorted(root.rglob("*")):
                below = path.relative_to(root).as_posix()
                if not below.startswith(("audit", "state.db", "cache")):
                    kept[str(path)] = path.read_bytes() if path.is_file() else None
        return kept


@pytest.fixture
def shop(home: Path, workspace: Path) -> Shop:
    return Shop(home, workspace)
