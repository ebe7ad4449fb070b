"""`get_codebase_map`"""

from toolcrib.builtins.get_codebase_map import get_codebase_map


def test_a_map_alone(alone) -> None:
    """C46"""
    lines = alone(get_codebase_map).splitlines()
    assert "shop/cart.py:" in lines and "    6  class Cart" in lines
    assert "    9    def add(self, item: str, count: int = 1) -> None" in lines


def test_a_budget_through_the_gate(through) -> None:
    result = through("get_codebase_map", path="shop", budget=64)
    assert len(result.data.encode()) <= 256 and "main.py" not in result.data


def test_a_budget_out_of_bounds(through) -> None:
    for budget in (0, 63, 10**6, "many"):
        assert through("get_codebase_map", budget=budget).error.code == "VALIDATION_ERROR"


def test_nothing_to_show(project, alone) -> None:
    (project / "empty").mkdir()
    assert alone(get_codebase_map, path="empty").startswith("(the 0 most important of 0 files")
