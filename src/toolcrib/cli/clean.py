"""`toolcrib clean`: old artifacts, caches, and what killed runtimes left in the temporary directory."""

import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from ..core.jsontext import dump_ascii
from ..sandbox.scratch import remove_tree
from ..sandbox.temporary import temporary_directory
from ..store.artifacts import ArtifactFiles
from ..store.blobs import Blobs, remove
from ..store.home import Home
from ._parser import verb_parser
from ._text import visible

EXAMPLE = """
  toolcrib clean              artifacts older than 14 days or beyond 2 GiB, copies of programs older than 30 days
                              or beyond 1 GiB, and leftovers of killed runtimes
  toolcrib clean --dry-run    say what would go
  toolcrib clean --all        all artifacts and all caches

Never touched: the audit, the configuration, tools, trust and remembered approvals.
"""
_SCRATCH = re.compile(r"toolcrib-(tc[0-9a-f]{16})")
_UNSEEN_SECONDS = 24 * 3600.0


class Leftover(NamedTuple):
    kind: str
    path: str
    bytes: int


def main(argv: list[str]) -> int:
    parser = verb_parser("clean", "Remove what is old or no longer needed.", EXAMPLE)
    parser.add_argument("--all", action="store_true", help="all artifacts, and the caches")
    parser.add_argument("--dry-run", action="store_true", help="remove nothing")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args(argv)
    home = Home()
    found = [*_artifacts(home, everything=options.all), *_programs(home, everything=options.all)]
    found += [*_drafts(home), *(_caches(home) if options.all else ()), *_scratch()]
    failed: list[str] = []
    removed = found if options.dry_run else [each for each in found if _remove(each, failed)]
    total = sum(each.bytes for each in removed)
    for reason in failed:
        print(f"toolcrib clean: {visible(reason)}", file=sys.stderr)
    if options.json:
        answer: dict[str, Any] = {
            "dry_run": options.dry_run,
            "removed": [each._asdict() for each in removed],
            "bytes": total,
            "failed": failed,
        }
        sys.stdout.write(dump_ascii(answer).decode() + "\n")
    else:
        for each in removed:
            print(f"{each.kind:<8}  {each.bytes:>12}  {visible(each.path)}")
        word = "would be removed" if options.dry_run else "removed"
        print(f"{len(removed)} {word}, {total} bytes", file=sys.stderr)
    return 1 if failed else 0


def _artifacts(home: Home, *, everything: bool) -> Iterator[Leftover]:
    kept = ArtifactFiles(home)
    for artifact in kept.all() if everything else kept.due():
        yield Leftover("artifact", artifact.path, artifact.bytes)


def _programs(home: Home, *, everything: bool) -> Iterator[Leftover]:
    """Copies of programs and of trusted texts; those that are needed are made again."""
    kept = Blobs(home)
    for blob in kept.due(max_age=-1) if everything else kept.due():
        yield Leftover("copy", blob.path, blob.bytes)


def _drafts(home: Home) -> Iterator[Leftover]:
    """What somebody who was killed had not yet put in its place."""
    for path in home.abandoned():
        with suppress(FileNotFoundError):
            yield Leftover("draft", path, os.lstat(path).st_size)


def _caches(home: Home) -> Iterator[Leftover]:
    drafts = home.abandoned()
    for path, seen in _entries(home.file("cache")):
        if stat.S_ISREG(seen.st_mode) and path not in drafts:
            yield Leftover("cache", path, seen.st_size)


def _scratch() -> Iterator[Leftover]:
    """This user's scratch directories whose runtime is gone."""
    living = living_runtimes()
    for path, seen in _entries(temporary_directory()):
        name = _SCRATCH.fullmatch(os.path.basename(path))
        if name is None or not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.getuid():
            continue
        if name[1] not in living:
            yield Leftover("scratch", path, _size_of(path))


def living_runtimes() -> frozenset[str]:
    """The ids of the runtimes that have a watcher, or a process that carries their mark."""
    if not os.path.isdir("/proc/self"):  # nobody to ask: a scratch directory used within the day speaks for one
        young = time.time() - _UNSEEN_SECONDS
        used = [os.path.basename(path) for path, seen in _entries(temporary_directory()) if seen.st_mtime > young]
        return frozenset(name[1] for name in map(_SCRATCH.fullmatch, used) if name)
    living = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        words = _read(f"/proc/{pid}/cmdline").split(b"\0")
        if b"toolcrib-watcher" in words[:-1]:
            living.add(words[words.index(b"toolcrib-watcher") + 1].decode("ascii", "replace"))
        marks = re.findall(rb"TOOLCRIB_CALL_ID=(tc[0-9a-f]{16})-", _read(f"/proc/{pid}/environ"))
        living |= {mark.decode() for mark in marks}
    return frozenset(living)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:  # gone meanwhile, or another user's
        return b""


def _entries(directory: str) -> Iterator[tuple[str, os.stat_result]]:
    try:
        names = sorted(os.listdir(directory))
    except FileNotFoundError:
        return
    for name in names:
        path = os.path.join(directory, name)
        try:
            yield path, os.lstat(path)
        except FileNotFoundError:
            continue


def _size_of(root: str) -> int:
    total = 0
    for directory, _, names in os.walk(root):
        for name in names:
            try:
                total += os.lstat(os.path.join(directory, name)).st_size
            except OSError:
                continue
    return total


def _remove(each: Leftover, failed: list[str]) -> bool:
    try:
        if each.kind == "scratch":
            remove_tree(each.path)
        elif each.kind == "copy":
            return remove(each.path)
        else:
            os.unlink(each.path)
    except FileNotFoundError:  # somebody else was quicker
        return False
    except OSError as exc:
        failed.append(f"{each.path} stays: {exc.strerror}")
        return False
    if os.path.lexists(each.path):
        failed.append(f"{each.path} stays: it could not be removed")
        return False
    return True
