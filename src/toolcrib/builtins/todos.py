"""What a session has to do: the list that `todo_write` replaces and `todo_read` gives."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..core.jsontext import JSON

STATES = ("pending", "in_progress", "completed")
MOST = 200
LONGEST = 2000
_MOST_SESSIONS = 100

Items = list[Any]
"""Each an object with `content`, `status` and what else the model keeps with it."""


class InMemory:
    """Lists for tools that no runtime gave a store: they are there as long as the process is."""

    def __init__(self) -> None:
        self._lists: dict[str, Items] = {}

    def write(self, session: str, items: Items) -> None:
        self._lists.pop(session, None)
        self._lists[session] = items
        if len(self._lists) > _MOST_SESSIONS:
            del self._lists[next(iter(self._lists))]

    def read(self, session: str) -> Items:
        return self._lists.get(session, [])


_memory = InMemory()


class TodoLists(NamedTuple):
    """Where the lists of the sessions are."""

    write: Callable[[str, Items], None] = _memory.write
    read: Callable[[str], Items] = _memory.read


ALONE = TodoLists()
"""For tools that no runtime gave another."""


def told(items: Sequence[Any]) -> dict[str, JSON]:
    """The list, and how many are in each state."""
    counts = {state: sum(item["status"] == state for item in items) for state in STATES}
    return {"todos": list(items), "counts": counts}
