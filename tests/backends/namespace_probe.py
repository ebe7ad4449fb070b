"""Run in a network namespace where every address of the world is this machine: which of them does a request reach?

    python namespace_probe.py CASES.json START

START is an address that is listed, and that leads where a case says. Reads a list of `{"url", "resolve", "location"}`, sends each as an HTTP tool would, and prints the list of what was
reached for each: the addresses on which a connection came in.
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from http_server import declared

from toolcrib.backends.declared import Unfit
from toolcrib.backends.http import HttpBackend
from toolcrib.backends.network import Network
from toolcrib.core.errors import ToolError
from toolcrib.testing import fake_context

PORTS = (21, 22, 70, 80, 81, 90, 443, 666, 5432, 8000, 8080, 8443, 9000)


async def main(cases: list[dict[str, Any]], start: str) -> list[list[str]]:
    reached: list[str] = []
    location = ""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = writer.get_extra_info("sockname")[0]
        if address == start:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode())
        else:
            reached.append(address)
        writer.close()

    for host in ("0.0.0.0", "::"):
        for port in PORTS:
            await asyncio.start_server(serve, host, port)
    found = []
    for case in cases:
        answers = [list(each) for each in case.get("resolve", [["127.0.0.1"]])]

        async def resolve(host: str, port: int, answers: list[list[str]] = answers) -> Sequence[str]:
            return answers.pop(0) if len(answers) > 1 else answers[0]

        location = case.get("location", "")
        reached.clear()
        try:
            backend = declared({"url": case["url"]}).backend
            assert isinstance(backend, HttpBackend)
            backend = backend._replace(network=Network((start,), resolve=resolve))
            await asyncio.wait_for(backend.run({}, fake_context()), 5)
        except (Unfit, ToolError):
            pass
        await asyncio.sleep(0)
        found.append(sorted(set(reached)))
    return found


if __name__ == "__main__":
    json.dump(asyncio.run(main(json.loads(Path(sys.argv[1]).read_text()), sys.argv[2])), sys.stdout)
