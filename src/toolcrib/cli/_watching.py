"""`--watch`: hearing of changes at once, and the list that follows them."""

import select
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core.errors import ConfigError, ToolcribError
from ..runtime.depends import depends_on, made_of
from ..runtime.runtime import Crib
from ._loop import run
from ._survey import answer, crib_here
from ._text import visible
from .list import stamp

if TYPE_CHECKING:
    from ..runtime.watch import Watch

LOOK_SECONDS = 2.0
"""How often is looked all the same: not every file system tells what happens on it."""
_CLEAR = "\033[H\033[2J"


def watch_of(crib: Callable[[], Crib]) -> "Watch":
    """A watch over the files that a crib depends on.

    Raises:
        ToolcribError: what it needs is not installed.
    """
    try:
        from ..runtime.watch import Watch  # late: what is not watched does not pay for it
    except ModuleNotFoundError as exc:
        lacking = (exc.name or "").partition(".")[0]
        if lacking in ("", "toolcrib"):
            raise
        message = f"--watch needs {lacking}, which is not installed; type: pip install 'toolcrib[watch]'"
        raise ToolcribError(message, code="ENGINE_NOT_AVAILABLE") from None
    return Watch(lambda: depends_on(crib()), say=_say)


def follow(show: Callable[[dict[str, Any]], None], *, apart: bool, profile: str | None = None) -> int:
    """Show what is on offer, now and whenever that is something else, until interrupted.

    `apart`: with an empty line between two answers, where there is no screen to clear.

    Raises:
        ToolcribError: the configuration is wrong, or what is needed is not installed.
    """
    living = _Living(crib_here(profile))
    watch = watch_of(lambda: living.crib)
    run(_follow(living, watch, _Screen(show, apart=apart)))
    return 0


async def _follow(living: "_Living", watch: "Watch", screen: "_Screen") -> None:
    try:
        async with watch:
            while True:
                crib = living.crib
                screen.draw(*await living.look())
                if living.crib is not crib:  # other places count for it: those are looked at once they are watched
                    await watch.renew()
                    continue
                await watch.wait(LOOK_SECONDS)
                _see_that_somebody_reads()
    finally:
        await living.crib.close()


class _Screen:
    """What was last shown, so that only what is different is shown again."""

    def __init__(self, show: Callable[[dict[str, Any]], None], *, apart: bool) -> None:
        self._show, self._apart = show, apart
        self._shown: dict[str, Any] | None = None
        self._said = ""

    def draw(self, seen: dict[str, Any] | None, trouble: str) -> None:
        terminal = sys.stdout.isatty()
        if seen is not None and (seen != self._shown or (terminal and trouble != self._said)):
            sys.stdout.write(_CLEAR if terminal else "\n" if self._apart and self._shown is not None else "")
            self._show(seen)
            sys.stdout.flush()
            if terminal and sys.stderr.isatty():
                print("\nwatching; Ctrl-C ends it", file=sys.stderr)
        if trouble and trouble != self._said:
            print(visible(trouble), file=sys.stderr)
        self._shown, self._said = seen, trouble


class _Living:
    """A crib that is made anew whenever that of which it was made is something else."""

    def __init__(self, crib: Crib) -> None:
        self.crib = crib
        self._made: dict[str, tuple[int, ...] | None] | None = None
        self._seen: dict[str, Any] | None = None

    async def look(self) -> tuple[dict[str, Any] | None, str]:
        """What is on offer, and what is wrong with the configuration; while it is wrong, what was on offer before."""
        made = {path: stamp(path) for path in made_of(self.crib)}  # before reading, so that a change is never missed
        try:
            if made == self._made:
                await self.crib.refresh()
            else:
                under = self.crib.config.profile
                fresh = crib_here(under.name if under else None)
                await self.crib.close()
                self.crib = fresh
                await fresh.start()
                self._made = made
            self._seen = answer(self.crib)
        except ConfigError as exc:
            return self._seen, f"{exc.code} {exc}"
        return self._seen, ""


def _see_that_somebody_reads() -> None:
    """Raises: `BrokenPipeError`, when whoever read us is gone; without this, that shows only with the next change."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    if any(event & select.POLLERR for _, event in poll.poll(0)):
        raise BrokenPipeError


def _say(words: str) -> None:
    print(f"toolcrib: {visible(words)}", file=sys.stderr, flush=True)
