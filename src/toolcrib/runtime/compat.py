"""The directories of the systems people come from: read when the configuration names them, else hinted at."""

import os
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ForeignDirectory:
    system: str
    path: str
    in_project: bool


def foreign_directories(workspace: str, environ: Mapping[str, str], *, existing: bool = True) -> list[ForeignDirectory]:
    """Those of every system we know: the ones that exist, or all that would count if they did."""
    home = environ.get("HOME") or os.path.expanduser("~")
    toolboxes = [path for path in environ.get("AMP_TOOLBOX", "").split(":") if path]
    known = [
        ForeignDirectory("kodelet", os.path.join(home, ".kodelet", "tools"), in_project=False),
        ForeignDirectory("kodelet", os.path.join(workspace, "kodelet-tools"), in_project=True),
        ForeignDirectory("forge", os.path.join(home, ".forge", "tools"), in_project=False),
        *(
            ForeignDirectory("amp", path, in_project=False)
            for path in toolboxes or [os.path.join(home, ".config", "amp", "tools")]
        ),
        ForeignDirectory("amp", os.path.join(workspace, ".agents", "tools"), in_project=True),
    ]
    return [each for each in known if not existing or os.path.isdir(each.path)]


def hints(workspace: str, environ: Mapping[str, str], named: tuple[str, ...]) -> list[str]:
    """One line for each system that has tools here and is not named in `compat`."""
    found = {each.system: each.path for each in reversed(foreign_directories(workspace, environ))}
    return [
        f"{path} holds tools of {system}; to use them, add `compat: [{system}]` to config.yaml"
        for system, path in sorted(found.items())
        if system not in named
    ]
