"""One request and its one answer. Both are plain data and cross every wire."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .errors import InvalidJson, ToolcribError
from .jsontext import JSON, dump

ProgressSink = Callable[[float, float | None, str | None], None]
"""Told how far a call is: done, total where known, a few words."""


class Retry(NamedTuple):
    """Try again on failure, but only where that is safe: see `Executor`."""

    max_attempts: int = 3
    delay_ms: float = 100
    backoff_multiplier: float = 2.0


class Call(NamedTuple):
    """What somebody asks for. A NamedTuple, as `Tool` is: both stand on the hot path."""

    name: str
    args: Mapping[str, JSON]
    id: str
    session: str = ""
    asker: str = "python"
    """The door it came in by, for the prompt and the record."""
    timeout: float | None = None
    retry: Retry | None = None
    dry_run: bool = False
    skip_validation: bool = False
    """For trusted Python callers only; no door sets it."""
    progress: ProgressSink | None = None
    depth: int = 0
    """How many tools stand between this call and the outside."""


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    code: str
    message: str
    details: JSON = None

    def to_dict(self) -> dict[str, JSON]:
        return {"code": self.code, "message": self.message, "details": self.details}


@dataclass(frozen=True, slots=True)
class Result:
    """The answer. `error is None` is the only truth about success."""

    data: JSON = None
    error: ErrorInfo | None = None
    metadata: dict[str, JSON] = field(default_factory=dict)

    @property
    def success(self) -> bool:
        return self.error is None

    @property
    def output(self) -> str:
        """The answer as text, whether it went well or not."""
        if self.error is not None:
            return self.error.message
        return self.data if isinstance(self.data, str) else dump(self.data).decode()

    @property
    def exit_code(self) -> int:
        """The program's exit status; without a program, 0 for success and 1 for failure."""
        code = self.metadata.get("exit_code")
        return code if isinstance(code, int) else int(self.error is not None)

    def to_dict(self) -> dict[str, JSON]:
        error = self.error and self.error.to_dict()
        return {"success": self.success, "data": self.data, "error": error, "metadata": self.metadata}


async def settle(work: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    """Wait for work that may fail in any way: its value, or how it failed.

    This holds the one broad `except` of the package: a tool's bug must not end the agent's turn, nor must a tool that
    calls `sys.exit`. Cancellation passes, unless the work only pretends to have been cancelled.
    """
    try:
        return await work, None
    except (Exception, SystemExit) as exc:
        return None, exc
    except asyncio.CancelledError as exc:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        return None, exc


def explain(failure: BaseException) -> ErrorInfo:
    """Any failure as the error a caller reads."""
    if isinstance(failure, ToolcribError):
        return ErrorInfo(failure.code, str(failure), failure.details)
    code = "RESOURCE_EXHAUSTED" if str(failure) == "can't start new thread" else "EXECUTION_ERROR"
    return ErrorInfo(code, str(failure) or type(failure).__name__, {"exception": type(failure).__name__})


def writable(data: JSON) -> JSON:
    """`data`, if it can cross a wire. Raises: `InvalidJson`, if it cannot."""
    if type(data) is not str:
        try:
            dump(data)
        except InvalidJson as exc:
            what = f"the tool returned a {type(data).__name__}, which {exc}"
            raise InvalidJson(what, code="EXECUTION_ERROR") from None
    return data
