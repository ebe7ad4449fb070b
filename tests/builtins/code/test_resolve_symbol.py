"""`resolve_symbol`"""

import pytest

from toolcrib.builtins.resolve_symbol import resolve_symbol
from toolcrib.core.errors import ToolError


def test_through_a_re_export_alone(alone) -> None:
    """C46"""
    (found,) = alone(resolve_symbol, symbol="Cart", file="main.py", precise=False)["definitions"]
    assert (found["file"], found["line"], found["confidence"]) == ("shop/cart.py", 6, "syntactic")


def test_exactly_by_jedi_alone(alone) -> None:
    pytest.importorskip("jedi")
    answer = alone(resolve_symbol, symbol="cart.add", file="main.py")
    (found,) = answer["definitions"]
    assert (found["file"], found["line"], answer["engine"]) == ("shop/cart.py", 9, "jedi")


def test_exactly_by_jedi_through_the_gate(through) -> None:
    """And nothing but the answer tells of the program that gave it."""
    pytest.importorskip("jedi")
    result = through("resolve_symbol", symbol="add", file="main.py", line=4)
    assert [(each["file"], each["line"], each["confidence"]) for each in result.data["definitions"]] == [
        ("shop/cart.py", 9, "exact")
    ]
    assert "exit_code" not in result.metadata


def test_what_there_is_not(alone) -> None:
    with pytest.raises(ToolError, match="nothing called Kart is defined"):
        alone(resolve_symbol, symbol="Kart", file="main.py", precise=False)


def test_a_file_is_required(through) -> None:
    for args in ({"symbol": "Cart"}, {"file": "main.py"}, {"symbol": "Cart", "file": "main.py", "line": 0}):
        assert through("resolve_symbol", **args).error.code == "VALIDATION_ERROR"
    assert through("resolve_symbol", symbol="Cart", file="gone.py").error.code == "FILE_NOT_FOUND"
