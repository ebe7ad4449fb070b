"""The files a tool may touch."""

import os
from typing import Protocol


class Workspace(Protocol):
    """Guarded access to one directory tree.

    Everything raises `ToolError`: `FILE_NOT_FOUND`, `PATH_OUTSIDE_WORKSPACE`, `PATH_NOT_REGULAR` or `READ_ERROR`.
    """

    def read(self, path: str) -> bytes: ...

    def write(self, path: str, data: bytes | str) -> None:
        """Replace a file's content, or make the file."""
        ...

    def exists(self, path: str) -> bool: ...

    def unlink(self, path: str) -> None: ...

    def list(self, path: str = ".") -> list[str]: ...

    def stat(self, path: str) -> os.stat_result: ...
