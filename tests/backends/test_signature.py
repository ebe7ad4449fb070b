"""A signature becomes a schema."""

import subprocess
import sys
from collections.abc import Callable
from typing import Annotated, Any, Literal, Optional

import pytest
from pydantic import BaseModel, Field

import toolcrib
from toolcrib.core.context import Context
from toolcrib.core.tool import Tool


def properties(function: Callable[..., Any]) -> dict[str, Any]:
    made = toolcrib.tool(function)
    return made.input_schema["properties"]


def test_plain_types() -> None:
    """C3, G20: the signature is the schema."""

    def f(
        a: str,
        b: int,
        c: float,
        d: bool,
        e: list[str],
        f: dict[str, int],
        g: Optional[int] = None,  # noqa: UP045
        h: str | None = "x",
        i: Literal["a", "b"] = "a",
        j: Any = 1,
        k: list[dict[str, list[bool]]] = [],  # noqa: B006
    ) -> str:
        """Take many."""
        return ""

    made = toolcrib.tool(f)
    assert made.input_schema["required"] == ["a", "b", "c", "d", "e", "f"]
    assert made.input_schema["additionalProperties"] is False
    assert made.input_schema["properties"] == {
        "a": {"type": "string"},
        "b": {"type": "integer"},
        "c": {"type": "number"},
        "d": {"type": "boolean"},
        "e": {"type": "array", "items": {"type": "string"}},
        "f": {"type": "object", "additionalProperties": {"type": "integer"}},
        "g": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        "h": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": "x"},
        "i": {"enum": ["a", "b"], "default": "a"},
        "j": {"default": 1},
        "k": {
            "type": "array",
            "items": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "boolean"}}},
            "default": [],
        },
    }


def test_constraints_and_models_are_pydantics() -> None:
    """G21: field constraints carry into the schema."""

    class Person(BaseModel):
        name: str
        age: int = Field(ge=0, description="in years")

    def f(person: Person, count: Annotated[int, Field(gt=0, le=9)] = 1) -> str:
        """Take a person."""
        return ""

    made = toolcrib.tool(f)
    assert made.input_schema["properties"]["count"] == {
        "default": 1, "exclusiveMinimum": 0, "maximum": 9, "title": "Count", "type": "integer",
    }  # fmt: skip
    assert made.schema.check({"person": {"name": "Bob", "age": 3}}) == []
    assert made.schema.check({"person": {"name": "Bob", "age": -3}})[0]["pointer"] == "/person/age"


def test_no_parameters() -> None:
    def f() -> str:
        """Take none."""
        return ""

    assert toolcrib.tool(f).input_schema == {"type": "object", "properties": {}, "additionalProperties": False}


def test_the_context_is_injected_not_asked_for() -> None:
    """C2: whatever its name, wherever it stands."""

    def f(a: str, where: Context) -> str:
        """Look around."""
        return ""

    assert list(properties(f)) == ["a"]


@pytest.mark.parametrize("parameters", ["*args", "**more", "a, /"])
def test_what_cannot_be_passed_by_name_is_refused(parameters: str) -> None:
    space: dict[str, Any] = {}
    exec(f"def f({parameters}): 'Do.'", space)
    with pytest.raises(TypeError, match="parameters have names"):
        toolcrib.tool(space["f"])


def test_the_docstring_is_the_description() -> None:
    """G18"""

    def documented() -> str:
        """What the model reads."""
        return ""

    def bare() -> str:
        return ""

    assert toolcrib.tool(documented).description == "What the model reads."
    assert toolcrib.tool(bare).description == "Custom tool: bare"


def test_everything_can_be_said_at_the_decorator() -> None:
    """C18, C19, G6"""

    @toolcrib.tool(
        name="other",
        description="Words",
        version="1.2.3",
        capabilities=toolcrib.Capabilities(idempotent=True),
        timeout="5s",
        needs_approval="ask",
    )
    def f() -> str:
        return ""

    assert isinstance(f, Tool)
    assert (f.name, f.description, f.version, f.limits.seconds, f.needs_approval) == (
        "other",
        "Words",
        "1.2.3",
        5,
        "ask",
    )
    assert f.capabilities == toolcrib.Capabilities(idempotent=True)


def test_a_changed_function_has_another_digest() -> None:
    def one() -> int:
        """Answer."""
        return 1

    def two() -> int:
        """Answer."""
        return 2

    two.__name__ = "one"
    assert toolcrib.tool(one).digest != toolcrib.tool(two).digest
    assert toolcrib.tool(one).digest == toolcrib.tool(one).digest


def test_plain_signatures_do_not_import_pydantic() -> None:
    code = (
        "import sys, toolcrib\n"
        "@toolcrib.tool\n"
        "def f(a: str, b: int | None = None, c: list[str] = []) -> str: 'Do.'\n"
        "print('pydantic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
