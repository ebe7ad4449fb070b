"""The first tier: a process of its own, an explicit environment, bounded pipes and a certain end. No confinement."""

import asyncio
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from ..core.errors import ToolError
from ..core.process import Command, Completed, Ended
from .poller import Poller
from .program import Launch, Program, as_child
from .scratch import Scratch, remove_tree
from .watcher import Watcher

if TYPE_CHECKING:
    from .background import Background
    from .lending import Lending, Loan
    from .warm import Workers


IDLE_SECONDS = 300.0


class Unconfined:
    """Runs commands for one runtime."""

    def __init__(self, runtime_id: str, *, name: str = "process", idle_seconds: float = IDLE_SECONDS) -> None:
        """A program that stays running is ended when nobody used it for `idle_seconds`."""
        self.name = name
        self._idle_seconds = idle_seconds
        self.scratch = Scratch(runtime_id)
        self._watcher = Watcher(runtime_id, self.scratch.root)
        self._pollers: dict[asyncio.AbstractEventLoop, Poller] = {}
        self._id = runtime_id
        self._workers: Workers | None = None
        self._lendings: dict[asyncio.AbstractEventLoop, Lending] = {}

    async def exec(self, command: Command, *, ended: Ended | None = None) -> Completed:
        self._watcher.ensure()
        poller = self._pollers.get(asyncio.get_running_loop()) or self._new_poller()
        launch = as_child(poller)
        if command.warm is not None:
            launch = await self._pool().launcher(command, poller) or launch
        program, tmp = self._started(command, poller, launch)
        return await self._run(program, tmp, ended)

    def begin(self, command: Command) -> "Background":
        """Start a command that goes on when this call is over. Whoever began it ends it, before this is closed."""
        from .background import Background  # late: few calls leave something running

        self._watcher.ensure()
        poller = self._pollers.get(asyncio.get_running_loop()) or self._new_poller()
        job = Background()
        program, tmp = self._started(job.overhearing(command), poller, as_child(poller))
        job.follow(program, self._run(program, tmp, job.on_end))
        return job

    def _started(self, command: Command, poller: Poller, launch: Launch) -> tuple[Program, str]:
        """The program, and its temporary directory."""
        tmp = self.scratch.take()
        try:
            return Program(command, {**command.env, "TMPDIR": tmp}, poller, launch), tmp
        except BaseException:  # nobody has seen it
            self.scratch.keep(tmp)
            raise

    async def _run(self, program: Program, tmp: str, ended: Ended | None) -> Completed:
        try:
            return await program.run(ended)
        finally:
            leftover = self.scratch.give_back(tmp)
            if leftover is not None:  # a million files, perhaps: in a thread, and on nobody's time
                asyncio.get_running_loop().run_in_executor(None, remove_tree, leftover)

    def lend(self, command: Command, *, key: Hashable, marks: Callable[[], str]) -> "Loan":
        """A program for one call that stays running for the next.

        The next gets it when it has the same key and would start it in the same way: with the same words, directory,
        environment and memory limit. What else `command` says is about the call alone. `marks` makes the mark that
        such a program carries for its life.
        """
        loop = asyncio.get_running_loop()
        return (self._lendings.get(loop) or self._new_lending(loop)).lend(command, key, marks)

    def close(self) -> None:
        for lending in self._lendings.values():
            lending.close()
        self._lendings.clear()
        if self._workers is not None:
            self._workers.close()
        for poller in self._pollers.values():
            poller.close()
        self._pollers.clear()
        self._watcher.close()
        self.scratch.close()

    def _pool(self) -> "Workers":
        if self._workers is None:
            from .warm import Workers  # late: few tools are warm

            self._workers = Workers(self._id)
        return self._workers

    def _new_lending(self, loop: asyncio.AbstractEventLoop) -> "Lending":
        from .lending import Lending  # late: few tools stay running

        poller = self._pollers.get(loop) or self._new_poller()
        lending = Lending(poller, self.scratch, self._watcher.ensure, idle_seconds=self._idle_seconds)
        self._lendings[loop] = lending
        return lending

    def _new_poller(self) -> Poller:
        """For a loop that is new here. Those of loops that are over are let go."""
        for poller in [poller for poller in list(self._pollers.values()) if poller.loop.is_closed()]:
            self._pollers.pop(poller.loop, None)
            if self._workers is not None:
                self._workers.forget(poller.loop)
            if (lending := self._lendings.pop(poller.loop, None)) is not None:
                lending.close()
            poller.close()
        loop = asyncio.get_running_loop()
        try:
            poller = self._pollers[loop] = Poller(loop)
        except OSError as exc:
            message = f"nothing can be waited for: {exc}; try again when less is running"
            raise ToolError(message, code="RESOURCE_EXHAUSTED", before_effect=True) from None
        return poller
