"""What a program is confined to. Plain data, and hashable: what is prepared for it is prepared once.

A cage holds real, absolute paths without links. It is made from the configuration, from what a tool declares and from
what the user granted (`runtime/confinement.py`), and put into force by one of the tiers.
"""

from typing import NamedTuple

OFF, PROCESS, LANDLOCK, BUBBLEWRAP, SEATBELT = "off", "process", "landlock", "bubblewrap", "seatbelt"
UNCONFINED = (OFF, PROCESS)
"""Tiers in which a program has the user's own rights."""


class Bounds(NamedTuple):
    """Limits that the system holds a program and its descendants to, each; None for no limit."""

    memory_bytes: int | None = None
    """Of address space, of each process."""
    processes: int | None = None
    """Of this user, where the system counts them for this one program alone: in bubblewrap, and not for root."""
    file_bytes: int | None = None
    """Of each file that is written."""
    cpu_seconds: int | None = None
    """Of each process."""


class Cage(NamedTuple):
    """What one program may reach. The system's own programs and libraries it can always read."""

    tier: str = PROCESS
    workspace: str = ""
    """It may write here, but not where something is run or believed later (`sandbox/protected.py`)."""
    workspace_writable: bool = True
    readable: tuple[str, ...] = ()
    """Files and directories: its own folder, the installations behind the programs on PATH, what was granted."""
    writable: tuple[str, ...] = ()
    """Files and directories that were granted by name; nothing in them is protected from it."""
    installs: bool = False
    """It may change what installations made in the workspace: environments of Python, `node_modules/.bin`."""
    network: bool = False
    """The user's own network. Without it there is none but, in bubblewrap, a loopback of its own."""
    hosts: tuple[str, ...] = ()
    """These hosts only, by way of a proxy (`proxy` is its socket). Only bubblewrap can hold a program to that."""
    proxy: str = ""
    bounds: Bounds = Bounds()
