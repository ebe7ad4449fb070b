"""An HTTP request and its answer, as plain data."""

from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

from .url import Url


class Body(NamedTuple):
    """What is sent after the headers."""

    content_type: str
    """Empty where the headers say it."""
    length: int
    chunks: Callable[[], AsyncIterator[bytes]]
    """Gives it anew each time: a redirect may ask for it again."""


class Request(NamedTuple):
    """What is sent."""

    method: str
    url: Url
    headers: tuple[tuple[str, str], ...] = ()
    body: Body | None = None
    abroad: tuple[tuple[str, str], ...] = ()
    """Those of the headers that may go to another origin than that of the URL."""


class Response(NamedTuple):
    """What comes back, from its headers on."""

    status: int
    headers: tuple[tuple[str, str], ...]
    chunks: AsyncIterator[bytes]
    url: Url
    hops: tuple[str, ...]
    """The further URLs it took to get there."""

    def header(self, name: str) -> str:
        """The first of this name, in lower case; empty when there is none."""
        return next((value for key, value in self.headers if key.lower() == name), "")
