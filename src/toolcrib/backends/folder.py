"""A folder as a tool: one of its files is started, with a `--name=value` word for each argument.

The tool is the whole folder. Its digest is that of the list of its files, so a changed helper is a changed tool, and
what runs is a copy of all of them.
"""

import errno
import hashlib
import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from ..core.context import Context
from ..core.errors import Refused, ToolcribError, ToolError
from ..core.jsontext import JSON, canonical
from .arguments import flags
from .process import in_terms_of, plain_answer, readable, run_program, worker_for
from .wishes import NO_WISHES, Wishes

MANIFEST = "tool.yaml"
MOST_FILES = 2000
MOST_BYTES = 64 * 1024**2
LEFT_OUT = frozenset((".git", "__pycache__"))
"""Directories that change by themselves. They are no part of a tool: neither of its digest nor of its copy."""
PROGRAM, FILE, LINK = "program", "file", "link"
_DEPTH = 16
_CHUNK = 1 << 20
_RACY_NS = 50_000_000
"""A file that changed this very moment may change again without a new time stamp: such a state is not remembered."""
_NOT_THERE = (0, 0, 0)
_OPENING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_contents: dict[str, "Content"] = {}

File = Sequence[str]
"""Path below the folder, kind (`program`, `file` or `link`), and its digest, or where the link leads."""


class Content(NamedTuple):
    """What lies in a folder."""

    files: list[File]
    """Sorted by path."""
    listing: str
    """The same as canonical JSON."""
    manifest: bytes
    """The very bytes that were hashed; of one that is longer than any manifest may be, the first of them."""
    paths: list[str]
    """All that was looked at, directories too."""
    states: list[int]
    """Three numbers for each path: inode, ctime, size. Nobody can set a ctime, and whatever is changed changes it."""

    @property
    def digest(self) -> str:
        return digest_of(self.listing)

    @property
    def settled(self) -> bool:
        """Whether another change would show in the states."""
        return time.time_ns() - max(self.states[1::3]) > _RACY_NS


@runtime_checkable
class Folders(Protocol):
    """Where folders are kept that may run: copies that nobody swaps."""

    def verified_folder(self, path: str, digest: str, listing: str, /) -> str:
        """The path of a copy of a folder. Raises: `Refused`, when its content is not what the listing says."""
        ...


class FolderBackend(NamedTuple):
    """`<folder>/<entrypoint> --name=value …`, with nothing on stdin."""

    folder: str
    entrypoint: str
    names: tuple[str, ...]
    """The arguments it knows, in the order in which it gets them."""
    listing: str
    """Of the files that it is made of."""
    pinned: str
    """The digest of the listing."""
    variables: tuple[str, ...] = ("PATH", "HOME", "USER")
    wishes: Wishes = NO_WISHES
    replaces: tuple[str, ...] = ()
    """Folders beside this one whose tools it takes the place of."""
    warm: bool = False
    """Whether it may be started by a process that is kept ready for it."""

    @property
    def starts_process(self) -> bool:
        return True

    @property
    def kind(self) -> str:
        """By which settings of the confinement it runs."""
        return "manifest"

    @property
    def program(self) -> str:
        """What people know it by; what is started is its copy."""
        return f"{self.folder}/{self.entrypoint}"

    async def run(self, args: Mapping[str, JSON], ctx: Context) -> Any:
        words = flags(args, self.names)
        folder = self._startable(ctx)
        own = {"TOOLCRIB_TOOL_DIR": folder, "FORGE_WORKSPACE": ctx.cwd}
        try:
            program = f"{folder}/{self.entrypoint}"
            warm = worker_for(program) if self.warm else None
            done = await run_program(
                (program, *words), ctx, variables=self.variables, own=own, warm=warm, reads=readable(folder)
            )
        except ToolError as exc:
            raise in_terms_of(self.folder, folder, exc) from None
        return plain_answer(done, ctx)

    def digest(self) -> str:
        try:
            return content_of(self.folder).digest
        except ToolcribError:
            return ""

    def _startable(self, ctx: Context) -> str:
        programs = ctx.host.programs
        if programs is None:
            return self.folder
        if not isinstance(programs, Folders):
            message = f"{self.folder} was not started: this host keeps no verified copies of folders"
            raise Refused(message, code="TOOL_PIN_MISMATCH")
        return programs.verified_folder(self.folder, self.pinned, self.listing)


def digest_of(listing: str) -> str:
    return "sha256:" + hashlib.sha256(listing.encode()).hexdigest()


def content_of(folder: str) -> Content:
    """The same as `read_folder`, read again only when something in the folder is another one."""
    held = _contents.get(folder)
    if held is not None and states_of(held.paths) == held.states:
        return held
    found = read_folder(folder)
    if found.settled:
        _contents[folder] = found
    return found


def read_folder(folder: str) -> Content:
    """Everything in a folder, hashed. No link is followed, no pipe is waited for, nothing is started.

    Raises:
        ToolcribError: something in it cannot be a part of a tool.
    """
    paths: list[str] = []
    states: list[int] = []
    found = list(_walk(folder, "", paths, states, _DEPTH))
    if len(found) > MOST_FILES:
        raise _unfit(folder, f"it has more than {MOST_FILES} files", "INPUT_TOO_LARGE")
    if sum(seen.st_size for _, seen in found) > MOST_BYTES:
        raise _unfit(folder, f"its files are longer than {MOST_BYTES} bytes together", "INPUT_TOO_LARGE")
    files: list[File] = []
    manifest = b""
    for relative, seen in sorted(found):
        path = f"{folder}/{relative}"
        try:
            if stat.S_ISLNK(seen.st_mode):
                files.append((relative, LINK, _target(folder, relative)))
            elif stat.S_ISREG(seen.st_mode):
                digest, data = _read(path, seen.st_size)
                if relative == MANIFEST:
                    manifest = data
                files.append((relative, PROGRAM if seen.st_mode & 0o111 else FILE, digest))
            else:
                raise _unfit(folder, f"{relative} is no file, link or directory; remove it", "PATH_NOT_REGULAR")
        except OSError as exc:
            raise _unfit(folder, f"{relative} cannot be read: {exc.strerror}", "READ_ERROR") from None
        paths.append(path)
        states += (seen.st_ino, seen.st_ctime_ns, seen.st_size)
    return Content(files, canonical(files).decode(), manifest, paths, states)


def paths_in(folder: str) -> list[str]:
    """All that `read_folder` would look at. Nothing is opened. Raises: `ToolcribError`, as that does."""
    directories: list[str] = []
    found = [f"{folder}/{relative}" for relative, _ in _walk(folder, "", directories, [], _DEPTH)]
    return [*directories, *found]


def states_of(paths: Sequence[str], directory: int | None = None) -> list[int]:
    """How these are now, below an open directory where one is given. Nothing is opened."""
    states: list[int] = []
    lstat = os.lstat
    for path in paths:
        try:
            seen = lstat(path, dir_fd=directory)
        except OSError:
            states += _NOT_THERE
            continue
        states += (seen.st_ino, seen.st_ctime_ns, seen.st_size)
    return states


def _walk(
    folder: str, below: str, directories: list[str], states: list[int], depth: int
) -> Iterator[tuple[str, os.stat_result]]:
    """What lies below the folder, as it is itself; directories are only listed, each as it was before it was read."""
    directory = f"{folder}/{below or '.'}"  # so that a folder which is a link is looked into
    directories.append(directory)
    states += states_of((directory,))
    try:
        with os.scandir(directory) as entries:
            inside = [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries]
    except OSError as exc:
        raise _unfit(folder, f"{below or 'it'} cannot be looked into: {exc.strerror}", "READ_ERROR") from None
    for name, seen in inside:
        relative = f"{below}/{name}" if below else name
        if not name.isascii() and any("\ud800" <= char <= "\udfff" for char in name):
            raise _unfit(folder, f"the name {ascii(relative)} in it is not UTF-8; rename it", "TOOL_NAME_INVALID")
        if not stat.S_ISDIR(seen.st_mode):
            yield relative, seen
        elif name not in LEFT_OUT:
            if not depth or len(directories) > MOST_FILES:
                raise _unfit(folder, f"it is nested deeper than {_DEPTH} levels, or too wide", "INPUT_TOO_LARGE")
            yield from _walk(folder, relative, directories, states, depth - 1)


def _read(path: str, length: int) -> tuple[str, bytes]:
    """The digest of a file that has this length, and what it begins with.

    Whatever else stands in its place by now, it is not waited for, and no more of it is read.

    Raises:
        OSError: it cannot be read, or has another length.
    """
    fd = os.open(path, _OPENING)
    try:
        data = os.read(fd, min(length + 1, _CHUNK))  # room for more than there is costs more than reading it
        hashed, size = hashlib.sha256(data), len(data)
        while _CHUNK <= size <= length and (chunk := os.read(fd, _CHUNK)):
            hashed.update(chunk)
            size += len(chunk)
        if size != length:
            raise OSError(errno.EAGAIN, "it changes while it is read")
        return "sha256:" + hashed.hexdigest(), data
    finally:
        os.close(fd)


def _target(folder: str, relative: str) -> str:
    """Where a link leads, which must be in the folder."""
    path, root = f"{folder}/{relative}", os.path.realpath(folder)
    target, real = os.readlink(path), os.path.realpath(path)
    if os.path.isabs(target) or not (real + "/").startswith(root + "/"):
        raise _unfit(folder, f"{relative} is a link that leads out of the folder, to {real}", "PATH_OUTSIDE_WORKSPACE")
    if not os.path.exists(real) or not target.isprintable():
        raise _unfit(folder, f"{relative} is a link that leads nowhere; remove it", "FILE_NOT_FOUND")
    return target


def _unfit(folder: str, reason: str, code: str) -> ToolcribError:
    return ToolcribError(f"the folder {os.path.basename(folder)} is not offered: {reason}", code=code)
