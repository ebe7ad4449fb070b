"""How one call is judged when a tool is tried, with a gate that has holes."""

import asyncio

import pytest

from toolcrib.cli._trial import Trial, Tried
from toolcrib.core.call import ErrorInfo, Result
from toolcrib.core.schema import Schema
from toolcrib.core.tool import Tool
from toolcrib.sources.examples import Example

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


def trial(result: Result, *, examples: list[Example] = [], made_up: int = 0, wrong: int = 0) -> tuple[Tried, int]:  # noqa: B006
    """What is made of a tool whose every call ends so, and how often it was called."""
    calls = 0

    async def call(name: str, args: dict) -> Result:
        nonlocal calls
        calls += 1
        return result

    tool = Tool("one", "Is one.", Schema(SCHEMA), backend=None)  # type: ignore[arg-type]  # it is never run
    trying = Trial(tool, call, lambda args: True)
    asyncio.run(trying.run(examples, made_up=made_up, wrong=wrong, seed=0))
    return trying.tried, calls


def failed(code: str, *, attempts: int = 1, exit_code: int | None = None, details: object = None) -> Result:
    metadata = {"attempts": attempts} | ({} if exit_code is None else {"exit_code": exit_code})
    return Result(error=ErrorInfo(code, "words", details), metadata=metadata)


def test_a_wrong_call_that_gets_through_is_a_failure() -> None:
    """F46: also one that was refused too late."""
    tested, calls = trial(Result("an answer", metadata={"attempts": 1}), wrong=4)
    assert (len(tested.failures), tested.refused, calls) == (4, 0, 4)
    tested, _ = trial(failed("VALIDATION_ERROR", attempts=1), wrong=4)
    assert (len(tested.failures), tested.refused) == (4, 0)
    tested, _ = trial(failed("VALIDATION_ERROR", attempts=0), wrong=4)
    assert (len(tested.failures), tested.refused) == (0, 4)


@pytest.mark.parametrize("code", ["APPROVAL_DENIED", "BLOCKED_BY_POLICY", "TOOL_PIN_MISMATCH", "WORKSPACE_UNTRUSTED"])
def test_after_a_no_nothing_more_is_called(code: str) -> None:
    tested, calls = trial(failed(code, attempts=0), examples=[Example("it", {"a": ""})] * 3, made_up=5)
    assert (calls, tested.failures, tested.examples) == (1, [], 0)
    assert tested.refusal is not None


@pytest.mark.parametrize(
    ("result", "is_failure"),
    [
        (Result("fine"), False),
        (failed("EXECUTION_ERROR", exit_code=1), False),
        (failed("EXECUTION_ERROR", exit_code=127), False),
        (failed("EXECUTION_ERROR", exit_code=128), True),
        (failed("EXECUTION_ERROR", exit_code=139), True),
        (failed("EXECUTION_ERROR", exit_code=1, details={"stderr": "x\nTraceback (most recent call last):\n"}), True),
        (failed("EXECUTION_ERROR", exit_code=1, details={"stderr": "x: Traceback"}), False),
        (failed("EXECUTION_ERROR", details={"exception": "ValueError"}), False),
        (failed("EXECUTION_ERROR", details={"exception": "KeyError"}), True),
        (failed("TIMEOUT"), True),
        (failed("OUTCOME_UNKNOWN"), True),
        (failed("FILE_NOT_FOUND"), False),
    ],
)
def test_what_counts_as_broken(result: Result, is_failure: bool) -> None:
    tested, calls = trial(result, made_up=3)
    assert (len(tested.failures), calls) == (3 if is_failure else 0, 3)


@pytest.mark.parametrize(
    ("result", "good"),
    [
        (Result("x\n", metadata={"exit_code": 0}), True),
        (Result("y", metadata={"exit_code": 0}), False),
        (failed("EXECUTION_ERROR", exit_code=0, details={"stdout": "x"}), True),
        (failed("TIMEOUT", exit_code=0, details={"stdout": "x"}), False),
        (failed("INPUT_TOO_LARGE", attempts=0), False),
    ],
)
def test_what_an_example_is_held_against(result: Result, good: bool) -> None:
    tested, _ = trial(result, examples=[Example("it", {"a": ""}, 0, "x")])
    assert (tested.examples, len(tested.failures)) == ((1, 0) if good else (0, 1))
