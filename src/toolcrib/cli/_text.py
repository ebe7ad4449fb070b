"""Text on a terminal. Imports nothing at first, because `list` must be quick."""

_UNSEEN = frozenset(
    chr(code)
    for first, last in (
        (0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2800, 0x2800), (0x3164, 0x3164),
        (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0x16FE4, 0x16FE4), (0x1D159, 0x1D159), (0xE0100, 0xE01EF),
    )
    for code in range(first, last + 1)
)  # fmt: skip
"""Characters that count as printable and show nothing: fillers, blanks, and selectors, which can carry hidden text."""
_EMOJI_STYLE = "\ufe0f"
_MOST_MARKS = 4
"""Accents on one letter. No language needs more; a heap of them covers the lines above and below."""
_PLAIN, _KEPT, _HARMFUL, _BLANK, _MARK = range(5)


def visible(text: str, keep: str = "") -> str:
    """The text with everything that could move a cursor, hide, reorder or cover made visible, except what is in `keep`.

    It has one line, unless `keep` has the line end. An accent at its beginning would sit on what stands before it.
    """
    if text.isascii():
        if text.isprintable():
            return text
        return "".join(char if " " <= char <= "~" or char in keep else _spelled(char) for char in text)
    kinds = {char: _kind(char, keep) for char in set(text)}
    if set(kinds.values()) <= {_PLAIN, _KEPT}:
        return text
    out = []
    marks = _MOST_MARKS  # as if the place before the text had all it can bear
    before = ""
    for char in text:
        kind = kinds[char]
        marks = marks + 1 if kind == _MARK else _MOST_MARKS if kind == _KEPT else marks if kind == _BLANK else 0
        # After a sign that has a picture, one selector is how that picture is asked for.
        pictured = char == _EMOJI_STYLE and before > "\u2000" and kinds[before] == _PLAIN
        hides = kind == _HARMFUL or (kind == _BLANK and not pictured) or (kind == _MARK and marks > _MOST_MARKS)
        out.append(_spelled(char) if hides else char)
        before = char
    return "".join(out)


def _kind(char: str, keep: str) -> int:
    if char in keep:
        return _KEPT
    if char.isascii():
        return _PLAIN if char.isprintable() else _HARMFUL
    import unicodedata

    if char in _UNSEEN:
        return _BLANK
    if not char.isprintable():
        return _HARMFUL
    return _MARK if unicodedata.category(char) in ("Mn", "Me") else _PLAIN


def _spelled(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode()


def readable(path: str) -> str:
    """A path as text that JSON can carry: a byte that is not UTF-8 is shown as `\\xNN`."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def one_line(text: str, width: int) -> str:
    """The first line of a text, cut to a number of columns."""
    width = max(1, width)
    line = visible(text.strip().split("\n", 1)[0][: 4 * width])
    if line.isascii():
        return line if len(line) <= width else line[: width - 1] + "…"
    return line if sum(map(_columns, line)) <= width else _fitting(line, width - 1) + "…"


def _fitting(line: str, width: int) -> str:
    for at, char in enumerate(line):
        width -= _columns(char)
        if width < 0:
            return line[:at]
    return line


def _columns(char: str) -> int:
    """How wide a terminal draws it: East Asian characters and pictures take two columns, accents none."""
    if char.isascii():
        return 1
    import unicodedata

    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1
