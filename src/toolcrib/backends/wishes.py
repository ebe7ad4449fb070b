"""What a tool says that it needs beyond what every tool has."""

import hashlib
from typing import NamedTuple

from ..core.jsontext import canonical


class Wishes(NamedTuple):
    """What a tool would like to have.

    It is given when a person approves the tool with this in view, unless their configuration says otherwise.
    """

    env: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    """Hosts, or `*` for any."""
    requires: tuple[str, ...] = ()
    """Programs that must be there, with the version where one is named."""
    ro: tuple[str, ...] = ()
    rw: tuple[str, ...] = ()
    """Files and directories: below the workspace, or below the home as `~/…`."""


NO_WISHES = Wishes()


def with_wishes(digest: str, wishes: Wishes) -> str:
    """The digest of a program together with what it asks for, so that whoever approved the one approved the other.

    A program that asks for nothing has its file's own; empty stays empty.
    """
    if not digest or not any(wishes):
        return digest
    return "sha256:" + hashlib.sha256(canonical([digest, [list(each) for each in wishes]])).hexdigest()
