"""How a project differs from what was trusted, for a person to look at."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher

from ..policy.project_files import Changes, Entry, read_below, unkey
from ..policy.trust import GOVERNING
from ..store.blobs import Blobs
from ._text import visible

MOST_SHOWN = 200
"""Files in a list, and lines of one file's difference."""
_MOST_BYTES = 64 * 1024
_MOST_COMPARED = 1000
_LONGEST_LINE = 400
_LONGEST_FILE = 256 * 1024
_CONTEXT = 3


def show_files(project: str, found: Sequence[Entry]) -> None:
    """Everything that a project brings."""
    say = sys.stderr.write
    say(f"{visible(project)} brings " + ("these:\n" if found else "no tools and no configuration yet.\n"))
    for entry in found[:MOST_SHOWN]:
        say(f"  {entry.kind:<8} {visible(entry.path)}  {_about(entry)}\n")
    if len(found) > MOST_SHOWN:
        say(f"  … and {len(found) - MOST_SHOWN} more; --json names them all\n")


def show_changes(project: str, changes: Changes, found: Sequence[Entry], old: Mapping[str, str], blobs: Blobs) -> None:
    """What is new, gone and changed since the project was trusted, with the lines where they can be shown.

    `old` has the digests that were trusted, by path.
    """
    say, now = sys.stderr.write, {entry.path: entry for entry in found}
    say(f"{visible(project)} changed since you trusted it:\n")
    rows = [*(("added", path) for path in changes.added), *(("changed", path) for path in changes.changed)]
    rows = sorted([*rows, *(("removed", path) for path in changes.removed)], key=lambda row: row[1])
    for word, path in rows[:MOST_SHOWN]:
        about = f"{now[path].kind}  {_about(now[path])}" if path in now else ""
        say(f"  {word:<8} {visible(path)}  {about}".rstrip() + "\n")
    if len(rows) > MOST_SHOWN:
        say(f"  … and {len(rows) - MOST_SHOWN} more; --json names them all\n")
    room, unshown = _MOST_BYTES, 0
    for path in (*changes.changed, *changes.added):
        entry = now[path]
        if entry.kind not in ("file", "program"):
            continue
        text = "\n".join(_difference(project, entry, old.get(path, ""), blobs)) + "\n"
        if len(text) > room:
            unshown += 1
            continue
        room -= len(text)
        say(text)
    if unshown:
        say(f"\n… the differences of {unshown} more file(s) are too long to be shown here; look at them yourself\n")


def keep_texts(project: str, found: Sequence[Entry], blobs: Blobs, *, most: int = 16 * 1024**2) -> None:
    """Keep what was trusted, so that a later change can be shown, and rules stay known. Only what was looked at.

    Rules come first: until changed ones are trusted, those that were count.
    """
    for entry in sorted(found, key=lambda entry: not entry.path.startswith(GOVERNING)):
        if entry.kind not in ("file", "program") or entry.size > min(most, _LONGEST_FILE):
            continue
        try:
            path = unkey(entry.path)
            data, digest = read_below(project, path, _LONGEST_FILE)
            if digest == entry.digest:
                blobs.keep(data, os.path.basename(path))
                most -= len(data)
        except OSError:  # a full home: then a later difference is shown without its lines
            return


def _about(entry: Entry) -> str:
    if entry.target:
        leads = f"  {entry.digest[:19]}" if entry.digest else "  not a file of this project"
        return f"-> {visible(entry.target)}{leads}"
    return f"{entry.size} bytes  {entry.digest[:19]}" if entry.digest else "not looked into, never offered"


def _difference(project: str, entry: Entry, old_digest: str, blobs: Blobs) -> Iterator[str]:
    """One file's difference. What is shown is what has the digest that would be recorded."""
    yield f"\n--- {visible(entry.path)}"
    after, digest = _now(project, entry)
    before = (blobs.content(old_digest, most=_LONGEST_FILE) if old_digest else b"") if after is not None else None
    if digest != entry.digest:
        yield "  it is changing at this moment"
    elif after is None:
        yield f"  {entry.size} bytes, too long to be compared here"
    elif before is None:
        yield "  its earlier content is not kept any more; look at it yourself"
    elif before == after:
        yield f"  the same content; it is a {entry.kind} now"
    elif (lines := _lines(before)) is None or (new_lines := _lines(after)) is None:
        yield f"  binary, {len(before)} bytes before and {len(after)} now"
    else:
        shown = list(_changed_lines(lines, new_lines))
        yield from shown[:MOST_SHOWN]
        if len(shown) > MOST_SHOWN:
            yield f"… and {len(shown) - MOST_SHOWN} more lines"


def _now(project: str, entry: Entry) -> tuple[bytes | None, str]:
    if entry.size > _LONGEST_FILE:
        return None, entry.digest
    try:
        return read_below(project, unkey(entry.path), _LONGEST_FILE)
    except OSError:
        return b"", ""


def _lines(data: bytes) -> list[str] | None:
    if b"\0" in data:
        return None
    try:
        return data.decode().split("\n")
    except UnicodeDecodeError:
        return None


def _changed_lines(before: list[str], after: list[str]) -> Iterator[str]:
    """As `diff -u` writes them. Equal beginnings and ends are left out first, so that a long file costs little."""
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    start = max(0, same - _CONTEXT)
    end = 0
    while end < min(len(before), len(after)) - same and before[-1 - end] == after[-1 - end]:
        end += 1
    cut = max(0, end - _CONTEXT)
    one, other = before[start : len(before) - cut], after[start : len(after) - cut]
    if max(len(one), len(other)) > _MOST_COMPARED:
        yield f"  {len(one)} lines became {len(other)}, too many to be compared here; look at it yourself"
        return
    for group in SequenceMatcher(None, one, other).get_grouped_opcodes(_CONTEXT):
        first, last = group[0], group[-1]
        spans = f"-{start + first[1] + 1},{last[2] - first[1]} +{start + first[3] + 1},{last[4] - first[3]}"
        yield f"@@ {spans} @@"
        for tag, one_start, one_end, other_start, other_end in group:
            if tag == "equal":
                yield from (_shown(" ", line) for line in one[one_start:one_end])
                continue
            yield from (_shown("-", line) for line in one[one_start:one_end])
            yield from (_shown("+", line) for line in other[other_start:other_end])


def _shown(sign: str, line: str) -> str:
    rest = len(line) - _LONGEST_LINE
    return sign + visible(line[:_LONGEST_LINE], keep="\t") + (f"… {rest} more characters" if rest > 0 else "")
