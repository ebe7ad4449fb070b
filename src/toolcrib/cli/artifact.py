"""`toolcrib artifact`: reading output that was too long to show."""

import argparse
import codecs
import sys
import time
from collections.abc import Iterator
from difflib import get_close_matches
from typing import BinaryIO

from ..core.jsontext import dump_ascii
from ..store.artifacts import ArtifactFiles
from ..store.home import Home
from ._failure import UsageError
from ._parser import verb_parser
from ._text import visible

EXAMPLE = """
  toolcrib artifact list
  toolcrib artifact show ID | less
  toolcrib artifact show ID --offset 1048576 --limit 4096

To a pipe or a file the bytes go as they are; on a terminal, control characters are made visible.
"""
_CHUNK = 1024 * 1024
_JSON_BYTES = 1024 * 1024
"""With --json, how much is shown unless --limit says otherwise."""


def main(argv: list[str]) -> int:
    parser = verb_parser("artifact", "Read output that was too long to show.", EXAMPLE)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="show|list")
    show = verbs.add_parser("show", help="print one artifact", allow_abbrev=False)
    show.add_argument("id", help="as a result or `artifact list` names it; never a path")
    show.add_argument("--offset", type=_count, default=0, metavar="N", help="begin after N bytes")
    show.add_argument("--limit", type=_count, metavar="N", help="print at most N bytes")
    shelf = verbs.add_parser("list", help="what is kept, newest first", allow_abbrev=False)
    for each in (show, shelf):
        each.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args(argv)
    kept = ArtifactFiles(Home())
    if options.verb == "list":
        return _list(kept, as_json=options.json)
    return _show(kept, options)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{ascii(text)} is not a number of bytes")
    return int(text)


def _list(kept: ArtifactFiles, *, as_json: bool) -> int:
    found = kept.all()
    if as_json:
        rows = [{"id": each.id, "path": each.path, "bytes": each.bytes, "at": each.at} for each in found]
        sys.stdout.write(dump_ascii({"artifacts": rows}).decode() + "\n")
        return 0
    for each in found:
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(each.at))
        print(f"{at}  {each.bytes:>12}  {visible(each.id)}")
    if not found:
        print("No artifacts. Output beyond a tool's limit is kept here, whole.", file=sys.stderr)
    return 0


def _show(kept: ArtifactFiles, options: argparse.Namespace) -> int:
    path = kept.find(options.id)
    try:
        file = open(path, "rb") if path is not None else None  # noqa: SIM115  # closed below, on every way out
    except FileNotFoundError:  # removed a moment ago
        file = None
    if file is None:
        near = get_close_matches(options.id, [each.id for each in kept.all()], n=3, cutoff=0.4)
        hint = f"did you mean {', '.join(near)}?" if near else "see: toolcrib artifact list"
        raise UsageError(f"there is no artifact {options.id}; {hint}", code="FILE_NOT_FOUND")
    with file:
        size = file.seek(0, 2)
        file.seek(options.offset)
        if options.json:
            return _as_json(file, size, options)
        if sys.stdout.isatty():
            decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
            for chunk in _chunks(file, options.limit):
                sys.stdout.write(visible(decoder.decode(chunk), keep="\n\t"))
            sys.stdout.write(visible(decoder.decode(b"", final=True)) + "\n")
        else:
            for chunk in _chunks(file, options.limit):
                sys.stdout.buffer.write(chunk)
            sys.stdout.flush()
    return 0


def _as_json(file: BinaryIO, size: int, options: argparse.Namespace) -> int:
    shown = file.read(_JSON_BYTES if options.limit is None else options.limit)
    end = options.offset + len(shown)
    answer = {
        "id": options.id,
        "bytes": size,
        "offset": options.offset,
        "text": shown.decode("utf-8", "backslashreplace"),
        "next_offset": end if end < size else None,
    }
    sys.stdout.write(dump_ascii(answer).decode() + "\n")
    return 0


def _chunks(file: BinaryIO, limit: int | None) -> Iterator[bytes]:
    left = limit
    while chunk := file.read(_CHUNK if left is None else min(_CHUNK, left)):
        if left is not None:
            left -= len(chunk)
        yield chunk
