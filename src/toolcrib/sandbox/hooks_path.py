"""Where a repository keeps its hooks, when its settings say so. They are read here: git itself is not run for that."""

import os
import re
from collections.abc import Iterator

from ._beneath import holding, is_below, reading_in

_MOST_BYTES = 256 * 1024
_SECTION = re.compile(r"\s*\[\s*([A-Za-z0-9.-]+)\s*\](.*)")
_OTHER_SECTION = re.compile(r"\s*\[")
_SETTING = re.compile(r"\s*(hookspath|worktree)\s*=\s*(.*)", re.IGNORECASE)
_PIECE = re.compile(r'"((?:[^"\\]|\\["\\])*)"|([^"\\;#]+)')


def hooks_paths(workspace: str, path: str) -> list[str]:
    """The directories in a workspace that a file of settings names, relative to it; by way of `..` they may leave it.

    Raises:
        OSError: it cannot be read.
    """
    with holding(workspace, path) as (folder, name), open(name, "rb", opener=reading_in(folder)) as file:
        text = os.fsdecode(file.read(_MOST_BYTES))
    if "hookspath" not in text.lower():
        return []
    said = list(_of_core(text))
    directory = os.path.dirname(path)
    top = os.path.dirname(directory) if os.path.basename(directory).lower() == ".git" else directory
    for key, value in said:
        if key == "worktree":
            top = os.path.join(directory, value)
    top = os.path.join(workspace, top)
    values = [os.path.expanduser(value) for key, value in said if key == "hookspath"]
    places = [os.path.join(top, value) for value in values]
    whole = os.path.normpath(top)  # of which not everything is a hook
    places = [place for place in places if is_below(place, workspace) and not is_below(whole, os.path.normpath(place))]
    return [place[len(workspace) :].lstrip("/") for place in places]


def hooks_of(directory: str) -> list[str]:
    """Where hooks of the repository in a directory are, if its settings name a place; absolute paths."""
    try:
        return [os.path.normpath(os.path.join(directory, each)) for each in hooks_paths(directory, ".git/config")]
    except OSError:  # there is none
        return []


def _of_core(text: str) -> Iterator[tuple[str, str]]:
    """What is set there, of what says where hooks are; a value in a form that is not plain is left out."""
    inside = False
    for line in text.splitlines():
        if begun := _SECTION.match(line):
            inside, line = begun[1].lower() == "core", begun[2]
        elif _OTHER_SECTION.match(line):
            inside = False
        if inside and (setting := _SETTING.match(line)) and (value := _value(setting[2])):
            yield setting[1].lower(), value


def _value(text: str) -> str:
    """Without its quotes, up to a remark; nothing when it is written in any stranger way."""
    value, at = "", 0 if "\0" not in text else len(text)
    while at < len(text) and text[at] not in ";#":
        piece = _PIECE.match(text, at)
        if piece is None:
            return ""
        value += re.sub(r"\\(.)", r"\1", piece[1]) if piece[1] is not None else piece[2]
        at = piece.end()
    return value.strip()
