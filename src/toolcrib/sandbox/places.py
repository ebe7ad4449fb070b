"""Where tools may work: the workspace, further directories the user named, and what in them nobody writes to."""

import errno
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from ..core.tool import NAME
from ._beneath import FOLDER, LOOK, Opened, is_below, open_beneath, open_root
from .protected import fold, why_protected

_MANIFEST = "tool.yaml"  # makes a folder a tool
_LONGEST = 4096
_DEEPEST_ROOT = 64
_NOT_ASKED = frozenset(("proc", "dev", "sys", "net"))  # other for each process, or mounted by being looked at


class Located(NamedTuple):
    """What a path leads to, for judging and showing it."""

    real: str
    """Absolute; links are followed as far as they exist."""
    zone: str
    """`workspace`, `root` for another directory that the user named, `tool` for a tool's folder, or `outside`."""
    writable: bool
    """Not in a directory that may only be read, and not outside."""
    protected: str = ""
    """Why writing here is refused, or nothing."""
    tool: str = ""
    """The folder of the tool that would be changed; outside the workspace, also of one that would be read."""


class Found(NamedTuple):
    """What was opened."""

    fd: int
    real: str
    owner: int
    """Whose the directory is that it was opened below."""


@dataclass(frozen=True, slots=True)
class _Root:
    real: str
    spellings: tuple[tuple[str, ...], ...]
    writable: bool
    named: bool
    """By the user, as opposed to the workspace, which may just be where somebody stood."""
    tool: bool = False
    """A tool's own folder, where its author works."""


class Places:
    """The directories that tools may use. Paths are looked up by opening them below one of these."""

    def __init__(
        self,
        workspace: str,
        *,
        roots: Mapping[str, str] = MappingProxyType({}),
        protected: Sequence[str] = (),
        bench: str = "",
    ) -> None:
        """`roots` are further directories: absolute path to `read` or `write`.

        `protected` are further paths that no tool writes to, except in a root for writing that is that very place or
        lies in it: so does the directory of tools become writable, when the user's configuration names it.

        `bench` is the directory of the user's tools. In it, what lies in a folder that has a manifest may be read and
        written: such a folder is not started by being there, whereas a program beside it is. The rest stays closed.
        """
        if wrong := {kind for kind in roots.values() if kind not in ("read", "write")}:
            raise ValueError(f"a root is for `read` or for `write`, not for {sorted(wrong)}")
        others = [_root(path, writable=kind == "write", named=True) for path, kind in roots.items()]
        self._workspace = _root(workspace, writable=True, named=False)
        self._roots = (self._workspace, *sorted(others, key=lambda root: len(root.real), reverse=True))
        self._protected = frozenset(_folded(each) for path in protected for each in _both_ends(path))
        self._bench = _root(bench, writable=False, named=False) if bench else None
        self.workspace, self.bench = self._workspace.real, self._bench.real if self._bench else ""

    def locate(self, path: str, *, write: bool = False) -> Located:
        """Where a path leads now. `protected` is filled when it is `write` that is asked about; reading is free.

        Raises nothing: what cannot be followed is outside.
        """
        try:
            real = self._real(path)
        except (OSError, ValueError):
            return Located(self._elsewhere(path), "outside", writable=False)
        root = self._ruling(real)
        if root is None:
            return Located(real, "outside", writable=False)
        protected = self.why_protected(real) if write else ""
        tool = root.real if root.tool else ""
        if is_below(real, self.workspace):  # where reading is free
            return Located(real, "workspace", root.writable, protected, tool if write else "")
        return Located(real, "tool" if tool else "root", root.writable, protected, tool)

    @contextmanager
    def open(self, path: str, flags: int) -> Iterator[Found]:
        """What a path names, opened below the root it belongs to.

        Raises:
            OSError: EXDEV when it is outside, and all that opening a file can give.
            ValueError: no path looks like this.
        """
        root, relative = self._belonging(path)
        with _held(_top(root)) as top, _held(open_beneath(top, relative, flags)) as found:
            yield Found(found.fd, found.real, os.fstat(top.fd).st_uid)

    @contextmanager
    def nearest(self, path: str) -> Iterator[tuple[Found, tuple[str, ...]]]:
        """The deepest directory on the way to something that is not there, and the names that are missing below it."""
        root, relative = self._belonging(path)
        steps = [step for step in relative.split("/") if step not in ("", ".")]
        if not steps:
            raise FileNotFoundError(path)
        with _held(_top(root)) as top:
            cut = _deepest(top, steps[:-1])
            if ".." in steps[cut:]:
                raise FileNotFoundError(path)
            with _held(open_beneath(top, "/".join(steps[:cut]) or ".", FOLDER)) as folder:
                yield Found(folder.fd, folder.real, os.fstat(top.fd).st_uid), tuple(steps[cut:])

    def is_writable(self, real: str) -> bool:
        """Whether the innermost root that holds a real path is one for writing."""
        root = self._ruling(real)
        return root is not None and root.writable

    def why_protected(self, real: str) -> str:
        """Why nobody writes at a real path, or nothing."""
        root = self._ruling(real)
        if root is None:
            return "outside"
        folded = _folded(real)
        above = {folded[:length] for length in range(1, len(folded) + 1)}
        kept = self._protected & above
        inside = _folded(root.real) if root.named and root.writable else ()
        if root.tool:
            inside = _folded(os.path.dirname(root.real))  # it lies where nobody writes, and is itself no such place
        if any(inside[: len(each)] != each for each in kept):
            return "where Toolcrib keeps its configuration and its tools"
        return why_protected(real, root.real)

    def _ruling(self, real: str) -> _Root | None:
        """The innermost root that holds a real path: what it says goes, and the user's word before the workspace."""
        holding = [root for root in self._roots if is_below(real, root.real)]
        if (tool := self._tool_above(real)) and not any(_beats(root, tool) for root in holding):
            return tool
        return max(holding, key=lambda root: (len(root.real), root.named), default=None)

    def _belonging(self, path: str) -> tuple[_Root, str]:
        """The root that a path is looked up in, and the rest of the path. What it names is not looked at here."""
        if not path:
            raise FileNotFoundError(path)
        if "\0" in path:
            raise ValueError("a path cannot hold a NUL")
        if len(os.fsencode(path)) >= _LONGEST:
            raise ValueError(f"a path has less than {_LONGEST} bytes")
        if not path.startswith("/"):
            return self._workspace, path
        steps = tuple(step for step in path.split("/") if step not in ("", "."))
        tail = "/" if path.endswith(("/", "/.")) else ""
        for root in self._roots:
            for spelling in root.spellings:
                if steps[: len(spelling)] == spelling:
                    return root, _rest(steps[len(spelling) :], tail)
        for spelling in self._bench.spellings if self._bench else ():
            if steps[: len(spelling)] == spelling and (tool := self._tool(steps[len(spelling) :])):
                return tool, _rest(steps[len(spelling) + 1 :], tail)
        return self._by_another_name(steps, tail)

    def _tool(self, steps: Sequence[str]) -> _Root | None:
        """The tool's folder that a path below the bench begins with, if it has the name of one."""
        if self._bench is None or not steps or not NAME.fullmatch(steps[0]):
            return None
        real = os.path.join(self._bench.real, steps[0])
        return _Root(real, (), writable=True, named=False, tool=True)

    def _tool_above(self, real: str) -> _Root | None:
        """The tool's folder that a real path is or lies in, if there is one now."""
        if self._bench is None or not is_below(real, self._bench.real):
            return None
        tool = self._tool(real[len(self._bench.real) :].strip("/").split("/"))
        if tool is None:
            return None
        try:
            with _held(_top(tool)):
                return tool
        except OSError:
            return None

    def _by_another_name(self, steps: tuple[str, ...], tail: str) -> tuple[_Root, str]:
        """An absolute path may reach a root through a link, or on some systems in other letters."""
        known = {}
        for root in reversed(self._roots):
            try:
                known[_identity(root.real)] = root
            except OSError:
                continue
        if steps and steps[0] not in _NOT_ASKED:
            for length in range(1, min(len(steps), _DEEPEST_ROOT) + 1):
                try:
                    found = known.get(_identity("/" + "/".join(steps[:length])))
                except OSError:
                    break
                if found is not None:
                    return found, _rest(steps[length:], tail)
        raise OSError(errno.EXDEV, "lies in no directory that tools may use")

    def _real(self, path: str) -> str:
        try:
            with self.open(path, LOOK) as found:
                return found.real
        except (FileNotFoundError, NotADirectoryError):
            with self.nearest(path) as (folder, names):
                return os.path.join(folder.real, *names)

    def _elsewhere(self, path: str) -> str:
        spelled = os.path.join(self.workspace, path)
        try:
            return os.path.realpath(spelled)
        except (OSError, ValueError):
            return spelled


def _top(root: _Root) -> Opened:
    """A root, open. What a tool's folder is, is found out by opening it: it is no link, and its manifest is a file.

    Raises:
        OSError: EXDEV when it is not what it was, or no tool's folder.
    """
    if not root.tool:
        return open_root(root.real)
    bench, name = os.path.split(root.real)
    try:
        with _held(open_root(bench)) as above:
            folder = open_beneath(above, name, FOLDER)
    except (FileNotFoundError, NotADirectoryError):
        raise OSError(errno.EXDEV, "is no tool's folder") from None
    if folder.real == root.real and _is_file(_MANIFEST, folder.fd):
        return folder
    os.close(folder.fd)
    raise OSError(errno.EXDEV, "is no tool's folder")


def _is_file(name: str, folder: int) -> bool:
    try:
        return stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _beats(root: _Root, tool: _Root) -> bool:
    """Whether the user said by name what holds there."""
    return root.named and is_below(root.real, os.path.dirname(tool.real))


@contextmanager
def _held(opened: Opened) -> Iterator[Opened]:
    try:
        yield opened
    finally:
        os.close(opened.fd)


def _root(path: str, *, writable: bool, named: bool) -> _Root:
    spelled, real = os.path.abspath(path), os.path.realpath(path)
    try:
        with _held(open_root(real)) as opened:
            real = opened.real
    except OSError:
        pass  # not there yet; whoever makes it may not make it a link
    spellings = dict.fromkeys(tuple(each.strip("/").split("/")) if each.strip("/") else () for each in (spelled, real))
    return _Root(real, tuple(spellings), writable, named)


def _deepest(top: Opened, steps: Sequence[str]) -> int:
    """How many of these steps there are. Halving, since a hostile path may have thousands."""
    low, high, probe = 0, len(steps), len(steps)
    while low < high:
        try:
            with _held(open_beneath(top, "/".join(steps[:probe]), FOLDER)):
                low = probe
        except (FileNotFoundError, NotADirectoryError):
            high = probe - 1
        probe = (low + high + 1) // 2
    return low


def _both_ends(path: str) -> tuple[str, str]:
    """Where a path leads, and itself, which may be a link that must not be turned elsewhere."""
    parent, name = os.path.split(os.path.abspath(path))
    return os.path.realpath(path), os.path.join(os.path.realpath(parent), name)


def _folded(path: str) -> tuple[str, ...]:
    return tuple(fold(name) for name in path.split("/") if name)


def _rest(steps: tuple[str, ...], tail: str) -> str:
    return "/".join(steps) + tail if steps else "."


def _identity(path: str) -> tuple[int, int]:
    about = os.stat(path)
    return about.st_dev, about.st_ino
