"""Starting a program in its cage: each tier has its own way, and this is where they part."""

from collections.abc import Mapping, Sequence

from .cage import BUBBLEWRAP, LANDLOCK, SEATBELT, Bounds, Cage
from .child import Child
from .poller import Poller
from .spawn import Streams, start, with_bounds


def launch(
    cage: Cage | None,
    argv: Sequence[str],
    poller: Poller,
    *,
    cwd: str,
    env: Mapping[str, str],
    tmp: str,
    streams: Streams,
    kept: tuple[int, ...] = (),
    memory_bytes: int | None = None,
) -> Child:
    """Start a program in a session of its own, with these descriptors, those `kept`, and no others.

    `tmp` is the one directory, apart from what its cage says, that it may write to.

    Raises:
        ToolError: it could not be started; nothing happened. `SANDBOX_UNAVAILABLE`: not confined as it must be.
    """
    cage = cage or Cage()
    bounds = cage.bounds if memory_bytes is None else _stricter(cage.bounds, memory_bytes)
    if any(bounds):
        argv = with_bounds(argv, bounds)
    stdin, stdout, stderr = streams
    if cage.tier == LANDLOCK:
        from .landlock import Ruled, start_restricted  # late: nothing of it is needed elsewhere

        pid = start_restricted(cage, argv, cwd=cwd, env=env, tmp=tmp, streams=streams, kept=kept, held=True)
        return Ruled(pid, poller)
    if cage.tier == BUBBLEWRAP:
        from .bubblewrap import start_contained

        return start_contained(cage, argv, poller, cwd=cwd, env=env, tmp=tmp, streams=streams, kept=kept)
    if cage.tier == SEATBELT:
        from .seatbelt import profiled

        argv = profiled(cage, argv, tmp=tmp)
    return Child(start(argv, cwd=cwd, env=env, stdin=stdin, stdout=stdout, stderr=stderr, kept=kept), poller)


def _stricter(bounds: Bounds, memory_bytes: int) -> Bounds:
    return bounds._replace(memory_bytes=min(memory_bytes, bounds.memory_bytes or memory_bytes))
