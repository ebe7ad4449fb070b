"""Where a name stands in a file, and whether that is code, a string or a comment, almost as quick as a plain search.

One regular expression per language finds the next thing that is not plain code. It always takes what it begins (an
unclosed comment reaches to the end), and what it leaves it leaves for good, so no file takes longer than its size.
"""

import re
from collections.abc import Generator, Iterator
from functools import lru_cache

CODE, STRING, COMMENT = "code", "string", "comment"
Occurrence = tuple[int, int, str]
"""Line from 1, column in bytes from 0, and the role: "code", "string" or "comment"."""

Span = tuple[int, int, str]
"""A string or a comment: from, to, and its role."""

MAX_NAME = 1000
_MAX_LOST_HEREDOCS = 20
"""Heredocs without an end that are looked for; in a file with more, they are no heredocs."""

_LONGEST_REGEX = 500
"""A slash that none follows within so many bytes divides."""

_BLOCK = rb"/\*(?:[^*]++|\*(?!/))*+(?:\*/)?"
_LINE = rb"//[^\n]*+"
_HASH = rb"#[^\n]*+"
_ONE_LINE = rb'"(?:[^"\\\n]++|\\[\s\S])*+"'
_ONE_LINE_SINGLE = rb"'(?:[^'\\\n]++|\\[\s\S])*+'"
_MANY_LINES = rb'"(?:[^"\\]++|\\[\s\S])*+"?'
_MANY_LINES_SINGLE = rb"'(?:[^'\\]++|\\[\s\S])*+'?"
_CHARACTER = rb"'(?:[^'\\\n]{1,4}+|\\[^\n][^'\n]{0,8}+)'"
_TRIPLE = rb'"""(?:[^"\\]++|\\[\s\S]|"(?!""))*+(?:""")?'
_TRIPLE_SINGLE = rb"'''(?:[^'\\]++|\\[\s\S]|'(?!''))*+(?:''')?"
_RAW_TRIPLE = rb'"""(?:[^"]++|"(?!""))*+(?:"""++)?'
_BACKTICKS = rb"`(?:[^`\\]++|\\[\s\S])*+`?"
_REGEX = rb"/(?![*/])(?:[^/\\\[\n]++|\\[^\n]|\[(?:[^\]\\\n]++|\\[^\n])*+\])++/[a-z]*+"
_HEREDOC = rb"<<[-~]?([\"'`]?)([A-Za-z_]\w*+)\1"


def _master(*parts: bytes) -> re.Pattern[bytes]:
    """One expression for the next thing that is not plain code; its first byte tells what it is.

    Every part begins with a plain byte and none is a group: only then does the search skip what lies between. A quote
    that nothing closes is stepped over; that which is escaped, outside of a string too, is taken as a pair.
    """
    return re.compile(b"|".join((*parts, rb"\\[\s\S]?")))


_C_LIKE = (_LINE, _BLOCK)
_MASTERS = {
    "python": _master(_HASH, _TRIPLE, _TRIPLE_SINGLE, _ONE_LINE, _ONE_LINE_SINGLE),
    "javascript": _master(*_C_LIKE, _ONE_LINE, _ONE_LINE_SINGLE, _BACKTICKS, rb"/"),
    "go": _master(*_C_LIKE, _ONE_LINE, _CHARACTER, rb"`[^`]*+`?"),
    "java": _master(*_C_LIKE, _TRIPLE, _ONE_LINE, _CHARACTER),
    "c": _master(*_C_LIKE, _ONE_LINE, _CHARACTER),
    "cpp": _master(*_C_LIKE, rb'R"[^()\\\s"]{0,16}+\(', _ONE_LINE, _CHARACTER),
    "csharp": _master(
        *_C_LIKE, rb'@\$?"(?:[^"]++|"")*+"?', rb'\$@"(?:[^"]++|"")*+"?', _RAW_TRIPLE, _ONE_LINE, _CHARACTER
    ),
    "kotlin": _master(_LINE, rb"/\*", _RAW_TRIPLE, _ONE_LINE, _CHARACTER),
    "swift": _master(_LINE, rb"/\*", rb'#++"?', _TRIPLE, _ONE_LINE),
    "rust": _master(_LINE, rb"/\*", rb'#++"?', rb'"(?<=r")', _MANY_LINES, _CHARACTER),
    "php": _master(
        *_C_LIKE,
        rb"#(?!\[)[^\n]*+",
        _MANY_LINES,
        _MANY_LINES_SINGLE,
        rb"\?>(?:[^<]++|<(?!\?))*+(?:<\?)?",
        rb"<" + _HEREDOC,
    ),
    "ruby": _master(
        _HASH,
        rb"\n=begin\b(?:[^\n]++|\n(?!=end))*+(?:\n=end)?",
        rb"\n__END__\n[\s\S]*+",
        _MANY_LINES,
        _MANY_LINES_SINGLE,
        rb"/",
        _HEREDOC,
    ),
    "bash": _master(
        rb"#",
        _MANY_LINES,
        rb"\$'(?:[^'\\]++|\\[\s\S])*+'?",
        rb"'[^']*+'?",
        rb"<<<",
        rb"<<-?[ \t]*+([\"']?)([A-Za-z_]\w*+)\1",
    ),
}
_MASTERS["typescript"] = _MASTERS["tsx"] = _MASTERS["javascript"]
_PLAIN = {ord('"'): STRING, ord("`"): STRING, ord("'"): STRING, ord("@"): STRING, ord("$"): STRING, ord("?"): STRING}
_PLAIN_OF: dict[str, dict[int, str | None]] = {
    **dict.fromkeys(("python", "ruby", "php"), {ord("#"): COMMENT}),
    "rust": {ord('"'): None},
}
"""What the first byte of a match says; None, or none: look closer."""
_REGEX_LITERAL = re.compile(_REGEX)
_NESTED = re.compile(rb"/\*|\*/")
_BEFORE_REGEX = frozenset(b"(,=:[!&|?{};+-*%~^<>\n")
_WORD_BEFORE_REGEX = re.compile(
    rb"(?<![\w$.])(?:return|typeof|case|in|of|do|else|void|delete|throw|new|await|yield|if|unless|while|until|and|or|not|when|then)\Z"
)

_INTERPOLATION = {
    "python": (b"{", b"}"),
    "javascript": (b"${", b"}"),
    "typescript": (b"${", b"}"),
    "tsx": (b"${", b"}"),
    "ruby": (b"#{", b"}"),
    "kotlin": (b"${", b"}"),
    "csharp": (b"{", b"}"),
    "swift": (b"\\(", b")"),
    "php": (b"{$", b"}"),
    "bash": (b"$", b"}"),
}
"""What begins and ends code inside of a string."""
_PREFIXED = re.compile(rb"[A-Za-z$@]*\Z")


def occurrences(language: str, data: bytes, name: str) -> list[Occurrence]:
    """Every place where the identifier stands, in the order of the file.

    Raises:
        KeyError: a language that is not known here.
    """
    master = _MASTERS[language]
    if not name or len(name) > MAX_NAME:
        return []
    try:
        wanted = _spelled(language, name).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # no bytes of any file
        return []
    places = list(_places(data, wanted, _family(language)))
    if not places:
        return []
    roles = _roles(language, master, data, places)
    found: list[Occurrence] = []
    line, start, before = 1, 0, 0
    for place, role in zip(places, roles, strict=True):
        newlines = data.count(b"\n", before, place)
        if newlines:
            line += newlines
            start = data.rindex(b"\n", before, place) + 1
        before = place
        found.append((line, place - start, role))
    return found


def _spelled(language: str, name: str) -> str:
    """How a name is written where it is used: a setter of Ruby without the sign."""
    return name.removesuffix("=") if language == "ruby" and name[:1].isalpha() else name


def _family(language: str) -> bytes:
    """What else may stand in an identifier, beside letters, digits and what is not ASCII."""
    return b"$" if language in ("javascript", "typescript", "tsx") else b""


def _places(data: bytes, wanted: bytes, also: bytes) -> Iterator[int]:
    inside = _inside(also)
    bounded = wanted[0] in inside
    for found in _finder(wanted, also).finditer(data):
        place = found.start()
        if not (bounded and place and data[place - 1] in inside):
            yield place


@lru_cache(maxsize=4)
def _inside(also: bytes) -> frozenset[int]:
    letters = b"abcdefghijklmnopqrstuvwxyz"
    return frozenset(letters + letters.upper() + b"0123456789_" + also + bytes(range(128, 256)))


@lru_cache(maxsize=256)
def _finder(wanted: bytes, also: bytes) -> re.Pattern[bytes]:
    after = rb"(?![\w\x80-\xff" + re.escape(also) + rb"])" if wanted[-1] in _inside(also) else b""
    return re.compile(re.escape(wanted) + after)


def _roles(language: str, master: re.Pattern[bytes], data: bytes, places: list[int]) -> list[str]:
    """The role of each place, by walking over the strings and comments up to the last of them."""
    roles: list[str] = []
    waiting, last = iter(places), places[-1]
    place = next(waiting, None)
    for start, end, role in _spans(language, master, data, last):
        while place is not None and place < start:
            roles.append(CODE)
            place = next(waiting, None)
        while place is not None and place < end:
            inner = role == STRING and _is_interpolated(language, data, start, place)
            roles.append(CODE if inner else role)
            place = next(waiting, None)
        if place is None:
            break
    roles += [CODE] * (len(places) - len(roles))
    return roles


def _spans(language: str, master: re.Pattern[bytes], data: bytes, last: int) -> Iterator[Span]:
    """Strings and comments, in order, that begin at or before `last`."""
    position = 0
    if language == "php":  # what stands before the first tag is no program
        position = max(data.find(b"<?"), 0)
        yield 0, position, STRING
    plain = {**_PLAIN, **_PLAIN_OF.get(language, {})}
    heredocs = _Heredocs(data)
    going = True
    while going:
        going = False
        limit = heredocs.begin if heredocs.waiting else len(data)
        for found in master.finditer(data, position, limit):
            start, end = found.span()
            if start > last:
                return
            role = plain.get(data[start])
            if role is not None:
                yield start, end, role
                continue
            begins = data[start : start + 2]
            if begins[:1] == b"\\" or begins == b"<<":
                if begins == b"<<" and heredocs.expect(found):
                    position, going = end, True
                    break
                continue
            role, stop = _looked_at(language, data, found, begins)
            if role:
                yield start, stop, role
            if stop != end:  # go on there, not where the expression stopped
                position, going = stop, True
                break
        if not going and heredocs.waiting:
            position = yield from heredocs.take()
            going = True


def _looked_at(language: str, data: bytes, found: re.Match[bytes], begins: bytes) -> tuple[str, int]:
    """The role of what the first byte does not tell, and where it ends; no role for what is code after all."""
    start, end = found.span()
    if begins == b"/*" and end == start + 2:
        return COMMENT, _nested_end(data, end)
    if begins in (b"//", b"/*") or begins[:1] == b"\n":
        return STRING if begins == b"\n_" else COMMENT, end
    if begins[:1] == b"/":
        stop = _regex_end(data, start)
        return (STRING, stop) if stop > 0 else ("", end)
    if begins[:1] == b"#" and language == "bash":
        if start and data[start - 1] not in b" \t\n;(&|":
            return "", end
        newline = data.find(b"\n", end)
        return COMMENT, len(data) if newline < 0 else newline
    if begins[:1] in (b"R", b"#", b'"'):
        return _raw(language, data, found)
    return STRING, end


def _raw(language: str, data: bytes, found: re.Match[bytes]) -> tuple[str, int]:
    """A string in which nothing is escaped, between fences: `R"x(…)x"`, `r#"…"#`, `#"…"#`."""
    start, end = found.span()
    text = data[start:end]
    if text[-1:] == b"#":
        return "", end
    if language == "rust" and (end > start + 1 and text[:1] == b'"' or data[start - 1 : start] != b"r"):
        return (STRING, end) if text[:1] == b'"' else ("", end - 1)
    closing = b")" + text[2:-1] + b'"' if language == "cpp" else b'"' + text[:-1]
    stop = data.find(closing, end)
    return STRING, len(data) if stop < 0 else stop + len(closing)


def _nested_end(data: bytes, position: int) -> int:
    """The end of a comment in which comments may stand."""
    depth = 1
    for found in _NESTED.finditer(data, position):
        depth += 1 if found[0] == b"/*" else -1
        if not depth:
            return found.end()
    return len(data)


def _regex_end(data: bytes, start: int) -> int:
    """Where the regular expression ends that begins with this slash; -1 when it divides."""
    before = start - 1
    while before >= 0 and data[before] in b" \t":
        before -= 1
    after_operator = before < 0 or data[before] in _BEFORE_REGEX
    if not after_operator and _WORD_BEFORE_REGEX.search(data, max(before - 12, 0), before + 1) is None:
        return -1
    found = _REGEX_LITERAL.match(data, start, start + _LONGEST_REGEX)
    return found.end() if found is not None else -1


class _Heredocs:
    """The heredocs that were announced in the line at hand: their text begins with the next line."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.waiting: list[bytes] = []
        self.begin = 0
        self.lost: set[bytes] = set()

    def expect(self, found: re.Match[bytes]) -> bool:
        """Take note of one; whether it is the first of its line."""
        label = found[2]
        if not label or label in self.lost or len(self.lost) + len(self.waiting) >= _MAX_LOST_HEREDOCS:
            return False
        self.waiting.append(label)
        if len(self.waiting) > 1:
            return False
        newline = self.data.find(b"\n", found.end())
        self.begin = len(self.data) if newline < 0 else newline + 1
        return True

    def take(self) -> Generator[Span, None, int]:
        """The texts of all that were announced; returns where the code goes on."""
        begin = position = self.begin
        for label in self.waiting:
            end = re.compile(rb"^[ \t]*+" + label + rb"\b", re.MULTILINE).search(self.data, position)
            if end is None:
                self.lost.add(label)
            else:
                position = end.end()
        self.waiting = []
        if position > begin:
            yield begin, position, STRING
        return position


def _is_interpolated(language: str, data: bytes, start: int, place: int) -> bool:
    """Whether a place in a string is code that is put into it: `f"{name}"`, `${name}`, `#{name}`."""
    ends = _INTERPOLATION.get(language)
    if ends is None:
        return False
    if language == "python" and b"f" not in _prefix(data, start):
        return False
    if language == "csharp" and b"$" not in data[max(start - 2, 0) : start + 2]:
        return False
    if language in ("javascript", "typescript", "tsx") and data[start : start + 1] != b"`":
        return False
    if language in ("php", "bash", "ruby") and data[start : start + 1] == b"'":
        return False
    if language in ("php", "bash", "kotlin") and data[place - 1 : place] == b"$":
        return True
    begin, close = ends
    opened = data.rfind(begin, start, place)
    if opened < 0 or data.rfind(close, opened, place) > opened:
        return False
    return not (len(begin) == 1 and data[opened - 1 : opened] == begin)


def _prefix(data: bytes, start: int) -> bytes:
    found = _PREFIXED.search(data, max(start - 3, 0), start)
    return found[0].lower() if found is not None else b""
