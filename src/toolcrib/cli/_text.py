"""Text on a terminal. Imports nothing, because `list` must be quick."""

_WIDE = (
    (0x1100, 0x115F), (0x2E80, 0xA4CF), (0xAC00, 0xD7A3), (0xF900, 0xFAFF), (0xFE30, 0xFE6F), (0xFF00, 0xFF60),
    (0xFFE0, 0xFFE6), (0x1F300, 0x1FAFF), (0x20000, 0x3FFFD),
)  # fmt: skip
"""Characters that take two columns: East Asian ones and emoji."""


def visible(text: str, keep: str = "") -> str:
    """The text with everything that could move a cursor, hide or reorder made visible, except what is in `keep`."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in keep else char.encode("unicode_escape", "surrogatepass").decode()
        for char in text
    )


def readable(path: str) -> str:
    """A path as text that JSON can carry: a byte that is not UTF-8 is shown as `\\xNN`."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def one_line(text: str, width: int) -> str:
    """The first line of a text, cut to a number of columns."""
    width = max(1, width)
    line = visible(text.strip().split("\n", 1)[0][: 4 * width])
    if line.isascii():
        return line if len(line) <= width else line[: width - 1] + "…"
    return line if _columns(line) <= width else _fitting(line, width - 1) + "…"


def _fitting(line: str, width: int) -> str:
    for at, char in enumerate(line):
        width -= _columns(char)
        if width < 0:
            return line[:at]
    return line


def _columns(text: str) -> int:
    return sum(2 if char > "\u10ff" and any(low <= ord(char) <= high for low, high in _WIDE) else 1 for char in text)
