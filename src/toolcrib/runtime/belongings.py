"""What the calls of a session leave for its later ones: commands that still run, and what is to be done."""

from typing import TYPE_CHECKING

from ..store.home import Home

if TYPE_CHECKING:
    from ..builtins.jobs import Jobs

ONE_SHOT = frozenset(("command line", "execute_tool", "python script"))
"""Doors behind which the process ends with the call."""


class Belongings:
    """The jobs and the todos of one runtime's sessions."""

    def __init__(self, home: Home, *, workspace: str, asker: str) -> None:
        self._home, self._workspace, self._asker = home, workspace, asker
        self._jobs: Jobs | None = None

    def benches(self) -> tuple[object, ...]:
        """What the built-in tools that look after these are fitted with (`builtins.workbench.fitted`)."""
        from ..builtins.jobs import Jobs  # late, as the tools themselves
        from ..builtins.todos import TodoLists
        from ..store.todos import Todos

        if self._jobs is None:
            self._jobs = Jobs(workspace=self._workspace, one_shot=self._asker in ONE_SHOT)
        todos = Todos(self._home)
        return self._jobs, TodoLists(todos.write, todos.read)

    async def close(self) -> None:
        """End the jobs; nothing of them is left."""
        if self._jobs is not None:
            await self._jobs.close()
