"""`get_imports_exports`"""

from toolcrib.builtins.get_imports_exports import get_imports_exports


def test_a_file_alone(alone) -> None:
    """C46"""
    answer = alone(get_imports_exports, file="shop/cart.py")
    (taken,) = answer["imports"]
    assert (taken["module"], taken["line"], taken["names"], taken["files"]) == (
        ".price",
        3,
        [{"name": "total"}],
        ["shop/price.py"],
    )
    assert [(each["name"], each["line"], each["kind"]) for each in answer["exports"]] == [("Cart", 6, "class")]


def test_outside_and_inside_through_the_gate(project, through) -> None:
    (project / "tool.ts").write_text("import fs from 'fs';\nimport { x } from './lib';\nexport const y = x;\n")
    (project / "lib.ts").write_text("export const x = 1;\n")
    data = through("get_imports_exports", file="tool.ts").data
    assert [(each["module"], each.get("external", False), each.get("files")) for each in data["imports"]] == [
        ("fs", True, None),
        ("./lib", False, ["lib.ts"]),
    ]
    assert [each["name"] for each in data["exports"]] == ["y"]


def test_a_file_that_is_not_there(through) -> None:
    assert through("get_imports_exports", file="gone.py").error.code == "FILE_NOT_FOUND"
    assert through("get_imports_exports").error.code == "VALIDATION_ERROR"
