"""Compressed answers, taken apart piece by piece: never more than one piece in memory, and no bombs."""

import zlib
from collections.abc import Iterator

from ..core.errors import ToolError

PIECE = 64 * 1024
_WBITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
_RAW = -15
_HARMLESS_BYTES = 10 * 1024 * 1024
"""Up to here nobody asks how well something is compressed."""
_MOST_TIMES = 100
ACCEPTED = "gzip, deflate"


class Inflate:
    """Makes of a compressed body what it was."""

    def __init__(self, encoding: str) -> None:
        """Raises: `ToolError`, for an encoding that nobody asked for."""
        plain = encoding.strip().lower()
        if plain not in _WBITS:
            raise ToolError(f"the answer is encoded as {encoding[:40]!r}, which was not asked for ({ACCEPTED} were)")
        self._wbits = _WBITS[plain]
        self._inner = zlib.decompressobj(self._wbits)
        self._taken = self._given = 0
        self._begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What these bytes hold, in pieces.

        Raises:
            ToolError: they are not what they say, or hold far more than anybody sends.
        """
        self._taken += len(data)
        while data:
            if self._inner.eof:
                if self._wbits != 31:  # what follows is nobody's
                    return
                self._inner = zlib.decompressobj(self._wbits)
            piece, data = self._piece(data)
            if piece:
                self._given += len(piece)
                self._bounded()
                yield piece

    def end(self) -> None:
        """Raises: `ToolError`, when the end is missing."""
        if self._begun and not self._inner.eof:
            raise ToolError("the answer is cut short: its compressed data has no end")

    def _piece(self, data: bytes) -> tuple[bytes, bytes]:
        try:
            piece = self._inner.decompress(data, PIECE)
        except zlib.error as exc:
            if self._wbits != 15 or self._begun:
                raise ToolError(f"the answer is not the {_name(self._wbits)} data it says it is: {exc}") from None
            self._wbits = _RAW  # many servers say deflate and leave out the frame
            self._inner = zlib.decompressobj(self._wbits)
            return self._piece(data)
        self._begun = True
        return piece, self._inner.unused_data if self._inner.eof else self._inner.unconsumed_tail

    def _bounded(self) -> None:
        if self._given > max(_HARMLESS_BYTES, _MOST_TIMES * self._taken):
            raise ToolError(
                f"the answer grows to more than {_MOST_TIMES} times its size when it is unpacked "
                f"({self._taken} bytes became more than {_HARMLESS_BYTES}); it was not taken"
            )


def _name(wbits: int) -> str:
    return "gzip" if wbits == 31 else "deflate"
