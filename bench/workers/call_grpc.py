"""One unary call after the other, to a server that is started for it: a bare one, or ours."""

from __future__ import annotations

import subprocess
import sys

import grpc

from bench.workers.batch import serve_sync
from toolcrib.serve.grpc_token import own_token
from toolcrib.serve.v1 import tool_service_pb2 as pb
from toolcrib.serve.v1 import tool_service_pb2_grpc as pb_grpc
from toolcrib.store.home import Home


def main(kind: str, home: str, workspace: str, transport: str) -> None:
    command = [sys.executable, "-m", "bench.workers.serve_grpc", kind, home, workspace, transport]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin and server.stdout
        target = server.stdout.readline().strip()
        metadata = (("authorization", f"Bearer {own_token(Home(home))}"),)
        session = f"bench-{transport}"
        request = pb.CallToolRequest(session_id=session, tool_name="greet", arguments_json='{"name":"Bob","age":25}')
        with grpc.insecure_channel(target) as channel:
            ask = pb_grpc.ToolServiceStub(channel).CallTool

            def call() -> None:
                if ask(request, metadata=metadata).output != "Hello, Bob":
                    raise SystemExit(f"{kind} gave a wrong answer")

            serve_sync(call)
        server.stdin.close()


main(*sys.argv[1:5])
