"""Files of the workspace as the parts of a form, read while they are sent."""

import mimetypes
import os
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack
from typing import BinaryIO, NamedTuple

from ..core.errors import ToolError
from ..core.workspace import Workspace
from .http_message import Body

MOST_BYTES = 256 * 1024 * 1024
_CHUNK = 64 * 1024
_TYPE = re.compile(r"[a-z0-9.+-]+/[a-z0-9.+-]+")
_ESCAPES = str.maketrans({"\r": "%0D", "\n": "%0A", '"': "%22"})
"""As browsers do it: no name ends its quotes or its line."""


class _Part(NamedTuple):
    head: bytes
    file: BinaryIO
    size: int
    path: str


def multipart(
    fields: Sequence[tuple[str, str]], files: Sequence[tuple[str, str]], workspace: Workspace, opened: ExitStack
) -> Body:
    """A form of plain fields, then files: pairs of a field's name and a path. The files stay open with `opened`.

    Raises:
        ToolError: a file cannot be read, or they are too much.
    """
    boundary = f"toolcrib-{os.urandom(16).hex()}"
    plain = b"".join(_head(boundary, name) + value.encode() + b"\r\n" for name, value in fields)
    parts = [_opened(boundary, name, path, workspace, opened) for name, path in files]
    end = f"--{boundary}--\r\n".encode()
    content = sum(part.size for part in parts)
    if content > MOST_BYTES:
        message = f"the files have {content} bytes together, and at most {MOST_BYTES} go; send fewer"
        raise ToolError(message, code="INPUT_TOO_LARGE", before_effect=True)
    length = len(plain) + sum(len(part.head) + part.size + 2 for part in parts) + len(end)

    async def chunks() -> AsyncIterator[bytes]:
        yield plain
        for part in parts:
            yield part.head
            part.file.seek(0)
            left = part.size
            while left:
                chunk = part.file.read(min(_CHUNK, left))
                if not chunk:
                    raise ToolError(f"{part.path} became shorter while it was sent; send it again when it is at rest")
                left -= len(chunk)
                yield chunk
            yield b"\r\n"
        yield end

    return Body(f"multipart/form-data; boundary={boundary}", length, chunks)


def _opened(boundary: str, name: str, path: str, workspace: Workspace, opened: ExitStack) -> _Part:
    file = opened.enter_context(workspace.open(path))
    size = file.seek(0, os.SEEK_END)
    base = os.path.basename(path) or "file"
    guessed = (mimetypes.guess_type(base)[0] or "").lower()
    kind = guessed if _TYPE.fullmatch(guessed) else "application/octet-stream"
    return _Part(_head(boundary, name, base, kind), file, size, path)


def _head(boundary: str, name: str, file: str = "", kind: str = "") -> bytes:
    disposition = f'Content-Disposition: form-data; name="{name.translate(_ESCAPES)}"'
    if file:
        disposition += f'; filename="{file.translate(_ESCAPES)}"\r\nContent-Type: {kind}'
    return f"--{boundary}\r\n{disposition}\r\n\r\n".encode("utf-8", "surrogateescape")
