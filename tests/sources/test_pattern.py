"""Texts made up for a regular expression do fit it."""

import re
from random import Random

import pytest

from toolcrib.sources.pattern import Unknown, matching


@pytest.mark.parametrize(
    "expression",
    [
        "abc", "^abc$", "^[a-z]+$", r"^\d{4}-\d{2}-\d{2}$", "^(yes|no)$", "^(?:a|b)*c?$", r"^[A-Za-z0-9_.-]{1,64}$", r"^[^/]+$",
        r"^v\d+(\.\d+){0,2}$", r"^\w+@\w+\.(com|org)$", "^x{3,}$", "^$", r"^[\w-]+$", "^a+?$", r"^#[0-9a-fA-F]{6}$", r"^\S+ \S+$", "^.{2,5}$",
        "^(a(b(c)))$", r"^[a\]]$",
    ],
)  # fmt: skip
def test_a_text_fits(expression: str) -> None:
    random = Random(7)
    assert all(re.search(expression, matching(expression, random)) for _ in range(50))


@pytest.mark.parametrize(
    "expression",
    [
        r"^\p{L}+$",
        "(?=a)",
        r"(a)\1",
        "[",
        "(a",
        "a)",
        "*",
        r"\bword\b",
        "x{999999999}",
        "((((a{99}){99}){99}){99}){99}",
        "a{",
        "\\",
    ],
)
def test_what_is_not_known_is_said(expression: str) -> None:
    with pytest.raises(Unknown):
        matching(expression, Random(7))
