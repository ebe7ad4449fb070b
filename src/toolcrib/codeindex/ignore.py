"""Files that say which files are of no interest: `.gitignore`, `.ignore`, `.rgignore` and git's own `info/exclude`.

They are read as git reads them: the last rule that fits decides, `!` takes back, a rule with a slash counts from the
directory of its file, and what lies in an ignored directory stays ignored. A file nearer to the matter goes before one
above it, and any `.rgignore` before any `.ignore`, that before any `.gitignore`, that before `info/exclude`, as ripgrep
has it. A `.gitignore` counts without a repository, too; where a repository begins, those above it end.
"""

import os
import re
import stat
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from .wildcard import is_plain, segment, segments

NAMES = (".rgignore", ".ignore", ".gitignore")
"""Strongest first."""
VERSION_CONTROL = frozenset((".git", ".hg", ".svn", ".jj", ".bzr"))
"""Directories that hold the history, and not the work."""
_EXCLUDE = len(NAMES)
_WEAKEST = _EXCLUDE + 1
_GIT_KINDS = (NAMES.index(".gitignore"), _EXCLUDE)
_LONGEST_FILE = 256 * 1024
_LONGEST_LINE = 1024
_MOST_PATTERNS = 2000
"""Of those in one file that are more than a name or an ending: each costs something for every name in the tree."""
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Rule(NamedTuple):
    """One line."""

    parts: tuple[str, ...]
    """A pattern for each name of a path, from the directory of the file on."""
    ignores: bool
    """Or takes back."""
    folders_only: bool
    anywhere: bool
    """A single name, at whatever depth."""

    def line(self) -> str:
        """As it would stand in a file."""
        bare = self.parts[0] if self.anywhere else "/" + "/".join(self.parts)
        return ("" if self.ignores else "!") + bare + ("/" if self.folders_only else "")

    def below(self, names: Sequence[str]) -> "list[Rule]":
        """What it comes to in a directory further down, given the names that lead there."""
        if self.anywhere:
            return [self]
        rests = {self.parts}
        for name in names:
            rests = {rest for parts in rests for rest in _after(parts, name)}
        return [self._replace(parts=parts) for parts in sorted(rests) if parts]


class Rules:
    """What one file says. The place of a rule in the file is its weight."""

    __slots__ = ("_any", "_endings", "_folders", "_ignores", "_others", "_weights", "deep", "rules")

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        self.deep = False
        """Whether it must be told the path, and not only the name."""
        self._ignores = [rule.ignores for rule in self.rules]
        self._any: dict[str, int] = {}
        self._folders: dict[str, int] = {}
        self._endings: dict[str, int] = {}
        others: list[tuple[int, Rule]] = []
        for weight, rule in enumerate(self.rules):
            pattern = rule.parts[0]
            if rule.anywhere and is_plain(pattern):
                (self._folders if rule.folders_only else self._any)[pattern] = weight
            elif rule.anywhere and not rule.folders_only and pattern[:2] == "*." and is_plain(ending := pattern[2:]):
                if "." in ending:
                    others.append((weight, rule))
                else:
                    self._endings[ending] = weight
            else:
                others.append((weight, rule))
        others = others[-_MOST_PATTERNS:]
        self.deep = any(not rule.anywhere for _, rule in others)
        made = [(weight, expression) for weight, rule in reversed(others) if (expression := self._expression(rule))]
        self._weights = [weight for weight, _ in made]
        self._others = re.compile("|".join(f"({each})" for _, each in made), re.DOTALL).match if made else None

    def says(self, name: str, path: str, *, folder: bool) -> bool | None:
        """Whether something is ignored; None when no rule fits. `path` is needed where the rules are `deep`."""
        weight = self._any.get(name, -1)
        if folder and self._folders:
            weight = max(weight, self._folders.get(name, -1))
        if self._endings and "." in name:
            weight = max(weight, self._endings.get(name[name.rindex(".") + 1 :], -1))
        if self._others is not None:
            text = path if self.deep else name
            found = self._others(text + "/" if folder else text)
            if found is not None:
                weight = max(weight, self._weights[(found.lastindex or 1) - 1])
        return None if weight < 0 else self._ignores[weight]

    def _expression(self, rule: Rule) -> str | None:
        end = r"/\Z" if rule.folders_only else r"/?\Z"
        if rule.anywhere:
            made = segment(rule.parts[0])
            return made and ("(?:[^/]++/)*?" if self.deep else "") + made + end
        made = segments(rule.parts)
        return made and made + end


def read_rules(text: str) -> list[Rule]:
    """The lines of a file, in their order. What fits nothing is left out."""
    rules = []
    for line in text.removeprefix("\ufeff").split("\n"):
        line = _without_trailing_spaces(line.removesuffix("\r"))
        if not line or line[0] == "#" or len(line) > _LONGEST_LINE:
            continue
        ignores = line[0] != "!"
        line = line if ignores else line[1:]
        folders_only = line.endswith("/")
        line = line[:-1] if folders_only else line
        if not line:
            continue
        if "/" not in line:
            rules.append(Rule((line,), ignores, folders_only, anywhere=True))
            continue
        parts = tuple("**" if len(part) > 1 and not part.strip("*") else part for part in line.split("/"))
        rules.append(Rule(parts[1:] if parts[0] == "" else parts, ignores, folders_only, anywhere=False))
    return rules


@lru_cache(maxsize=128)
def _compiled(text: str) -> Rules:
    return Rules(read_rules(text))


class Ignores(NamedTuple):
    """All that holds in one directory."""

    stack: tuple[tuple[int, int, Rules], ...] = ()
    """Kind of file, where paths begin for it (that of its directory and the slash cut off), and what it says.

    Strongest first.
    """

    def ignored(self, name: str, path: str, *, folder: bool) -> bool:
        """Whether a thing in this directory is ignored; `path` is its own, from the start of the walk."""
        for _, base, rules in self.stack:
            said = rules.says(name, path[base:] if rules.deep else name, folder=folder)
            if said is not None:
                return said
        return False

    def inside(self, fd: int, base: int, present: Iterable[str]) -> "Ignores":
        """What holds in a directory that is open, given what holds above it and which of `MARKERS` lie in it."""
        stack = list(self.stack)
        added: list[tuple[int, int, Rules]] = []
        for name in present:
            if name == ".git":
                stack = [each for each in stack if each[0] not in _GIT_KINDS]
                text, kind = _exclude(fd), _EXCLUDE
            else:
                text, kind = _text(name, fd), NAMES.index(name)
            rules = _compiled(text) if text else None
            if rules is not None and rules.rules:
                added.append((kind, base, rules))
        # Stable: of two of a kind, what is nearer stays before what was there.
        return Ignores(tuple(sorted(added + stack, key=lambda each: each[0])))


def lines_above(fd: int, names: Sequence[str]) -> list[str]:
    """What ignore files say in an open directory and on the way down from there, put for the directory at its end.

    The last line is the strongest. What the directory at the end says itself is not among it.
    """
    held, here = NOTHING, fd
    try:
        for depth, name in enumerate(names):
            held = held.inside(here, depth, [each for each in (*NAMES, ".git") if _is_there(each, here)])
            below = os.open(name, _FOLDER, dir_fd=here)
            if here != fd:
                os.close(here)
            here = below
        if _is_there(".git", here):
            held = Ignores(tuple(each for each in held.stack if each[0] not in _GIT_KINDS))
    finally:
        if here != fd:
            os.close(here)
    said = [(rule, depth) for _, depth, rules in reversed(held.stack) for rule in rules.rules]
    return [each.line() for rule, depth in said for each in rule.below(names[depth:])]


def from_lines(lines: Sequence[str]) -> Ignores:
    """What holds above the start of a walk, by `lines_above`: weaker than all that is said below."""
    rules = _compiled("\n".join(lines))
    return Ignores(((_WEAKEST, 0, rules),)) if rules.rules else NOTHING


MARKERS = frozenset((*NAMES, ".git"))
"""What in a directory says something about ignoring."""
NOTHING = Ignores()


def _after(parts: tuple[str, ...], name: str) -> list[tuple[str, ...]]:
    """What is left of a pattern when a path begins with this name."""
    if not parts:
        return []
    if parts[0] == "**":
        return [parts, *_after(parts[1:], name)]
    made = segment(parts[0])
    return [parts[1:]] if made is not None and re.fullmatch(made, name) else []


def _is_there(name: str, fd: int) -> bool:
    try:
        os.stat(name, dir_fd=fd, follow_symlinks=False)
    except OSError:
        return False
    return True


def _without_trailing_spaces(line: str) -> str:
    bare = line.rstrip(" ")
    escapes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if escapes % 2 and len(bare) < len(line) else bare


def _exclude(fd: int) -> str:
    """`.git/info/exclude`, where `.git` is a directory."""
    opened: list[int] = []
    try:
        for name in (".git", "info"):
            opened.append(os.open(name, _FOLDER, dir_fd=opened[-1] if opened else fd))
        return _text("exclude", opened[-1])
    except OSError:
        return ""
    finally:
        for each in opened:
            os.close(each)


def _text(name: str, fd: int) -> str:
    """A regular file's, as far as we read it; nothing when it is none or cannot be read."""
    try:
        file = os.open(name, _OPEN, dir_fd=fd)
    except OSError:
        return ""
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return ""
        return os.read(file, _LONGEST_FILE).decode("utf-8", "surrogateescape")
    except OSError:
        return ""
    finally:
        os.close(file)
