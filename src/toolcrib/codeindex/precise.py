"""Where names of Python lead, as jedi sees it: in a program of its own, bounded in time and memory."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from ..core.call import settle
from ..core.errors import InvalidJson
from ..core.jsontext import dump, parse

Run = Callable[[tuple[str, ...], bytes], Awaitable[bytes]]
"""Starts a program, confined, with bytes for its stdin, and gives its stdout."""
WORKER = os.path.join(os.path.dirname(__file__), "precise_worker.py")
GRACE_SECONDS = 3.0
"""Between the time that the program has, and its end by force."""
WAIT_SECONDS = 5.0
"""That a question waits while as many others are being answered as there are places."""
PLACES = 2
"""Of such programs at once; each keeps a processor busy."""
MOST_BYTES = 8 * 1024 * 1024
"""Of sources in one request."""


_places: "WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]" = WeakKeyDictionary()


class Ask(NamedTuple):
    """Places in one file, as lines and columns in bytes."""

    path: str
    data: bytes
    places: Sequence[tuple[int, int]]


class Landing(NamedTuple):
    """Where a name leads."""

    path: str
    """Empty where that is outside the workspace."""
    line: int
    column: int
    name: str
    kind: str
    module: str


class Answers(NamedTuple):
    """What is known of the places that were asked about."""

    landings: Mapping[tuple[str, int, int], tuple[Landing, ...]] = {}
    complete: bool = False
    fault: str = ""
    """Why there is nothing."""


async def goto(run: Run | None, root: str, asks: Sequence[Ask], *, roots: Sequence[str], seconds: float) -> Answers:
    """Ask where names lead. Never raises: where there is no answer, the index has to do."""
    if run is None:
        return Answers(fault="no program can be started here")
    if not _is_plain(root):
        return Answers(fault="the name of the workspace is not UTF-8")
    request, spots = _request(root, asks, roots, seconds)
    places = _places.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(PLACES))
    try:
        await asyncio.wait_for(places.acquire(), WAIT_SECONDS)
    except TimeoutError:
        return Answers(fault="jedi is busy with other questions")
    try:
        argv = (sys.executable, "-I", WORKER)
        said, failure = await settle(asyncio.wait_for(run(argv, request), seconds + GRACE_SECONDS))
    finally:
        places.release()
    if failure is not None:
        late = isinstance(failure, TimeoutError)
        return Answers(fault="jedi took too long" if late else f"jedi did not answer: {failure}"[:300])
    try:
        answer = parse(said, exact=False)
        landings = {
            spots[path, line, column]: tuple(Landing(*each) for each in found)
            for path, line, column, found in answer["answers"]
        }
    except (InvalidJson, KeyError, TypeError, ValueError):
        return Answers(fault="jedi is not installed, or did not answer")
    return Answers(landings, answer["done"], "" if answer["done"] else "jedi's time was over before its work")


def _request(
    root: str, asks: Sequence[Ask], roots: Sequence[str], seconds: float
) -> tuple[bytes, dict[tuple[str, int, int], tuple[str, int, int]]]:
    """jedi counts characters, the index counts bytes."""
    listed, places, room = [], {}, MOST_BYTES
    for ask in asks:
        room -= len(ask.data)
        if room < 0 or not _is_plain(ask.path):
            continue
        lines = ask.data.split(b"\n")
        theirs = []
        for line, column in ask.places:
            if 0 < line <= len(lines):
                at = len(lines[line - 1][:column].decode("utf-8", "replace"))
                theirs.append((line, at))
                places[ask.path, line, at] = (ask.path, line, column)
        listed.append((ask.path, ask.data.decode("utf-8", "replace"), theirs))
    asked = {"root": root, "roots": [each for each in roots if _is_plain(each)], "seconds": seconds, "asks": listed}
    return dump(asked), places


def _is_plain(path: str) -> bool:
    """Whether it can be said in JSON; a name that is not UTF-8 cannot."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
