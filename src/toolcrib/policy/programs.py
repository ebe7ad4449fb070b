"""What is known of programs: which words of a command line are not known to be harmless.

The knowledge is the table `programs.txt`; this file holds a command line against it. What the table does not know is
not harmless: the options of a program that is not in it may do anything, and a sub-command may be an alias.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from .operand_code import CHECKS
from .program_rows import Row, row_of

_words = str.split
SHELLS = frozenset(_words("sh bash rbash dash ash zsh ksh mksh fish csh tcsh busybox ssh su"))
"""Programs that read shell text from their input."""

INTERPRETERS = frozenset(
    _words(
        """sh bash rbash dash ash zsh ksh mksh fish csh tcsh busybox python pypy ipython perl ruby irb node nodejs deno
        bun tsx ts-node php lua luajit R Rscript julia pwsh powershell osascript awk gawk mawk nawk tclsh wish expect
        guile racket scala groovy elixir erl ghci runghc ocaml swipl sbcl clisp emacs vim vi nvim ed ex gdb lldb octave
        bpftrace jshell java dotnet"""
    )
)
"""Programs that run code they are given, by a word, a file or their input."""

READERS = frozenset(
    _words(
        """arch basename cat cmp comm cut date df diff dirname du echo egrep expand false fgrep file fold free grep
        groups head id join jq ls md5sum nl nproc od paste ps pwd readlink realpath rev rg sed seq sha1sum sha256sum
        sha512sum
        sleep sort stat tac tail test tr tree true uname uniq uptime wc which whoami find awk printf xxd hexdump"""
    )
)
"""Programs that mean the same in every directory: nothing they find there can make them run something."""

_VERSIONED = re.compile(r"-?[0-9][0-9.]*$")
_HARMLESS_QUESTIONS = frozenset(("--version", "--help", "-V"))
_NUMBER = re.compile(r"-\d+(?:\.\d+|[bcwkMG])?")
_PLACES = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/", "/sbin/", "/usr/sbin/")


class Finding(NamedTuple):
    """One word that is not known to be harmless."""

    word: str
    text: str
    kind: str
    """`option`, `dangerous` (an option known to do more than look) or `operand`."""


class Usage(NamedTuple):
    """How a command line uses its program."""

    findings: tuple[Finding, ...]
    depth: int
    """How many leading words are the program, its sub-commands and the options among them."""
    known: bool
    narrow: bool
    complete: bool
    """Whether a sub-command was named, where the program has some."""


def hazards(argv: Sequence[str], named: frozenset[str] = frozenset(), *, given: int = 1) -> tuple[str, ...]:
    """Every word of `argv` that is not known to be harmless, as a text for a person.

    `named` are options that a rule lets pass, `*` for every option but those known to run, write or load something. The
    first `given` words are the rule's own and are not reported.
    """
    return tuple(dict.fromkeys(finding.text for finding in usage(argv, named, given=given).findings))


def usage(argv: Sequence[str], named: frozenset[str] = frozenset(), *, given: int = 1) -> Usage:
    """How `argv` uses its program, see `Usage`."""
    if not argv:
        return Usage((), 0, known=False, narrow=True, complete=False)
    name = known_as(argv[0])
    row = row_of(name)
    if row is None and is_interpreter(name):
        return _interpreted(name, argv, named, given)
    return _Walk(name, argv, named, given).walk(row)


def known_as(program: str) -> str:
    """The name under which the table knows a program: a path counts only where systems keep their programs."""
    for place in _PLACES:
        if program.startswith(place) and "/" not in program[len(place) :]:
            return program[len(place) :]
    return program


def is_interpreter(name: str) -> bool:
    return name in INTERPRETERS or _VERSIONED.sub("", name) in INTERPRETERS


def unversioned(name: str) -> str:
    """`python3.11` is `python` for a rule that tightens; a name that is no interpreter's stays as it is."""
    stem = _VERSIONED.sub("", name)
    return stem if stem in INTERPRETERS or stem == "pip" else name


class _Walk:
    """Goes through the words of one command line, from the program down to its sub-command, and collects findings."""

    def __init__(self, name: str, argv: Sequence[str], named: frozenset[str], given: int) -> None:
        self.name, self.argv, self.named, self.given = name, argv, named, given
        self.findings: list[Finding] = []
        self.operands: list[str] = []
        self.values: list[tuple[str, str]] = []
        self.at, self.depth = 1, 1

    def walk(self, row: Row | None) -> Usage:
        known, ended, tail = row is not None, False, False
        here = row or Row(flags=frozenset(("tail", "unknown")))
        named_sub = not here.below
        while self.at < len(self.argv):
            word = self.argv[self.at]
            if word == "--" and not ended and "single" not in here.flags:
                ended, tail = "tail" not in here.flags, "tail" in here.flags
                self.at += 1
            elif ended or not _looks_like_option(word, here, first=self.at == 1):
                self.at += 1
                if below := self._below(here, word):
                    here, named_sub, self.depth = below, True, self.at
                elif "run" in here.flags:
                    return self._runs(word, here)
                else:
                    self._operand(here, word)
            elif tail:
                self._unlisted(word, "operand", foreign=True)
            else:
                self._option(here, word)
        self._check_code(here)
        return Usage(tuple(self.findings), self.depth, known=known, narrow="narrow" in here.flags, complete=named_sub)

    def _below(self, here: Row, word: str) -> Row | None:
        if not here.below or self.operands:
            return None
        found = here.below.get(word) or here.below.get("*")
        if found is None and "*" not in here.flags:
            self._report(word, f"{self.name} {word}", self.at - 1, "operand")
            return Row(here.options, here.dangerous, here.flags | {"narrow", "unknown"}, here.checks)
        return found

    def _runs(self, word: str, here: Row) -> Usage:
        """The rest is another program, judged as one if the rule names it; else a rule would let any program run."""
        start = self.at - 1
        self._report(word, f"{self.name} running {word}", start, "operand")
        inner = usage(self.argv[start:], self.named, given=max(self.given - start, 1))
        return inner._replace(findings=(*self.findings, *inner.findings), depth=start + inner.depth)

    def _operand(self, here: Row, word: str) -> None:
        self.operands.append(word)
        if here.operands is not None and len(self.operands) > here.operands:
            self._report(word, f"{self.name} with the operand {word!r}", self.at - 1, "operand")

    def _option(self, here: Row, word: str) -> None:
        start = self.at
        self.at += 1
        if "ANY" in here.flags:
            return
        if word.startswith(("+", "@")) or "unknown" in here.flags:
            self.at = start
            self._unlisted(word, "option" if word.startswith("-") else "operand")
        elif "tar" in here.checks and not word.startswith("-"):
            self._cluster(here, "-" + word, start)
        elif word in here.options and here.options[word] <= 0:
            return
        elif word.startswith("--") or "single" in here.flags:
            self._long(here, word, start)
        elif not ("-#" in here.options and word[1:].isdigit()):
            self._cluster(here, word, start)

    def _long(self, here: Row, word: str, start: int) -> None:
        name, joined, value = word.partition("=")
        if "single" in here.flags and name.startswith("--"):
            name = name[1:]
        takes = self._judge(here, name, word, start)
        if joined:
            self.values.append((name, value))
        else:
            self._take(name, takes, start)

    def _cluster(self, here: Row, word: str, start: int) -> None:
        for place, letter in enumerate(word[1:], 2):
            name = "-" + letter
            takes = self._judge(here, name, word, start)
            if takes == 0:
                continue
            if word[place:]:
                self.values.append((name, word[place:]))
            elif takes > 0:
                self._take(name, takes, start)
            return

    def _judge(self, here: Row, name: str, word: str, start: int) -> int:
        """How many values the option takes; reports it if it is not known to be harmless and not named."""
        if name in here.options:
            return here.options[name]
        if name in here.dangerous or (name.startswith("--") and _abbreviates(name, here)):
            if not self._is_named(name, word, here):
                self._report(name, f"{self.name} {name}", start, "dangerous")
            return here.dangerous.get(name, 0)
        if "*" not in self.named and not self._is_named(name, word, here):
            self._report(name, f"{self.name} {name}", start, "option")
        return 0

    def _is_named(self, name: str, word: str, here: Row) -> bool:
        if name in self.named or word in self.named:
            return True
        short = len(name) == 2 and "single" not in here.flags
        return short and any(name[1] in each[1:] for each in self.named if _is_cluster(each, here))

    def _take(self, name: str, takes: int, start: int) -> None:
        """The next words are the option's values. One that looks like an option is reported: it might be one."""
        for _ in range(max(takes, 0)):
            if self.at >= len(self.argv):
                return
            value = self.argv[self.at]
            if value.startswith("-") and value != "-" and not _NUMBER.fullmatch(value) and value not in self.named:
                self._report(value, f"{self.name} {name} with the value {value!r}", self.at, "operand")
            self.values.append((name, value))
            self.at += 1

    def _unlisted(self, word: str, kind: str, *, foreign: bool = False) -> None:
        """An option that the table cannot speak of. After `--` it is another program's, and `*` is not meant for it."""
        name = word.partition("=")[0] if word.startswith("--") else word
        if not {word, name} & self.named and (foreign or "*" not in self.named):
            self._report(word, f"{self.name} {word}", self.at, kind)
        self.at += 1

    def _check_code(self, here: Row) -> None:
        for check in here.checks:
            for word, what in CHECKS[check](self.operands, self.values):
                if word not in self.argv[: self.given]:
                    text = f"{self.name} with {what} is not known to be harmless"
                    self.findings.append(Finding(word, text, "operand"))

    def _report(self, word: str, what: str, place: int, kind: str) -> None:
        if place >= self.given:
            self.findings.append(Finding(word, f"{what} is not known to be harmless", kind))


def _abbreviates(name: str, here: Row) -> bool:
    """Whether a long option may be short for a dangerous one."""
    return len(name) > 2 and any(each.startswith(name) for each in here.dangerous)


def _looks_like_option(word: str, here: Row, *, first: bool) -> bool:
    if first and "tar" in here.checks and word.isalpha():
        return True
    if word.startswith("+"):
        return len(word) > 1 and "+" not in here.flags
    return (word.startswith("-") and word != "-") or (word.startswith("@") and "unknown" in here.flags)


def _is_cluster(word: str, here: Row) -> bool:
    """Whether a rule's `-rf` stands for `-r` and `-f`: not if one of its letters takes the rest for its value."""
    if not word.startswith("-") or word.startswith("--") or not word[1:].isalpha():
        return False
    kinds = here.options | here.dangerous
    return all(kinds.get("-" + letter, 0) == 0 for letter in word[1:-1])


def _interpreted(name: str, argv: Sequence[str], named: frozenset[str], given: int) -> Usage:
    """An interpreter's options and scripts are code. A module that a rule names is judged as the program it is."""
    found: list[Finding] = []
    for at, word in enumerate(argv[1:], 1):
        before = argv[at - 1]
        if before == "-m" and at < given:
            inner = usage(argv[at:], named, given=given - at)
            return inner._replace(findings=(*found, *inner.findings), depth=at + inner.depth)
        is_option = word.startswith(("-", "+", "@")) and word != "-"
        if at < given or (is_option and (word in _HARMLESS_QUESTIONS or word in named)):
            continue
        kind = "dangerous" if is_option else "operand"
        if not is_option and given > 1 and not argv[given - 1].startswith("-"):
            continue  # the rule names the script; what follows are its operands
        what = word if is_option else f"running {word!r}"
        found.append(Finding(word, f"{name} {what} is not known to be harmless", kind))
    if len(argv) == 1 and given <= 1:
        found.append(Finding("", f"{name} running what it reads is not known to be harmless", "operand"))
    return Usage(tuple(found), 1, known=False, narrow=True, complete=True)
