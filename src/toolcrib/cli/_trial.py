"""Trying one tool through the gate: its examples, made-up calls it should bear, and wrong ones it should never see."""

import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

from ..core.call import Result
from ..core.errors import REFUSALS
from ..core.jsontext import JSON, dump
from ..core.tool import Tool
from ..sources.examples import Example
from ..sources.generated import invalid, valid
from ._text import visible

_TRACES = re.compile(
    r"^Traceback \(most recent call last\):|^panic: |^goroutine \d+ \[|^thread '.*' (?:\(\d+\) )?panicked at "
    r"|^Node\.js v\d+|^Exception in thread |Segmentation fault",
    re.MULTILINE,
)
"""How the languages announce that nobody caught an error."""
_BUGS = frozenset(
    """
    ArithmeticError AssertionError AttributeError BufferError EOFError ImportError IndexError KeyError LookupError
    MemoryError NameError NotImplementedError OverflowError RecursionError RuntimeError StopIteration SystemError
    SystemExit TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError ZeroDivisionError
    """.split()  # noqa: SIM905
)
"""Exceptions of a function in this process that no author raises for a model to read."""
_UNMEANT = ("TIMEOUT", "RESOURCE_EXHAUSTED", "OUTCOME_UNKNOWN")
_LONGEST = 300

Calling = Callable[[str, dict[str, JSON]], Awaitable[Result]]


@dataclass(frozen=True, slots=True)
class Failure:
    """One call that did not go as it should."""

    kind: str
    """`example`, `made up` or `wrong`."""
    name: str
    input: dict[str, JSON]
    expected: str
    got: str

    def to_dict(self) -> dict[str, JSON]:
        return {"kind": self.kind, "name": self.name, "input": self.input, "expected": self.expected, "got": self.got}


@dataclass(slots=True)
class Tried:
    """What came of trying one tool."""

    name: str
    examples: int = 0
    """That went as they should, as all these counts."""
    answered: int = 0
    declined: int = 0
    """Made-up calls that failed with a message, which is the tool's right."""
    refused: int = 0
    """Wrong calls that the gate refused before anything started."""
    failures: list[Failure] = field(default_factory=list)
    refusal: Result | None = None
    """Why it could not be tried, or not to its end."""
    skipped: str = ""
    """Why there were no made-up calls."""

    def to_dict(self) -> dict[str, JSON]:
        error = self.refusal.error.to_dict() if self.refusal and self.refusal.error else None
        return {
            "name": self.name,
            "examples": self.examples,
            "made_up": {"answered": self.answered, "declined": self.declined},
            "wrong": {"refused": self.refused},
            "failures": [each.to_dict() for each in self.failures],
            "error": error,
            "skipped": self.skipped or None,
        }


class Refusal(Exception):
    """The gate said no, so there is nothing more to try."""


class Trial:
    """Tries one tool. `call` is the gate; `fits` is the tool's own look at arguments that its schema takes."""

    def __init__(self, tool: Tool, call: Calling, fits: Callable[[dict[str, JSON]], bool]) -> None:
        self._tool, self._call, self._fits = tool, call, fits
        self.tried = Tried(tool.name)

    async def run(self, examples: list[Example], *, made_up: int, wrong: int, seed: int) -> None:
        try:
            # What starts nothing comes first, so that a tool with a hole is not tried further.
            for args, why in invalid(self._tool.input_schema, count=wrong, seed=seed):
                await self._wrong(args, why)
            for example in examples:
                await self._example(example)
            for args in valid(self._tool.input_schema, count=made_up, seed=seed):
                if self._fits(args):
                    await self._made_up(args)
        except Refusal:
            pass

    async def _wrong(self, args: dict[str, JSON], why: str) -> None:
        result = await self._call(self._tool.name, args)
        code = result.error.code if result.error else None
        if code == "VALIDATION_ERROR" and not result.metadata["attempts"]:
            self.tried.refused += 1
            return
        self._not_refused(result)
        expected = f"VALIDATION_ERROR before it starts, because {why}"
        self._failed("wrong", why, args, expected, outcome(result))

    async def _example(self, example: Example) -> None:
        result = self._not_refused(await self._call(self._tool.name, example.input))
        exit, output = result.exit_code, stdout(result)
        ran = result.error is None or "exit_code" in result.metadata
        if ran and not _timed_out(result) and example.fits(exit, output):
            self.tried.examples += 1
            return
        expected = f"exit {example.exit}"
        if example.output is not None:
            expected += f", output {_around(example.output, output)}"
        got = outcome(result) if not ran or _timed_out(result) or exit != example.exit else f"exit {exit}"
        if example.output is not None and ran:
            got += f", output {_around(output, example.output)}"
        self._failed("example", example.name, example.input, expected, got)

    async def _made_up(self, args: dict[str, JSON]) -> None:
        result = self._not_refused(await self._call(self._tool.name, args))
        if result.error is None:
            self.tried.answered += 1
        elif crashed(result):
            self._failed("made up", "", args, "an answer, or an exit status with a message", outcome(result))
        else:
            self.tried.declined += 1

    def _not_refused(self, result: Result) -> Result:
        if result.error is not None and result.error.code in REFUSALS:
            self.tried.refusal = result
            raise Refusal
        return result

    def _failed(self, kind: str, name: str, args: dict[str, JSON], expected: str, got: str) -> None:
        self.tried.failures.append(Failure(kind, name, args, expected, got))


def crashed(result: Result) -> bool:
    """Whether a failure is one that nobody meant: a signal, no end, or an error that nobody caught."""
    assert result.error is not None
    details = result.error.details if isinstance(result.error.details, dict) else {}
    if result.error.code in _UNMEANT or details.get("exception") in _BUGS:
        return True
    return result.exit_code >= 128 or bool(_TRACES.search(str(details.get("stderr", ""))))


def stdout(result: Result) -> str:
    if result.error is None:
        return result.output
    details = result.error.details
    return str(details.get("stdout", "")) if isinstance(details, dict) else ""


def outcome(result: Result) -> str:
    """How a call ended, in a line."""
    if result.error is None:
        return f"an answer: {shown(result.output)}"
    code = result.error.code
    said = f"exit {result.exit_code}" if "exit_code" in result.metadata and code == "EXECUTION_ERROR" else code
    return f"{said}: {shown(result.error.message)}"


def shown(value: JSON) -> str:
    """A value on one line, with nothing in it that a terminal would obey, and not too long."""
    text = visible(value if isinstance(value, str) else dump(value).decode())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"


def lines(tried: Tried) -> Iterator[str]:
    """The report on one tool."""
    word = "FAIL" if tried.failures else "STOP" if tried.refusal else "ok"
    made_up = tried.answered + tried.declined
    counts = [
        f"{tried.examples} example{'' if tried.examples == 1 else 's'}",
        f"{made_up} made-up call{'' if made_up == 1 else 's'}"
        + (f" ({tried.declined} declined with a message)" if tried.declined else ""),
        f"{tried.refused} wrong call{'' if tried.refused == 1 else 's'} refused before it started",
    ]
    yield f"{word:<4}  {tried.name}  {', '.join(counts)}"
    for each in tried.failures:
        yield f"      {each.kind}: {visible(each.name)}" if each.name else f"      {each.kind}"
        yield f"        input     {shown(each.input)}"
        yield f"        expected  {each.expected}"
        yield f"        got       {each.got}"
    if tried.refusal is not None and tried.refusal.error is not None:
        yield f"      {tried.refusal.error.code} {visible(tried.refusal.error.message)}"
    if tried.skipped:
        yield f"      {visible(tried.skipped)}"


def _timed_out(result: Result) -> bool:
    return result.error is not None and result.error.code == "TIMEOUT"


def _around(text: str, other: str) -> str:
    """A text in quotes, from a little before the place where it differs from the other."""
    same = next((at for at, (one, two) in enumerate(zip(text, other, strict=False)) if one != two), None)
    same = min(len(text), len(other)) if same is None else same
    start = same - 20 if same > _LONGEST // 2 else 0
    return f'{"…" if start else ""}"{shown(text[start:])}"'
