"""How names of files and symbols are written where anybody may read them."""

from ..core.jsontext import JSON


def shown(text: str) -> str:
    """Text that JSON can say; a byte that was not UTF-8 is written as `\\xNN`."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def plain(value: JSON) -> JSON:
    """The same document, with all its texts as they are shown."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, dict):
        return {shown(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value
