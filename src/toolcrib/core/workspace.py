"""The files a tool may touch."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import BinaryIO, NamedTuple, Protocol


class Folder(NamedTuple):
    """A directory that was opened. Whoever looks through it goes by the descriptor, which no link can turn aside."""

    fd: int
    real: str


class Workspace(Protocol):
    """Guarded access to the workspace, and to the further directories that the user named.

    Everything raises `ToolError`: `FILE_NOT_FOUND`, `PATH_OUTSIDE_WORKSPACE`, `PATH_NOT_REGULAR` or `READ_ERROR`; what
    writes also `PATH_PROTECTED` or `EXECUTION_ERROR`; and `APPROVAL_DENIED` where a path leads elsewhere by now.
    """

    def read(self, path: str) -> bytes: ...

    def open(self, path: str, *, glance: bool = False) -> AbstractContextManager[BinaryIO]:
        """A regular file, to be read in parts. After a `glance`, the session does not count as having read it."""
        ...

    def write(self, path: str, data: bytes | str) -> None:
        """Replace a file's content, or make the file and the directories above it; whole or not at all."""
        ...

    def change(self, path: str, make: Callable[[bytes | None], bytes]) -> None:
        """Write what `make` makes of the content, None where there is no file, with nobody else writing in between.

        Refused when the file is not what the session has read.
        """
        ...

    def exists(self, path: str) -> bool: ...

    def unlink(self, path: str) -> None: ...

    def list(self, path: str = ".") -> list[str]: ...

    def directory(self, path: str = ".") -> AbstractContextManager[Folder]: ...

    def stat(self, path: str) -> os.stat_result: ...
