"""What became of a tool since it was last approved, as text: of one program, or of all files of a folder."""

import difflib
import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

_LONGEST_TEXT = 256 * 1024
"""Of a file that is compared with what it was."""
_LONGEST = 64 * 1024
_MOST_NAMED = 50
_MOST_COMPARED = 50
"""Files of a folder. A person reads fewer, and comparing takes time."""
_LINK = "link"


class Folder(NamedTuple):
    """A folder somewhere, and the files that it is said to have."""

    path: str
    files: Sequence[Sequence[str]]
    """Path below it, kind (`program`, `file` or `link`), and its digest, or where the link leads."""

    def content(self, name: str, digest: str) -> bytes | None:
        """What is in a file, if that is still what it was; None for one that is too long to be shown."""
        return read(f"{self.path}/{name}", digest)


def of_programs(old: bytes | None, new: bytes | None) -> str:
    """From one version of a program to the other; nothing where one is not known, or is no text."""
    before, after = _as_text(old), _as_text(new)
    return "" if before is None or after is None else _bounded(_unified(before, after, "last approved", "now"))


def of_folders(old: Folder, new: Folder) -> str:
    """Which files came, went or changed, and how the texts among them did."""
    return _bounded(_changes(old, new))


def read(path: str, digest: str) -> bytes | None:
    """A file as it is now, if it has this digest."""
    try:
        with open(path, "rb") as file:
            data = file.read(_LONGEST_TEXT + 1)
    except OSError:
        return None
    return data if "sha256:" + hashlib.sha256(data).hexdigest() == digest else None


def _changes(old: Folder, new: Folder) -> Iterator[str]:
    before, after = ({path: (kind, what) for path, kind, what in each.files} for each in (old, new))
    kept = before.keys() & after.keys()
    changed = sorted(path for path in kept if before[path] != after[path])
    for word, paths in (
        ("changed", changed),
        ("added", sorted(after.keys() - kept)),
        ("removed", sorted(before.keys() - kept)),
    ):
        if paths:
            more = f" and {len(paths) - _MOST_NAMED} more" if paths[_MOST_NAMED:] else ""
            yield f"{word}: {', '.join(map(_shown, paths[:_MOST_NAMED]))}{more}"
    compared = [*changed, *sorted(after.keys() - kept)]
    for path in compared[:_MOST_COMPARED]:
        yield from _change(path, old, before.get(path), new, after[path])
    if rest := compared[_MOST_COMPARED:]:
        yield f"the difference of {len(rest)} more files is not shown"


def _change(
    path: str, old: Folder, before: tuple[str, str] | None, new: Folder, after: tuple[str, str]
) -> Iterator[str]:
    """How one file became another one, or came to be."""
    name = _shown(path)
    if before is not None and before[0] != after[0]:
        yield f"{name} was a {before[0]} and is a {after[0]}"
    if after[0] == _LINK:
        yield f"{name} leads to {_shown(after[1])}"
        return
    if before is not None and before[1] == after[1]:
        return
    known = before is not None and before[0] != _LINK
    was = _as_text(old.content(path, before[1])) if known and before is not None else ""
    now = _as_text(new.content(path, after[1]))
    if was is None or now is None:
        yield f"{name} is no text, or longer than {_LONGEST_TEXT} bytes: its difference is not shown"
    else:
        yield from _unified(was, now, f"last approved/{name}" if known else "nothing", f"now/{name}")


def _unified(before: str, after: str, old_name: str, new_name: str) -> Iterator[str]:
    return difflib.unified_diff(before.splitlines(), after.splitlines(), old_name, new_name, lineterm="")


def _bounded(lines: Iterator[str]) -> str:
    text = "\n".join(lines)
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}\n[… {len(text) - _LONGEST} more characters are not shown …]"


def _as_text(data: bytes | None) -> str | None:
    if data is None or len(data) > _LONGEST_TEXT or b"\0" in data:
        return None
    return data.decode("utf-8", "backslashreplace")


def _shown(path: str) -> str:
    return path if path.isprintable() else ascii(path)


Kept = Callable[[str], tuple[str, Sequence[Sequence[str]]] | None]
"""Where a folder is kept that has this digest, and its files."""
