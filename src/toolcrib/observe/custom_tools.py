"""What became of the tools that people and agents made, counted from the record."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..core.errors import REFUSALS

_NOT_RUN = REFUSALS | {"TOOL_NOT_FOUND", "VALIDATION_ERROR", "INPUT_TOO_LARGE"}
"""The codes of a call that came to nothing before the tool was started."""
UNRECORDED = ("refresh_overhead", "time_saved", "feedback")
"""What one would like to know, and the record does not say."""


@dataclass(slots=True)
class Life:
    """One tool's."""

    created: bool = False
    builds: list[bool] = field(default_factory=list)
    """Whether each succeeded, in order."""
    deleted: bool = False
    """And not made again since."""
    calls: int = 0
    successes: int = 0
    milliseconds: float = 0.0
    sessions: set[str] = field(default_factory=set)
    days: set[str] = field(default_factory=set)
    """In UTC."""

    @property
    def reused(self) -> bool:
        """Used in more than one session, or on more than one day."""
        return len(self.sessions) > 1 or len(self.days) > 1

    def to_dict(self) -> dict[str, Any]:
        return {
            "created": self.created,
            "builds": len(self.builds),
            "built_at_first_try": self.builds[0] if self.builds else None,
            "deleted": self.deleted,
            "calls": self.calls,
            "success_rate": _rate(self.successes, self.calls),
            "average_execution_time_ms": round(self.milliseconds / self.calls, 3) if self.calls else 0,
            "sessions": len(self.sessions),
            "days": len(self.days),
        }


def lives(records: Iterable[dict[str, Any]], *, prefix: str) -> dict[str, Any]:
    """The counters of all tools that were made by a call, or are called by a name that begins with the prefix.

    A call counts as a use when the tool was started, whatever came of it.
    """
    found: dict[str, Life] = {}
    refused = 0
    for record in records:
        if record.get("event") != "call":
            continue
        tool, code, about = str(record.get("tool")), record.get("code"), record.get("custom_tool")
        if isinstance(about, str) and tool in _WORK and (code is None or tool == "build_custom_tool"):
            _WORK[tool](found.setdefault(about, Life()), code is None)
        elif tool == "create_custom_tool":
            refused += code in REFUSALS
        elif (tool in found or (prefix and tool.startswith(prefix))) and code not in _NOT_RUN:
            _use(found.setdefault(tool, Life()), record)
    every = list(found.values())
    created = [life for life in every if life.created]
    built = [life for life in created if life.builds]
    used = [life for life in every if life.calls]
    return {
        "tools": len([life for life in every if not life.deleted]),
        "created": len(created),
        "creations_refused": refused,
        "built": len([life for life in built if any(life.builds)]),
        "built_at_first_try": len([life for life in built if life.builds[0]]),
        "build_success_rate": _rate(len([life for life in built if any(life.builds)]), len(built)),
        "deleted": len([life for life in every if life.deleted]),
        "used": len(used),
        "reused": len([life for life in used if life.reused]),
        "never_used": len([life for life in created if not life.calls]),
        "success_rate": _rate(sum(life.successes for life in used), sum(life.calls for life in used)),
        "by_tool": {name: found[name].to_dict() for name in sorted(found)},
        "not_recorded": list(UNRECORDED),
    }


def _create(life: Life, succeeded: bool) -> None:
    life.created, life.deleted = True, False


def _build(life: Life, succeeded: bool) -> None:
    life.builds.append(succeeded)


def _delete(life: Life, succeeded: bool) -> None:
    life.deleted = True


_WORK = {"create_custom_tool": _create, "build_custom_tool": _build, "delete_custom_tool": _delete}


def _use(life: Life, record: dict[str, Any]) -> None:
    took, at = record.get("ms"), record.get("time")
    life.calls += 1
    life.successes += record.get("code") is None
    life.milliseconds += took if isinstance(took, int | float) else 0.0
    life.sessions.add(str(record.get("session")))
    if isinstance(at, int | float):
        life.days.add(time.strftime("%Y-%m-%d", time.gmtime(at)))


def _rate(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None
