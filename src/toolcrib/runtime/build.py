"""Making a crib: from where one stands, from the files, and from what is handed over."""

import os
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from ..core.policy import Approver
from ..core.tool import Tool
from ..policy.trust import Trust
from ..store.home import Home
from . import config as configuration
from .config import Config
from .gate import trusted_file
from .runtime import Crib


@asynccontextmanager
async def open(
    *,
    workspace: str | os.PathLike[str] = ".",
    tools: Iterable[Tool | Callable[..., Any]] = (),
    home: str | os.PathLike[str] | None = None,
    approver: Approver | None = None,
    session: str | None = None,
    asker: str = "python",
    profile: str | None = None,
) -> AsyncIterator[Crib]:
    """A crib on a workspace, with the tools of the user, of the trusted project, and those handed over.

    Raises:
        ConfigError: a configuration file is wrong, or there is no such profile.
    """
    crib = build(
        workspace=workspace,
        tools=tools,
        home=home,
        approver=approver,
        session=session,
        asker=asker,
        profile=profile,
    )
    try:
        await crib.start()
        yield crib
    finally:
        await crib.close()


def build(
    *,
    workspace: str | os.PathLike[str] = ".",
    tools: Iterable[Tool | Callable[..., Any]] = (),
    home: str | os.PathLike[str] | None = None,
    approver: Approver | None = None,
    session: str | None = None,
    asker: str = "python",
    typed: bool = False,
    profile: str | None = None,
) -> Crib:
    """A crib that has not read its tools yet. `typed`: a person types each call at a terminal."""
    at = os.path.abspath(workspace)
    place = Home(home)
    trust = trust_in(place)
    return Crib(
        workspace=at,
        home=place,
        config=read_config(at, place, profile, trust=trust),
        trust=trust,
        approver=approver,
        session=session,
        asker=asker,
        typed=typed,
        tools=[_as_tool(each) for each in tools],
    )


def read_config(workspace: str, home: Home, profile: str | None = None, *, trust: Trust | None = None) -> Config:
    """The user's configuration and, when the project is trusted, the project's; under a profile, if one is named.

    Raises:
        ConfigError: a file is wrong, or there is no such profile.
    """
    trust = trust or trust_in(home)
    written = None
    if profile is not None:
        from .profile import find  # late: it brings the YAML

        written = find(profile, workspace, home, trust)
    project = trusted_file(workspace, home, "config.yaml", trust=trust)
    return configuration.read(home.file("config.yaml"), project, written)


def trust_in(home: Home) -> Trust:
    """The user's word about projects."""
    return Trust(home.file("trust.json"), lambda data: home.replace(data, "trust.json"))


def _as_tool(each: Tool | Callable[..., Any]) -> Tool:
    if isinstance(each, Tool):
        return each
    from ..backends.function import tool  # late: it brings pydantic

    return tool(each)
