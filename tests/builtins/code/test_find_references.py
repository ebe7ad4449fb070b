"""`find_references`"""

import pytest

from toolcrib.builtins.find_references import find_references
from toolcrib.core.errors import ToolError


def test_uses_alone(alone) -> None:
    """C46"""
    answer = alone(find_references, symbol="Cart")
    assert [(each["file"], each["line"], each.get("definition", False)) for each in answer["references"]] == [
        ("shop/cart.py", 6, True),
        ("main.py", 1, False),
        ("main.py", 3, False),
        ("shop/__init__.py", 1, False),
    ]
    assert answer["references"][1]["text"] == "from shop import Cart" and answer["in_text"] == 1


def test_in_words_too_through_the_gate(through) -> None:
    data = through("find_references", symbol="Cart", path="main.py", include_text=True).data
    assert [(each["line"], each["confidence"]) for each in data["references"]] == [
        (1, "syntactic"),
        (3, "syntactic"),
        (5, "text"),
    ]


def test_jedi_tells_one_method_from_another(project, through) -> None:
    pytest.importorskip("jedi")
    (project / "other.py").write_text("names = set()\nnames.add('x')\n")
    data = through("find_references", symbol="Cart.add", precise=True).data
    assert [(each["file"], each["line"], each["confidence"]) for each in data["references"]] == [
        ("shop/cart.py", 9, "exact"),
        ("main.py", 4, "exact"),
    ]
    assert data["elsewhere"] == 1 and data["confidence"] == "exact"


def test_what_nobody_mentions(alone) -> None:
    with pytest.raises(ToolError, match="nothing called kartoffel is defined") as refused:
        alone(find_references, symbol="kartoffel")
    assert refused.value.code == "SEARCH_ERROR"


def test_a_limit(through) -> None:
    data = through("find_references", symbol="Cart", limit=1).data
    assert (len(data["references"]), data["total"], data["left_out"]) == (1, 5, 4)
    assert data["files_only_counted"] == 2
    assert through("find_references", symbol="Cart", limit=501).error.code == "VALIDATION_ERROR"
