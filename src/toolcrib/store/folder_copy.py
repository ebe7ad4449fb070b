"""The directories and links of a folder's copy, and nothing in it that does not belong there."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

OPEN, SEALED = 0o700, 0o500
File = Sequence[str]
"""Path below the folder, kind (`program`, `file` or `link`), and its digest, or where the link leads."""


def is_inside(path: str) -> bool:
    """Whether a path is one below a folder, and cannot lead out of it."""
    return not path.startswith("/") and all(part not in ("", ".", "..") for part in path.split("/"))


def directories(copy: str, files: Iterable[File]) -> list[str]:
    """The folder and the directories in it, each after the one it is in."""
    found = {copy}
    for path, *_ in files:
        parts = path.split("/")[:-1]
        found |= {"/".join((copy, *parts[:depth])) for depth in range(1, len(parts) + 1)}
    return sorted(found)


def open_up(copy: str, files: Sequence[File]) -> None:
    """Make the directories, writable for us; what stands in their place is removed."""
    for directory in directories(copy, files):
        if not _is_directory(directory):
            with suppress(FileNotFoundError):
                os.unlink(directory)
            os.mkdir(directory, OPEN)
        os.chmod(directory, OPEN)


def clear(copy: str, files: Sequence[File]) -> None:
    """Remove what does not belong there, and what is no file or link where one should be."""
    kept = {*directories(copy, files), *(f"{copy}/{path}" for path, *_ in files)}
    for path, is_directory in _all(copy):
        if path not in kept or (is_directory and path not in directories(copy, files)):
            remove_tree(path)


def link_up(copy: str, files: Sequence[File]) -> None:
    for path, kind, target in files:
        if kind == "link" and _target(f"{copy}/{path}") != target:
            with suppress(FileNotFoundError):
                os.unlink(f"{copy}/{path}")
            os.symlink(target, f"{copy}/{path}")


def seal(copy: str, files: Sequence[File]) -> None:
    """Nobody writes there any more."""
    for directory in directories(copy, files):
        os.chmod(directory, SEALED)


def is_sealed(copy: str, files: Sequence[File]) -> bool:
    """Whether directories and links are as they should be, and nothing else lies there."""
    expected = directories(copy, files)
    if not all(map(_is_sealed, expected)):
        return False
    found = {path for path, _ in _all(copy)}
    right = all(_target(f"{copy}/{path}") == target for path, kind, target in files if kind == "link")
    return right and found | {copy} == {*expected, *(f"{copy}/{path}" for path, *_ in files)}


def found_in(copy: str, *, digest_at: Callable[[str], str]) -> Iterator[tuple[str, str, str]]:
    """The files of a copy as they are now. Raises: `OSError`."""
    for path, is_directory in _all(copy):
        name = path[len(copy) + 1 :]
        if (target := _target(path)) is not None:
            yield name, "link", target
        elif not is_directory:
            yield name, "program" if os.lstat(path).st_mode & 0o111 else "file", digest_at(path)


def remove_tree(path: str) -> None:
    """Remove a file, or a directory with all in it, sealed or not. No link is followed."""
    if not _is_directory(path):
        os.unlink(path)
        return
    os.chmod(path, OPEN)
    for name in os.listdir(path):
        remove_tree(f"{path}/{name}")
    os.rmdir(path)


def size_of(path: str) -> int:
    """Of a file, or of all files in a directory."""
    return os.lstat(path).st_size if not _is_directory(path) else sum(
        os.lstat(each).st_size for each, is_directory in _all(path) if not is_directory
    )  # fmt: skip


def _all(directory: str) -> Iterator[tuple[str, bool]]:
    for name in os.listdir(directory):
        path = f"{directory}/{name}"
        inner = _is_directory(path)
        yield path, inner
        if inner and os.path.lexists(path):  # whoever walks may remove it
            yield from _all(path)


def _is_directory(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False


def _is_sealed(path: str) -> bool:
    try:
        seen = os.lstat(path)
    except OSError:
        return False
    return seen.st_mode == stat.S_IFDIR | SEALED and seen.st_uid == os.geteuid()


def _target(path: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError:
        return None
