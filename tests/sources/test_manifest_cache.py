"""What is kept of folders between runs."""

from toolcrib.sources.manifest_cache import packed


def test_states_are_packed_whatever_they_are() -> None:
    """An inode may have all its bits, and a clock may stand before 1970."""
    assert len(packed([2**64 - 1, -5, 7])) == 24
    assert packed([2**63, -5, 7])[8:] == packed([0, -5, 7])[8:]
    assert packed([1, 2, 3]) != packed([1, 2, 4])
