"""The one convenience for scripts that are not asynchronous."""

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..core.call import Result
from ..core.jsontext import JSON
from ..core.policy import Approver
from ..core.tool import Tool
from .build import open


def call_sync(
    name: str,
    args: Mapping[str, JSON] | None = None,
    *,
    workspace: str | os.PathLike[str] = ".",
    tools: Iterable[Tool | Callable[..., Any]] = (),
    home: str | os.PathLike[str] | None = None,
    approver: Approver | None = None,
    timeout: float | None = None,
    profile: str | None = None,
) -> Result:
    """Open a crib, call one tool, close the crib."""

    async def once() -> Result:
        opened = open(
            workspace=workspace, tools=tools, home=home, approver=approver, asker="python script", profile=profile
        )
        async with opened as crib:
            return await crib.call(name, args, timeout=timeout)

    return asyncio.run(once())
