"""Hearing what a program prints while it is still printing, with all that is to be concealed already taken out."""

from collections.abc import Callable

from ..core.process import Filter

Tell = Callable[[bytes], None]


class Overheard:
    """A filter of an output stream that also tells somebody what it let through.

    That may be nothing yet: a filter holds back what might be the beginning of a secret. It came all the same.
    """

    def __init__(self, inner: Filter | None, tell: Tell) -> None:
        self._inner, self._tell = inner, tell

    def feed(self, chunk: bytes, /) -> bytes:
        passed = chunk if self._inner is None else self._inner.feed(chunk)
        self._tell(passed)
        return passed

    def end(self) -> bytes:
        passed = b"" if self._inner is None else self._inner.end()
        self._tell(passed)
        return passed


def overheard(filters: Callable[[], Filter | None] | None, stdout: Tell, stderr: Tell) -> Callable[[], Filter]:
    """What makes the filters of a command's two streams, the output's first, around those that it would have."""
    tells = iter((stdout, stderr))
    return lambda: Overheard(None if filters is None else filters(), next(tells))
