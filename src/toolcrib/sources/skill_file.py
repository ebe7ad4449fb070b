"""What stands in a SKILL.md: front matter and body. Read as forgivingly as can be without guessing.

Real files have byte order marks, CRLF, tabs, unquoted colons, or no front matter at all. What can be read is read, key
by key and tool by tool where need be; what cannot is named with its line.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..core.jsontext import dump
from ..store.yamltext import Document, Mark, NotPlain, parse
from .form import At, Fault, is_number

MOST_BYTES = 1024 * 1024
MOST_TOOLS = 200
_MOST_KEYS = 100
_MOST_LINES = 400
"""Of a text that is taken as it stands, because it is no YAML."""
_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*:(?=[ \t]|$)")
_INNER_KEY = re.compile(r"([ \t]+)([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*:(?=[ \t]|$)")
_ITEM = re.compile(r"([ \t]*)-(?=[ \t]|$)")
_TEXTS = frozenset(("name", "description", "version", "license", "compatibility", "allowed-tools"))
"""Keys whose value is words, so that it can be taken as it stands."""
_PLAIN_VALUE = re.compile(r"([ \t]*(?:- +)?[A-Za-z_][A-Za-z0-9_.-]*:[ \t]+)([^\s\"'|>\[{&*!#].*)")
"""A key and its value on one line, without quotes."""
_NO_START = ("", " ", "\t", "#", "-")
"""What a line begins with that belongs to the key above it."""
_MOST_MENDS = 20
_LIST = "tools"
_MAP = "metadata"


class Parts(Document):
    """A document that was read in several pieces."""

    def __init__(self, value: Any, path: str, parts: Mapping[At, tuple[Document, int, At]]) -> None:
        """`parts`: by place in the whole, a piece, how many lines stand before it, and the place in the piece."""
        super().__init__(value, "", path)
        self._parts = dict(parts)

    def mark(self, *keys: str | int) -> Mark | None:
        for end in range(len(keys), -1, -1):
            if keys[:end] in self._parts:
                piece, before, root = self._parts[keys[:end]]
                found = piece.mark(*root, *keys[end:])
                return Mark(found.line + before, found.column) if found else None
        return None


class Read(NamedTuple):
    """A YAML text of which as much was read as could be."""

    document: Document
    faults: tuple[Fault, ...] = ()


class Front(NamedTuple):
    """A SKILL.md, taken apart."""

    document: Document
    """Of the front matter; its value is a map."""
    body: str
    faults: tuple[Fault, ...]
    present: bool
    """Whether there is front matter."""
    lines: tuple[str, ...]
    """Of the whole file."""
    end: int
    """The number of the line that closes the front matter; 0 without one."""

    def written(self, key: str) -> str:
        """A value at the top as it is written, since `1.10` is no number to its author."""
        line = self.document.line(key) or 0
        text = self.lines[line - 1].partition(":")[2] if 0 < line <= len(self.lines) else ""
        return text.split(" #")[0].strip().strip("\"'")


def read_front(data: bytes, path: str) -> Front:
    """Take a SKILL.md apart; it is known not to be too long."""
    text, faults = _decoded(data)
    lines = text.split("\n")
    first = next((at for at, line in enumerate(lines) if line.strip()), 0)
    end = next((at for at in range(first + 1, len(lines)) if lines[at].rstrip() == "---"), 0)
    opened = lines[first].rstrip() == "---"
    if not opened or not end:
        if opened:
            message = "the front matter begins here, and no line `---` ends it"
            faults.append(Fault("CONFIG_INVALID", message, "add a line `---` after it", "", first + 1))
            lines[first] = ""
        nothing = Parts({}, path, {})
        return Front(nothing, "\n".join(lines).strip(), tuple(faults), False, tuple(lines), 0)
    if first:
        faults.append(Fault("CONFIG_INVALID", "something stands before the front matter", "begin with `---`"))
    read = read_mending("\n".join(lines[first + 1 : end]), path, before=first + 1)
    document = read.document
    if document.value is None:
        document = Parts({}, path, {})
    elif not isinstance(document.value, dict):
        message = "the front matter is no map of keys, such as `name: …`"
        faults.append(Fault("CONFIG_INVALID", message, "begin with `name: …`", "", first + 2))
        document = Parts({}, path, {})
    faults += read.faults
    return Front(document, "\n".join(lines[end + 1 :]).strip(), tuple(faults), True, tuple(lines), end + 1)


def read_mending(text: str, path: str, *, before: int = 0) -> Read:
    """A YAML text that stands below so many lines of a file.

    If it is not YAML as a whole, it is read key by key: the value of a key that holds words is taken as it stands, the
    entries of a list of tools are read one by one, and what still cannot be read is left out and named.
    """
    try:
        whole = parse(text.encode(), path)
        return Read(Parts(whole.value, path, {(): (whole, before, ())}))
    except NotPlain as exc:
        mending = _Mending(text.split("\n"), path, before)
        return mending.read(exc)


class _Mending:
    """Reads a text piece by piece."""

    def __init__(self, lines: Sequence[str], path: str, before: int) -> None:
        self._lines, self._path, self._before = lines, path, before
        self._value: dict[str, Any] = {}
        self._parts: dict[At, tuple[Document, int, At]] = {}
        self._faults: list[Fault] = []

    def read(self, why: NotPlain) -> Read:
        first = [(at, line) for at, line in enumerate(self._lines) if line[:1] not in _NO_START]
        starts = [(at, match[1] if (match := _KEY.match(line)) else "") for at, line in first]
        if not starts and any(map(_ITEM.match, self._lines)):
            items = self._items(0, len(self._lines), ())
            return Read(Parts(items, self._path, self._parts), tuple(self._faults))
        if not starts or len(starts) > _MOST_KEYS:
            self._note(why, 0)
            return Read(Parts({}, self._path, {}), tuple(self._faults))
        ends = [at for at, _ in starts[1:]] + [len(self._lines)]
        for (at, key), end in zip(starts, ends, strict=True):
            if key in self._value:
                message = f"the key {key!r} stands here for the second time; the first one counts"
                self._faults.append(Fault("CONFIG_INVALID", message, "remove one", f"/{key}", self._line(at)))
            else:
                self._block(key, at, end)
        return Read(Parts(self._value, self._path, self._parts), tuple(self._faults))

    def _block(self, key: str, start: int, end: int) -> None:
        if not key:
            fault = Fault("CONFIG_INVALID", "this is no `key: value`; it was left out", "remove it, or indent it")
            self._faults.append(fault._replace(line=self._line(start)))
            return
        piece = self._piece(start, end)
        if isinstance(piece, Document) and isinstance(piece.value, dict) and list(piece.value) == [key]:
            self._keep((key,), piece, start, (key,))
            self._value[key] = piece.value[key]
        elif key in _TEXTS:
            self._value[key] = self._as_it_stands(start, end, self._lines[start].partition(":")[2], (key,))
        elif key == _LIST and any(map(_ITEM.match, self._lines[start + 1 : end])):
            self._value[key] = self._items(start + 1, end, (key,))
        elif key == _MAP and any(map(_INNER_KEY.match, self._lines[start + 1 : end])):
            self._value[key] = self._map(start + 1, end, key)
        elif isinstance(piece, NotPlain):
            self._note(piece, start)

    def _items(self, start: int, end: int, root: At) -> list[Any]:
        """The entries of a list, each on its own."""
        found = [(at, match[1]) for at in range(start, end) if (match := _ITEM.match(self._lines[at]))]
        outer = [at for at, indent in found if indent == found[0][1]]
        if len(outer) > MOST_TOOLS:
            message = f"there are {len(outer)} entries, and at most {MOST_TOOLS} are read"
            fix = "split the skill"
            self._faults.append(Fault("INPUT_TOO_LARGE", message, fix, "/tools", self._line(start)))
            return []
        values: list[Any] = []
        for at, until in zip(outer, [*outer[1:], end], strict=True):
            piece = self._piece(at, until)
            if isinstance(piece, NotPlain):
                self._note(piece, at)
            elif isinstance(piece.value, list) and len(piece.value) == 1:
                self._keep((*root, len(values)), piece, at, (0,))
                values.append(piece.value[0])
        return values

    def _map(self, start: int, end: int, key: str) -> dict[str, Any]:
        """A map of words, line by line."""
        found: dict[str, Any] = {}
        for at in range(start, min(end, start + _MOST_KEYS)):
            match = _INNER_KEY.match(self._lines[at])
            if match and match[2] not in found:
                found[match[2]] = self._as_it_stands(at, at + 1, self._lines[at].partition(":")[2], (key, match[2]))
        return found

    def _piece(self, start: int, end: int) -> Document | NotPlain:
        """Some of the lines as YAML. Where that does not go, each line that is in the way is put right if it can be."""
        lines = list(self._lines[start:end])
        faults = []
        first: NotPlain | None = None
        for _ in range(_MOST_MENDS):
            try:
                found = parse("\n".join(lines).encode(), self._path)
            except NotPlain as exc:
                first = first or exc
                at = exc.mark.line - 1 if exc.mark else -1
                mended, message = _mended(lines[at]) if 0 <= at < len(lines) else ("", "")
                if not message:
                    return first
                lines[at] = mended
                faults.append(Fault("CONFIG_INVALID", message, "put that right", "", self._line(start + at)))
            else:
                self._faults += faults
                return found
        return first or NotPlain("too many of its lines are wrong", path=self._path)

    def _as_it_stands(self, start: int, end: int, first: str, root: At) -> str:
        rest = self._lines[start + 1 : min(end, start + _MOST_LINES)]
        words = " ".join(filter(None, (line.strip() for line in (first, *rest))))
        if words[:1] in ("|", ">") and rest:
            words = "\n".join(line.strip() for line in rest).strip()
        for quote in "\"'":
            if len(words) > 1 and words[0] == words[-1] == quote:
                words = words[1:-1]
        message = f"the value of {root[-1]!r} is no YAML as it is written; it was taken word for word"
        self._faults.append(Fault("CONFIG_INVALID", message, "put it in quotes", "", self._line(start)))
        self._keep(root, Document(None, "x", self._path), start, ())
        return words

    def _keep(self, at: At, piece: Document, start: int, root: At) -> None:
        self._parts[at] = (piece, self._before + start, root)

    def _note(self, why: NotPlain, start: int) -> None:
        line, column = why.mark or Mark(1, 1)
        fault = Fault(why.code, f"{why.message}; it was left out", "put that line right", "", line, column)
        self._faults.append(fault._replace(line=self._line(start + line - 1)))

    def _line(self, at: int) -> int:
        return self._before + at + 1


def heading_of(body: str) -> str:
    """What a body says first of itself: its first paragraph, or else its first heading."""
    paragraph: list[str] = []
    heading = ""
    for line in body[:20_000].split("\n"):
        words = line.strip()
        if words.startswith("#"):
            heading = heading or words.lstrip("# ")
        elif words:
            paragraph.append(words)
            continue
        if paragraph:
            break
    return " ".join(paragraph) or heading


def as_text(value: Any, written: str) -> str | None:
    """A value that should be words, as words; None when it is a map, a list or nothing."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool) or is_number(value):
        return written or str(value)
    return None


def _decoded(data: bytes) -> tuple[str, list[Fault]]:
    faults = []
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        text = data.decode("utf-8-sig", "replace")
        line = data[: exc.start].count(b"\n") + 1
        message = f"not UTF-8: {exc.reason}; what could not be read is shown as \N{REPLACEMENT CHARACTER}"
        faults.append(Fault("CONFIG_INVALID", message, "save it as UTF-8", "", line))
    return text.replace("\r\n", "\n").replace("\r", "\n"), faults


def _mended(line: str) -> tuple[str, str]:
    """A line that the parser stopped at, as it was probably meant, and what was done to it; nothing where none was."""
    if line.startswith("\t"):
        rest = line.lstrip("\t")
        message = "the line begins with a tab, which YAML does not allow; it was read as two spaces"
        return "  " * (len(line) - len(rest)) + rest, message
    if match := _PLAIN_VALUE.fullmatch(line):
        return match[1] + dump(match[2].rstrip()).decode(), "the value is no YAML without quotes; it was read with them"
    return "", ""
