"""A map of a tree for a model to read: the files that matter most, with the definitions that matter most in each."""

from collections.abc import Callable, Iterable, Mapping

from ..core.errors import ToolError
from .importance import importance, ranked_symbols
from .references import shown_line
from .spelling import shown
from .tree import Tree

BYTES_PER_TOKEN = 4
"""A token of source code is about four bytes long."""
LEAST_BUDGET, MOST_BUDGET = 64, 32_768
_LONGEST_LINE = 110
_MOST_SYMBOLS = 40
"""Of one file."""
_MOST_FILES = 2000


def repo_map(
    tree: Tree, paths: Iterable[str], *, budget: int, about: str, stop: Callable[[], bool] = lambda: False
) -> str:
    """The map, in at most `budget` tokens. `about` is its last line, and counts too."""
    weighed = importance(tree, paths, stop=stop)
    room = budget * BYTES_PER_TOKEN - _size(about)
    lines: list[str] = []
    files = 0
    for at, (path, _) in enumerate(weighed.files[:_MOST_FILES]):
        if stop():
            break
        share = _share(room, at)
        part = _part(tree, path, weighed.mentions, share)
        if not part:
            continue
        cost = sum(map(_size, part))
        if cost > room:
            break
        lines += part
        room -= cost
        files += 1
        if room < 40:
            break
    return "\n".join([*lines, about.replace("FILES", str(files))])


def _share(room: int, at: int) -> int:
    """How much of what is left one file may take: the first ones most, and none all of it."""
    return max(120, room // (3 if at < 3 else 6))


def _part(tree: Tree, path: str, mentions: Mapping[str, int], room: int) -> list[str]:
    """A file's name and its best definitions with their lines, within some bytes; nothing where it defines nothing."""
    chosen = ranked_symbols(tree, path, mentions, most=min(_MOST_SYMBOLS, max(2, room // 30)))
    if not chosen:
        return []
    try:
        source = tree.view.read(path).split(b"\n")
    except ToolError:  # gone since the index settled
        return []
    head = f"{shown(path)}:"
    lines, left = [head], room - _size(head)
    for each in chosen:
        depth = each.scope.count(".") + 1 if each.scope else 0
        text = shown_line(source, each.line) if each.name.isidentifier() else ""
        text = text.rstrip(" {:") if each.name in text else f"{each.kind} {each.name}"
        text = text if len(text) <= _LONGEST_LINE else text[: _LONGEST_LINE - 1] + "…"
        line = f"{each.line:>5}{'  ' * (depth + 1)}{_one_line(text)}"
        left -= _size(line)
        if left < 0:
            break
        lines.append(line)
    return lines if len(lines) > 1 else []


def _size(line: str) -> int:
    return len(line.encode("utf-8", "replace")) + 1


def _one_line(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text)
