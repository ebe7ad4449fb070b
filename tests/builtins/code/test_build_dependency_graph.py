"""`build_dependency_graph`"""

from toolcrib.builtins.build_dependency_graph import build_dependency_graph


def test_a_graph_alone(alone) -> None:
    """C46"""
    answer = alone(build_dependency_graph)
    assert [(edge["from"], edge["to"]) for edge in answer["edges"]] == [
        ("main.py", "shop/__init__.py"),
        ("shop/__init__.py", "shop/cart.py"),
        ("shop/cart.py", "shop/price.py"),
        ("shop/price.py", "shop/__init__.py"),
        ("shop/price.py", "shop/cart.py"),
    ]
    assert answer["cycles"] == [{"size": 3, "nodes": ["shop/__init__.py", "shop/cart.py", "shop/price.py"]}]


def test_drawings_through_the_gate(through) -> None:
    assert '  "main.py" -> "shop/__init__.py";' in through("build_dependency_graph", format="dot").data
    assert '["shop/cart.py"]' in through("build_dependency_graph", format="mermaid", path="shop").data
    assert through("build_dependency_graph", level="directory").data["nodes"] == [".", "shop"]


def test_a_form_that_there_is_not(through) -> None:
    assert through("build_dependency_graph", format="svg").error.code == "VALIDATION_ERROR"
    assert through("build_dependency_graph", path="gone").error.code == "FILE_NOT_FOUND"
