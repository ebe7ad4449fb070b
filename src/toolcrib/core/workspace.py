"""The files a tool may touch."""

import os
from typing import Protocol


class Workspace(Protocol):
    """Guarded access to the workspace, and to the further directories that the user named.

    Everything raises `ToolError`: `FILE_NOT_FOUND`, `PATH_OUTSIDE_WORKSPACE`, `PATH_NOT_REGULAR` or `READ_ERROR`; what
    writes also `PATH_PROTECTED` or `EXECUTION_ERROR`; and `APPROVAL_DENIED` where a path leads elsewhere by now.
    """

    def read(self, path: str) -> bytes: ...

    def write(self, path: str, data: bytes | str) -> None:
        """Replace a file's content, or make the file and the directories above it; whole or not at all."""
        ...

    def exists(self, path: str) -> bool: ...

    def unlink(self, path: str) -> None: ...

    def list(self, path: str = ".") -> list[str]: ...

    def stat(self, path: str) -> os.stat_result: ...
