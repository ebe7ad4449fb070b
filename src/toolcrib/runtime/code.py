"""The code index of a runtime: there when its extra is installed, and made when it is first asked."""

import itertools
import os
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ..backends.process import callers
from ..core.limits import Limits
from ..core.process import Command, Sandbox
from ..core.workspace import Workspace
from ..store.home import Home

if TYPE_CHECKING:
    from ..codeindex.index import CodeIndex
    from ..codeindex.view import View

NEEDED = ("tree_sitter", "tree_sitter_language_pack", "ast_grep_py")
"""Modules of the extra `code`."""
_LIMITS = Limits(seconds=120.0, output_bytes=256 * 1024 * 1024)


class CodeEngine:
    """Stands for the index in every call's context, and costs nothing until it is used."""

    def __init__(self, home: Home, sandbox: Sandbox, *, identity: str, environ: Mapping[str, str]) -> None:
        self._cache, self._sandbox, self._identity = home.file("cache", "code"), sandbox, identity
        self._above = callers(environ)
        self._index: CodeIndex | None = None
        self._count = itertools.count(1)

    async def settled(self, files: Workspace, *, words: bool = True) -> "View":
        """The source tree as it is now; see `CodeIndex`. Raises: `ToolError`, when the workspace cannot be read."""
        if self._index is None:
            from ..codeindex.index import CodeIndex  # late: most calls have nothing to do with code

            self._index = CodeIndex(cache=self._cache, run=self._run)
        return await self._index.settled(files, words=words)

    async def close(self) -> None:
        """Give up what is being looked at."""
        if self._index is not None:
            await self._index.close()

    async def _run(self, argv: tuple[str, ...], stdin: bytes) -> bytes:
        mark = f"{self._identity}-code{next(self._count)}"
        env = {"TOOLCRIB_CALL_ID": mark, **self._above}
        done = await self._sandbox.exec(Command(argv, os.sep, mark, env, stdin, _LIMITS))
        return b"" if done.code or done.stdout.omitted else done.stdout.head + done.stdout.tail


def code_engine(home: Home, sandbox: Sandbox, *, identity: str, environ: Mapping[str, str]) -> CodeEngine | None:
    """The index, for calls to find it in their context; None where the extra `code` is not installed.

    `identity` is the runtime's, which begins the mark of every process.
    """
    if any(find_spec(name) is None for name in NEEDED):
        return None
    return CodeEngine(home, sandbox, identity=identity, environ=environ)
