"""A signature becomes a schema."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal, Optional

import pytest
from pydantic import BaseModel, Field, field_validator

import toolcrib
from toolcrib.backends.signature import output_of
from toolcrib.core.context import Context
from toolcrib.core.tool import Tool
from toolcrib.testing import fake_context


def called(tool: Tool, args: dict[str, Any]) -> Any:
    async def run() -> Any:
        return await tool.backend.run(args, fake_context())

    return asyncio.run(run())


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


def test_what_pydantic_describes_it_also_makes() -> None:
    """G20: models, enums and dates arrive as such; any name will do for a parameter."""

    class Kind(Enum):
        A = "a"

    class Person(BaseModel):
        name: str

    @toolcrib.tool
    def f(person: Person, day: date, copy: Kind = Kind.A, model_x: Annotated[int, Field(default=3)] = 4) -> Any:
        """Take many."""
        return [person.name, day.year, copy.name, model_x]

    args = {"person": {"name": "Bob"}, "day": "2027-01-31"}
    assert f.schema.check(args) == []
    assert called(f, args) == ["Bob", 2027, "A", 4]
    assert f.input_schema["required"] == ["person", "day"]


def test_a_field_may_be_the_default() -> None:
    """G21"""

    @toolcrib.tool
    def f(n: int = Field(ge=0, description="how many"), m: int = Field(default=2)) -> Any:
        """Take two."""
        return [n, m]

    assert f.input_schema["required"] == ["n"]
    assert (f.input_schema["properties"]["n"]["minimum"], called(f, {"n": 1})) == (0, [1, 2])


def test_what_a_model_finds_beyond_its_schema_is_a_validation_error() -> None:
    class Even(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def is_even(cls, n: int) -> int:
            if n % 2:
                raise ValueError("odd")
            return n

    ran = []

    @toolcrib.tool
    def f(even: Even) -> None:
        """Take one."""
        ran.append(even)

    with pytest.raises(toolcrib.ToolError) as caught:
        called(f, {"even": {"n": 3}})
    assert (caught.value.code, caught.value.details) == (
        "VALIDATION_ERROR",
        [{"pointer": "/even/n", "message": "/even/n: Value error, odd"}],
    )
    assert ran == []


def test_words_on_a_parameter_reach_the_schema() -> None:
    """G21: from the docstring, unless the annotation has its own."""

    def plain(a: str, b: Annotated[int, "own"] = 1) -> str:
        """Take two.

        Args:
            a: from the docstring
            b: not this
        """
        return ""

    def rich(a: date, b: Annotated[int, Field(description="own")] = 1) -> str:
        """Take two.

        :param a: from the docstring
        :param b: not this
        """
        return ""

    for function in (plain, rich):
        found = properties(function)
        assert (found["a"]["description"], found["b"]["description"]) == ("from the docstring", "own")
        assert toolcrib.tool(function).description == "Take two."


def test_a_generator_is_collected() -> None:
    @toolcrib.tool
    async def f(to: int) -> AsyncIterator[int]:
        """Count."""
        for n in range(to):
            yield n

    assert called(f, {"to": 3}) == [0, 1, 2]


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (int, {"type": "integer"}),
        (None, {"type": "null"}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (AsyncIterator[int], {"type": "array", "items": {"type": "integer"}}),
        (date, {"type": "string", "format": "date"}),
    ],
)
def test_a_return_annotation_becomes_an_output_schema(hint: Any, schema: dict[str, Any]) -> None:
    """G34"""
    found = output_of(hint)
    assert found is not None and found.schema == schema


@pytest.mark.parametrize("hint", [Any, object(), asyncio.Event])
def test_an_annotation_that_says_nothing_is_not_checked(hint: Any) -> None:
    assert output_of(hint) is None


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
