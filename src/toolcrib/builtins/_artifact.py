"""Output that a limit cut, for the tools that look at the whole of it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from ..core.context import Context
from ..core.errors import ToolError
from ..core.jsontext import JSON

IDENT: dict[str, JSON] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 100,
    "description": "The id of an artifact, as a cut answer names it.",
}


@contextmanager
def opened(ident: str, ctx: Context) -> Iterator[tuple[BinaryIO, int]]:
    """An artifact, and its length."""
    path = ctx.host.artifacts.find(ident) if ctx.host.artifacts is not None else None
    try:
        if path is None:
            raise FileNotFoundError
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        message = f"there is no artifact {ident[:100]!r}; they are kept for two weeks: call the tool again"
        raise ToolError(message, code="FILE_NOT_FOUND", details={"id": ident}) from None
    with open(fd, "rb") as file:
        yield file, os.fstat(fd).st_size
