"""A gRPC server that greets: ours through the whole pipeline, or a bare one that answers with as many bytes.

Says where it listens on stdout, and ends with its stdin.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import grpc

import toolcrib
from toolcrib.serve.grpc import Settings, listening
from toolcrib.serve.grpc_listen import own_address, own_folder, parse_address
from toolcrib.serve.grpc_service import Rights
from toolcrib.serve.grpc_token import own_token
from toolcrib.serve.v1 import tool_service_pb2 as pb
from toolcrib.serve.v1 import tool_service_pb2_grpc as pb_grpc
from toolcrib.store.home import Home

METADATA = (
    '{"tool":"greet","version":"0.0.0","digest":"sha256:b62ee73f151e0814753ebfd966439ccb573653c65557ca009201ba318ad4a7be",'
    '"call_id":"tcd3e3b34484f2f04e-tc749cd6d9741e04ab-12345","execution_time_ms":0.157,"approval":"preApproved",'
    '"sandbox":null,"attempts":1}'
)

SESSION = {False: "bench-unix", True: "bench-tcp"}


@toolcrib.tool
async def greet(name: str, age: int | None = None) -> str:
    """Say hello to a person."""
    return f"Hello, {name}"


class Bare(pb_grpc.ToolServiceServicer):
    """What gRPC itself costs: a message in, a message out."""

    async def CallTool(self, request: pb.CallToolRequest, context: grpc.aio.ServicerContext) -> pb.ToolResult:
        return pb.ToolResult(success=True, data_json='"Hello, Bob"', metadata_json=METADATA, output="Hello, Bob")


async def bare(home: Home, *, tcp: bool) -> None:
    server = grpc.aio.server()
    pb_grpc.add_ToolServiceServicer_to_server(Bare(), server)
    target = "127.0.0.1:0" if tcp else f"unix:{own_folder(home)}/bare"
    port = server.add_insecure_port(target)
    target = f"127.0.0.1:{port}" if tcp else target
    await server.start()
    await until_stdin_ends(target)
    await server.stop(None)


async def ours(home: Home, workspace: Path, *, tcp: bool) -> None:
    address = parse_address("127.0.0.1:0", secure=False) if tcp else own_address(home)
    settings = Settings(address, own_token(home), Rights(upload=True))
    async with toolcrib.open(workspace=workspace, home=home.path, tools=[greet], asker="grpc") as crib:
        await crib.sessions.create(SESSION[tcp])
        async with listening(crib, settings, home=home, record=crib.audit.refused) as server:
            await until_stdin_ends(server.address.target)


async def until_stdin_ends(target: str) -> None:
    sys.stdout.write(target + "\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    kind, place, over_tcp = sys.argv[1], Home(sys.argv[2]), sys.argv[4] == "tcp"
    asyncio.run(bare(place, tcp=over_tcp) if kind == "bare" else ours(place, Path(sys.argv[3]), tcp=over_tcp))
