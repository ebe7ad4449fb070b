"""`toolcrib list --profiles`: which profiles can be chosen here, and what is wrong with those that cannot."""

import os
import sys
from typing import NamedTuple

from ..core.errors import ConfigError
from ..core.jsontext import dump_ascii
from ..core.source import Problem
from ..runtime.build import read_config, trust_in
from ..runtime.profile import profile_names
from ..store.home import Home
from ._text import one_line, visible


class Looked(NamedTuple):
    """One profile, read."""

    name: str
    description: str
    problems: tuple[Problem, ...]
    """What it says in vain; or the one thing for which it cannot be chosen."""
    usable: bool = True


def names_here() -> list[str]:
    home = Home()
    return profile_names(os.getcwd(), home, trust_in(home))


def look_at_all(workspace: str, home: Home) -> list[Looked]:
    """Every profile there is. Raises: `ConfigError`, for what is wrong without any of them."""
    trust = trust_in(home)
    plain = read_config(workspace, home, trust=trust).problems
    found = []
    for name in profile_names(workspace, home, trust):
        try:
            config = read_config(workspace, home, name, trust=trust)
        except ConfigError as exc:
            found.append(Looked(name, "", (Problem(exc.path, exc.code, str(exc)),), usable=False))
            continue
        about = config.profile.description if config.profile else ""
        found.append(Looked(name, about, tuple(each for each in config.problems if each not in plain)))
    return found


def show_profiles(wanted: set[str]) -> int:
    """The verb's answer; `wanted` are the flags beside `--profiles`. Raises: `ConfigError`."""
    if wanted == {"--names"}:
        sys.stdout.write("".join(f"{name}\n" for name in names_here()))
        return 0
    found = look_at_all(os.getcwd(), Home())
    problems = [problem for each in found for problem in each.problems]
    if "--json" in wanted:
        rows = [{"name": each.name, "description": each.description} for each in found if each.usable]
        print(dump_ascii({"profiles": rows, "problems": [problem.to_dict() for problem in problems]}).decode())
        return 0
    longest = max((len(each.name) for each in found), default=0)
    for each in found:
        print(f"{each.name:<{longest}}  {one_line(each.description, 100)}".rstrip(), flush=True)
    for problem in problems:
        print(f"{problem.code} {visible(problem.message)}", file=sys.stderr)
    if not found:
        print(f"no profiles yet; write one as {visible(Home().file('profiles'))}/NAME.yaml", file=sys.stderr)
    return 0
