"""Peer: a FastMCP stdio server with one function, and one that runs a program.

The program is the first argument; without it the server offers the function alone.
"""

from __future__ import annotations

import json
import subprocess
import sys

from fastmcp import FastMCP

server = FastMCP("bench")


@server.tool
async def greet(name: str, age: int | None = None) -> str:
    """Say hello to a person."""
    return f"Hello, {name}"


@server.tool
def tiny(name: str) -> str:
    """Answer hello."""
    done = subprocess.run(
        [sys.argv[1], "run"], input=json.dumps({"name": name}), capture_output=True, text=True, check=True
    )
    return done.stdout


server.run(transport="stdio", show_banner=False)
