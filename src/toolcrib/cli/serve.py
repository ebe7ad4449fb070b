"""`toolcrib serve`: the tools for an agent that speaks the Model Context Protocol; `grpc` has a file of its own."""

import os
import signal
import sys

from .. import __version__
from ..backends.quantity import duration
from ..core.context import new_id
from ..core.errors import ToolcribError
from ..core.jsontext import dump
from ..core.policy import Approver
from ..policy.approvers import Pending, SaysYes
from ..policy.request import Request
from ..runtime.build import open as open_crib
from ..runtime.sessions import valid_id
from ..serve.elicit import AsksClient
from ..serve.stdio import serve_stdio
from ..store.home import Home
from ..store.pending import PendingCalls
from ._loop import run
from ._parser import verb_parser
from ._text import visible

EXAMPLE = """
  toolcrib serve mcp                            speak MCP on stdin and stdout
  toolcrib serve mcp --print-config claude      how to connect Claude Code
  toolcrib serve mcp --watch                    tell the client at once when a tool changes
  toolcrib serve mcp --profile reviewer         only what this profile offers
  toolcrib serve grpc                           speak gRPC on a socket of yours
  toolcrib serve mcp --wait 60                  a call waits a minute for `toolcrib approve ID`, then is refused
"""
WAIT_SECONDS = 5.0
"""How long a call waits for its answer, unless told. Short, because most clients show neither our stderr nor that
anything waits: the person learns of the question from the refusal, and the call is made again."""
CLIENTS = ("claude", "codex", "gemini", "json")
PLACES = {"gemini": "~/.gemini/settings.json", "json": "the file where your client keeps its MCP servers"}


def main(argv: list[str]) -> int:
    if "grpc" in argv[:1]:
        from . import _serve_grpc  # late: it has options of its own, and brings another library

        return _serve_grpc.main(argv[1:])
    parser = verb_parser("serve", "Offer the tools to an agent.", EXAMPLE)
    parser.add_argument("protocol", choices=["mcp", "grpc"], help="`toolcrib serve grpc --help` shows what that takes")
    parser.add_argument("--ask", choices=["client"], help="leave an `ask` to the client, which asks by itself")
    parser.add_argument(
        "--wait",
        type=wait_seconds,
        default=WAIT_SECONDS,
        metavar="S",
        help=f"how long a call waits for `toolcrib approve` (default {WAIT_SECONDS:g}s; 0: not at all)",
    )
    parser.add_argument("--session", metavar="ID", help="with the skills that are active in this session")
    parser.add_argument("--watch", action="store_true", help="hear of changed tools at once, not every two seconds")
    parser.add_argument("--workspace", default=".", help="the directory the tools work in (default: this one)")
    parser.add_argument("--print-config", choices=CLIENTS, help="print what to write into a client's configuration")
    options = parser.parse_args(argv)
    if options.protocol == "grpc":
        parser.error("write grpc first: toolcrib serve grpc …")
    if options.print_config:
        under = ["--profile", options.profile] if options.profile else []
        print(snippet(options.print_config, *(["--watch"] if options.watch else []), *under))
        if place := PLACES.get(options.print_config):
            print(f"write that into {place}", file=sys.stderr)
        return 0
    try:
        approver = _approver(options.wait, client_asks=options.ask == "client")
        session = valid_id(options.session) if options.session else new_id()
        served = _serve(options.workspace, approver, session, watched=options.watch, profile=options.profile)
        ended_by = run(served)
    except ToolcribError as exc:
        print(f"{exc.code} {visible(str(exc))}", file=sys.stderr)
        return 2
    return 130 if ended_by == signal.SIGINT else 0


async def _serve(
    workspace: str, approver: Approver, session: str, *, watched: bool, profile: str | None
) -> signal.Signals | None:
    asks = approver if isinstance(approver, AsksClient) else None
    opened = open_crib(workspace=workspace, approver=approver, session=session, asker="mcp", profile=profile)
    async with opened as crib:
        if not watched:
            return await serve_stdio(crib, version=__version__, approver=asks)
        from ._watching import watch_of

        async with watch_of(lambda: crib) as watch:
            return await serve_stdio(crib, version=__version__, approver=asks, pause=watch.wait)


def _approver(wait: float, *, client_asks: bool) -> Approver:
    """Who is asked: the client's person, by us or by the client itself; or the call waits for another terminal."""
    if client_asks:
        return SaysYes("client", blind=True)
    home = Home()
    waiting = Pending(PendingCalls(home), wait_seconds=wait, notify=tell, config=home.file("config.yaml"))
    return AsksClient(waiting, words=_words)


def _words(request: Request) -> str:
    from ._prompt import for_client  # late: a server starts without a question

    return for_client(request)


def tell(line: str) -> None:
    print(f"toolcrib: {visible(line)}", file=sys.stderr, flush=True)


def wait_seconds(text: str) -> float:
    """Raises: `ValueError`, which the parser turns into a word on how to write it."""
    return 0.0 if text == "0" else duration(text)


def snippet(client: str, *more: str) -> str:
    """What connects a client to this very installation. All of these ask by themselves before they call a tool."""
    places = (os.path.dirname(os.path.abspath(program)) for program in (sys.argv[0], sys.executable))
    commands = (os.path.join(place, "toolcrib") for place in places)
    command = next((each for each in commands if os.path.isfile(each)), "toolcrib")
    words = ["serve", "mcp", "--ask", "client", *more]
    if client == "claude":
        return f"claude mcp add toolcrib -- {command} {' '.join(words)}"
    if client == "codex":
        return f"codex mcp add toolcrib -- {command} {' '.join(words)}"
    return dump({"mcpServers": {"toolcrib": {"command": command, "args": words}}}).decode()
