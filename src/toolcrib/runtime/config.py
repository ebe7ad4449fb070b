"""`config.yaml`: the user's word, then the project's, which may only tighten."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..core.limits import Limits
from ..core.policy import Verdict
from ..core.source import Problem
from ..policy.secrets import Grant
from ..sources.executable import ToolSettings
from .toolsets import Toolsets

SANDBOXES = ("off", "process", "auto", "landlock", "bubblewrap")
"""From lax to strict; `auto` is the best there is."""
BUILT_SANDBOXES = ("off", "process", "auto")


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
    unprotected: Mapping[str, str] = field(default_factory=dict)
    """Tools for which a protection is demanded that is not built, and which."""
    compat: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def read(user: str, project: tuple[str, bytes] | None = None) -> Config:
    """The configuration of the user and of the project: where that lies, and what was trusted of it.

    Raises:
        ConfigError: with path and line.
    """
    config = Config()
    if not os.path.exists(user) and project is None:
        return config
    from ..store.yamltext import load, parse  # late: most have no configuration, and YAML costs more than the tools
    from .config_file import ConfigFile
    from .config_tightened import tightened

    if os.path.exists(user):
        config = ConfigFile(load(user)).apply(config)
    if project is not None:
        document = parse(project[1], project[0])
        asked = ConfigFile(document).apply(Config(prefix=config.prefix, global_dir=config.global_dir))
        config = tightened(config, asked, document)
    return config
