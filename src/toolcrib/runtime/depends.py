"""Which files decide what a crib offers: a kept answer is compared with them, and they are what is watched."""

import os
from collections.abc import Iterable

from ..policy.trust import GOVERNING, PROJECT_DIR
from ..sources.manifest import folders, inside
from .compat import foreign_directories
from .runtime import Crib


def depends_on(crib: Crib) -> list[str]:
    """Every path whose change could change what is on offer, or what the gate says of it.

    One that is not there yet counts as well. Nothing is opened, and nothing is run.
    """
    own = [os.path.join(crib.workspace, PROJECT_DIR), *crib.config.toolsets.files]
    return list(dict.fromkeys([*made_of(crib), *own, *within(crib.tool_directories())]))


def made_of(crib: Crib) -> list[str]:
    """The files that a crib is made of: under others it must be made anew."""
    mine = [crib.home.file(name) for name in ("config.yaml", "policy.yaml", "trust.json", "profiles")]
    theirs = [os.path.join(crib.workspace, each) for each in GOVERNING]
    known = foreign_directories(crib.workspace, os.environ, existing=False)
    named = [each.path for each in known if each.system in crib.config.compat]
    return [*mine[:-1], *theirs[:-1], *within((mine[-1], theirs[-1])), *named]


def within(directories: Iterable[str]) -> list[str]:
    """These directories, all that lies in them, and all that lies in their folders with a manifest."""
    found = []
    for directory in directories:
        found.append(directory)
        if os.path.isdir(directory):
            found += [entry.path for entry in os.scandir(directory)]
            found += [path for name in folders(directory) for path in inside(os.path.join(directory, name))]
    return found
