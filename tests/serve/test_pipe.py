"""Lines out of chunks, however they are cut."""

import random

import pytest

from toolcrib.serve._pipe import Lines


def fed(limit: int, *chunks: bytes) -> list[bytes | None]:
    lines = Lines(limit)
    return [line for chunk in chunks for line in lines.feed(chunk)]


def test_partial_lines_and_many_in_a_chunk() -> None:
    assert fed(99, b"a", b"b\nc", b"\n\nd\ne") == [b"ab", b"c", b"", b"d"]


def test_what_comes_after_the_last_line_end() -> None:
    lines = Lines(99)
    assert list(lines.feed(b"a\nbc")) == [b"a"]
    assert lines.rest() == b"bc"


@pytest.mark.parametrize(
    "chunks", [[b"12345678\nok\n"], [b"1234", b"5678", b"9\n", b"ok\n"], [b"12345", b"\nok\n"], [b"12345\n", b"ok\n"]]
)
def test_a_line_beyond_the_limit_is_told_once_and_dropped(chunks: list[bytes]) -> None:
    assert fed(4, *chunks) == [None, b"ok"]


def test_the_limit_itself_is_allowed() -> None:
    assert fed(4, b"12", b"34\n", b"1234\n") == [b"1234", b"1234"]


def test_nothing_is_kept_of_a_line_beyond_the_limit() -> None:
    lines = Lines(4)
    assert [*lines.feed(b"12345"), *lines.feed(b"x" * 1000)] == [None]
    assert lines.rest() == b""


def test_any_cut_gives_the_same_lines() -> None:
    chosen = random.Random(7)
    text = b"\n".join(bytes(chosen.choices(b"abc", k=chosen.randrange(9))) for _ in range(200)) + b"\n"
    for _ in range(50):
        cuts = sorted(chosen.sample(range(len(text)), 40))
        chunks = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        assert fed(6, *chunks) == fed(6, text)
