"""What is found in a workspace: protected places, and the directories to go on with."""

from collections.abc import Mapping
from typing import NamedTuple

REPOSITORY, LINK, LED, POINTED = "repository", "link", "led", "pointed"
INSTALLED, STEPS, UNSEEN, OTHER = "installed", "steps", "unseen", "other"
"""Kinds: a git directory, of which only parts are protected; a link to what is protected; a link to what is not, but
must lead nowhere else; what such a link or a setting leads to, and is protected for no other reason; what an
installation makes; what git is in the middle of; what could not be looked through; all else."""
OF_COMMANDS = (INSTALLED, STEPS)
"""What people make by typing commands, and such commands may change."""

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
