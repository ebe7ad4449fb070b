"""What a model is shown of a text: all of it, or its head and its tail."""

from ..core.limits import VIEW_BYTES


def view(text: str, limit: int = VIEW_BYTES) -> str:
    """Head and tail of a text that is too long to show, with what was left out in between."""
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= limit:
        return text
    head, tail = raw[: limit // 2].decode("utf-8", "ignore"), raw[-(limit // 2) :].decode("utf-8", "ignore")
    left_out = len(raw) - len(head.encode()) - len(tail.encode())
    return f"{head}\n[… {left_out} of {len(raw)} bytes left out …]\n{tail}"
