"""`toolcrib serve grpc`: the tools for programs in any language."""

import argparse
import os
import signal
import sys
from typing import TYPE_CHECKING

from ..core.errors import ConfigError, Refused, ToolcribError
from ..core.policy import Approver
from ..policy.approvers import Pending
from ..runtime.build import open as open_crib
from ..store.home import Home
from ..store.pending import PendingCalls
from ._loop import run
from ._parser import verb_parser
from ._text import visible
from .approve import by_a_tool
from .serve import WAIT_SECONDS, tell, wait_seconds

if TYPE_CHECKING:
    from ..serve.grpc import Settings, Tls
    from ..serve.grpc_listen import Address

EXAMPLE = """
  toolcrib serve grpc                                   on a socket in your home, for you alone
  toolcrib serve grpc --listen 127.0.0.1:50051          for programs that cannot open a socket file
  toolcrib serve grpc --listen 0.0.0.0:50051 --tls-cert C --tls-key K --client-ca CA
  toolcrib serve grpc --listen 127.0.0.1:50051 --allow-upload     callers may bring skills of their own

Callers send the token as metadata: `authorization: Bearer TOKEN`. It stands in grpc/token in your home (~/.toolcrib),
unless --token-file names another file.
"""
_PARTS = ("grpc", "grpc_health", "grpc_reflection", "google")
_MOST_QUEUED = 100_000


def main(argv: list[str]) -> int:
    parser = verb_parser("serve grpc", "Offer the tools over gRPC.", EXAMPLE)
    parser.add_argument("--listen", metavar="WHERE", help="unix:PATH or HOST:PORT (default: a socket in your home)")
    parser.add_argument("--token-file", metavar="F", help="what callers must know (default: grpc/token in your home)")
    parser.add_argument("--approver-token-file", metavar="F", help="who knows this may answer calls with Approve")
    parser.add_argument(
        "--allow-upload", action="store_true", help="callers on HOST:PORT may bring skills of their own"
    )
    parser.add_argument("--reflection", action="store_true", help="tell callers which methods there are")
    parser.add_argument("--tls-cert", metavar="F", help="the server's certificate; with --tls-key")
    parser.add_argument("--tls-key", metavar="F")
    parser.add_argument("--client-ca", metavar="F", help="callers need a certificate that this one signed")
    parser.add_argument(
        "--queue", type=_count, default=10_000, metavar="N", help="most calls under way (default 10000)"
    )
    parser.add_argument(
        "--wait",
        type=wait_seconds,
        default=WAIT_SECONDS,
        metavar="S",
        help=f"how long a call waits for an approval (default {WAIT_SECONDS:g}s; 0: not at all)",
    )
    parser.add_argument("--workspace", default=".", help="the directory the tools work in (default: this one)")
    options = parser.parse_args(argv)
    try:
        home = Home()
        settings = _settings(options, home)
        pending = Pending(PendingCalls(home), wait_seconds=options.wait, notify=tell, config=home.file("config.yaml"))
        ended_by = run(_serve(options, settings, pending, home))
    except ToolcribError as exc:
        print(f"{exc.code} {visible(str(exc))}", file=sys.stderr)
        return 3 if isinstance(exc, Refused) else 2
    return 130 if ended_by == signal.SIGINT else 0


async def _serve(options: argparse.Namespace, settings: "Settings", approver: Approver, home: Home) -> signal.Signals:
    from ..serve.grpc import serve_grpc

    def ready(address: "Address") -> None:
        tell(f"serving gRPC at {address.target}")

    opened = open_crib(workspace=options.workspace, approver=approver, asker="grpc", profile=options.profile)
    async with opened as crib:
        return await serve_grpc(crib, settings, home=home, record=crib.audit.refused, ready=ready)


def _settings(options: argparse.Namespace, home: Home) -> "Settings":
    """Raises: `ToolcribError`, for what is missing or cannot be."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # or the library writes of every connection to our stderr
    try:
        from ..serve.grpc import Settings
    except ModuleNotFoundError as exc:
        if (exc.name or "").partition(".")[0] not in _PARTS:
            raise
        message = f"gRPC is not installed ({exc.name} is missing); type: pip install 'toolcrib[grpc]'"
        raise ToolcribError(message, code="ENGINE_NOT_AVAILABLE") from None
    from ..serve.grpc_listen import own_address, parse_address
    from ..serve.grpc_service import Rights
    from ..serve.grpc_token import own_token, read_token

    tls = _tls(options)
    address = parse_address(options.listen, secure=tls is not None) if options.listen else own_address(home)
    token = read_token(options.token_file) if options.token_file else own_token(home)
    approver = _approver_token(options, token)
    rights = Rights(upload=address.is_unix or options.allow_upload, approver_token=approver)
    return Settings(address, token, rights, reflection=options.reflection, tls=tls, queue=options.queue)


def _approver_token(options: argparse.Namespace, token: str) -> str | None:
    if not options.approver_token_file:
        return None
    if refusal := by_a_tool():
        raise Refused(refusal, code="APPROVAL_DENIED")
    from ..serve.grpc_token import read_token

    approver = read_token(options.approver_token_file)
    if approver == token:
        message = "this is the token of those who call; who answers them needs another one"
        raise ConfigError(message, path=options.approver_token_file)
    return approver


def _tls(options: argparse.Namespace) -> "Tls | None":
    if not (options.tls_cert or options.tls_key or options.client_ca):
        return None
    if not (options.tls_cert and options.tls_key):
        raise ToolcribError("TLS needs both --tls-cert and --tls-key", code="CONFIG_INVALID")
    from ..serve.grpc import Tls

    ca = _content(options.client_ca) if options.client_ca else None
    return Tls(_content(options.tls_cert), _content(options.tls_key), ca)


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(1024 * 1024)
    except OSError as exc:
        raise ConfigError(f"cannot be read: {exc.strerror}", path=path) from None


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= _MOST_QUEUED):
        raise argparse.ArgumentTypeError(f"{ascii(text)} is not a number from 1 to {_MOST_QUEUED}")
    return int(text)
