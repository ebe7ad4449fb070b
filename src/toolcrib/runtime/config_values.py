"""What a value of the configuration must look like. Each function gives it, or says in a ValueError what is wrong."""

import math
import os
import re
from collections.abc import Callable
from typing import Any

from ..backends.quantity import duration
from ..core.errors import Refused
from ..policy.secrets import Grant, canonical_host, mentioned
from . import toolsets
from .rights import OFF, ON, Network

COMPAT = ("kodelet", "forge", "amp")


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not text")
    return value


def prefix(value: Any) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_-]{0,32}", text(value)):
        raise ValueError(f"{value!r} cannot begin a tool's name; use up to 32 of A-Z a-z 0-9 _ -")
    return str(value)


def boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value


def mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("must be a mapping of keys to values")
    return value


def words(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError("must be a list")
    return tuple(text(item) for item in value)


def network_entries(value: Any) -> tuple[str, ...]:
    """Hosts and addresses, each with or without a port."""
    from ..backends.network import entry  # late: few list any

    entries = words(value)
    for each in entries:
        entry(each)
    return entries


def reachable(value: Any) -> Network:
    """`on`, `off`, or the hosts that alone may be reached. No hosts are none, and not all."""
    if isinstance(value, list):
        from ..sources.wish import host  # late: few list any

        return tuple(host(text(each)) for each in value) or OFF
    if value not in (ON, OFF) or not isinstance(value, str):
        raise ValueError(f"{value!r} is not on, off, or a list of hosts such as [api.example.com]")
    return value


def places(value: Any) -> tuple[str, ...]:
    """Files and directories, by absolute paths."""
    from ..sandbox.grantable import too_wide

    found = []
    for each in words(value):
        whole = os.path.expanduser(each)
        if not os.path.isabs(whole) or "\0" in whole:
            raise ValueError(f"{each!r} is not an absolute path; begin with / or ~/")
        # As it is written: where links lead is looked at when it is given, for those in the workspace change.
        if why := too_wide(os.path.normpath(whole), home=os.path.expanduser("~"), own=""):
            raise ValueError(f"{each!r} cannot be given to a program: {why}")
        found.append(os.path.normpath(whole))
    return tuple(found)


def count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{value!r} is not a number of at least 1")
    return value


def whole_seconds(value: Any) -> int:
    """Of computing time, which the system counts in whole seconds."""
    return max(1, math.ceil(duration(value)))


def variables(value: Any) -> tuple[str, ...]:
    names = words(value)
    for name in names:
        if not name.replace("_", "a").isalnum() or not name.isascii() or name[0].isdigit():
            raise ValueError(f"{name!r} is not the name of an environment variable")
    return names


def passed_on(value: Any) -> tuple[str, ...]:
    """Names of variables that a tool is given as they are."""
    return () if isinstance(value, dict) else variables(value)


def secret_templates(value: Any) -> dict[str, str]:
    """Variables that a tool is given with another value: text, with `${env:NAME}` for a secret."""
    if not isinstance(value, dict):
        return {}
    variables(list(value))
    for template in value.values():
        try:
            mentioned(text(template))
        except Refused as exc:
            raise ValueError(str(exc)) from None
    return dict(value)


def secret_grants(value: Any) -> tuple[Grant, ...]:
    """Names of secrets, or names with the hosts that each may be sent to."""
    if isinstance(value, dict):
        variables(list(value))
        return tuple(Grant(name, tuple(_host(host) for host in words(hosts))) for name, hosts in value.items())
    return tuple(Grant(name) for name in variables(value))


def _host(value: str) -> str:
    host = canonical_host(value)
    if host is None:
        raise ValueError(f"{value!r} is not a host; write api.example.com")
    return host


def roots(value: Any) -> dict[str, str]:
    found = {}
    for path, access in mapping(value).items():
        whole = os.path.expanduser(path)
        if not os.path.isabs(whole):
            raise ValueError(f"{path!r} is not an absolute path; begin with / or ~/")
        found[whole] = one_of(toolsets.ACCESS)(access)
    return found


def compat(value: Any) -> tuple[str, ...]:
    return tuple(one_of(COMPAT)(item) for item in words(value))


def one_of(known: tuple[str, ...]) -> Callable[[Any], str]:
    def read_as(value: Any) -> str:
        if value not in known or not isinstance(value, str):
            raise ValueError(f"{value!r} is not one of {', '.join(known)}")
        return value

    return read_as
