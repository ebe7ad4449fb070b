"""How the code of a project is really written, measured on some of its files."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import islice
from math import gcd

from ...core.jsontext import JSON
from .languages import language
from .survey import Survey

MOST_FILES = 40
"""Of one language."""
MOST_LANGUAGES = 4
_LONGEST = 64 * 1024
_MOST_LINES = 1500
_QUOTED = frozenset(("Python", "JavaScript", "TypeScript", "Ruby", "PHP"))
_SEMICOLONS = frozenset(("JavaScript", "TypeScript"))
_STRING = re.compile(r"""(?<![\w"'])("(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+')""")
_STATEMENT = re.compile(r"\s*+(?:const|let|var|return|import|throw|export \w++)\b")
_NAMED = {
    "Python": re.compile(r"^\s*+(?:async\s++)?def\s++(\w++)"),
    "JavaScript": re.compile(r"^\s*+(?:export\s++)?(?:async\s++)?(?:function\s++|const\s++|let\s++)(\w++)"),
    "TypeScript": re.compile(r"^\s*+(?:export\s++)?(?:async\s++)?(?:function\s++|const\s++|let\s++)(\w++)"),
    "Go": re.compile(r"^func\s++(?:\([^)]*+\)\s*+)?(\w++)"),
    "Rust": re.compile(r"^\s*+(?:pub(?:\([^)]*+\))?\s++)?(?:async\s++)?fn\s++(\w++)"),
    "Ruby": re.compile(r"^\s*+def\s++(?:self\.)?(\w++)"),
    "PHP": re.compile(r"^\s*+(?:(?:public|private|protected|static|final)\s++)*+function\s++(\w++)"),
    "Shell": re.compile(r"^\s*+(?:function\s++)?(\w++)\s*+\(\)"),
    "Java": re.compile(
        r"^\s*+(?:public|private|protected)\s++(?:static\s++)?(?:final\s++)?[\w<>\[\], ]+?\s(\w++)\s*+\("
    ),
    "C#": re.compile(r"^\s*+(?:public|private|protected|internal)\s++(?:static\s++)?[\w<>\[\], ]+?\s(\w++)\s*+\("),
    "Kotlin": re.compile(r"^\s*+(?:\w++\s++)*?fun\s++(\w++)"),
    "Swift": re.compile(r"^\s*+(?:\w++\s++)*?func\s++(\w++)"),
}


def measured(survey: Survey, ranked: Iterable[str]) -> list[dict[str, JSON]]:
    """For the languages with the most code: what is usual, how usual it is, and in how many lines that was seen."""
    by_language: dict[str, list[str]] = defaultdict(list)
    for path in survey.files:
        if name := language(path):
            by_language[name].append(path)
    wanted = [name for name in ranked if name in by_language and name in (*_NAMED, "C", "C++")][:MOST_LANGUAGES]
    return [found for name in wanted if (found := _of_language(survey, name, _sample(by_language[name])))]


def _sample(paths: list[str]) -> list[str]:
    """Some from everywhere: every nth by name, always the same ones."""
    paths.sort()
    step = max(1, len(paths) // MOST_FILES)
    return paths[::step][:MOST_FILES]


class _Counts:
    """What was seen in the files of one language."""

    def __init__(self) -> None:
        self.indents: Counter[str] = Counter()
        self.quotes: Counter[str] = Counter()
        self.ends: Counter[str] = Counter()
        self.newlines: Counter[str] = Counter()
        self.final: Counter[str] = Counter()
        self.names: Counter[str] = Counter()
        self.lengths: list[int] = []
        self.files = 0
        self.example = ""


def _of_language(survey: Survey, name: str, paths: list[str]) -> dict[str, JSON] | None:
    counts = _Counts()
    for path in paths:
        data = survey.data(path, _LONGEST, whole=False)
        if data is None or b"\0" in data or not data.strip():
            continue
        counts.files += 1
        counts.example = counts.example or survey.shown(path)
        _count(counts, name, data.decode("utf-8", "replace"), whole=survey.files[path] <= _LONGEST)
    if not counts.files:
        return None
    found: dict[str, JSON] = {
        "language": name,
        "indentation": _usual(counts.indents),
        "quotes": _usual(counts.quotes),
        "semicolons": _usual(counts.ends),
        "newlines": _usual(counts.newlines),
        "final_newline": _usual(counts.final),
        "function_names": _usual(counts.names),
        "line_length": _percentiles(counts.lengths),
    }
    evidence = {"files": counts.files, "lines": len(counts.lengths), "first": counts.example}
    return {**{key: value for key, value in found.items() if value}, "evidence": evidence}


def _count(counts: _Counts, name: str, text: str, *, whole: bool) -> None:
    counts.newlines["CRLF" if "\r\n" in text else "LF"] += 1
    if whole:
        counts.final["yes" if text.endswith("\n") else "no"] += 1
    widths: list[int] = []
    pattern = _NAMED.get(name)
    for line in islice(text.splitlines(), _MOST_LINES):
        bare = line.rstrip()
        if not bare:
            continue
        counts.lengths.append(len(bare.expandtabs(4)))
        bare = bare[:400]
        if bare[0] == "\t":
            counts.indents["tab"] += 1
        elif bare[0] == " ":
            widths.append(len(bare) - len(bare.lstrip(" ")))
        if name in _QUOTED:
            for quoted in islice(_STRING.findall(bare), 8):
                if not {"'", '"'} <= set(quoted[1:-1] + quoted[0]):  # else there was no choice
                    counts.quotes["double" if quoted[0] == '"' else "single"] += 1
        if name in _SEMICOLONS and (_STATEMENT.match(bare) or bare.endswith(");")) and bare[-1] not in "{(,[=>|&+:?":
            counts.ends["yes" if bare[-1] == ";" else "no"] += 1
        if pattern and (found := pattern.match(bare)):
            counts.names[_case(found[1])] += 1
    if width := _width(widths):
        counts.indents[f"{width} spaces"] += len(widths)


def _width(widths: list[int]) -> int:
    """The step by which lines are indented: the largest of which nearly all are multiples."""
    found = Counter(widths)
    for step in (8, 4, 3, 2):
        if sum(count for width, count in found.items() if width % step == 0) >= 0.9 * len(widths) > 0:
            return step
    return gcd(*found) if found else 0


def _case(name: str) -> str:
    bare = name.strip("_")
    if bare.isupper() and len(bare) > 1:
        return "UPPER_CASE"
    if "_" in bare:
        return "snake_case"
    if bare[:1].isupper():
        return "PascalCase"
    return "camelCase" if any(map(str.isupper, bare)) else "lowercase"


def _usual(counts: Counter[str]) -> dict[str, JSON] | None:
    """The most frequent, and its share. Of names, a single word fits several styles and tells nothing."""
    telling = Counter({key: count for key, count in counts.items() if key not in ("lowercase", "UPPER_CASE")})
    if not telling:
        return None
    value, count = max(telling.items(), key=lambda each: (each[1], each[0]))
    return {"value": value, "percent": round(100 * count / telling.total()), "seen": telling.total()}


def _percentiles(lengths: list[int]) -> dict[str, JSON] | None:
    if not lengths:
        return None
    ranked = sorted(lengths)
    last = len(ranked) - 1
    return {"median": ranked[last // 2], "95_percent": ranked[last * 95 // 100], "longest": ranked[-1]}
