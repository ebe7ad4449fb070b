"""Durations, sizes, and the one function that shortens text."""

import pytest

from toolcrib.backends.quantity import duration, size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("1500ms", 1.5), (0.5, 0.5), ("0.5", 0.5), (7, 7), ("2m", 120), ("1h", 3600), ("90 s", 90)],
)
def test_durations(text: object, seconds: float) -> None:
    """K40; `timeout: 0.5` became 0."""
    assert duration(text) == seconds


@pytest.mark.parametrize(
    "text", [0, "0", "0s", -1, "-1s", "", "soon", "30x", None, True, [30], float("inf"), float("nan"), "1e400"]
)
def test_what_is_no_duration(text: object) -> None:
    """Zero is not "the default"."""
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
