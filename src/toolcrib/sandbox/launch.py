"""Starting a program in its cage: each tier has its own way, and this is where they part."""

from .cage import BUBBLEWRAP, LANDLOCK, SEATBELT, Bounds, Cage
from .child import Child
from .poller import Poller
from .spawn import Start, start, with_bounds


def launch(cage: Cage | None, about: Start, poller: Poller, *, tmp: str, memory_bytes: int | None = None) -> Child:
    """Start a program in a session of its own. `tmp` is the one directory, apart from what its cage says, that it
    may write to.

    Raises:
        ToolError: it could not be started; nothing happened. `SANDBOX_UNAVAILABLE`: not confined as it must be.
    """
    cage = cage or Cage()
    bounds = cage.bounds if memory_bytes is None else _stricter(cage.bounds, memory_bytes)
    if any(bounds):
        about = about._replace(argv=with_bounds(about.argv, bounds))
    if cage.tier == LANDLOCK:
        from .landlock import Ruled, start_restricted  # late: nothing of it is needed elsewhere

        return Ruled(start_restricted(cage, about, tmp=tmp, held=True), poller)
    if cage.tier == BUBBLEWRAP:
        from .bubblewrap import start_contained

        return start_contained(cage, about, poller, tmp=tmp)
    if cage.tier == SEATBELT:
        from .seatbelt import profiled

        about = about._replace(argv=profiled(cage, about.argv, tmp=tmp))
    return Child(start(about), poller)


def _stricter(bounds: Bounds, memory_bytes: int) -> Bounds:
    return bounds._replace(memory_bytes=min(memory_bytes, bounds.memory_bytes or memory_bytes))
