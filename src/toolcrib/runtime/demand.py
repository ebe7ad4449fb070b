"""Which tools run programs that are confined, and those for which that is demanded in vain."""

from collections.abc import Iterator

from ..backends.wishes import NO_WISHES, Wishes
from ..core.source import Loaded, Problem
from ..core.tool import Tool
from ..sandbox.cage import BUBBLEWRAP, LANDLOCK
from ..sources.vocabulary import own_tool
from .config import Config
from .rights import ANYWHERE, KINDS, NOTHING_SAID, ON, listed, spelt


def kind_of(tool: Tool) -> str:
    """Of those that are confined; empty for what runs no program, or only our own."""
    own = own_tool(tool)
    if own.source == "builtin":
        return own.name if own.name in KINDS else ""
    kind = getattr(own.backend, "kind", "")
    return kind if isinstance(kind, str) and kind in KINDS else ""


def withheld(loaded: Loaded, config: Config) -> Loaded:
    """Without the tools that are to be confined, and cannot be: those answer with a problem."""
    if not any(ruling.tools for ruling in (config.ruling, *config.tighter)):
        return loaded
    tools, problems = [], list(loaded.problems)
    for tool in loaded.tools:
        message = "" if kind_of(tool) else demanded_in_vain(tool, config)
        if message:
            problems.append(Problem(tool.origin, "SANDBOX_UNAVAILABLE", message, holds=(tool.name,)))
        else:
            tools.append(tool)
    return loaded if len(tools) == len(loaded.tools) else Loaded(tuple(tools), tuple(problems))


def demanded_in_vain(tool: Tool, config: Config) -> str:
    """What is demanded by name for a tool that starts no program which could be confined; or nothing."""
    for name in (config.offer.own_name(tool), tool.name):
        for ruling in (config.ruling, *config.tighter):
            said = ruling.tools.get(name, NOTHING_SAID)
            if said.sandbox in (LANDLOCK, BUBBLEWRAP):
                demand = f"sandbox: {said.sandbox}"
            elif said.network and said.network != ON:
                demand = f"network: {spelt(said.network)}"
            else:
                continue
            why = "and runs no program that could be confined; it does not run"
            return f"{tool.name} is configured with `{demand}`, {why}"
    return ""


def wishes_of(tool: Tool) -> Wishes:
    """What it says that it needs."""
    found = getattr(tool.backend, "wishes", NO_WISHES)
    return found if isinstance(found, Wishes) else NO_WISHES


def in_words(wishes: Wishes) -> Iterator[str]:
    """The same for people, one line each."""
    if wishes.network:
        yield "the network" if ANYWHERE in wishes.network else f"to reach {listed(wishes.network)}"
    for words, paths in (("to read", wishes.ro), ("to read and write", wishes.rw)):
        if paths:
            yield f"{words} {listed(paths)}"
    if wishes.env:
        yield f"to see the variables {listed(wishes.env)}"
    if wishes.secrets:
        yield f"to have the secrets {listed(wishes.secrets)}"
