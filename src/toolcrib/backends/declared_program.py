"""What declarations of programs have in common: their limits, their files, and what is installed on the machine."""

import asyncio
import hashlib
import os
from collections.abc import Mapping
from typing import NamedTuple

from ..core.context import Context
from ..core.errors import Refused, ToolcribError
from ..core.jsontext import JSON
from ..core.limits import ARTIFACT_BYTES, Limits
from ..core.tool import Capabilities
from .declared import SKILL_OUTPUT_BYTES, Place, Unfit
from .field import number
from .folder import LINK, Content, Folders, content_of

SECONDS = 60.0
MOST_SECONDS = 24 * 3600.0
CAPABILITIES = Capabilities(executes_commands=True)
FOLDER = "TOOLCRIB_TOOL_DIR"
"""The variable in which a program finds what came with it."""
_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"


def program_limits(fields: Mapping[str, JSON]) -> Limits:
    """What `timeout_ms` and `max_output` say. Raises: `Unfit`."""
    milliseconds = number(fields, "timeout_ms", int(SECONDS * 1000), int(MOST_SECONDS * 1000))
    return Limits(milliseconds / 1000, number(fields, "max_output", SKILL_OUTPUT_BYTES, ARTIFACT_BYTES))


class Beside(NamedTuple):
    """A file that came with a declaration. It runs from a verified copy of all that came with it."""

    folder: str
    relative: str
    listing: str
    """Of all files in the folder."""
    pinned: str
    """The digest of the listing."""

    @property
    def path(self) -> str:
        return os.path.join(self.folder, self.relative)

    def digest(self) -> str:
        """Of the folder, if it is as it was declared; empty otherwise."""
        try:
            found = content_of(self.folder).digest
        except ToolcribError:
            return ""
        return found if found == self.pinned else ""

    async def copied(self, ctx: Context) -> str:
        """The path of the folder's copy. Raises: `Refused`, when it is not what it was."""
        programs = ctx.host.programs
        if programs is None:
            return self.folder
        if not isinstance(programs, Folders):
            message = f"{self.folder} was not started: this host keeps no verified copies of folders"
            raise Refused(message, code="TOOL_PIN_MISMATCH")
        return await asyncio.to_thread(programs.verified_folder, self.folder, self.pinned, self.listing)


def beside(relative: str, place: Place, pointer: str) -> Beside:
    """A file that came with the declaration. Raises: `Unfit`."""
    parts = relative.removeprefix("./").split("/")
    if os.path.isabs(relative) or any(part in ("", ".", "..") for part in parts) or "\0" in relative:
        raise Unfit(pointer, f"{relative!r} is no path below the folder of this declaration; write one such as bin/run")
    if not place.folder:
        raise Unfit(pointer, f"{relative} would lie in a folder, and this was handed over as text; there is none")
    content = _content(place.folder, pointer)
    path = "/".join(parts)
    if not any(each[0] == path and each[1] != LINK for each in content.files):
        raise Unfit(pointer, f"{relative} is no file of {place.folder}; put it there itself, and no link to it")
    return Beside(place.folder, path, content.listing, content.digest)


def whole_folder(place: Place, pointer: str) -> Beside:
    """All that came with the declaration. Raises: `Unfit`."""
    content = _content(place.folder, pointer)
    return Beside(place.folder, "", content.listing, content.digest)


def search_path(ctx: Context, variables: tuple[str, ...]) -> str:
    """The directories in which a tool finds programs."""
    return (ctx.host.environ.get("PATH") if "PATH" in variables else None) or _DEFAULT_PATH


def on_path(name: str, search: str) -> str | None:
    """A program by its name. A directory that depends on where one stands does not count: that is the workspace."""
    for directory in search.split(os.pathsep):
        path = os.path.join(directory, name)
        if os.path.isabs(path) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def joined_digest(mark: str, digest: str) -> str:
    """Of a declaration and the file it runs; empty when there is no such file."""
    return digest and "sha256:" + hashlib.sha256(f"{mark}\n{digest}".encode()).hexdigest()


def _content(folder: str, pointer: str) -> Content:
    try:
        return content_of(folder)
    except ToolcribError as exc:
        raise Unfit(pointer, f"{exc}; put that right") from None
