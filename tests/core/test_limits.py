"""Durations, sizes, and the one function that shortens text."""

import pytest

from toolcrib.core.limits import duration, size, view


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("1500ms", 1.5), (0.5, 0.5), ("0.5", 0.5), (7, 7), ("2m", 120), ("1h", 3600), ("90 s", 90)],
)
def test_durations(text: object, seconds: float) -> None:
    """K40; TRAPS: `timeout: 0.5` became 0."""
    assert duration(text) == seconds


@pytest.mark.parametrize(
    "text", [0, "0", "0s", -1, "-1s", "", "soon", "30x", None, True, [30], float("inf"), float("nan"), "1e400"]
)
def test_what_is_no_duration(text: object) -> None:
    """TRAPS: `0` meant "default"."""
    with pytest.raises(ValueError, match="not a duration above zero"):
        duration(text)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (1048576, 1048576),
        ("64k", 65536),
        ("512MiB", 512 * 1024**2),
        ("2gb", 2 * 1024**3),
        ("100 b", 100),
        ("1.5k", 1536),
    ],
)
def test_sizes(text: object, count: int) -> None:
    """K41"""
    assert size(text) == count


@pytest.mark.parametrize("text", [0, -5, "0", "", "much", "5x", None, True, 0.5, "1.0001k"])
def test_what_is_no_size(text: object) -> None:
    with pytest.raises(ValueError, match="not a size above zero"):
        size(text)


def test_a_short_text_is_shown_whole() -> None:
    assert view("héllo", 6) == "héllo"


def test_a_long_text_keeps_head_and_tail_and_says_what_is_missing() -> None:
    shown = view("a" * 1000 + "z" * 1000, 100)
    assert shown == "a" * 50 + "\n[… 1900 of 2000 bytes left out …]\n" + "z" * 50


@pytest.mark.parametrize("limit", range(8, 40))
def test_a_character_is_never_cut_in_two(limit: int) -> None:
    text = "é😀" * 100
    head, note, tail = view(text, limit).split("\n")
    assert text.startswith(head) and text.endswith(tail)
    missing = len(text.encode()) - len(head.encode()) - len(tail.encode())
    assert note == f"[… {missing} of {len(text.encode())} bytes left out …]"
