"""A project's share of a crib: what of it counts, as long as the user's trust in it stands."""

import os
from collections.abc import Callable, Mapping

from ..core.registry import PROJECT
from ..core.source import Loaded, Problem, Source
from ..policy.trust import Trust
from ..sources.executable import executables, look, untrusted
from ..sources.manifest import folders
from ..sources.probe_cache import NO_FOLDER
from .compat import foreign_directories

_MOST_NAMED = 3


def trust_roots(project: str, local_dir: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Directories that trust in a project is about, beyond those every project has; as paths below it."""
    known = [each.path for each in foreign_directories(project, environ, existing=False) if each.in_project]
    below = [os.path.relpath(os.path.join(project, path), project) for path in (local_dir, *known)]
    return tuple(path for path in dict.fromkeys(below) if path.split("/")[0] not in (".", ".."))


class NamesIn:
    """The tools that lie in a directory, by the names of their files. Nothing is opened."""

    def __init__(self, directory: str) -> None:
        self._directory, self._folder = directory, NO_FOLDER

    def __call__(self) -> tuple[str, ...]:
        self._folder = look(self._directory, self._folder)
        return (*executables(self._folder), *folders(self._directory))


class ProjectSource:
    """A project's tools, for as long as the project is trusted; before and after, only the word that they are there."""

    rank = PROJECT

    def __init__(
        self,
        inner: Source | None,
        origin: str,
        project: str,
        trust: Trust,
        *,
        prefix: str,
        names: Callable[[], tuple[str, ...]],
    ) -> None:
        """`names` says what there would be, without the prefix."""
        self._inner, self._trust, self._project, self._prefix = inner, trust, project, prefix
        self._origin, self._names = origin, names
        record = trust.record(project)
        self._rules = record.governing() if record else {}
        """What this crib's configuration was made of. Under other rules it must be made anew."""
        self._said: tuple[str, tuple[str, ...]] | None = None
        self._withheld = Loaded()

    async def load(self) -> Loaded:
        objection = self._objection()
        if objection is None and self._inner is not None:
            self._said = None
            return await self._inner.load()
        said = (objection or "", self._names())
        if said != self._said:
            self._said, self._withheld = said, self._named(*said)
        return self._withheld

    def _objection(self) -> str | None:
        """Why none of the project's tools is offered; None when nothing speaks against it."""
        record = self._trust.record(self._project)
        fix = f"look at them, then type: toolcrib trust {self._project}"
        if record is None:
            if self._trust.is_outdated(self._project):
                return f"a project that was trusted before digests of its files were kept; {fix}"
            return f"an untrusted project; {fix}"
        if self._inner is None or record.governing() != self._rules:
            return "a project that was trusted after this began, perhaps with other rules; start it again"
        if changed := self._trust.unsettled(self._project):
            named = ", ".join(changed[:_MOST_NAMED]) + (" and others" if len(changed) > _MOST_NAMED else "")
            return f"a project that is no longer as it was trusted: {named} changed; {fix}"
        return None

    def _named(self, objection: str, names: tuple[str, ...]) -> Loaded:
        if names or not self._trust.trusts(self._project):
            return untrusted(self._origin, list(names), self._prefix, objection)
        # Its rules count for the user's tools too, and those on disk do not: that is worth a word without programs.
        return Loaded(problems=(Problem(self._origin, "WORKSPACE_UNTRUSTED", f"the rules of {objection}"),))
