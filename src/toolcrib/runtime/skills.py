"""The skills that can be used from a workspace, and what their tools are handed."""

from collections.abc import Callable

from ..backends.declared import Downloads, Surroundings
from ..core.context import Context
from ..policy.trust import Trust
from ..sources.executable import Settings
from ..sources.skill import Skill, skill_from_text
from ..sources.skill_places import Catalogue
from ..store.blobs import Blobs
from ..store.home import Home
from .config import Config
from .gate import Vault


class SkillShelf:
    """Where sessions find skills."""

    def __init__(
        self,
        workspace: str,
        home: Home,
        config: Config,
        trust: Trust,
        vault: Vault,
        programs: Blobs,
        *,
        person: Callable[[], bool],
    ) -> None:
        """`person` says whether somebody sits at a terminal and answers what a running tool asks."""
        downloads = _Late(home, config.network_allow, programs, person)
        self.around = Surroundings(vault.to_send, downloads, config.network_allow, config.variables)
        self._settings = Settings("", config.limits, config.variables, config.tools)
        self.catalogue = Catalogue(workspace, home, trust=trust, around=self.around, settings=self._settings)

    def find(self, name: str) -> Skill:
        return self.catalogue.find(name)

    def from_text(self, content: str, *, name: str) -> Skill:
        return skill_from_text(content, self.around, name=name, settings=self._settings)


class _Late:
    """Downloads, without what they need until there is one: few tools are fetched from elsewhere."""

    def __init__(self, home: Home, allow: tuple[str, ...], programs: Blobs, person: Callable[[], bool]) -> None:
        self._home, self._allow, self._programs, self._person = home, allow, programs, person
        self._cache: Downloads | None = None

    async def obtained(self, url: str, sha256: str, member: str, ctx: Context) -> str:
        if self._cache is None:
            from ..backends.network import Network
            from ..sources.downloads import DownloadCache

            self._cache = DownloadCache(self._home, Network(self._allow), self._programs, person=self._person)
        return await self._cache.obtained(url, sha256, member, ctx)
