"""Where a crib looks for tools: directories of the user and of the project, each with programs and folders."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from ..backends.declared import Surroundings
from ..core.context import Host
from ..core.process import Sandbox
from ..core.registry import PROJECT, USER
from ..core.source import Problem, Source
from ..policy.project_files import key
from ..policy.trust import Trust
from ..sources.executable import ExecutableSource, Place, Settings
from ..sources.manifest import ManifestSource
from ..sources.probe import Prober
from ..sources.probe_cache import ProbeCache
from ..sources.requirement import Versions
from ..sources.together import Together
from ..store.home import Home
from .compat import foreign_directories
from .config import Config
from .project import NamesIn, ProjectSource
from .toolsets import PROJECT_MODULE, builtin_names


class Directories(NamedTuple):
    """Where programs and folders are looked for."""

    user: tuple[str, ...]
    project: tuple[str, ...]
    folders_only: frozenset[str]
    """Of systems that know no programs beside their folders."""

    @property
    def all(self) -> tuple[str, ...]:
        """The project's last."""
        return (*self.user, *self.project)


def tool_directories(workspace: str, home: Home, config: Config, environ: Mapping[str, str]) -> Directories:
    global_dir = os.path.expanduser(config.global_dir) if config.global_dir else home.file("tools")
    user, project = [os.path.abspath(global_dir)], [os.path.normpath(os.path.join(workspace, config.local_dir))]
    folders_only = set()
    for foreign in foreign_directories(workspace, environ):
        if foreign.system in config.compat:
            (project if foreign.in_project else user).append(foreign.path)
            folders_only |= {foreign.path} if foreign.system == "forge" else set()
    return Directories(tuple(user), tuple(project), frozenset(folders_only))


def find_sources(
    directories: Directories,
    workspace: str,
    home: Home,
    config: Config,
    prober: Prober,
    trust: Trust,
    environ: Mapping[str, str],
    skipped: Callable[[Problem], None],
    around: Callable[[], Surroundings],
) -> list[Source]:
    """One for each directory; the project's are withheld for as long as the project is not trusted."""
    if not config.enabled:
        return []
    settings = Settings(config.prefix, config.limits, config.variables, config.tools)
    kept = (partial(_cached, home), partial(_cache, home))
    cache, versions = ProbeCache(*kept), Versions(prober.version, kept, workspace=workspace)
    path = environ.get("PATH", os.defpath) if "PATH" in config.variables else os.defpath

    def source(directory: str, rank: int, place: Place | None = None) -> Source:
        common: Any = {"rank": rank, "place": place, "skipped": skipped}
        programs = ExecutableSource(directory, prober, cache, settings, **common)
        folders = ManifestSource(directory, settings, kept, path, versions=versions, around=around, **common)
        return folders if directory in directories.folders_only else Together(programs, folders)

    found: list[Source] = [source(directory, USER) for directory in directories.user]
    trusted = trust.trusts(workspace)
    for directory in directories.project:
        if directory not in directories.user:
            place = Place(workspace, os.path.relpath(directory, workspace), partial(trust.record, workspace))
            inner = source(directory, PROJECT, place) if trusted else None
            names = NamesIn(directory)
            found.append(ProjectSource(inner, directory, workspace, trust, prefix=config.prefix, names=names))
    return found


def find_modules(
    workspace: str, home: Home, config: Config, host: Host, trust: Trust, *, confine: Callable[[str], Sandbox]
) -> list[Source]:
    """The Python modules that run in processes of their own: the project's, and the user's where that is asked for.

    `confine` gives the sandbox in which one is asked what its tools are.
    """
    user, project = config.toolsets.module, config.toolsets.project_module
    found: list[Source] = []
    if (user is None or user.isolation != "process") and project is None:
        return found
    from ..sources.isolated import IsolatedSource  # late: few name one

    common: Any = {
        "cache": (partial(_cached, home), partial(_cache, home)),
        "settings": Settings("", config.limits, config.variables, config.tools),
        "taken": builtin_names(),
    }
    if user is not None and user.isolation == "process":
        asked = replace(host, sandbox=confine(user.path))
        found.append(IsolatedSource(user.path, user.tools, asked, rank=USER, kind="module", **common))
    if project is not None:
        allowed = partial(_trusted_digest, trust, workspace, os.path.relpath(project.path, workspace))
        about: Any = {"rank": PROJECT, "kind": PROJECT_MODULE, "allowed": allowed, **common}
        inner = IsolatedSource(project.path, project.tools, replace(host, sandbox=confine(project.path)), **about)
        tools = project.tools
        found.append(ProjectSource(inner, project.path, workspace, trust, prefix="", names=lambda: tools))
    return found


def _trusted_digest(trust: Trust, workspace: str, relative: str) -> str | None:
    """Of the content that the user trusted; a link or a pipe is none."""
    record = trust.record(workspace)
    seen = record.files.get(key(relative), {}) if record else {}
    return seen.get("digest") if seen.get("kind") in ("file", "program") else None


def _cached(home: Home, directory: str) -> bytes | None:
    try:
        with open(home.file("cache", _cache_name(directory)), "rb") as file:
            return file.read()
    except OSError:
        return None


def _cache(home: Home, directory: str, data: bytes) -> None:
    home.replace(data, "cache", _cache_name(directory))


def _cache_name(directory: str) -> str:
    return "probes-" + directory.replace("%", "%25").replace("/", "%2F")[-200:] + ".cache"
