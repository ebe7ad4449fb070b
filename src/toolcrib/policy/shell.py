"""Shell text as the commands it would run, for rules to judge.

Two readers look at a text: the strict one of `shellwords.py`, which says what each command's arguments are, and a full
grammar of the shell, which finds every command, also where it stands in a substitution or a loop. A text counts as
understood only if both see the same commands at the same places and nothing besides.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from .grammar import Mention, look_through
from .programs import READERS
from .shellwords import Reading, read

MAX_PARTS = 64
MAX_BYTES = 32 * 1024

Argv = tuple[str, ...]


class Script(NamedTuple):
    """What a command text, or an argv, comes to."""

    parts: tuple[Argv, ...]
    """The simple commands in order, each as the exact argv the shell would make. Complete only without doubts."""
    doubts: tuple[str, ...] = ()
    """Why it is never pre-approved, for a person: "holds a command substitution"."""
    refusal: str = ""
    """Why it cannot be analysed at all and is refused."""
    mentioned: tuple[Mention, ...] = ()
    """Every command found anywhere in it, None for a word whose value is not known: for rules that tighten."""


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_PLAIN_TEXT = re.compile("[\t\n -~]*")

_words = str.split
HARMLESS_BUILTINS = frozenset(_words(": cd echo exit false help kill printf pwd test true type"))
"""Builtins that a text may use and stay understood: they print, end, look or signal, and change nothing that a later
command depends on. `cd` changes the place: see `_after_cd`. `printf -v`, `test -v` and `test -R` evaluate a subscript
and so can run a command: `_builtins` keeps them out. `command` is let in as `command -v NAME`, which only looks."""

BUILTINS = HARMLESS_BUILTINS | frozenset(
    _words(
        """. [ alias bg bind break builtin caller command compgen complete compopt continue declare dirs disown enable
        eval exec export fc fg getopts hash history jobs let local logout mapfile popd pushd read readarray readonly
        return set shift shopt source suspend times trap typeset ulimit umask unalias unset wait"""
    )
)
"""Everything bash runs inside itself. What is not harmless changes the shell, or runs text that nobody looked at."""

_TOO_MANY = f"holds more than {MAX_PARTS} commands; run them in smaller pieces"


def analyse(text: str, *, here: Callable[[str], bool] = lambda path: False) -> Script:
    """What the shell would make of `text`. Never raises; what cannot be analysed is refused, with the reason.

    `here` says of a path whether it is the directory the text is run in, so that going there changes nothing.
    """
    if refusal := _refused(text):
        return Script((), refusal=refusal)
    reading = read(text, MAX_PARTS)
    if len(reading.commands) > MAX_PARTS:
        return Script((), refusal=_TOO_MANY)
    tree = look_through(text, MAX_PARTS)
    parts = tuple(tuple(word.value for word in command) for command in reading.commands)
    if tree.refusal:
        return Script((), refusal=tree.refusal)
    if tree.broken and reading.doubt:
        return Script((), refusal="cannot be parsed as shell text; check its quotes and brackets")
    mentioned = tuple(dict.fromkeys([*parts, *tree.mentioned]))
    if tree.count > MAX_PARTS:
        return Script((), refusal=_TOO_MANY)
    doubts = [*tree.doubts, *_unusual(text), *_builtins(parts), *_after_cd(parts, here)]
    if reading.doubt:
        doubts.append(reading.doubt)
    elif not doubts and tree.places != _places(text, reading):
        doubts.append("is read in two ways by two parsers")
    return Script(parts, tuple(dict.fromkeys(doubts)), mentioned=mentioned)


def analyse_argv(argv: Sequence[str]) -> Script:
    """One command, run without a shell: every word is literal. A tab or a newline in a word is only a character."""
    words = tuple(argv)
    if not words or not words[0]:
        return Script((), refusal="names no program")
    whole = "\n".join(words)
    if "\0" in whole:
        return Script((), refusal="holds a NUL character")
    if refusal := _unfit(whole):
        return Script((), refusal=refusal)
    doubts = _unusual(whole)
    if _CONTROL.search(whole) or "\n" in words[0] or "\t" in words[0]:
        doubts.insert(0, "holds a control character")
    return Script((words,), tuple(doubts), mentioned=(words,))


def _refused(text: str) -> str:
    if found := _CONTROL.search(text):
        return f"holds the control character U+{ord(found.group()):04X}"
    return _unfit(text) or ("" if text.strip(" \t\n") else "holds no command")


def _unfit(text: str) -> str:
    if _SURROGATE.search(text):
        return "holds half of a surrogate pair, which is no character"
    if len(text.encode()) > MAX_BYTES:
        return f"is longer than {MAX_BYTES} bytes; put long content into a file"
    return ""


def _unusual(text: str) -> list[str]:
    """Characters that a person cannot see, or takes for others, when asked whether this may run."""
    if _PLAIN_TEXT.fullmatch(text):
        return []
    doubts: list[str] = []
    for char in sorted(set(text)):
        kind = unicodedata.category(char)
        if (kind in ("Zs", "Zl", "Zp") and char != " ") or kind in ("Cf", "Cn", "Co") or char in _INVISIBLE:
            doubts.append(f"holds the invisible or misleading character U+{ord(char):04X}")
    return doubts


_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u2800\u3164\uffa0")
"""Letters and marks that show nothing, though Unicode does not call them formatting."""


def _builtins(parts: Sequence[Argv]) -> Iterator[str]:
    for argv in parts:
        name = argv[0]
        if name == "time" and next((word for word in argv[1:] if word not in ("-p", "--")), "") in BUILTINS:
            yield "times one of the shell's own commands, which acts as if it stood alone"
        if name not in BUILTINS:
            continue
        if name == "command" and len(argv) == 3 and argv[1] in ("-v", "-V") and not argv[2].startswith("-"):
            continue
        if name not in HARMLESS_BUILTINS:
            yield f"uses the shell's own command {name}"
        elif name == "cd" and (len(argv) != 2 or not argv[1] or argv[1].startswith("-")):
            yield "changes to a directory that is not named"
        elif name == "printf" and len(argv) > 1 and argv[1].startswith("-"):
            yield "uses printf with an option, which can set a variable"
        elif name == "test" and any(word in ("-v", "-R") or "[" in word for word in argv[1:]):
            yield "uses test on a variable, which can evaluate an expression"


def _after_cd(parts: Sequence[Argv], here: Callable[[str], bool]) -> Iterator[str]:
    """A command means something else in another place: another program, configuration or Makefile."""
    moved = away = False
    for argv in parts:
        name = argv[0]
        if moved and "/" in name and not name.startswith("/"):
            yield f"runs {name} by a relative path after cd"
        elif moved and name == "git":
            yield "runs git after cd, where another repository's configuration may run programs"
        elif away and name not in READERS and name not in HARMLESS_BUILTINS:
            yield f"runs {name} after cd to a place outside"
        if name == "cd" and len(argv) > 1 and (moved or not here(argv[1])):
            moved = True
            away = away or argv[1].startswith("/") or ".." in argv[1].split("/")


def _places(text: str, reading: Reading) -> list[list[tuple[int, int]]]:
    """Where each word stands, in bytes."""
    if text.isascii():
        return [[(word.start, word.end) for word in command] for command in reading.commands]
    at = [0]
    for char in text:
        at.append(at[-1] + len(char.encode()))
    return [[(at[word.start], at[word.end]) for word in command] for command in reading.commands]
