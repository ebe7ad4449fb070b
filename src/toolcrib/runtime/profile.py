"""Profiles: which tools there are on one occasion, and what holds for them. Finding their files and reading them."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from ..core.errors import ConfigError
from ..core.tool import NAME
from ..policy.trust import PROJECT_DIR, Trust
from ..store.home import Home
from ..store.regular import regular_bytes
from .gate import trusted_file

DIRECTORY = "profiles"
ENDING = ".yaml"


@dataclass(frozen=True, slots=True)
class Profile:
    """What a profile says beyond the configuration. Who runs an agent under it uses these words."""

    name: str
    description: str = ""
    model: str = ""
    instructions: str = ""


class Content(NamedTuple):
    """One file, as it was read."""

    path: str
    data: bytes


class Written(NamedTuple):
    """The files of one profile: the user's, and what was trusted of the project's. At least one is there."""

    name: str
    user: Content | None
    project: Content | None


def find(name: str, workspace: str, home: Home, trust: Trust) -> Written:
    """Read the files of a profile. Nothing of a project that is not trusted is opened.

    Raises:
        ConfigError: there is none of this name, with those there are; or its file cannot be read.
    """
    if not NAME.fullmatch(name):  # before any path is made of it
        message = f"{name!r} cannot be the name of a profile: use 1 to 64 of A-Z a-z 0-9 _ -"
        raise ConfigError(message, path=home.file(DIRECTORY))
    file = os.path.join(DIRECTORY, name + ENDING)
    trusted = trusted_file(workspace, home, file, trust=trust)
    own = regular_bytes(home.file(file))
    ours = None if own is None else Content(home.file(file), own)
    written = Written(name, ours, Content(*trusted) if trusted else None)
    if written.user is None and written.project is None:
        raise ConfigError(_absent(name, workspace, home, trust), path=home.file(DIRECTORY))
    return written


def profile_names(workspace: str, home: Home, trust: Trust) -> list[str]:
    """Profiles that can be chosen here: the user's, and the project's if it is trusted."""
    record = trust.record(workspace)
    inside = f"{PROJECT_DIR}/{DIRECTORY}/"
    theirs = (path.removeprefix(inside) for path in (record.files if record else ()) if path.startswith(inside))
    return sorted({*_names(_listed(home.file(DIRECTORY))), *_names(theirs)})


def _absent(name: str, workspace: str, home: Home, trust: Trust) -> str:
    known = ", ".join(profile_names(workspace, home, trust))
    there = f"there are {known}" if known else f"there are none yet; write {home.file(DIRECTORY, name + ENDING)}"
    theirs = os.path.join(workspace, PROJECT_DIR, DIRECTORY, name + ENDING)
    if os.path.lexists(theirs):
        there += f"; {theirs} does not count before you look at it and type: toolcrib trust {workspace}"
    return f"there is no profile {name!r}; {there}"


def _listed(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _names(files: Iterable[str]) -> list[str]:
    return [file[: -len(ENDING)] for file in files if file.endswith(ENDING) and NAME.fullmatch(file[: -len(ENDING)])]
