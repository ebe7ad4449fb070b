"""Secrets that stand in a manifest, a skill or a program as they are, where everybody who gets the file reads them."""

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ._program import Finding
from ._tokens import TOKENS

CODE = "ENV_NOT_ALLOWED"
_MOST = 50
_DECLARATIVE = (".yaml", ".yml", ".json", ".md", ".toml", ".jsonc")
_SHOWN = 4
_ORDINARY = 2.5
_RANDOM = 3.5
"""Bits in a character: words and repetitions have fewer, what a generator made has more."""

_EXAMPLE = re.compile(
    r"example|your|placeholder|change.?me|replace|insert|dummy|sample|redacted|foobar|hunter2|secret.?here"
    r"|123456789|abcdefgh|deadbeef|xxxx|\*\*\*|\.\.\.|\$\{|\$\(|\{\{|%\(|<[a-z_ -]+>|my[-_](?:secret|token|api|pass)",
    re.IGNORECASE,
)
"""What people write where a secret would stand."""
_DIGEST = re.compile(
    r"(?:sha\d+[:-])?(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    re.IGNORECASE,
)
"""Digests and UUIDs, which name things and open nothing."""
_KEYWORDS = ("key", "secret", "token", "passw", "passphrase", "credential", "authorization", "bearer")
_ASSIGNED = re.compile(
    r"(?:_?(?:key|token|id|value|base|hash))?(?:ord|d)?s?[\"'\]]{0,2}[ \t]{0,4}(?:=>|:=|=|:)[ \t]{0,4}"
    r"(?:(?P<quote>[\"'`])(?P<quoted>[^\"'`\r\n]{8,200})(?P=quote)|(?P<bare>[A-Za-z0-9_+/=~-]{16,200})(?=[\s,;}\]]|$))",
    re.IGNORECASE,
)
_CREDENTIALS = re.compile(
    r"[\"']?\s{0,3}[:=]?\s{0,3}[\"']?(?:Basic|Bearer|Token)?\s{1,3}(?P<bare>[A-Za-z0-9._~+/=-]{16,500})", re.IGNORECASE
)
_KEY_BEFORE = re.compile(
    r"(?:api|access|private|secret|signing|encryption|auth|client|service|account|master|shared)[_-]?$", re.IGNORECASE
)
_IN_URL = re.compile(r"[^\s/:@'\"<>{}$]{0,100}:(?P<bare>[^\s/@'\"<>{}$]{4,100})@[A-Za-z0-9]")
_WORDS = re.compile(r"[A-Za-z]+(?:[ _.:/-]+[A-Za-z]*)*\d{0,2}")
"""Nothing but words: a description, a name, a path."""


class _Found(NamedTuple):
    start: int
    end: int
    rule: str
    message: str


def literals(text: str, path: str) -> list[Finding]:
    """Every secret that stands in the text, by line. None of it is shown but the beginning that its kind shares.

    Examples and placeholders (`${env:KEY}`, `<TOKEN>`, `your-key-here`, `xxxx`), digests and UUIDs are none.
    """
    found = _apart(_tokens(text))
    starts = [each.start for each in found]
    for guess in _apart((*_assigned(text), *_in_urls(text))):
        before = bisect_left(starts, guess.end)  # what is known is not guessed at
        if before == 0 or found[before - 1].end <= guess.start:
            found.append(guess)
    found.sort()
    findings, line, at = [], 1, 0
    for each in found[:_MOST]:
        line += text.count("\n", at, each.start)
        at = each.start
        findings.append(Finding(CODE, f"line {line}: {each.message} ({each.rule})", _fix(path), warning=True))
    if len(found) > _MOST:
        findings.append(Finding(CODE, f"line {line} and below: there is more of this", _fix(path), warning=True))
    return findings


def _apart(found: Iterable[_Found]) -> list[_Found]:
    """In order, and of those that overlap the first."""
    kept: list[_Found] = []
    for each in sorted(found):
        if not kept or each.start >= kept[-1].end:
            kept.append(each)
    return kept


def _fix(path: str) -> str:
    allow = "allow it in config.yaml with `tools: {TOOL: {secrets: [NAME]}}`, and make the old one invalid"
    if path.lower().endswith(_DECLARATIVE):
        return f"write ${{env:NAME}} in its place, {allow}"
    return f"read it from the environment variable NAME, {allow}"


def _tokens(text: str) -> Iterator[_Found]:
    for token in TOKENS:
        for start in token.starts:
            at = text.find(start)
            while at >= 0:
                rest = token.rest.match(text, at + len(start)) if token.inner or _begins(text, at) else None
                if rest and not _is_example(rest[0], _ORDINARY):
                    shown = f"{text[at : at + _SHOWN]}…, " if not token.inner else ""
                    size = rest.end() - at
                    yield _Found(at, rest.end(), token.rule, f"{token.what} ({shown}{size} characters) stands here")
                at = text.find(start, rest.end() if rest else at + 1)


def _assigned(text: str) -> Iterator[_Found]:
    """`api_key = "…"` and its like, and what stands in an Authorization header, if it looks like made by chance."""
    lower = text.lower()
    if len(lower) != len(text):  # a few letters have a longer small form; then places would not agree
        lower = "".join(char if char.isascii() else "?" for char in text).lower()
    for word in _KEYWORDS:
        for at in _places(lower, word):
            end = at + len(word)
            if word == "key" and not _KEY_BEFORE.search(text, max(0, at - 12), at):
                continue
            header = word in ("authorization", "bearer")
            value = (_CREDENTIALS if header else _ASSIGNED).match(text, end)
            if value is None:
                continue
            group = "bare" if header or value["bare"] else "quoted"
            if not _is_example(value[group], _RANDOM) and not _is_ordinary(value[group], quoted=group == "quoted"):
                size = len(value[group])
                yield _Found(
                    *value.span(group), "assigned", f"what looks like a secret ({size} characters) stands here"
                )


def _in_urls(text: str) -> Iterator[_Found]:
    for at in _places(text, "://"):
        value = _IN_URL.match(text, at + 3)
        if value and not _is_example(value["bare"], 2) and value["bare"].lower() not in ("pass", "password", "secret"):
            yield _Found(*value.span("bare"), "url-password", "a URL with a password stands here")


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def _begins(text: str, at: int) -> bool:
    """Whether a word begins here, be it after the `\\n` of a text inside a string."""
    before = text[at - 1 : at]
    return not (before.isalnum() or before in ("_", "-")) or text[max(0, at - 2) : at] in ("\\n", "\\t", "\\r")


def _is_example(value: str, least: float) -> bool:
    return bool(_EXAMPLE.search(value)) or _entropy(value) < least


def _is_ordinary(value: str, *, quoted: bool) -> bool:
    """Digests, words, code: what stands beside such a name and is no secret."""
    if _DIGEST.fullmatch(value) or _WORDS.fullmatch(value) or " " in value:
        return True
    digits = sum(char.isdigit() for char in value)
    return (
        not digits or (not quoted and digits < 2) or digits == len(value) or any(char in "(){}[]<>$" for char in value)
    )


def _entropy(value: str) -> float:
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values()) if size else 0.0
