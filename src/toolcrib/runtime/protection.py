"""Tools for which a protection is demanded that is not there do not run."""

from ..core.source import Loaded, Problem
from .config import BUILT_SANDBOXES, Config


def protected(loaded: Loaded, config: Config) -> Loaded:
    """Without the tools for which a protection is demanded that is not there: those answer with a problem."""
    unprotected = config.unprotected
    everywhere = "" if config.sandbox in BUILT_SANDBOXES else f"sandbox: {config.sandbox}"
    if not everywhere and not unprotected:
        return loaded
    tools, problems = [], list(loaded.problems)
    for tool in loaded.tools:
        missing = unprotected.get(config.offer.own_name(tool)) or unprotected.get(tool.name) or everywhere
        if missing:
            message = f"{tool.name} is configured with `{missing}`, which this version cannot provide; it does not run"
            problems.append(Problem(tool.origin, "SANDBOX_UNAVAILABLE", message, holds=(tool.name,)))
        else:
            tools.append(tool)
    return Loaded(tuple(tools), tuple(problems))
