"""Programs that run other programs: what a command line comes to when its wrappers are taken off.

`unwrap` takes off only what it can read to the last word, because a rule that loosens is held against what remains.
`seen_through` is for rules that tighten: it finds every command that might be run, and rather one too many.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .grammar import Mention
from .shell import Argv, analyse
from .wrappers import (
    DOUBTFUL,
    EXACT,
    EXECUTES,
    FINDERS,
    OPERANDS_BEFORE,
    PLAIN_SHELLS,
    RUNNERS,
    RUNS_TEXT,
    SHELL_WORDS,
    TEXT_SHELLS,
    WRAPPERS,
    base_name,
)

__all__ = ["MAX_DEPTH", "UNKNOWN", "WRAPPERS", "Unwrapped", "seen_through", "unwrap"]

MAX_DEPTH = 8
MAX_SEEN = 512
MAX_TEXTS = 16
UNKNOWN: Mention = (None,)
"""A command of which nothing is known: it might be any."""

_SHELL_OPTIONS = re.compile(r"(?:-[eux]+\0|-[eux]*o\0pipefail\0)*-[eux]*c[eux]*\0")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


class Unwrapped(NamedTuple):
    """What a command line comes to."""

    chain: tuple[Mention, ...]
    """The argv itself and everything it might run, for rules that tighten."""
    leaves: tuple[Argv, ...]
    """What really runs: without doubts, exactly these and nothing else. `sh -c TEXT` gives the commands of TEXT."""
    doubts: tuple[str, ...]
    """Why it is never pre-approved, though it may be seen through."""


def unwrap(argv: Sequence[str]) -> Unwrapped:
    """Take the wrappers off, as far as every word of them is understood."""
    leaves: list[Argv] = []
    doubts: list[str] = []
    waiting = [(tuple(argv), 0)]
    while waiting:
        words, depth = waiting.pop(0)
        inner = _inside(words, doubts)
        if inner and depth >= MAX_DEPTH:
            doubts.append(f"is nested more than {MAX_DEPTH} deep")
            inner = ()
        if not inner:
            leaves.append(words)
        waiting[:0] = [(each, depth + 1) for each in inner]
    return Unwrapped(seen_through(tuple(argv)), tuple(dict.fromkeys(leaves)), tuple(dict.fromkeys(doubts)))


def _inside(words: Argv, doubts: list[str]) -> tuple[Argv, ...]:
    """What one wrapper runs; empty if it is none, or not one that can be read exactly (then there is a doubt)."""
    name = words[0] if words else ""
    if name in EXACT:
        return _wrapped(name, words, doubts)
    if name in PLAIN_SHELLS and any(map(_has_c, words[1:])):
        return _text_of_shell(words, doubts)
    base = base_name(name)
    if (base in EXACT and len(words) > 1) or base in DOUBTFUL:
        doubts.append(f"runs a command through {name}")
    elif base in TEXT_SHELLS and any(map(_has_c, words[1:])):
        doubts.append(f"runs shell text through {name}")
    return ()


def _wrapped(name: str, words: Argv, doubts: list[str]) -> tuple[Argv, ...]:
    if len(words) == 1 or (name == "command" and len(words) == 3 and words[1] in ("-v", "-V")):
        return ()
    wrapper, line = EXACT[name], "\0".join(words[1:]) + "\0"
    options = wrapper.options.match(line)
    operands = wrapper.operands.match(line, options.end()) if options else None
    inner = words[1 + line[: operands.end()].count("\0") :] if operands else ()
    if not inner or not inner[0] or inner[0].startswith("-") or (name == "env" and "=" in inner[0]):
        doubts.append(f"uses {name} in a way that is not known to be harmless")
        return ()
    return (inner,)


def _has_c(word: str) -> bool:
    return word.startswith("-") and not word.startswith("--") and "c" in word


def _text_of_shell(words: Argv, doubts: list[str]) -> tuple[Argv, ...]:
    """The commands of `sh -c TEXT`. The caller's quotes are off it, so it is analysed anew."""
    line = "\0".join(words[1:]) + "\0"
    options = _SHELL_OPTIONS.match(line)
    rest = words[1 + line[: options.end()].count("\0") :] if options else ()
    if len(rest) != 1:
        doubts.append(f"uses {words[0]} in a way that is not known to be harmless")
        return ()
    script = analyse(rest[0])
    if script.refusal or script.doubts:
        doubts += [f"its shell text {why}" for why in (script.doubts or (script.refusal,))]
        return ()
    return script.parts


def seen_through(words: Mention) -> tuple[Mention, ...]:
    """The command itself and everything it might run. Where that has no end, one that might be any ends it."""
    found: dict[Mention, None] = {}
    waiting: list[tuple[Mention, int]] = [(words, 0)]
    while waiting:
        command, depth = waiting.pop()
        if command in found or not command:
            continue
        found[command] = None
        if len(found) > MAX_SEEN or depth > MAX_DEPTH:
            found[UNKNOWN] = None
            break
        if command[0] is not None:
            waiting += [(each, depth + 1) for each in _within(base_name(command[0]).casefold(), command)]
    return tuple(found)


def _within(base: str, words: Mention) -> Iterator[Mention]:
    if base.startswith("git-"):
        yield ("git", base.removeprefix("git-"), *words[1:])
    if base in FINDERS:
        yield from _executed(words)
    elif base in RUNNERS:
        runs = RUNNERS[base].split()
        after = next((at for at, word in enumerate(words) if word in runs or (at and word is None)), len(words))
        yield from _starts(words, after + 1 if runs else 1, OPERANDS_BEFORE.get(base, 0))
    elif base in EXACT or base in DOUBTFUL or base in SHELL_WORDS:
        yield from _starts(words, 1, OPERANDS_BEFORE.get(base, 0))
    for number, text in enumerate(dict.fromkeys(_texts(base, words))):
        yield from _in_text(text if number < MAX_TEXTS else None)


def _executed(words: Mention) -> Iterator[Mention]:
    """What find and its like run for each file."""
    for at, word in enumerate(words):
        if at and word is None:
            yield UNKNOWN
        elif word in EXECUTES:
            yield words[at + 1 :]
        elif word is not None and word.startswith(("--exec=", "--exec-batch=")):
            yield (word.partition("=")[2], *words[at + 1 :])
        elif word is not None and word[:2] in ("-x", "-X") and len(word) > 2:
            yield (word[2:], *words[at + 1 :])


def _starts(words: Mention, first: int, operands: int) -> Iterator[Mention]:
    """Where another command may begin, from `first` on: after the wrapper's options, their values, its operands."""
    may_be_value = False
    for at in range(first, len(words)):
        word = words[at]
        if word is None:
            yield UNKNOWN
            return
        if word.startswith("-") or _ASSIGNMENT.match(word):
            may_be_value = word.startswith("-") and word != "--" and "=" not in word
            continue
        yield words[at:]
        if may_be_value:
            may_be_value = False
        elif operands:
            operands -= 1
        else:
            return


def _texts(base: str, words: Mention) -> Iterator[str | None]:
    """Words that a shell may be given as text."""
    if base in TEXT_SHELLS or base in ("su", "script", "flock", "runuser"):
        coming = False
        for word in words[1:]:
            if coming:
                yield word
            coming = coming or word is None or _has_c(word) or word in ("--command", "--session-command")
            if word is not None and word.startswith(("--command=", "--session-command=")):
                yield word.partition("=")[2]
            elif word is not None and word.startswith("-c"):
                yield word[2:]
    if base in RUNS_TEXT:
        for at in range(1, min(len(words), 6)):
            yield _joined(words[at:])
    if base == "env":
        for at, word in enumerate(words[1:], 1):
            if word is not None and word.startswith("--split-string"):
                yield _joined((word.partition("=")[2], *words[at + 1 :]))
            elif word is not None and re.match(r"-[A-Za-z0]*S", word):
                yield _joined((word.partition("S")[2], *words[at + 1 :]))
    if base == "git":
        for word in words[1:]:
            if word is not None and "=" in word:
                yield word.partition("=")[2].lstrip("!")


def _joined(words: Mention) -> str | None:
    return None if None in words else " ".join(word for word in words if word is not None)


def _in_text(text: str | None) -> Iterator[Mention]:
    if text is None:
        yield UNKNOWN
    elif text.strip():
        script = analyse(text)
        yield from script.mentioned
        if script.refusal:
            yield UNKNOWN
