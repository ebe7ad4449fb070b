"""Counters: every outcome, also of calls that were unknown, invalid or refused."""

from typing import Any

from ..core.events import Event, Finished


class Stats:
    """Counts calls as they finish, or as they are read from the record."""

    def __init__(self) -> None:
        self.total = self.successes = 0
        self.milliseconds = 0.0
        self.by_tool: dict[str, int] = {}
        self.by_code: dict[str, int] = {}

    def ready(self) -> None:
        pass

    def notice(self, event: Event) -> None:
        if type(event) is Finished:
            error, name = event.result.error, event.call.name
            self.count(name, error.code if error else None, event.result.metadata["execution_time_ms"])

    def count(self, tool: str, code: str | None, milliseconds: float) -> None:
        self.total += 1
        self.milliseconds += milliseconds
        self.by_tool[tool] = self.by_tool.get(tool, 0) + 1
        if code is None:
            self.successes += 1
        else:
            self.by_code[code] = self.by_code.get(code, 0) + 1

    def to_dict(self) -> dict[str, Any]:
        return {
            "total_executions": self.total,
            "success_count": self.successes,
            "error_count": self.total - self.successes,
            "average_execution_time_ms": round(self.milliseconds / self.total, 3) if self.total else 0,
            "executions_by_tool": dict(sorted(self.by_tool.items())),
            "errors_by_code": dict(sorted(self.by_code.items())),
        }
