"""What is protected among the names in an ordinary directory, and where to look on."""

import re
import stat

from . import git_directory
from .found import INSTALLED, LED, LINK, OTHER, REPOSITORY, Inside, Listed, Place, joined
from .git_directory import GIT_DIRECTORY, REMOTES, WHY_LED
from .protected import fold, why_named

TREE, PACKAGES, LIBRARIES, LIBRARY = "tree", "packages", "libraries", "library"
OBJECTS, WRITTEN_THROUGH = "objects", "written through"
"""How a directory is to be looked at: as any; as what npm fills; as the libraries of an environment of Python, and of
one version there; as the objects of a bare repository; as its references and logs. All but the second are looked
through as any is, except for what is many and nobody's own: anybody can make a directory look like such a one."""

_OF_AN_ENVIRONMENT = frozenset(("bin", "scripts"))
_LIBRARIES = frozenset(("lib", "lib64"))
_VERSION = re.compile(r"(?:python|pypy)[0-9]+\.[0-9]+t?")
_OBJECTS = re.compile("[0-9a-f]{2}|pack|info")
_CACHES = frozenset(("__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"))
_WHY_PROGRAMS = "the programs of a Python environment"
_WHY_FOUND_FIRST = "programs that are found before others"


def sorted_out(path: str, listed: Listed, way: str) -> Inside:
    """The protected of these names, and the directories among the others."""
    if way == PACKAGES:
        inner = (Place(f"{path}/{name}", _WHY_FOUND_FIRST, INSTALLED) for name in listed if fold(name) == ".bin")
        return Inside(tuple(inner))
    above = [fold(name) for name in path.split("/") if name]
    bare = git_directory.is_git_directory(listed)
    environment = "pyvenv.cfg" in listed
    found: list[Inside] = []
    for name, kind in listed.items():
        folded = fold(name)
        why = why_named([*above, folded])
        if not why and kind == stat.S_IFREG and not bare:
            continue
        inside = f"{path}/{name}" if path else name
        part = git_directory.part(inside, kind) if bare else Inside()
        if part.places:
            found.append(part)
        elif why:
            found.append(_protected(inside, why, folded, kind))
        elif kind == stat.S_IFLNK and way == WRITTEN_THROUGH:
            found.append(Inside((Place(inside, WHY_LED, LED),)))
        elif kind == stat.S_IFDIR and not _is_left_out(name, way):
            if environment and folded in _OF_AN_ENVIRONMENT:
                found.append(Inside((Place(inside, _WHY_PROGRAMS, INSTALLED),)))
            found.append(Inside(below=tuple(each for each in part.below if each[1] == REMOTES)))
            found.append(Inside(below=((inside, _way(folded, way, bare=bare, environment=environment)),)))
    places, below = joined(found)
    return Inside(tuple(sorted(places)), tuple(sorted(below)))


def _protected(inside: str, why: str, folded: str, kind: int) -> Inside:
    """What has a protected name."""
    if kind == stat.S_IFLNK:
        return Inside((Place(inside, why, LINK),))
    if folded == ".git" and kind == stat.S_IFDIR:
        return Inside((Place(inside, why, REPOSITORY),), ((inside, GIT_DIRECTORY),))
    installed = folded.endswith(".pth") or folded == "pyvenv.cfg"
    return Inside((Place(inside, why, INSTALLED if installed else OTHER),))


def _is_left_out(name: str, way: str) -> bool:
    if way == OBJECTS and _OBJECTS.fullmatch(name):
        return True
    return name in _CACHES or (way == LIBRARY and name == "site-packages")


def _way(folded: str, way: str, *, bare: bool, environment: bool) -> str:
    """How a directory is to be looked at, by its name and by what it lies in."""
    if folded == "node_modules":
        return PACKAGES
    if way == WRITTEN_THROUGH or (bare and folded in ("refs", "logs")):
        return WRITTEN_THROUGH
    if bare and folded == "objects":
        return OBJECTS
    if environment and folded in _LIBRARIES:
        return LIBRARIES
    return LIBRARY if way == LIBRARIES and _VERSION.fullmatch(folded) else TREE
