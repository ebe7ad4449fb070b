"""Making a crib: from where one stands, from the files, and from what is handed over."""

import os
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from ..core.policy import Approver
from ..core.tool import Tool
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
) -> AsyncIterator[Crib]:
    """A crib on a workspace, with the tools of the user, of the trusted project, and those handed over.

    Raises:
        ConfigError: a configuration file is wrong.
    """
    crib = build(workspace=workspace, tools=tools, home=home, approver=approver, session=session, asker=asker)
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
) -> Crib:
    """A crib that has not read its tools yet. `typed`: a person types each call at a terminal."""
    at = os.path.abspath(workspace)
    place = Home(home)
    return Crib(
        workspace=at,
        home=place,
        config=read_config(at, place),
        approver=approver,
        session=session,
        asker=asker,
        typed=typed,
        tools=[_as_tool(each) for each in tools],
    )


def read_config(workspace: str, home: Home) -> Config:
    """The user's configuration and, when the project is trusted, the project's."""
    return configuration.read(home.file("config.yaml"), trusted_file(workspace, home, "config.yaml"))


def _as_tool(each: Tool | Callable[..., Any]) -> Tool:
    if isinstance(each, Tool):
        return each
    from ..backends.function import tool  # late: it brings pydantic

    return tool(each)
