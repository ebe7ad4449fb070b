"""The processes of one runtime: each with an explicit environment, bounded pipes, a certain end, and in its cage."""

import asyncio
import itertools
from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ..core.errors import ToolError
from ..core.process import Command, Completed, Ended
from .cage import LANDLOCK, UNCONFINED, Cage
from .poller import Poller
from .program import Launch, Program, as_child, cage_of
from .scratch import Scratch, remove_behind
from .shield import standing
from .unhurried import Unhurried
from .watcher import Watcher

if TYPE_CHECKING:
    from .aftermath import Aftermath, PutAside
    from .background import Background
    from .beforehand import Seen
    from .lending import Lending, Loan
    from .warm import Workers


IDLE_SECONDS = 300.0
_MOST_SCRATCHES = 1000


class _Started(NamedTuple):
    """A program, its temporary directory and whose that is, and what was in the workspace before it."""

    program: Program
    scratch: Scratch
    tmp: str
    seen: "Seen | None"
    mark: str


class Processes:
    """Runs commands for one runtime."""

    def __init__(
        self,
        runtime_id: str,
        *,
        name: str = "process",
        idle_seconds: float = IDLE_SECONDS,
        aftermath: "Aftermath | None" = None,
    ) -> None:
        """A program that stays running is ended when nobody used it for `idle_seconds`.

        `aftermath` looks after what confined programs leave in the workspace.
        """
        self._aftermath, self._unhurried = aftermath, Unhurried()
        self.name = name
        self._idle_seconds = idle_seconds
        self.scratch = Scratch(runtime_id)
        self._scratches: dict[tuple[Cage, Hashable], Scratch] = {}
        self._watcher = Watcher(runtime_id, self.scratch.root)
        self._pollers: dict[asyncio.AbstractEventLoop, Poller] = {}
        self._id, self._numbers = runtime_id, itertools.count(1)
        self._workers: Workers | None = None
        self._lendings: dict[asyncio.AbstractEventLoop, Lending] = {}

    async def exec(self, command: Command, *, ended: Ended | None = None) -> Completed:
        self._watcher.ensure()
        poller = self._pollers.get(asyncio.get_running_loop()) or self._new_poller()
        if command.warm is not None:  # what a worker imports lives on between calls, and so is a program that stays
            command = _writing_nothing(command)
        seen = await self._look_before(command)
        try:
            launch, scratch = as_child(poller), self._scratch_of(cage_of(command))
            if command.warm is not None:
                own = self._scratch_of(cage_of(command), command.warm)
                if (warm := await self._pool().launcher(command, poller, own.root)) is not None:
                    launch, scratch = warm, own
            started = self._started(command, poller, launch, scratch, seen)
        except BaseException:
            if self._aftermath is not None:
                self._aftermath.forget(seen)
            raise
        completed = await self._run(*started, ended)
        if started.program.failure is not None:
            raise started.program.failure
        return completed

    def begin(self, command: Command) -> "Background":
        """Start a command that goes on when this call is over. Whoever began it ends it, before this is closed."""
        from .background import Background  # late: few calls leave something running

        self._watcher.ensure()
        poller = self._pollers.get(asyncio.get_running_loop()) or self._new_poller()
        job = Background()
        # What is made in the workspace while a job goes on for hours is as likely somebody else's: it is left alone.
        scratch = self._scratch_of(cage_of(command))
        started = self._started(job.overhearing(command), poller, as_child(poller), scratch, None)
        job.follow(started.program, self._run(*started, job.on_end))
        return job

    def _started(
        self, command: Command, poller: Poller, launch: Launch, scratch: Scratch, seen: "Seen | None"
    ) -> "_Started":
        tmp = scratch.take()
        try:
            program = Program(command, {**command.env, "TMPDIR": tmp}, poller, launch)
        except BaseException:  # nobody has seen it
            scratch.keep(tmp)
            raise
        return _Started(program, scratch, tmp, seen, command.mark)

    async def _run(
        self, program: Program, scratch: Scratch, tmp: str, seen: "Seen | None", mark: str, ended: Ended | None
    ) -> Completed:
        try:
            return await program.run(ended)
        finally:
            try:
                await self._look_after(seen, mark)
            finally:
                leftover = scratch.give_back(tmp)
                if leftover is not None:
                    remove_behind(asyncio.get_running_loop(), leftover)

    async def _look_before(self, command: Command) -> "Seen | None":
        cage, aftermath = cage_of(command), self._aftermath
        if aftermath is None or cage is None:
            return None
        return await self._unhurried.look(cage.workspace, partial(aftermath.before, cage), unwanted=aftermath.forget)

    async def _look_after(self, seen: "Seen | None", mark: str) -> None:
        """To its end, also when the call is given up meanwhile: whoever is told of that is told what was found, too."""
        if self._aftermath is None or seen is None:
            return
        done: list[PutAside] = []
        await self._unhurried.look(seen.workspace, partial(self._aftermath.after, seen, mark, done))

    def lend(self, command: Command, *, key: Hashable, marks: Callable[[], str]) -> "Loan":
        """A program for one call that stays running for the next.

        The next gets it when it has the same key and would start it in the same way: with the same words, directory,
        environment and memory limit. What else `command` says is about the call alone. `marks` makes the mark that
        such a program carries for its life.

        Where it is confined it writes nothing in the workspace but where it was granted to: it goes on between calls,
        and what it made then could not be told from what anybody else makes. Nor can it be stopped for so long, since
        a timer of its own would wake it up.
        """
        loop = asyncio.get_running_loop()
        lending = self._lendings.get(loop) or self._new_lending(loop)
        command = _writing_nothing(command)
        return lending.lend(command, (key, standing(cage_of(command))), marks)

    def close(self) -> None:
        for lending in self._lendings.values():
            lending.close()
        self._lendings.clear()
        if self._workers is not None:
            self._workers.close()
        for poller in self._pollers.values():
            poller.close()
        self._pollers.clear()
        if any(cage.tier == LANDLOCK for cage, _ in self._scratches):
            from .landlock import release

            release(self.scratch.root)
        self._scratches.clear()
        self.scratch.close()
        self._watcher.close()  # last: until then it would tidy up after a caller who is killed here

    def _scratch_of(self, cage: Cage | None, warm: Hashable = None) -> Scratch:
        """Programs of different cages have different directories.

        So has what a worker runs, by what that worker is for: it is let into all of them, and into nobody else's.
        """
        if cage is None or cage.tier in UNCONFINED:
            return self.scratch
        scratch = self._scratches.get((cage, warm))
        if scratch is None:
            while len(self._scratches) >= _MOST_SCRATCHES:  # a cage with something of one call is not used again
                self._scratches.pop(next(iter(self._scratches)))
            scratch = self._scratches[cage, warm] = Scratch(self._id, f"cage-{next(self._numbers)}")
        return scratch

    def _pool(self) -> "Workers":
        if self._workers is None:
            from .warm import Workers  # late: few tools are warm

            self._workers = Workers(self._id)
        return self._workers

    def _new_lending(self, loop: asyncio.AbstractEventLoop) -> "Lending":
        from .lending import Lending  # late: few tools stay running

        poller = self._pollers.get(loop) or self._new_poller()
        lending = Lending(poller, self._scratch_of, self._watcher.ensure, idle_seconds=self._idle_seconds)
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


def _writing_nothing(command: Command) -> Command:
    """The command, confined so that it writes nothing in the workspace but where it was granted to."""
    cage = cage_of(command)
    if cage is None or cage.tier in UNCONFINED:
        return command
    return command._replace(cage=cage._replace(workspace_writable=False))
