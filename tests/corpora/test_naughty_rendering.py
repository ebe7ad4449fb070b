"""The big list of naughty strings as a terminal would get it."""

import unicodedata

import pytest

from toolcrib.cli._confusable import confusable
from toolcrib.cli._text import one_line, visible
from toolcrib.core.jsontext import parse


@pytest.fixture(scope="module")
def naughty(corpus) -> list[str]:
    return parse((corpus("big-list-of-naughty-strings") / "blns.json").read_bytes())


def test_they_are_one_line_and_move_nothing(naughty) -> None:
    for text in naughty:
        shown = visible(text)
        kinds = {unicodedata.category(char) for char in shown if char != " "}
        assert not kinds & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}, text
        assert visible(shown) == shown
        assert len(one_line(text, 40).splitlines()) <= 1


def test_those_that_pose_as_other_letters_are_named(naughty) -> None:
    suspected = [text for text in naughty if confusable(text)]
    assert any(text.startswith("Ｔｈｅ ｑｕｉｃｋ") for text in suspected)
    assert any(text.startswith("𝐓𝐡𝐞 𝐪𝐮𝐢𝐜𝐤") for text in suspected)
    assert not any(text.isascii() for text in suspected)
