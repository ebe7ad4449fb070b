"""What a program asks for, in a manifest or under `config`: hosts, files and variables, as people write them."""

import re
from typing import Any

from ..backends.network import entry
from ..sandbox.grantable import why_not_asked

ANYWHERE = "*"
ACCESS = ("ro", "rw")
VARIABLE = re.compile(r"(?!TOOLCRIB_)[A-Za-z_][A-Za-z0-9_]{0,127}")
"""What can be asked for by name; matched whole. Our own variables say what is so, and not what somebody has."""
_MOST = 64


def host(text: str) -> str:
    """A host, `*.` and a domain, or either with `:port`. Raises: `ValueError`, with what to write."""
    wide = "*." if text.startswith("*.") else ""
    found = entry(text.removeprefix(wide))
    if wide and ("." not in found.host or found.host.startswith("[") or found.host.replace(".", "").isdigit()):
        raise ValueError(f"{text!r} is too wide; write *.example.com")
    return f"{wide}{found.host}" + (f":{found.port}" if found.port else "")


def hosts(value: Any) -> tuple[str, ...]:
    """From `true`, `false`, or a list of hosts; `*` stands for any. Raises: `ValueError`."""
    if isinstance(value, bool):
        return (ANYWHERE,) if value else ()
    if not isinstance(value, list) or len(value) > _MOST or not all(isinstance(each, str) for each in value):
        raise ValueError("it is not true, false, or a list of hosts such as [api.example.com]")
    return (ANYWHERE,) if ANYWHERE in value else tuple(dict.fromkeys(map(host, value)))


def files(value: Any) -> dict[str, tuple[str, ...]]:
    """From `{ro: [...], rw: [...]}`. Raises: `ValueError`."""
    if not isinstance(value, dict) or not set(value) <= set(ACCESS):
        raise ValueError("it is not {ro: [paths], rw: [paths]}")
    found = {}
    for access, paths in value.items():
        if not isinstance(paths, list) or len(paths) > _MOST or not all(isinstance(each, str) for each in paths):
            raise ValueError(f"{access} is not a list of paths such as [data, ~/models]")
        for path in paths:
            if why := why_not_asked(path):
                raise ValueError(f"{access}: {path!r} cannot be asked for: {why}")
        found[access] = tuple(dict.fromkeys(path.removeprefix("./") for path in paths))
    return found


def variables(value: Any) -> tuple[str, ...]:
    """From a list of names, or a map from names to words about each. Raises: `ValueError`."""
    names = [each for each in value if isinstance(each, str)] if isinstance(value, list | dict) else []
    if not isinstance(value, list | dict) or len(names) < len(value) or len(names) > _MOST:
        raise ValueError("it is not a list of names of variables, such as [LANG]")
    for each in names:
        if not VARIABLE.fullmatch(each):
            raise ValueError(f"{each[:80]!r} is not the name of a variable that can be asked for, such as LANG")
    return tuple(dict.fromkeys(names))
