"""Hearing what a program prints, as its filters let it through."""

from collections.abc import Callable

import pytest

from toolcrib.core.process import Filter
from toolcrib.sandbox.overheard import overheard


class Upper:
    """Lets everything through in capitals, and has a last word."""

    def feed(self, chunk: bytes, /) -> bytes:
        return chunk.upper()

    def end(self) -> bytes:
        return b"END"


@pytest.mark.parametrize(
    ("filters", "passed", "last"),
    [(None, b"word", b""), (lambda: None, b"word", b""), (Upper, b"WORD", b"END")],
    ids=["no filters", "none for these streams", "a filter"],
)
def test_what_passes_is_also_heard(filters: Callable[[], Filter | None] | None, passed: bytes, last: bytes) -> None:
    out: list[bytes] = []
    err: list[bytes] = []
    make = overheard(filters, out.append, err.append)
    first, second = make(), make()
    assert (first.feed(b"word"), first.end()) == (passed, last)
    assert (out, err) == ([passed, last], [])
    assert (second.feed(b"word"), second.end()) == (passed, last)
    assert (out, err) == ([passed, last], [passed, last])
