"""Looking at source files: what each defines, imports and exports, and which words are in it.

The same is done here and in a worker process. What a worker does not need is not imported, or late.
"""

import marshal
import os
from collections.abc import Iterable

from .languages import language_of
from .python_scan import scan
from .reading import LARGEST, Descent, as_utf8, contents, is_binary, is_minified, opened, words_of
from .segment import NO_WORDS, UNSURE, Row, Stamp, as_line, lines
from .stamps import BINARY, MINIFIED, OTHER, TOO_LARGE, UNREADABLE, settled_stamp

_HEAD = 65536
_NOT_UNDERSTOOD = (LookupError, ValueError, TypeError, AttributeError, RecursionError)
"""One file that a language's rules cannot cope with must not take the whole tree out of reach."""


def examine(root: int, paths: Iterable[str], *, now: int, words: bool = True) -> list[Row]:
    """Look at these files below a directory that is open. Those that are gone by now are left out.

    `now` is not after they were first looked at. Collecting the words is a fifth of the work, and may be left.
    """
    owner = os.fstat(root).st_uid
    rows = []
    with Descent(root) as descent:
        for path in paths:
            folder, _, name = path.rpartition("/")
            try:
                rows.append(_looked_at(path, name, descent.folder(folder), owner, now, words))
            except FileNotFoundError:
                continue
            except OSError:
                rows.append((path, _stamp_at(path, root, now), "", UNREADABLE, b"", b"", b""))
    return rows


def _stamp_at(path: str, root: int, now: int) -> Stamp:
    try:
        return settled_stamp(os.stat(path, dir_fd=root, follow_symlinks=False), now)
    except OSError:
        return UNSURE


def _looked_at(path: str, name: str, folder: int, owner: int, now: int, words: bool) -> Row:
    with opened(name, folder, owner) as (fd, seen):
        stamp = settled_stamp(seen, now)
        language = language_of(name)
        if seen.st_size > LARGEST:
            return path, stamp, "", TOO_LARGE if language else OTHER, b"", b"", b""
        if language is None and "." in name:
            return path, stamp, "", OTHER, b"", b"", b""
        data = contents(fd, seen.st_size, LARGEST + 1)
    language = language_of(name, data[:_HEAD])
    if language is None:
        return path, stamp, "", OTHER, b"", b"", b""
    if len(data) > LARGEST:
        return path, stamp, "", TOO_LARGE, b"", b"", b""
    if is_binary(data):
        return path, stamp, "", BINARY, b"", b"", b""
    if is_minified(data):
        return path, stamp, "", MINIFIED, b"", b"", b""
    try:
        return path, stamp, language, "", *texts_of(as_utf8(data, language), language, words=words)
    except _NOT_UNDERSTOOD:
        return path, stamp, "", UNREADABLE, b"", b"", b""


def texts_of(data: bytes, language: str, *, words: bool = True) -> tuple[bytes, bytes, bytes]:
    """The names that a file defines, its words, and its facts."""
    if language == "python":
        definitions, imports, exports = scan(data)
        names = {each[0].encode("utf-8", "replace") for each in definitions}
    else:
        from .extract import extract  # late: it brings the parsers

        _, definitions, imports, exports, _ = extract(language, data)
        names = {as_line(each[0]) for each in definitions}
    found = (tuple(definitions), tuple(imports), tuple(exports))
    facts = marshal.dumps(found) if any(found) else b""
    return lines(names), lines(words_of(data)) if words else NO_WORDS, facts
