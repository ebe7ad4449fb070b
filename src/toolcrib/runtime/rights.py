"""What the configuration lets programs have: for one tool, or for all of a kind. Plain data, and how it is combined."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..sandbox.cage import Bounds

KINDS = ("executable", "manifest", "script", "binary", "module", "run_command")
"""The kinds of tools that run programs which are not our own: these are confined."""
ON, OFF, ANYWHERE = "on", "off", "*"

Network = str | tuple[str, ...]
"""`on`, `off`, or the hosts that alone may be reached; empty where nothing is said."""


class Rights(NamedTuple):
    """What is said of one tool, or of one kind. Empty is: nothing is said."""

    sandbox: str = ""
    network: Network = ""
    ro: tuple[str, ...] = ()
    rw: tuple[str, ...] = ()
    """Absolute paths."""
    bounds: Bounds = Bounds()

    def over(self, wider: "Rights") -> "Rights":
        """This, and what the other says where this is silent. Files are added."""
        return Rights(
            self.sandbox or wider.sandbox,
            self.network or wider.network,
            tuple(dict.fromkeys((*wider.ro, *self.ro))),
            tuple(dict.fromkeys((*wider.rw, *self.rw))),
            Bounds(*(ours if ours is not None else wide for ours, wide in zip(self.bounds, wider.bounds, strict=True))),
        )


NOTHING_SAID = Rights()


class Ruling(NamedTuple):
    """What one file says of all tools. A project's is kept apart from the user's, because it may only tighten."""

    sandbox: str = ""
    kinds: Mapping[str, Rights] = {}
    tools: Mapping[str, Rights] = {}

    def of(self, kind: str, *names: str) -> Rights:
        """Of a tool of this kind that has these names; the first that something is said of counts."""
        own = next((self.tools[name] for name in names if name in self.tools), NOTHING_SAID)
        return own.over(self.kinds.get(kind, NOTHING_SAID)).over(Rights(self.sandbox))


def reach(asked: Iterable[str]) -> Network:
    """What hosts, or `*` for any, come to."""
    hosts = tuple(dict.fromkeys(asked))
    return ON if ANYWHERE in hosts else hosts or OFF


def narrower(one: Network, other: Network) -> Network:
    """What both let a program reach. Nothing said is no limit."""
    if not one or not other:
        return one or other
    if OFF in (one, other) or ON in (one, other):
        return OFF if OFF in (one, other) else other if one == ON else one
    both = [host for host in one if _covered(host, other)] + [host for host in other if _covered(host, one)]
    return tuple(dict.fromkeys(both)) or OFF


def stricter(one: Bounds, other: Bounds) -> Bounds:
    pairs = zip(one, other, strict=True)
    return Bounds(*(min((each for each in pair if each is not None), default=None) for pair in pairs))


def listed(names: Network) -> str:
    return ", ".join(names)


def spelt(network: Network) -> str:
    """As it is written in a configuration."""
    return network if isinstance(network, str) else f"[{listed(network)}]"


def _covered(host: str, by: Iterable[str]) -> bool:
    return any(host == each or (each.startswith("*.") and host.endswith(each[1:])) for each in by)
