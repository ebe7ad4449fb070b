"""What a docstring says."""

from inspect import cleandoc

import pytest

from toolcrib.backends.docstring import Description, described

GOOGLE = """Do it.

    At once, and well.

    Args:
        first (int): The first one,
            on two lines.
        second: The second: with a colon.
        *rest: The others.

    Returns:
        Nothing.
    """
NUMPY = """Do it.

    At once, and well.

    Parameters
    ----------
    first : int
        The first one,
        on two lines.
    second
        The second: with a colon.
    *rest : int
        The others.

    Returns
    -------
    int
        Nothing.
    """
SPHINX = """Do it.

    At once, and well.

    :param int first: The first one,
        on two lines.
    :type first: int
    :param second: The second: with a colon.
    :param rest: The others.
    :returns: Nothing.
    """
EXPECTED = Description(
    "Do it.\n\nAt once, and well.",
    {"first": "The first one, on two lines.", "second": "The second: with a colon.", "rest": "The others."},
)


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_three_styles_say_the_same(text: str) -> None:
    """G18, G21"""
    assert described(cleandoc(text)) == EXPECTED


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, ""),
        ("", ""),
        ("One line.", "One line."),
        ("Args: are not a section here.", "Args: are not a section here."),
        ("Lists:\n    - one", "Lists:\n    - one"),
        ("Raises the roof.\n\nRaises:\n    ValueError: always", "Raises the roof."),
        ("Use `a::b:c`.\n:note: keep", "Use `a::b:c`.\n:note: keep"),
        ("Parameters\nare good.", "Parameters\nare good."),
        (":param x: only this", ""),
    ],
)
def test_what_is_not_a_section_is_part_of_the_words(text: str | None, words: str) -> None:
    assert described(text).text == words


def test_several_names_share_their_words() -> None:
    assert described("Do.\n\nParameters\n----------\na, b : int\n    Both.\n").parameters == {
        "a": "Both.",
        "b": "Both.",
    }


@pytest.mark.parametrize(
    "text", ["Args:\n" * 5000, "Args:\n    a: b\n" * 2000, ":param " * 5000, "Parameters\n---\n" * 3000]
)
def test_long_and_strange_texts_are_read_quickly(text: str) -> None:
    described(text)
