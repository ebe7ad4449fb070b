"""The gRPC server: puts the door, the service and the front together, and ends them in good order."""

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import NamedTuple

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2_grpc

from ..core.errors import ToolcribError
from ..store.home import Home
from .ending import ending_signals
from .grpc_approvals import Approvals
from .grpc_calls import QUEUE, Calls
from .grpc_crib import SessionCrib
from .grpc_door import Collected, Door
from .grpc_front import Front
from .grpc_listen import Address, listen_tcp, listen_unix, own_folder, private_socket, publish, withdraw
from .grpc_once import Once
from .grpc_refusals import Record, Refusals
from .grpc_service import Rights, ToolService
from .v1 import tool_service_pb2 as pb
from .v1 import tool_service_pb2_grpc as pb_grpc

MESSAGE_BYTES = 16 * 1024 * 1024
HEAD_ROOM = 1000
"""Requests beyond the calls under way, so that a crowded server can still be asked, and told to cancel."""
DRAIN_SECONDS = 10.0
KEEPALIVE_MS = 60_000
SERVICE = pb.DESCRIPTOR.services_by_name["ToolService"].full_name


class Tls(NamedTuple):
    """What a server proves itself with, and what its clients prove themselves with."""

    certificate: bytes
    key: bytes
    client_ca: bytes | None = None

    def credentials(self) -> grpc.ServerCredentials:
        demanded = self.client_ca is not None
        pair = ((self.key, self.certificate),)
        return grpc.ssl_server_credentials(pair, self.client_ca, require_client_auth=demanded)


class Settings(NamedTuple):
    """How to serve."""

    address: Address
    token: str
    rights: Rights
    reflection: bool = False
    tls: Tls | None = None
    queue: int = QUEUE


class GrpcServer:
    """A server that listens. Made by `listening`."""

    def __init__(
        self, server: grpc.aio.Server, door: Door, calls: Calls, address: Address, *, front: Front | None, inode: int
    ) -> None:
        self._server, self._door, self._calls, self._front = server, door, calls, front
        self.address, self._inode = address, inode

    async def close(self, grace: float = 0.0) -> None:
        """Take nobody new, wait for what is under way, end what takes longer, and wait until that is over."""
        self._door.closing = True
        if self._front is not None:
            self._front.stop_accepting()
        if self.address.is_unix:
            withdraw(self.address.path, self._inode)
        await self._server.stop(grace or None)
        await self._calls.over()


@asynccontextmanager
async def listening(crib: SessionCrib, settings: Settings, *, home: Home, record: Record) -> AsyncIterator[GrpcServer]:
    """Serve a crib until the block ends. `record` keeps who was turned away.

    Into the home's own socket the kernel lets nobody but its user. Elsewhere others can knock, at an address of the
    machine browsers too: there a front looks at each connection, and the library listens behind it on a private socket.

    Raises:
        ToolcribError: it cannot listen there.
    """
    refusals, calls = Refusals(record), Calls(most=settings.queue)
    service = ToolService(
        crib, approvals=Approvals(home), rights=settings.rights, calls=calls, once=Once(home), refusals=refusals
    )
    door = Door(_methods(service, with_reflection=settings.reflection), token=settings.token, refusals=refusals)
    most = settings.queue + HEAD_ROOM
    server = grpc.aio.server(
        handlers=(door,),
        maximum_concurrent_rpcs=most,
        options=[
            ("grpc.max_receive_message_length", MESSAGE_BYTES),
            ("grpc.max_send_message_length", MESSAGE_BYTES),
            ("grpc.max_concurrent_streams", most),
            ("grpc.keepalive_time_ms", KEEPALIVE_MS),  # a caller whose machine died does not keep a tool running
            ("grpc.keepalive_timeout_ms", KEEPALIVE_MS),
            ("grpc.http2.bdp_probe", 0),  # it measures a network, and there is none
        ],
    )
    own, address, front, inode = own_folder(home), settings.address, None, 0
    with ExitStack() as drafts:
        inner = drafts.enter_context(private_socket(own))
        _bind(server, inner, settings.tls)
        if address.is_unix and os.path.dirname(address.path) == own:
            inode = publish(inner, address.path)
        else:
            if address.is_unix:
                outer = drafts.enter_context(private_socket(os.path.dirname(address.path)))
                listener = listen_unix(outer)
                inode = publish(outer, address.path)
            else:
                listener, address = listen_tcp(address)
            front = Front(listener, inner, secure=settings.tls is not None, told=_from_thread(refusals.note))
        serving = GrpcServer(server, door, calls, address, front=front, inode=inode)
        await server.start()
        if front is not None:
            front.start()
        try:
            yield serving
        finally:
            await serving.close()
            if front is not None:
                front.close()
                await asyncio.sleep(0)  # what it told last is heard now
            refusals.settle()


async def serve_grpc(
    crib: SessionCrib, settings: Settings, *, home: Home, record: Record, ready: Callable[[Address], None]
) -> signal.Signals:
    """Serve until a signal comes. Returns that signal; a second one ends at once what the first lets finish."""
    loop, came = asyncio.get_running_loop(), asyncio.Queue[signal.Signals]()
    async with listening(crib, settings, home=home, record=record) as server:
        with _signals(loop, came.put_nowait):
            ready(server.address)
            first = await came.get()
            draining = loop.create_task(server.close(DRAIN_SECONDS))
            again = loop.create_task(came.get())
            await asyncio.wait((draining, again), return_when=asyncio.FIRST_COMPLETED)
            again.cancel()
            if not draining.done():
                await server.close()
            await draining
    return first


def _methods(service: ToolService, *, with_reflection: bool) -> dict[str, grpc.RpcMethodHandler]:
    collected = Collected()
    pb_grpc.add_ToolServiceServicer_to_server(service, collected)  # type: ignore[no-untyped-call]  # generated
    state = health.aio.HealthServicer()
    state._server_status[SERVICE] = health_pb2.HealthCheckResponse.SERVING  # its own way to set this is a coroutine
    health_pb2_grpc.add_HealthServicer_to_server(state, collected)
    if with_reflection:
        names = (SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection_pb2_grpc.add_ServerReflectionServicer_to_server(reflection.aio.ReflectionServicer(names), collected)
    return collected.methods


def _bind(server: grpc.aio.Server, path: str, tls: Tls | None) -> None:
    mask = os.umask(0o177)  # from its first moment on, nobody else can open it
    try:
        if tls is None:
            server.add_insecure_port(f"unix:{path}")
        else:
            server.add_secure_port(f"unix:{path}", tls.credentials())
    except (RuntimeError, ValueError) as exc:
        raise ToolcribError(f"gRPC cannot listen: {exc}", code="CONFIG_INVALID") from None
    finally:
        os.umask(mask)


def _from_thread(note: Callable[[str, str], None]) -> Callable[[str, str], None]:
    """The same, for a thread that is not the event loop's."""
    loop = asyncio.get_running_loop()

    def told(why: str, peer: str) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(note, why, peer)

    return told


@contextmanager
def _signals(loop: asyncio.AbstractEventLoop, take: Callable[[signal.Signals], None]) -> Iterator[None]:
    """Only the main thread is ever asked."""
    here = threading.current_thread() is threading.main_thread()
    wanted = ending_signals() if here else ()
    for number in wanted:
        loop.add_signal_handler(number, partial(take, number))
    try:
        yield
    finally:
        for number in wanted:
            loop.remove_signal_handler(number)
