"""The first tier: a process of its own, an explicit environment, bounded pipes and a certain end. No confinement."""

import asyncio

from ..core.errors import ToolError
from ..core.process import Command, Completed, Ended
from .poller import Poller
from .program import Program
from .scratch import Scratch, remove_tree
from .watcher import Watcher


class Unconfined:
    """Runs commands for one runtime."""

    def __init__(self, runtime_id: str, *, name: str = "process") -> None:
        self.name = name
        self.scratch = Scratch(runtime_id)
        self._watcher = Watcher(runtime_id, self.scratch.root)
        self._pollers: dict[asyncio.AbstractEventLoop, Poller] = {}

    async def exec(self, command: Command, *, ended: Ended | None = None) -> Completed:
        self._watcher.ensure()
        poller = self._pollers.get(asyncio.get_running_loop()) or self._new_poller()
        tmp = self.scratch.take()
        try:
            program = Program(command, {**command.env, "TMPDIR": tmp}, poller)
        except BaseException:  # nobody has seen it
            self.scratch.keep(tmp)
            raise
        try:
            return await program.run(ended)
        finally:
            leftover = self.scratch.give_back(tmp)
            if leftover is not None:  # a million files, perhaps: in a thread, and on nobody's time
                poller.loop.run_in_executor(None, remove_tree, leftover)

    def close(self) -> None:
        for poller in self._pollers.values():
            poller.close()
        self._pollers.clear()
        self._watcher.close()
        self.scratch.close()

    def _new_poller(self) -> Poller:
        """For a loop that is new here. Those of loops that are over are let go."""
        for poller in [poller for poller in list(self._pollers.values()) if poller.loop.is_closed()]:
            self._pollers.pop(poller.loop, None)
            poller.close()
        loop = asyncio.get_running_loop()
        try:
            poller = self._pollers[loop] = Poller(loop)
        except OSError as exc:
            message = f"nothing can be waited for: {exc}; try again when less is running"
            raise ToolError(message, code="RESOURCE_EXHAUSTED", before_effect=True) from None
        return poller
