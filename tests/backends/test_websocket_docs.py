"""The page on WebSockets is true: its example runs, and its numbers are those of the code."""

import asyncio
import json
import re
from pathlib import Path

import pytest
import yaml

from toolcrib.backends import websocket, websocket_collect
from toolcrib.backends.declared import SKILL_OUTPUT_BYTES, Unfit

from .declaring import Counter, Secrets, declare

serve = pytest.importorskip("websockets.asyncio.server", reason="the extra `websocket` is not installed").serve
PAGE = (Path(__file__).parents[2] / "docs" / "websocket-tools.md").read_text(encoding="utf-8")


def test_the_example_sends_and_answers_what_the_page_says(tmp_path):
    """A49: with the host of the page put on loopback."""
    (example,) = map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
    args = json.loads(re.search(r"Called with `(.*?)`", PAGE)[1])
    sent, answer = map(json.loads, re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL))
    got = []

    async def speak(connection):
        got.extend([connection.request.path, connection.request.headers["Authorization"]])
        got.append(json.loads(await connection.recv()))
        for message in answer["messages"]:
            await connection.send(json.dumps(message))
        await connection.wait_closed()

    async def scene():
        async with serve(speak, "127.0.0.1", 0) as server:
            place = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
            fields = {key: value for key, value in example["backend"].items() if key != "type"}
            fields["url"] = fields["url"].replace("wss://stream.example.com", f"ws://{place}")
            properties, secrets = example["parameters"]["properties"], Secrets({"STREAM_KEY": "sesame"})
            tool = declare(websocket.make, fields, properties, allow=(place,), secrets=secrets)
            async with Counter(tmp_path).open(tool) as crib:
                return await crib.call("ask", args)

    assert asyncio.run(scene()).data == answer
    assert got == ["/v1/xetra?compact=1", "Bearer sesame", sent]


@pytest.mark.parametrize(
    ("heading", "fields"),
    [("## The fields", {"x": 1}), ("## Enough", {"url": "wss://a.example/", "collect": {"x": 1}})],
)
def test_the_page_names_every_field(heading, fields):
    table = PAGE.split(heading)[1].split("\n\n")[1]
    named = dict.fromkeys(re.findall(r"`(\w+)", row)[0] for row in table.splitlines()[2:])
    with pytest.raises(Unfit) as refused:
        declare(websocket.make, fields)
    assert str(refused.value).endswith(f"there are {', '.join(named)}")


def test_the_numbers_of_the_page():
    limits = websocket_collect.collect({})
    assert (limits.max_messages, limits.max_bytes, limits.idle) == (100, 1048576, 5.0) and SKILL_OUTPUT_BYTES == 102400
    assert all(f"| {each} |" in PAGE for each in (100, 1048576, 5000))
