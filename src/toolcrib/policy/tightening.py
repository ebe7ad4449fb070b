"""Whether a command might be what a rule that tightens means. Where it cannot be told, it might.

The program counts under any path, in any case, and in any version of an interpreter. An option counts in a cluster,
abbreviated, joined to a value, or under another name. A word that is not known (None) may be no word, any, or several.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from .grammar import Glob
from .program_rows import row_of
from .programs import unversioned
from .synonyms import same_options
from .wrappers import base_name


@lru_cache(4096)
def program_key(name: str) -> str:
    """The same for all names that may be one program. Some file systems do not tell upper case from lower."""
    return unversioned(base_name(_folded(name)).removesuffix(".exe"))


def leads(argv: Sequence[str | None], needed: Sequence[tuple[str, ...]]) -> bool:
    """Whether the operands may begin with the needed words, whichever options take the next word for their value."""
    takes = _takes(argv[0])
    if needed and _is_aliased(argv, takes):
        return True
    places, been = {(1, 0)}, set[tuple[int, int]]()
    while places:
        at, met = place = places.pop()
        if met == len(needed):
            return True
        if at >= len(argv) or place in been:
            continue
        been.add(place)
        word = argv[at]
        if word is None:
            return True
        if word.startswith("-") and word != "-":
            places |= {(at + skipped, met) for skipped in _skipped(word, takes if met == 0 else {})}
        elif not needed[met] or any(might_be(each, word) for each in needed[met]):
            places.add((at + 1, met + 1))
            if isinstance(word, Glob):  # it may stand for several names
                places.add((at, met + 1))
    return False


def might_be(each: str, word: str) -> bool:
    """Whether a word of a rule may be this one."""
    if isinstance(word, Glob):
        return fnmatchcase(_folded(each), _folded(str(word)))
    return _folded(each) == _folded(word)


def may_lead(argv: Sequence[str | None], needed: Sequence[tuple[str, ...]]) -> bool:
    """A first look: without the first needed word anywhere, most rules are not meant, and that is seen at once."""
    known = _known(tuple(argv))
    return known is None or not needed or not needed[0] or any(_folded(each) in known for each in needed[0])


@lru_cache(256)
def _known(argv: tuple[str | None, ...]) -> frozenset[str] | None:
    """The words as they are compared; None where a word, or what it means, cannot be known."""
    if any(word is None or isinstance(word, Glob) for word in argv) or _is_aliased(argv, _takes(argv[0])):
        return None
    return frozenset(_folded(word) for word in argv if word is not None)


def has_option(argv: Sequence[str | None], option: str) -> bool:
    """Whether an option may be there. `-rf` is there if `-r` and `-f` are, or if it is one word."""
    base = base_name(argv[0] or "")
    words = [word for word in argv[1:] if word is not None]
    if len(words) < len(argv) - 1 or any(_is_there(base, words, each) for each in same_options(base, option)):
        return True
    cluster = not option.startswith("--") and len(option) > 2
    return cluster and all(has_option(argv, "-" + letter) for letter in option[1:])


def _is_there(base: str, words: Sequence[str], option: str) -> bool:
    for at, word in enumerate(words):
        name = word.partition("=")[0]
        if option in (word, name) or (option.startswith("--") and len(name) > 2 and option.startswith(name)):
            return True
        if len(option) == 2 and re.match(r"-[^-]", word) and option[1] in word[1:]:
            return True
        if base == "tar" and at == 0 and len(option) == 2 and word.isalpha() and option[1] in word:
            return True
        if base == "git" and word.startswith(_MEANS_IN_GIT.get(option, " ")):
            return True
    return False


_MEANS_IN_GIT = {"--force": "+", "--delete": ":"}
"""`git push origin +main` forces, `git push origin :main` deletes."""


@lru_cache(256)
def _takes(program: str | None) -> dict[str, int]:
    """How many values the options before a sub-command take, where that is known."""
    row = row_of(base_name(program or ""))
    return {} if row is None else row.options | row.dangerous


def _skipped(word: str, takes: dict[str, int]) -> Iterator[int]:
    """By how many words an option may be passed."""
    count = takes.get(word.partition("=")[0])
    if "=" in word or word == "--" or (count is not None and count <= 0):
        yield 1
    elif count is None:
        yield from (1, 2)
    else:
        yield 1 + count


def _is_aliased(argv: Sequence[str | None], takes: dict[str, int]) -> bool:
    """Whether git's sub-command may be another than its name says: an alias can come with an option before it."""
    if base_name(argv[0] or "") != "git":
        return False
    at = 1
    while at < len(argv) and (word := argv[at]) is not None and word.startswith("-"):
        if word.startswith(("--config-env", "--exec-path=")) or (word.startswith("-c") and word != "-C"):
            return True
        at += max(_skipped(word, takes))
    return False


@lru_cache(4096)
def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
