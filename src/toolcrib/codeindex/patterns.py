"""Search by the shape of code: which files may have such a piece, and where in them it stands."""

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from ..core.errors import ToolError
from .view import View

if TYPE_CHECKING:
    from .structure import Match

MOST_FILES = 3000
"""That are parsed for one question."""
LONGEST = 4000
"""Characters of a pattern."""
_META = re.compile(r"\$\$\$[A-Z0-9_]*|\$[A-Z_][A-Z0-9_]*")
_WORD = re.compile(r"[A-Za-z_]\w{2,}")
_KEYWORDS = frozenset(
    """
    async await break case catch class const continue def default elif else enum except export extends false final
    finally fn for foreach from func function global goto if impl import in include instanceof interface is lambda let
    loop match mod module namespace new nil none not null package pass private protected pub public raise require return
    self static struct super switch template this throw throws trait true try type typedef union unless until use using
    var void when where while with yield None True False string int bool float
    """.split()  # noqa: SIM905
)
"""Of any language: they tell nothing about a file, and are not among its identifiers everywhere."""


class Pieces(NamedTuple):
    """What fits a pattern; `kept` are the first of `total`."""

    kept: "tuple[tuple[str, Match], ...]"
    total: int
    files: int
    """That were parsed."""
    unread: int
    """Files that were left out because there are too many, the time was over, or they are gone."""
    faults: tuple[str, ...]
    """Languages in which the pattern means nothing, with the reason."""


def is_pattern(query: str) -> bool:
    """Whether a query holds `$NAME`: what stands for any piece of code."""
    return _META.search(query) is not None


def pieces(
    view: View, pattern: str, paths: Iterable[str], *, limit: int, stop: Callable[[], bool] = lambda: False
) -> Pieces:
    """Look through files for pieces of code of a shape, in the order of the files."""
    from .structure import structural  # late: it brings the parsers

    kept: list[tuple[str, Match]] = []
    faults: dict[str, str] = {}
    total = files = unread = 0
    for path in candidates(view, pattern, paths):
        language = view.language(path)
        if language in faults:
            continue
        if files >= MOST_FILES or stop():
            unread += 1
            continue
        try:
            found = structural(language, view.read(path), pattern)
        except ToolError:
            unread += 1
            continue
        except ValueError as exc:
            faults[language] = str(exc)
            continue
        files += 1
        total += len(found)
        kept += [(path, match) for match in found[: limit - len(kept)]]
    return Pieces(tuple(kept), total, files, unread, tuple(f"{name}: {why}" for name, why in sorted(faults.items())))


def candidates(view: View, pattern: str, paths: Iterable[str]) -> list[str]:
    """The files that have every identifier of the pattern; no other can have a piece that fits."""
    words = {word for word in _WORD.findall(_META.sub(" ", pattern)) if word not in _KEYWORDS}
    inside = list(paths)
    quoted = "".join(re.findall(r"\"[^\"]*\"|'[^']*'|`[^`]*`", pattern))
    for word in sorted(words - set(_WORD.findall(quoted)), key=len, reverse=True)[:4]:
        having = set(view.mentioning(word))
        inside = [path for path in inside if path in having]
    return inside
