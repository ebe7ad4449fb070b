"""What a model is shown of a text."""

import pytest

from toolcrib.backends.view import view


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
