"""`get_symbol_info`"""

import pytest

from toolcrib.builtins.get_symbol_info import get_symbol_info
from toolcrib.core.errors import ToolError


def test_a_class_alone(alone) -> None:
    """C46"""
    answer = alone(get_symbol_info, symbol="Cart")
    assert (answer["kind"], answer["file"], answer["line"], answer["end_line"]) == ("class", "shop/cart.py", 6, 13)
    assert answer["documentation"] == "What somebody wants to buy."
    assert [each["name"] for each in answer["members"]["listed"]] == ["add", "sum"]
    assert answer["used"]["files"] == 3


def test_a_method_through_the_gate(through) -> None:
    data = through("get_symbol_info", symbol="Cart.add", file="shop/cart.py").data
    assert (data["symbol"], data["scope"], data["line"]) == ("Cart.add", "Cart", 9)
    assert data["signature"].startswith("def add(self, item: str, count: int = 1) -> None")


def test_what_there_is_not(alone) -> None:
    with pytest.raises(ToolError, match="the nearest names are .*Cart") as refused:
        alone(get_symbol_info, symbol="Kart")
    assert refused.value.code == "SEARCH_ERROR"


def test_a_symbol_is_required(through) -> None:
    for args in ({}, {"symbol": ""}, {"symbol": "x" * 1_000_000}):
        assert through("get_symbol_info", **args).error.code == "VALIDATION_ERROR"
