"""`toolcrib serve mcp`: the tools for an agent that speaks the Model Context Protocol."""

import asyncio
import os
import signal
import sys

from .. import __version__
from ..core.errors import ConfigError, Refused
from ..core.jsontext import dump
from ..core.policy import Answer, Question
from ..policy.approvers import SaysYes
from ..runtime.build import open as open_crib
from ..serve.stdio import serve_stdio
from ..store.home import Home
from ._parser import verb_parser

EXAMPLE = """
  toolcrib serve mcp                            speak MCP on stdin and stdout
  toolcrib serve mcp --print-config claude      how to connect Claude Code
"""
CLIENTS = ("claude", "codex", "gemini", "json")
PLACES = {"gemini": "~/.gemini/settings.json", "json": "the file where your client keeps its MCP servers"}


def main(argv: list[str]) -> int:
    parser = verb_parser("serve", "Offer the tools to an agent.", EXAMPLE)
    parser.add_argument("protocol", choices=["mcp"])
    parser.add_argument("--ask", choices=["client"], help="leave an `ask` to the client, which asks by itself")
    parser.add_argument("--workspace", default=".", help="the directory the tools work in (default: this one)")
    parser.add_argument("--print-config", choices=CLIENTS, help="print what to write into a client's configuration")
    options = parser.parse_args(argv)
    if options.print_config:
        print(snippet(options.print_config))
        if place := PLACES.get(options.print_config):
            print(f"write that into {place}", file=sys.stderr)
        return 0
    try:
        ended_by = asyncio.run(_serve(options.workspace, client_asks=options.ask == "client"))
    except ConfigError as exc:
        print(f"CONFIG_INVALID {exc}", file=sys.stderr)
        return 2
    return 130 if ended_by == signal.SIGINT else 0


async def _serve(workspace: str, *, client_asks: bool) -> signal.Signals | None:
    approver = SaysYes("client") if client_asks else NobodyHere(Home())
    async with open_crib(workspace=workspace, approver=approver, asker="mcp") as crib:
        return await serve_stdio(crib, version=__version__)


class NobodyHere:
    """A server has no person to ask; it says how a person can allow the tool beforehand."""

    def __init__(self, home: Home) -> None:
        self._config = home.file("config.yaml")

    async def approve(self, question: Question) -> Answer:
        name = question.tool.name
        raise Refused(
            f"{name} needs a person's approval, and this server has nobody to ask. The person can allow it by writing "
            f"`approval: {{tools: {{{name}: preApproved}}}}` into {self._config} and restarting the server, or by "
            "starting the server as `toolcrib serve mcp --ask client`, where the client itself asks before each call.",
            code="APPROVAL_REQUIRED",
        )


def snippet(client: str) -> str:
    """What connects a client to this very installation. All of these ask by themselves before they call a tool."""
    places = (os.path.dirname(os.path.abspath(program)) for program in (sys.argv[0], sys.executable))
    commands = (os.path.join(place, "toolcrib") for place in places)
    command = next((each for each in commands if os.path.isfile(each)), "toolcrib")
    words = ["serve", "mcp", "--ask", "client"]
    if client == "claude":
        return f"claude mcp add toolcrib -- {command} {' '.join(words)}"
    if client == "codex":
        return f"codex mcp add toolcrib -- {command} {' '.join(words)}"
    return dump({"mcpServers": {"toolcrib": {"command": command, "args": words}}}).decode()
