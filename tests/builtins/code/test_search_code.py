"""`search_code`"""

import pytest

from toolcrib.builtins.search_code import search_code
from toolcrib.core.errors import ToolError


def test_a_symbol_alone(alone) -> None:
    """C45, C46"""
    (hit,) = alone(search_code, query="Cart")["hits"][:1]
    assert (hit["file"], hit["line"], hit["kind"], hit["match"]) == ("shop/cart.py", 6, "class", "exact")


def test_a_pattern_through_the_gate(through) -> None:
    result = through("search_code", query="cart.$METHOD($$$ARGS)", path=".")
    found = [(hit["file"], hit["line"], hit["bindings"]["METHOD"]) for hit in result.data["hits"]]
    assert found == [("main.py", 4, "add"), ("main.py", 5, "sum")]


def test_the_path_is_the_workspace_by_default() -> None:
    """C45"""
    assert search_code.input_schema["properties"]["path"]["default"] == "."
    assert search_code.input_schema["required"] == ["query"]


def test_a_query_is_required(through) -> None:
    """C45"""
    for args in ({}, {"query": ""}, {"query": 1}, {"query": "x", "limit": 0}, {"query": "x" * 5000}):
        assert through("search_code", **args).error.code == "VALIDATION_ERROR"


def test_a_kind_that_there_is_not(alone) -> None:
    with pytest.raises(ToolError, match="the kinds are") as refused:
        alone(search_code, query="Cart", kind="thing")
    assert refused.value.code == "SEARCH_ERROR"
