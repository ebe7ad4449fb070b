"""Text on a terminal. Imports nothing, because `list` must be quick."""


def visible(text: str, keep: str = "") -> str:
    """The text with everything that could move a cursor, hide or reorder made visible, except what is in `keep`."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in keep else char.encode("unicode_escape", "surrogatepass").decode()
        for char in text
    )


def one_line(text: str, width: int) -> str:
    """The first line of a text, cut to a width."""
    line = visible(text.strip().split("\n", 1)[0])
    return line if len(line) <= width else line[: max(1, width - 1)] + "…"
