"""A tree to ask about, through the real index and the real guard."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from toolcrib.sandbox.guard import GuardedFiles

if TYPE_CHECKING:
    from toolcrib.codeindex.query import Code
    from toolcrib.codeindex.tree import Tree
    from toolcrib.codeindex.view import View


async def run_program(argv: tuple[str, ...], stdin: bytes) -> bytes:
    """As the sandbox would, without one."""
    process = await asyncio.create_subprocess_exec(*argv, stdin=-1, stdout=-1, env={})
    try:
        said, _ = await process.communicate(stdin)
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    return said


class Sources:
    """Files of one test, and questions about them."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for path, content in files.items():
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)

    def ask(self, question: "Callable[[Code], Awaitable[Any]]") -> Any:
        """What a question comes to, put to an index made from nothing."""

        from toolcrib.codeindex.index import CodeIndex  # late: not every test in this directory needs all of it
        from toolcrib.codeindex.query import Code

        async def asked() -> Any:
            return await question(Code(CodeIndex(cache=None, run=None), GuardedFiles(self.root), run_program))

        return asyncio.run(asked())

    def view(self) -> "View":
        from toolcrib.codeindex.index import CodeIndex

        async def settled() -> "View":
            return await CodeIndex(cache=None, run=None).settled(GuardedFiles(self.root))

        return asyncio.run(settled())

    def tree(self) -> "Tree":
        from toolcrib.codeindex.tree import Tree

        files = GuardedFiles(self.root)
        return Tree(self.view(), lambda path: files.read(path) if files.exists(path) else None)


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    root = tmp_path / "sources"
    root.mkdir()
    return Sources(root)
