"""A command to start and how it ended. Plain data; starting it is the sandbox's business."""

import codecs
from collections.abc import Callable, Hashable, Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

from .limits import Limits


class Artifacts(Protocol):
    """Where output goes that is longer than what is kept in memory."""

    def create(self, name: str) -> tuple[str, str, int]:
        """A new file for `name`: its id, its path, and a descriptor to write to."""
        ...

    def find(self, ident: str) -> str | None:
        """The path of what has this id."""
        ...


class Programs(Protocol):
    """Where programs are kept that may run: copies that nobody swaps."""

    def verified(self, path: str, digest: str, /) -> str:
        """The path of a copy of a file. Raises: `Refused`, when its content is not what the digest says."""
        ...


class Filter(Protocol):
    """Changes a stream as it passes."""

    def feed(self, chunk: bytes, /) -> bytes: ...

    def end(self) -> bytes: ...


class Command(NamedTuple):
    """One program start. Named tuples, as all that is made for every call."""

    argv: tuple[str, ...]
    cwd: str
    mark: str
    """In the environment of the program and of all it starts, so that none is left behind."""
    env: Mapping[str, str] = MappingProxyType({})
    stdin: bytes = b""
    limits: Limits = Limits()
    artifacts: Artifacts | None = None
    filters: Callable[[], Filter | None] | None = None
    """Makes one for each output stream."""
    warm: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    """An interpreter, and what it has ready: such a worker may run this in a fork of itself, sparing the start."""
    channel: int = -1
    """A descriptor that the program is handed beside these; `TOOLCRIB_CHANNEL` has its number."""
    reads: tuple[str, ...] = ()
    """What it must be able to read, whatever confines it."""
    cage: Hashable | None = None
    """What confines it; set by the sandbox that a tool is given."""


class Captured(NamedTuple):
    """One output stream: what was kept, and exactly how much came."""

    head: bytes = b""
    tail: bytes = b""
    total: int = 0
    artifact: tuple[str, str, int] | None = None
    """Id, path and length of the file that holds the stream whole (up to the artifact limit)."""

    @property
    def omitted(self) -> int:
        return self.total - len(self.head) - len(self.tail)

    def text(self) -> str:
        """Readable whatever the bytes: one that is not UTF-8 is shown as `\\xNN`, and nothing is dropped in silence."""
        if not self.omitted:
            return (self.head + self.tail).decode("utf-8", "backslashreplace")
        where = ""
        if self.artifact:
            ident, _, kept = self.artifact
            where = f"; the {'whole is' if kept == self.total else f'first {kept} are'} artifact {ident}"
        note = f"\n[… {self.omitted} of {self.total} bytes left out{where} …]\n"
        # The cut may fall inside a character: its bytes belong to the part that was left out.
        head = codecs.getincrementaldecoder("utf-8")("backslashreplace").decode(self.head)
        start = next((at for at, byte in enumerate(self.tail[:4]) if byte & 0xC0 != 0x80), 0)
        return head + note + self.tail[start:].decode("utf-8", "backslashreplace")


class Completed(NamedTuple):
    """How a program ended. `code` is its exit status, 128+N for death by signal N."""

    code: int
    stdout: Captured
    stderr: Captured
    cut_off: bool = False
    """A descendant still held the output when its time was over, and was ended."""
    warm: bool = False
    """A worker ran it."""


Ended = Callable[[Completed], None]
"""Told how a program ended, also when the call was cancelled."""


class Sandbox(Protocol):
    """Starts a command, confined, and waits for it to end with all it started."""

    name: str

    async def exec(self, command: Command, *, ended: Ended | None = None) -> Completed: ...
