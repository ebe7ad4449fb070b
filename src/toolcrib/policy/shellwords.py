"""A strict reader of the small part of shell text whose meaning is beyond doubt.

It reads literal words, quotes that hold nothing to expand, the separators `;`, `&&`, `||`, `|`, `|&` and newline,
comments, and the few redirections that agents write all day and that touch no file. Whatever else it meets it calls a
doubt: it never guesses. Two readers must agree before a text counts as understood, this one and the grammar in
`shell.py`.
"""

import re
from typing import NamedTuple

_words = str.split
RESERVED = frozenset(
    _words("if then else elif fi do done case esac while until for in select function time coproc { } ! [[ ]] [")
)
"""Words that are no program where a command begins. `time` is read on, because it only precedes a command."""

_BARE = re.compile(r"[A-Za-z0-9_./:=@%+,^~!#\]\u0080-\U0010ffff-]+")
_SINGLE = re.compile(r"'([^']*)'")
_DOUBLE = re.compile(r'"((?:[^"\\$`]|\\.|\$(?="))*)"', re.DOTALL)
_ESCAPE = re.compile(r'\\([\\"$`\n])')
_REDIRECT = re.compile(r"(?:[12]?>&[12]|(?:[12]?>>?|&>>?|0?<)[ \t]*/dev/null)(?=[ \t\n;|&]|\Z)")
_SEPARATOR = re.compile(r"\|\||&&|\|&|[;|\n]")
_BLANK = re.compile(r"[ \t]+")
_COMMENT = re.compile(r"#[^\n\\]*(?=\n|\Z)")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_TILDE = re.compile(r"(?<![A-Za-z0-9_./@-])~")
_UNSURE_BYTES = re.compile(rb"[\x85\xa0]")

_WHY = {
    "$": "holds a variable or a substitution",
    "`": "holds a command substitution",
    "\\": "holds a backslash outside quotes",
    "*": "holds a file pattern (*)",
    "?": "holds a file pattern (?)",
    "[": "holds a file pattern ([)",
    "{": "holds a brace",
    "}": "holds a brace",
    "(": "holds a subshell or a function",
    ")": "holds a subshell or a function",
    "<": "reads from a redirection",
    ">": "writes to a file by redirection",
    "&": "starts a process in the background",
    "'": "holds a quote that does not end",
    '"': "holds a variable or a substitution in quotes",
    "#": "holds a comment with a backslash",
}


class Word(NamedTuple):
    """One word: what the program gets, and where it stands in the text (in characters)."""

    value: str
    start: int
    end: int
    bare: bool


class Reading(NamedTuple):
    """The simple commands of a text in order. They are all of it only if there is no doubt."""

    commands: tuple[tuple[Word, ...], ...]
    doubt: str = ""


def read(text: str, most: int = 64) -> Reading:
    """The commands of `text`, as far as they are certain, and few more than `most`; `doubt` says where it ended."""
    done: list[tuple[Word, ...]] = []
    words: list[Word] = []
    redirected, owed, at = False, False, 0
    while at < len(text) and len(done) <= most:
        if blank := _BLANK.match(text, at):
            at = blank.end()
        elif redirect := _REDIRECT.match(text, at):
            if not words:
                return Reading(tuple(done), "begins with a redirection")
            redirected, at = True, redirect.end()
        elif separator := _SEPARATOR.match(text, at):
            sign = separator.group()
            if words:
                done.append(tuple(words))
                words, redirected, owed = [], False, sign not in ";\n"
            elif sign != "\n":
                return Reading(tuple(done), f"has nothing before {sign}")
            at = separator.end()
        elif comment := _COMMENT.match(text, at):
            at = comment.end()
        elif redirected:
            return Reading(tuple(done), "has a word after a redirection")
        else:
            word = _word(text, at)
            if isinstance(word, str):
                return Reading(tuple(done), word)
            if doubt := _in_command_position(words, word):
                return Reading(tuple(done), doubt)
            words.append(word)
            at = word.end
    if words:
        done.append(tuple(words))
    elif owed:
        return Reading(tuple(done), "ends where a command is missing")
    return Reading(tuple(done), "" if done else "holds no command")


def _word(text: str, start: int) -> Word | str:
    """The word that begins at `start`, or why it is not certain."""
    value, at, bare = "", start, True
    if text[start] == "#":
        return _WHY["#"]
    while at < len(text):
        if run := _BARE.match(text, at):
            if doubt := _unsure(text, start, run):
                return doubt
            value, at = value + run.group(), run.end()
        elif single := _SINGLE.match(text, at):
            value, at, bare = value + single.group(1), single.end(), False
        elif double := _DOUBLE.match(text, at):
            inside = _ESCAPE.sub(lambda found: "" if found[1] == "\n" else found[1], double.group(1))
            value, at, bare = value + inside, double.end(), False
        elif text[at] in " \t\n;|" or text[at] == "&" and text.startswith("&&", at):
            break
        else:
            return _WHY.get(text[at], "holds a character with a meaning of its own")
    return Word(value, start, at, bare)


def _unsure(text: str, start: int, run: re.Match[str]) -> str:
    """Why an unquoted run of a word may not mean itself."""
    if text[run.end() : run.end() + 1] in ("<", ">") and run.group().isdigit() and run.start() == start:
        return "redirects a file descriptor"
    if "]" in run.group():
        return "holds a file pattern (])"
    if "~" in run.group() and _TILDE.search(run.group()):
        return "holds a home directory (~)"
    if _UNSURE_BYTES.search(run.group().encode()):
        return "holds a character outside quotes that some systems take for a blank"
    return ""


def _in_command_position(words: list[Word], word: Word) -> str:
    """Why `word` is no program, if it stands where a program is expected."""
    before = [each.value for each in words[:4]]
    timed = before in (["time"], ["time", "-p"], ["time", "--"], ["time", "-p", "--"]) and words[0].bare
    if words and not timed:
        return ""
    if not word.value:
        return "has an empty word for a program"
    if not word.bare:
        return ""
    if word.value in RESERVED and (timed or word.value != "time"):
        return f"holds the shell's word {word.value}"
    if _ASSIGNMENT.match(word.value):
        return "sets a variable"
    if word.value.startswith("%"):
        return "names a job"
    return ""
