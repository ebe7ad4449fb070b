"""The configuration: the user's word, in `config.yaml` and a profile, then the project's, which may only tighten."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..core.limits import Limits
from ..core.policy import Verdict
from ..core.source import Problem
from ..policy.secrets import Grant
from ..sources.executable import ToolSettings
from ..sources.wrap import Offer
from ..store.regular import regular_bytes
from .rights import Rights, Ruling
from .toolsets import TOOLSETS, Toolsets

if TYPE_CHECKING:
    from .profile import Profile, Written

SANDBOXES = ("off", "process", "auto", "landlock", "bubblewrap")
"""From lax to strict; `auto` is the best there is."""


@dataclass(frozen=True, slots=True)
class Config:
    """Everything the files say, with the defaults for what they do not."""

    approval_default: Verdict | None = None
    approval_tools: Mapping[str, Verdict] = field(default_factory=dict)
    enabled: bool = True
    global_dir: str = ""
    """Empty: the `tools` directory of the home."""
    local_dir: str = "./.toolcrib/tools"
    limits: Limits = Limits()
    variables: tuple[str, ...] = ("PATH", "HOME", "USER")
    prefix: str = "custom_tool_"
    sandbox: str = "auto"
    tools: Mapping[str, ToolSettings] = field(default_factory=dict)
    secrets: Mapping[str, tuple[Grant, ...]] = field(default_factory=dict)
    """What each tool may have of the user's secrets."""
    templates: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Variables of each tool whose value is made from secrets."""
    toolsets: Toolsets = Toolsets()
    rights: Mapping[str, Rights] = field(default_factory=dict)
    """What the user lets each tool have, and what it is to run under, where something is said."""
    kinds: Mapping[str, Rights] = field(default_factory=dict)
    """The same for all tools of a kind."""
    tighter: tuple[Ruling, ...] = ()
    """What the project says of all that, and its profile. It counts where it is stricter."""
    network_allow: tuple[str, ...] = ()
    """Hosts and addresses that declared tools may reach though the network policy would refuse them."""
    compat: tuple[str, ...] = ()
    offer: Offer = Offer()
    profile: "Profile | None" = None
    """The one that was chosen."""
    problems: tuple[Problem, ...] = ()

    def offers(self, builtin: str) -> bool:
        """Whether a built-in tool is there. Nobody makes tools where none would be found."""
        makes = builtin in TOOLSETS["workshop"]
        return self.toolsets.offers(builtin) and self.offer.admits(builtin) and (self.enabled or not makes)

    @property
    def ruling(self) -> Ruling:
        """The user's word about what tools may have."""
        return Ruling(self.sandbox, self.kinds, self.rights)


def read(user: str, project: tuple[str, bytes] | None = None, profile: "Written | None" = None) -> Config:
    """The configuration of the user and of the project: where that lies, and what was trusted of it.

    A profile's file stands over the `config.yaml` beside it; the project's, both of them, over all of the user's.

    Raises:
        ConfigError: with path and line.
    """
    config = Config()
    own = regular_bytes(user)
    if own is None and project is None and profile is None:
        return config
    from ..store.yamltext import parse  # late: most have no configuration, and YAML costs more than the tools
    from .config_file import ConfigFile
    from .config_tightened import tightened, to_tighten

    if own is not None:
        config = ConfigFile(parse(own, user)).apply(config)
    if profile is not None and profile.user is not None:
        from .profile_file import ProfileFile

        config = ProfileFile(parse(profile.user.data, profile.user.path), profile.name).apply(config)
    if project is not None:
        document, directory = parse(project[1], project[0]), os.path.dirname(project[0])
        config = tightened(config, ConfigFile(document).apply(to_tighten(config)), document, directory=directory)
    if profile is not None and profile.project is not None:
        from .profile_file import ProfileFile

        path, data = profile.project
        document, directory = parse(data, path), os.path.dirname(os.path.dirname(path))
        asked = ProfileFile(document, profile.name).apply(to_tighten(config))
        config = tightened(config, asked, document, directory=directory)
    return config
