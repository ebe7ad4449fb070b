"""Any charset that a sender may name, on any bytes."""

import random
from encodings.aliases import aliases

import pytest

from toolcrib.backends.charset import Transcoder, charset_of

_LIKELY = bytes(range(256)) + b"\x1b$()@BJ~{}" * 25
"""Any byte, and more often those that change how the following ones are read."""
CHARSETS = sorted({name for each in aliases.values() if (name := charset_of(f"text/plain; charset={each}"))})


@pytest.mark.parametrize("charset", CHARSETS)
def test_whatever_the_bytes_are_they_become_utf8(charset: str) -> None:
    """None raises, and how the bytes are cut makes no difference, but to one decoder that guesses."""
    chosen = random.Random(charset)
    for _ in range(50):
        data = bytes(chosen.choice(_LIKELY) for _ in range(chosen.randrange(60)))
        whole, cut = Transcoder(charset), Transcoder(charset)
        parts = b"".join(cut.feed(data[at : at + 1]) for at in range(len(data))) + cut.feed(b"", end=True)
        assert whole.feed(data, end=True) == parts or charset == "iso2022_jp"
        parts.decode()


@pytest.mark.parametrize("charset", CHARSETS)
def test_text_comes_back(charset: str) -> None:
    sample = "plain 123"
    try:
        data = sample.encode(charset)
    except UnicodeEncodeError:
        pytest.skip(f"{charset} cannot write it")
    assert Transcoder(charset).feed(data, end=True).decode().removeprefix("\ufeff") == sample


@pytest.mark.parametrize(
    "said", ["", "utf8", "UTF-8", "us-ascii", "zlib", "base64", "rot13", "idna", "x" * 5000, "a b"]
)
def test_what_is_no_other_charset_is_utf8(said: str) -> None:
    assert charset_of(f"text/plain; charset={said}") == ""
