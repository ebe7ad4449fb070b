"""What a Python file defines, imports and exports, found by a few regular expressions in one pass.

A parser needs five times as long. Statements begin at the start of a line, so only line starts are looked at, after the
long strings, which may hold anything, were found. Nothing here ever fails or goes back over the same text again: every
repetition is possessive, and whoever looks back stops at what was looked at before.
"""

import re
from collections.abc import Sequence

_NAME = rb"[A-Za-z_\x80-\xff][A-Za-z0-9_\x80-\xff]*+"
_GAP = rb"(?:[ \t\f]|\\\n|(?!))*+"
_STRING = rb"""(?!'''|\"\"\")[rRbBuUfF]{0,2}(?:'(?:[^'\\\n]++|\\.)*+'|"(?:[^"\\\n]++|\\.)*+")"""
_BODY = (
    rb"(?:\n(?:\1(?:[ \t]++(?!(?:def|class|import|from|async[ \t]++def)[ \t\\])|\))[^\n]*+"
    rb"|[ \t]*+(?:#[^\n]*+)?(?=\n)))*"
)
"""Lines of a function that hold nothing of interest: deeper than its first, or the end of its parameters.

Not possessive: up to Python 3.11.4, a possessive group whose last way fails halfway through keeps what it has taken by
then. Elsewhere here the last way is therefore `(?!)`, which takes nothing.
"""
_STATEMENT = re.compile(
    rb"\n([ \t\f]*+)(?:"
    rb"(?:async[ \t]++)?+(?:(class)|def)[ \t]++(" + _NAME + rb")(?=[ \t]*+[(:\[\\])(?(2)|[^\n]*+" + _BODY + rb")"
    rb"|(import|from)(?![A-Za-z0-9_=\x80-\xff])"
    rb"|(if|elif|else|for|while|try|except|finally|with|async|(?:match|case)(?=[ \t]++[^=:,.]))"
    rb"(?![A-Za-z0-9_=\x80-\xff])"
    rb"|type[ \t]++(" + _NAME + rb")(?=[ \t]*+[=\[])"
    rb"|(" + _NAME + rb")[ \t]*+(=(?!=)|:(?!=)|,)"
    rb"|([(\[*])[ \t]*+(?=[A-Za-z_(\[*]))"
)
_BACKSLASH, _HASH, _COMMA = b"\\#,"
_CLASS, _DEFINES, _IMPORTS, _BLOCK, _ALIAS, _NAMED, _SIGN = 2, 3, 4, 5, 6, 7, 8
"""Its groups; the last one that took part says what it is."""
_PREFIX = re.compile(rb"(?:[^'\"#\n\\]++|\\.|" + _STRING + rb"|(?!))*+", re.DOTALL)
"""From the start of a line to what ends it, begins a comment, or begins a long string."""
_LONG_END = {
    b'"""': re.compile(rb'(?:[^\\"]++|\\.|(?!""")"|(?!))*+', re.DOTALL),
    b"'''": re.compile(rb"(?:[^\\']++|\\.|(?!''')'|(?!))*+", re.DOTALL),
}
_BRACKETS = re.compile(rb"[()\[\]{}]|#[^\n]*+|" + _STRING, re.DOTALL)
_FROM = re.compile(
    rb"from" + _GAP + rb"([. \t]*+)((?!import\b)[A-Za-z0-9_.\x80-\xff]++)?" + _GAP + rb"import(?![A-Za-z0-9_])" + _GAP
    + rb"(?:\(((?:[^()#]++|#[^\n]*+)*+)\)|((?:[^\n#;\\]++|\\\n|(?!))*+))"
)  # fmt: skip
_IMPORT = re.compile(rb"import(?![A-Za-z0-9_])((?:[^\n#;\\]++|\\\n|(?!))*+)")
_NEXT = re.compile(rb"[ \t]*+;[ \t]*+(?=import|from)")
_INLINE = re.compile(rb":[ \t]*+(?=import[ \t]|from[ \t])")
_CHAIN = re.compile(rb"[ \t]*+(" + _NAME + rb")[ \t]*+=(?!=)")
_TUPLE = re.compile(rb"((?:[^=\n\\#'\"{}:;]++|\\\n|(?!))*+|[(\[](?:[^=#'\"(){}\[\]:;]|#[^\n]*+)*+[)\]])[ \t]*+=(?!=)")
_TARGET = re.compile(rb"(?<![.\w])(" + _NAME + rb")[ \t]*+(?![A-Za-z0-9_.\[(\x80-\xff])")
_ALL = re.compile(rb"\n[ \t]*+__all__[ \t]*+(?:(?::[^=\n]*+)?\+?=|\.(?:extend|append)\()[ \t]*+[\[(]?+([^\])]*+)")
_LITERAL = re.compile(rb"['\"](" + _NAME + rb")['\"]")
_COMMENT = re.compile(rb"#[^\n]*+")
_ENDS_STATEMENT = frozenset(b")]}:'\"_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_NOT_NAMES = frozenset(b"lambda return yield not and or is in None True False assert raise del pass await".split())

Defined = tuple[str, str, int, int, int, str, bool]
Taken = tuple[str, int, tuple[tuple[str, str], ...], str]
Scanned = tuple[Sequence[Defined], Sequence[Taken], Sequence[tuple[str, int]]]
"""Definitions, imports and exports, each as a plain tuple in the order of its type in `facts`."""


def scan(data: bytes) -> Scanned:
    """Look at one file, whatever is in it. It is UTF-8, or near enough."""
    text = b"\n" + data.removeprefix(b"\xef\xbb\xbf")
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return _Scan(text).run()


class _Scan:
    """One file on its way through. `text` begins with a line break of ours."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.long = _long_strings(text)
        self.joined = b"\\" in text
        self.odd = b"\t" in text or b"\f" in text
        """Whether there may be lines that a backslash joins, and indentations that are more than spaces."""
        self.line = self.seen = 0
        """How many lines there are before a place."""
        self.counted = self.depth = 0
        """How deep in brackets a place is, behind the statement that it was last counted for."""
        self.definitions: list[Defined] = []
        self.imports: list[Taken] = []
        self.stack: list[tuple[int, str, bool, bool]] = [(-1, "", False, True)]
        """Where we are: indentation, scope, whether that is a function, whether others can use what is in it."""

    def run(self) -> Scanned:
        """Go through the statements. Written out in one piece: there are thousands, and every step counts."""
        text, long, stack, odd, definitions = self.text, self.long, self.stack, self.odd, self.definitions
        nowhere = len(text), len(text) + 1
        turn, (start, end) = 0, long[0] if long else nowhere
        begin = anchor = level = 0
        while begin >= 0:
            matches, begin = _STATEMENT.finditer(text, begin), -1
            for match in matches:
                at, after = match.span(1)
                while at > end:
                    turn += 1
                    start, end = long[turn] if turn < len(long) else nowhere
                if start < at - 1:  # inside a long string; what looked like a function there may go on behind it
                    if match.end() > end:
                        begin = end
                        break
                    continue
                if self.joined and text[at - 2] == _BACKSLASH and self._is_continued(at - 1):
                    continue
                what, depth = match.lastindex, after - at
                if odd and depth:
                    depth = _width(text[at:after])
                if what == _DEFINES:
                    while stack[-1][0] >= depth:
                        stack.pop()
                    _, scope, local, known = stack[-1]
                    name = match[_DEFINES].decode("utf-8", "replace")
                    is_class = match[_CLASS] is not None
                    kind = "class" if is_class else "method" if scope and not local else "function"
                    public = known and not local and (name[0] != "_" or _is_public(name))
                    self.line = line = self.line + text.count(b"\n", self.seen, at)
                    self.seen = at
                    definitions.append((name, kind, line, match.start(_DEFINES) - at, 0, scope, public))
                    stack.append((depth, f"{scope}.{name}" if scope else name, not is_class, public))
                elif what == _IMPORTS:
                    self._imports(after, self._line_of(at))
                    continue
                elif what == _BLOCK:
                    while stack[-1][0] >= depth:
                        stack.pop()
                    found = _INLINE.search(text, match.end(), _line_end(text, at))
                    if found is not None:
                        self._imports(found.end(), self._line_of(at))
                    continue  # it may also be a part of a comprehension, and is no anchor
                else:
                    around = -1
                    while stack[around][0] >= depth:
                        around -= 1
                    if stack[around][2] or match.group(_NAMED) in _NOT_NAMES:
                        continue  # a variable of a function, or no name at all
                    if self._is_within_brackets(at - 1, depth > level, anchor):
                        continue
                    while stack[-1][0] >= depth:
                        stack.pop()
                    self._assign(match, at)
                anchor, level = at, depth
        return self._finished()

    def _line_of(self, at: int) -> int:
        """The number of the line that begins at a place, which is never before the last one."""
        self.line = line = self.line + self.text.count(b"\n", self.seen, at)
        self.seen = at
        return line

    def _assign(self, match: "re.Match[bytes]", at: int) -> None:
        """Take down the names that an assignment gives a value to, and where each stands."""
        line = self._line_of(at)
        sign = match[_SIGN]
        if match.lastindex == _ALIAS:
            self._variable(match[_ALIAS], line, match.start(_ALIAS) - at, "type")
        elif sign == b"=" or sign == b":":
            self._variable(match[_NAMED], line, match.start(_NAMED) - at)
            behind = match.end()
            while sign == b"=" and (more := _CHAIN.match(self.text, behind)) is not None:
                self._variable(more[1], line, more.start(1) - at)
                behind = more.end()
        elif (whole := _TUPLE.match(self.text, match.end(1))) is not None:
            start_of_line = counted = at
            for each in _TARGET.finditer(self.text, whole.start(1), whole.end(1)):
                where = each.start(1)
                if below := self.text.count(b"\n", counted, where):
                    line, start_of_line = line + below, self.text.rfind(b"\n", counted, where) + 1
                counted = where
                self._variable(each[1], line, where - start_of_line)

    def _variable(self, raw: bytes, line: int, column: int, kind: str = "") -> None:
        _, scope, _, known = self.stack[-1]
        name = raw.decode("utf-8", "replace")
        kind = kind or ("constant" if name.isupper() else "field" if scope else "variable")
        public = known and (name[0] != "_" or _is_public(name))
        self.definitions.append((name, kind, line, column, 0, scope, public))

    def _finished(self) -> Scanned:
        exports = _exports(self.text) if b"__all__" in self.text else []
        if exports:
            named = {name for name, _ in exports}
            self.definitions = [
                (*each[:6], each[0] in named) if not each[5] else each for each in self.definitions
            ]  # fmt: skip
        return self.definitions, self.imports, exports

    def _imports(self, at: int, line: int) -> None:
        text = self.text
        while True:
            if text.startswith(b"from", at):
                found = _FROM.match(text, at)
                if found is None:
                    return
                dots, module, within, plain = found.groups()
                if dots:
                    module = dots.translate(None, b" \t") + (module or b"")
                source = module.decode("utf-8", "replace") if module else ""
                names = tuple([(name, alias or name) for name, alias in _items(within or plain or b"")])
                if source and names:
                    self.imports.append((source, line, names, ""))
            else:
                found = _IMPORT.match(text, at)
                if found is None:
                    return
                self.imports += [(name, line, (), alias) for name, alias in _items(found.group(1))]
            following = _NEXT.match(text, found.end())
            if following is None:
                return
            at = following.end()

    def _is_continued(self, at: int) -> bool:
        """Whether the line break at `at`, after a backslash, ends nothing. After a comment it does."""
        start = self.text.rfind(b"\n", 0, at) + 1
        return self.text.find(b"#", start, at) < 0 or _PREFIX.match(self.text, start).end() >= at  # type: ignore[union-attr]  # it matches nothing at least

    def _is_within_brackets(self, at: int, deeper: bool, anchor: int) -> bool:
        """Whether what looks like an assignment is an argument or an entry: these follow a bracket or a comma.

        `anchor` is where the last statement began, and `deeper` says whether this is indented more than that.
        """
        text, end = self.text, at
        start = text.rfind(b"\n", 0, at) + 1
        if text[at - 1] in _ENDS_STATEMENT and start and text.find(b"#", start, at) < 0:
            return False  # as most lines do
        while True:
            start = text.rfind(b"\n", 0, end) + 1
            if not start:
                return False
            last = text[start:end].strip()
            if last and last[0] != _HASH:
                break
            end = start - 1
        if b"#" in last:
            code = _PREFIX.match(text, start)
            assert code is not None  # it matches nothing at least
            last = text[start : code.end()].rstrip() if code.end() < end else last
        if not last or last[-1] not in b"([{,":
            return False
        # Behind a comma, what is deeper than the last statement belongs to it; else that was a tuple, perhaps.
        return last[-1] != _COMMA or deeper or self._depth_at(at, anchor) > 0

    def _depth_at(self, at: int, anchor: int) -> int:
        if anchor > self.counted:
            self.counted, self.depth = anchor, 0
        for found in _BRACKETS.finditer(self.text, self.counted, at):
            sign = found.group()
            if sign in (b"(", b"[", b"{"):
                self.depth += 1
            elif sign in (b")", b"]", b"}"):
                self.depth -= 1
        self.counted = max(self.counted, at)
        return self.depth


def _long_strings(text: bytes) -> list[tuple[int, int]]:
    """Where strings with three quotes begin and end."""
    found: list[tuple[int, int]] = []
    at = 0
    double, single = text.find(b'"""'), text.find(b"'''")
    while True:
        if 0 <= double < at:
            double = text.find(b'"""', at)
        if 0 <= single < at:
            single = text.find(b"'''", at)
        if double < 0 and single < 0:
            return found
        candidate = double if single < 0 else single if double < 0 else min(double, single)
        stop = _stop(text, candidate, at)
        quotes = text[stop : stop + 3]
        if quotes not in _LONG_END:  # the candidate stands in a comment or in another string
            at = max(_line_end(text, stop), candidate + 1 if stop <= candidate else stop)
            continue
        end = text.find(quotes, stop + 3)
        if end >= 0 and text.find(b"\\", stop + 3, end) >= 0:
            rest = _LONG_END[quotes].match(text, stop + 3)
            assert rest is not None  # it matches nothing at least
            end = rest.end() if rest.end() < len(text) else -1
        at = len(text) if end < 0 else end + 3
        found.append((stop, at))


def _stop(text: bytes, place: int, floor: int) -> int:
    """Where a long string or a comment begins, or the line ends, in the line of a place; nothing before `floor`."""
    start = text.rfind(b"\n", floor, place) + 1 or floor
    if text[start - 2] != _BACKSLASH and not text[start:place].strip():
        return place  # it stands alone, as most do
    while start > floor + 1 and text[start - 2] == _BACKSLASH:  # a backslash joins this line to the one before
        start = text.rfind(b"\n", floor, start - 1) + 1 or floor
    code = _PREFIX.match(text, start)
    assert code is not None  # it matches nothing at least
    return code.end()


def _line_end(text: bytes, at: int) -> int:
    end = text.find(b"\n", at)
    return len(text) if end < 0 else end


def _width(indent: bytes) -> int:
    """Of white space at the start of a line: a tab goes on to the next eighth column, a form feed to the first."""
    return len(indent.rpartition(b"\f")[2].expandtabs())


def _is_public(word: str) -> bool:
    return not word.startswith("_") or (word.startswith("__") and word.endswith("__"))


def _items(listed: bytes) -> list[tuple[str, str]]:
    """The names in `a, b as c`, each with what it is called here, if that is another name."""
    if b"#" in listed:
        listed = _COMMENT.sub(b"", listed)
    if b"\\" in listed or b"(" in listed:
        listed = listed.replace(b"\\\n", b" ").replace(b"(", b" ")
    items = []
    for each in listed.decode("utf-8", "replace").split(","):
        words = each.split()
        if len(words) == 1:
            items.append((words[0], ""))
        elif len(words) == 3 and words[1] == "as":
            items.append((words[0], words[2]))
    return items


def _exports(text: bytes) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    line = seen = 0
    for each in _ALL.finditer(text):
        for literal in _LITERAL.finditer(text, each.start(1), each.end(1)):
            line += text.count(b"\n", seen, literal.start())
            seen = literal.start()
            found.append((literal.group(1).decode("utf-8", "replace"), line))
    return found
