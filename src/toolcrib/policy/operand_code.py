"""Operands that are code: sed scripts, awk programs, SQL, URLs, and words that are options without looking like one.

Each check answers with the words that are not known to be harmless, and with what to call them. It recognises a tiny
harmless grammar and nothing else: a list of what is dangerous would never be complete.
"""

import re
from collections.abc import Callable, Sequence

Wrong = tuple[str, str]

_PIECE = r"(?:[^\\{d}\n\[\]]|\\[^\n]|\[\^?(?:\[:[a-z]+:\]|[^\\{d}\n\[\]])+\])*+"
_BLANKS = r"[ \t]*+"  # possessive: a script of blanks must not take long


def _slashed(delimiter: str) -> str:
    return _PIECE.replace("{d}", re.escape(delimiter))


_ADDRESS = rf"(?:\d+|\$|/{_slashed('/')}/)"
_SED_COMMAND = "|".join(
    [r"[pdq=]"]
    + [rf"s{re.escape(d)}{_slashed(d)}{re.escape(d)}{_slashed(d)}{re.escape(d)}[gpiI0-9]*" for d in "/|,#@:"]
    + [rf"y/{_slashed('/')}/{_slashed('/')}/"]
)
_SED_STEP = rf"{_BLANKS}(?:{_ADDRESS}(?:,(?:{_ADDRESS}|\+\d+))?)?{_BLANKS}!?{_BLANKS}(?:{_SED_COMMAND}){_BLANKS}"
_SED = re.compile(rf"(?:{_SED_STEP})(?:[;\n]{_SED_STEP})*;?")

_AWK_TEXT = r'"[^"\\\n]*"'
_AWK_ITEM = rf"(?:\$(?:\d+|NF|\(NF-\d+\))|NR|NF|{_AWK_TEXT})"
_AWK_PRINT = rf"\{{{_BLANKS}print(?:[ \t]++{_AWK_ITEM}(?:{_BLANKS},?{_BLANKS}{_AWK_ITEM})*+)?{_BLANKS}\}}"
_AWK_WHEN = rf"(?:/[^/\\\n]*/|(?:NR|NF|\$\d+){_BLANKS}(?:==|!=|<|<=|>=){_BLANKS}(?:\d+|{_AWK_TEXT}))"
_AWK = re.compile(rf"{_BLANKS}(?:{_AWK_WHEN}{_BLANKS})?(?:{_AWK_PRINT})?{_BLANKS}")

_SQL = re.compile(r"\s*(?:select|explain query plan select)\s[^;]*+;?\s*+", re.IGNORECASE)
_SQL_EFFECTS = re.compile(r"(?i)\b(?:writefile|readfile|load_extension|edit|fts3_tokenizer|fsdir|zipfile|shell)\b")
_JQ_EFFECTS = re.compile(r"\b(?:import|include|env|ENV|input_filename|debug|get_search_list|halt_error)\b|\$__")
_HELPER = re.compile(r"[A-Za-z0-9_+.-]*::")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


def sed(operands: Sequence[str], values: Sequence[tuple[str, str]]) -> list[Wrong]:
    scripts = [value for option, value in values if option in ("-e", "--expression")]
    scripts = scripts or list(operands[:1])
    return [(script, f"the sed script {script!r}") for script in scripts if not _SED.fullmatch(script)]


def awk(operands: Sequence[str], values: Sequence[tuple[str, str]]) -> list[Wrong]:
    programs = [(each, f"the program {each!r}") for each in operands[:1] if not _AWK.fullmatch(each)]
    return programs + [(each, f"the file {each!r}") for each in operands[1:] if each.startswith("/inet")]


def jq(operands: Sequence[str], values: Sequence[tuple[str, str]]) -> list[Wrong]:
    return [(each, f"the filter {each!r}") for each in operands[:1] if _JQ_EFFECTS.search(each)]


def sqlite(operands: Sequence[str], values: Sequence[tuple[str, str]]) -> list[Wrong]:
    """A database file and plain queries. A file name that is a URI and dot commands are not plain."""
    wrong = [(each, f"the database {each!r}") for each in operands[:1] if each.startswith(("file:", "|"))]
    texts = [each for each in operands[1:] if not _SQL.fullmatch(each) or _SQL_EFFECTS.search(each)]
    if len(operands) < 2:
        wrong += commands_read(operands, values)
    return wrong + [(each, f"the statement {each!r}") for each in texts]


def commands_read(operands: Sequence[str], values: Sequence[tuple[str, str]]) -> list[Wrong]:
    """For programs that run what they read from their input, unless something else tells them what to do."""
    return [("", "commands from its input")]


def tar(operands: Sequence[str], values: Sequence[tuple[str, str]]) -> list[Wrong]:
    """An archive name with a colon is on another host, and tar starts a program to get there."""
    archives = [value for option, value in values if option in ("-f", "--file")]
    return [(each, f"the archive {each!r}") for each in archives if ":" in each]


def url(operands: Sequence[str], values: Sequence[tuple[str, str]]) -> list[Wrong]:
    schemes = ((each, _SCHEME.match(each)) for each in operands)
    return [
        (each, f"the address {each!r}")
        for each, scheme in schemes
        if each.startswith("@") or (scheme and scheme[1].lower() not in ("http", "https", "localhost"))
    ]


def remote(operands: Sequence[str], values: Sequence[tuple[str, str]]) -> list[Wrong]:
    """Addresses that name a program to run (`ext::sh -c …`) or hide an option."""
    every = [*operands, *(value for _, value in values)]
    return [(each, f"the address {each!r}") for each in every if _HELPER.match(each) or "://-" in each]


def getconfig(operands: Sequence[str], values: Sequence[tuple[str, str]]) -> list[Wrong]:
    return [(each, "setting a configuration value") for each in operands[1:]]


def assignment(operands: Sequence[str], values: Sequence[tuple[str, str]]) -> list[Wrong]:
    return [(each, f"the variable {each!r}") for each in operands if "=" in each]


def response(operands: Sequence[str], values: Sequence[tuple[str, str]]) -> list[Wrong]:
    return [(each, f"the file of options {each!r}") for each in operands if each.startswith("@")]


def date(operands: Sequence[str], values: Sequence[tuple[str, str]]) -> list[Wrong]:
    return [(each, f"setting the clock to {each!r}") for each in operands if not each.startswith("+")]


Check = Callable[[Sequence[str], Sequence[tuple[str, str]]], list[Wrong]]
_ALL: tuple[Check, ...] = (sed, awk, jq, sqlite, tar, url, remote, getconfig, assignment, response, date, commands_read)
CHECKS: dict[str, Check] = {check.__name__: check for check in _ALL}
"""By the name that a row of `programs.txt` gives."""
