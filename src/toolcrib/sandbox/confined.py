"""The sandbox that one tool is given: the runtime's processes, in the tool's cage."""

from collections.abc import Callable, Hashable, MutableMapping, Sequence
from typing import TYPE_CHECKING

from ..core.process import Command, Completed, Ended
from .cage import Cage
from .processes import Processes

if TYPE_CHECKING:
    from .aftermath import PutAside
    from .background import Background
    from .lending import Loan


class Confined:
    """Whatever is started here is confined as the cage says, also what stays running."""

    def __init__(
        self,
        processes: Processes,
        cage: Cage,
        told: "MutableMapping[str, Sequence[PutAside]] | None" = None,
        withheld: tuple[str, ...] = (),
    ) -> None:
        """`told` has, by the mark of a program, what of it was put aside. `withheld` are the variables that the tool
        declares and does not see."""
        self.name, self.cage = cage.tier, cage
        self._processes, self._told, self._withheld = processes, {} if told is None else told, withheld

    async def exec(self, command: Command, *, ended: Ended | None = None) -> Completed:
        return await self._processes.exec(self._caged(command), ended=ended)

    def begin(self, command: Command) -> "Background":
        return self._processes.begin(self._caged(command))

    def lend(self, command: Command, *, key: Hashable, marks: Callable[[], str]) -> "Loan":
        return self._processes.lend(self._caged(command), key=key, marks=marks)

    def denied(self, tool: str, done: Completed, *, said: str = "", stays: bool = False) -> list[dict[str, str]]:
        """What was probably refused to a tool that failed, and how to allow it. `stays`: its program was lent."""
        from .denied import hints, of_withheld  # late: most calls succeed

        cage = self.cage._replace(workspace_writable=False) if stays else self.cage
        found = (*of_withheld(tool, self._withheld), *hints(tool, cage, done, said=said))
        return [hint._asdict() for hint in found]

    def put_aside(self, tool: str, mark: str) -> list[dict[str, str]]:
        """What a program made in protected places, and where that is now; what it changed there. Said once."""
        found = self._told.pop(mark, None)
        if not found:
            return []
        from .denied import of_aftermath  # late: few programs do

        return [hint._asdict() for hint in of_aftermath(tool, self.cage.workspace, found)]

    def _caged(self, command: Command) -> Command:
        cage = self.cage
        if command.reads:
            cage = cage._replace(readable=tuple(dict.fromkeys((*cage.readable, *command.reads))))
        return command._replace(cage=cage)
