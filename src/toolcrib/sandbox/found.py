"""What is found in a workspace: protected places, and the directories to go on with."""

from collections.abc import Mapping
from typing import NamedTuple

from .protected import LAST_NAMES, fold

REPOSITORY, LINK, LED, POINTED = "repository", "link", "led", "pointed"
INSTALLED, STEPS, UNSEEN, OTHER = "installed", "steps", "unseen", "other"
"""Kinds: a git directory, of which only parts are protected; a link to what is protected; a link to what is not, but
must lead nowhere else; what such a link or a setting leads to, and is protected for no other reason; what an
installation makes; what git is in the middle of; what could not be looked through; all else."""
OF_COMMANDS = (INSTALLED, STEPS)
"""What people make by typing commands, and such commands may change."""

_SPELLED_OUT = frozenset(LAST_NAMES)

Listed = Mapping[str, int]
"""The names in a directory, and the kind of file each is."""


class Place(NamedTuple):
    """One protected thing that exists, or that something protected leads to."""

    path: str
    """Relative to the workspace."""
    why: str
    kind: str = OTHER


class Inside(NamedTuple):
    """What is to be known of the names in one directory."""

    places: tuple[Place, ...] = ()
    below: tuple[tuple[str, str], ...] = ()
    """What to go on with, relative to the workspace, and how each is to be looked at."""


def joined(found: "list[Inside]") -> Inside:
    return Inside(
        tuple(place for each in found for place in each.places), tuple(each for one in found for each in one.below)
    )


def is_spelled_out(name: str) -> bool:
    """Whether it is protected as it stands, and not for its ending, or in another spelling."""
    return name in _SPELLED_OUT


def claim(place: Place) -> tuple[int, int]:
    """By which places are put into order where not all can have their turn: how far away, and how soon run, each is.

    What lies in a git directory is as near as that is. A program can fill a directory with names that are protected
    for their ending, or in another spelling: they must not take the turn of what is run.
    """
    outside, git, _ = f"/{place.path}/".partition("/.git/")
    name = place.path.rpartition("/")[2]
    if git:
        return outside.count("/"), 0 if fold(name) == name else 2
    return outside.count("/") - 2, 1 if is_spelled_out(name) else 2
