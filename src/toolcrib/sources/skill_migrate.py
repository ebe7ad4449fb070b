"""Moving the tools of a SKILL.md into a file beside it, so that other programs take the skill as well."""

import os
import re
import stat
from collections.abc import Sequence
from difflib import unified_diff
from typing import Any, NamedTuple

from ..core.jsontext import dump
from ..store.yamltext import Document, NotPlain, parse
from .skill import FILES, SIDECAR, SkillError, read_text
from .skill_file import MOST_BYTES, read_front

TOOLS_FILE = "tools.yaml"
_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*:(?=[ \t\r\n]|$)")
_MOVED = ("tools", "version")
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Migration(NamedTuple):
    """What a skill's files would become."""

    folder: str
    file: str
    """Name of its SKILL.md."""
    before: bytes
    after: bytes
    sidecar: bytes
    """What `tools.yaml` would hold; empty when there is nothing to move there."""

    @property
    def changes(self) -> bool:
        return self.before != self.after

    def diff(self) -> str:
        """The change, as `diff -u` would show it."""
        new = [("/dev/null", f"b/{TOOLS_FILE}", b"", self.sidecar)] if self.sidecar else []
        both = [(f"a/{self.file}", f"b/{self.file}", self.before, self.after), *new]
        return "".join(line for each in both for line in _diff(*each))


def migration(folder: str) -> Migration:
    """What moving the tools of a skill into `tools.yaml` would change. Nothing is written.

    Every other byte stays: comments, the order of the keys, the body. Raises: `SkillError`.
    """
    file, data = read_text(folder)
    path = f"{folder}/{file}"
    front = read_front(data, path)
    text = data.decode("utf-8-sig", "surrogateescape")
    lines = text.splitlines(keepends=True) if "\r" not in text.replace("\r\n", "") else text.split("\n")
    if front.faults or not front.present:
        said = str(front.faults[0]) if front.faults else "it has no front matter"
        message = f"{path} was not changed: {said}. Put that right first; see: toolcrib skill lint {folder}"
        raise SkillError(message)
    start, end = lines.index(next(line for line in lines if line.rstrip() == "---")) + 1, front.end - 1
    head = _Head(lines[start:end], path, _ending(lines[0]))
    moved, rest = head.split()
    if not moved:
        return Migration(folder, file, data, data, b"")
    after = "".join((*lines[:start], *rest, *lines[end:])).encode("utf-8", "surrogateescape")
    sidecar = "".join(moved.get("tools", ())).encode("utf-8", "surrogateescape")
    found = Migration(folder, file, data, after, sidecar)
    _verify(found, front.document)
    return found


def migrate(found: Migration) -> None:
    """Write it: first the new file, then the changed one in the place of the old, each whole or not at all.

    Raises:
        SkillError: a file is there already, or the skill changed meanwhile.
        OSError: it cannot be written.
    """
    at = os.open(found.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if found.sidecar:
            _add(found, at)
        if read_text(found.folder) != (found.file, found.before):
            message = f"{found.folder}/{found.file} changed meanwhile; nothing was replaced. Type it again"
            raise SkillError(message, code="TOOL_PIN_MISMATCH")
        mode = stat.S_IMODE(os.stat(found.file, dir_fd=at, follow_symlinks=False).st_mode)
        draft = _written(found.after, at, mode)
        try:
            os.rename(draft, found.file, src_dir_fd=at, dst_dir_fd=at)
        except BaseException:
            os.unlink(draft, dir_fd=at)
            raise
    finally:
        os.close(at)


class _Head:
    """The lines of a front matter, each with its line ending."""

    def __init__(self, lines: Sequence[str], path: str, ending: str) -> None:
        self._lines, self._path, self._ending = lines, path, ending

    def split(self) -> tuple[dict[str, list[str]], list[str]]:
        """The lines of what is moved, by key, and all others with what names the new file in their midst."""
        blocks = self._blocks()
        named = [name for name, _ in blocks]
        moved = {name: lines for name, lines in blocks if name in _MOVED}
        if not moved:
            return {}, []
        entries = []
        if "version" in moved:
            entries.append(("version", _value(moved["version"])))
        if "tools" in moved:
            entries.append((SIDECAR, TOOLS_FILE))
        rest = []
        for name, lines in blocks:
            if name not in moved:
                rest += self._with(lines, entries) if name == "metadata" else lines
        if "metadata" not in named:
            rest += ["metadata:" + self._ending, *self._entries(entries, "  ")]
        return moved, rest

    def _blocks(self) -> list[tuple[str, list[str]]]:
        """Each key at the top with its lines. Comments and blank lines stay with the key that they stand above."""
        found: list[tuple[str, list[str]]] = []
        above: list[str] = []
        for line in self._lines:
            match = _KEY.match(line)
            if match:
                found.append((match[1], [*above, line] if match[1] not in _MOVED else [line]))
                if match[1] in _MOVED and above:
                    found.insert(-1, ("", above))
                above = []
            elif found and (line[:1] in " \t-" and line.strip()):
                found[-1][1].extend((*above, line))
                above = []
            else:
                above.append(line)
        return [*found, ("", above)]

    def _with(self, lines: list[str], entries: list[tuple[str, str]]) -> list[str]:
        """`metadata:` with more entries."""
        at = next(index for index, line in enumerate(lines) if _KEY.match(line))
        written = lines[at].partition(":")[2].split("#")[0].strip()
        inner = [line for line in lines[at + 1 :] if line.strip() and not line.lstrip().startswith("#")]
        taken = [name for name, _ in entries for line in inner if line.strip().startswith(f"{name}:")]
        if written or taken:
            said = f"it has {taken[0]} already" if taken else "it is not written with one entry on each line"
            raise SkillError(f"{self._path} was not changed: `metadata` cannot take more entries, {said}; edit it")
        indent = inner[0][: len(inner[0]) - len(inner[0].lstrip())] if inner else "  "
        last = max(index for index, line in enumerate(lines) if line.strip()) + 1
        return [*lines[:last], *self._entries(entries, indent), *lines[last:]]

    def _entries(self, entries: list[tuple[str, str]], indent: str) -> list[str]:
        words = {name: value if name == SIDECAR else dump(value).decode() for name, value in entries}
        return [f"{indent}{name}: {value}{self._ending}" for name, value in words.items()]


def _verify(found: Migration, before: Document) -> None:
    """That nothing was lost. Raises: `SkillError`."""
    path = f"{found.folder}/{found.file}"
    front = read_front(found.after, path)
    try:
        tools: Any = parse(found.sidecar, TOOLS_FILE).value if found.sidecar else {}
    except NotPlain as exc:
        tools = {"": str(exc)}
    old = {key: value for key, value in before.value.items() if key not in (*_MOVED, "metadata")}
    new = {key: value for key, value in front.document.value.items() if key != "metadata"}
    wanted = {"tools": before.value["tools"]} if "tools" in before.value else {}
    if front.faults or old != new or tools != wanted or len(found.sidecar) > MOST_BYTES:
        raise SkillError(f"{path} was not changed: its front matter cannot be taken apart safely; move `tools` by hand")


def _add(found: Migration, at: int) -> None:
    """The new file, unless it is there as it should be."""
    if os.path.lexists(f"{found.folder}/{TOOLS_FILE}"):
        try:
            with open(TOOLS_FILE, "rb", opener=lambda name, _: os.open(name, _READ, dir_fd=at)) as file:
                same = file.read(MOST_BYTES + 1) == found.sidecar
        except OSError:
            same = False
        if not same:
            message = f"{found.folder}/{TOOLS_FILE} is there already; nothing was changed. Move it away first"
            raise SkillError(message, code="TOOL_NAME_CONFLICT")
        return
    draft = _written(found.sidecar, at, 0o644)
    try:
        os.link(draft, TOOLS_FILE, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)  # never over another one
    finally:
        os.unlink(draft, dir_fd=at)


def _written(data: bytes, at: int, mode: int) -> str:
    """The name of a new file beside the others."""
    draft = f".{FILES[0]}.{os.urandom(6).hex()}"
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=at)
    with open(fd, "wb") as file:
        file.write(data)
        os.fchmod(fd, mode)
        os.fsync(fd)
    return draft


def _value(lines: Sequence[str]) -> str:
    """What stands at a key, as it is written."""
    text = lines[0].partition(":")[2].split(" #")[0].strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _ending(line: str) -> str:
    return "\r\n" if line.endswith("\r\n") else "\n"


def _diff(old: str, new: str, before: bytes, after: bytes) -> list[str]:
    one, other = (each.decode("utf-8", "backslashreplace").splitlines(keepends=True) for each in (before, after))
    found = unified_diff(one, other, old, new)
    return [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in found]
