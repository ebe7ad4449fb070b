"""The page on HTTP tools is true: its examples send what it says they send."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from toolcrib.backends import http, http_client, http_shape, inflate, multipart, network
from toolcrib.core.jsontext import parse
from toolcrib.core.limits import ARTIFACT_BYTES

from .http_server import Seen, Vault, answered, calling, http_tool, serving

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "http-tools.md").read_text(encoding="utf-8")
NETWORK = (ROOT / "docs" / "network.md").read_text(encoding="utf-8")
TOOLS = {tool["name"]: tool for tool in map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))}
SENT = re.findall(
    r"```yaml\nname: (\w+)\n[^`]*```\n\nCalled with `(.*?)`, it sends\n\n```http\n(.*?)```", PAGE, re.DOTALL
)


def sent(root: Path, name: str, args: dict[str, Any]) -> Seen:
    """What a tool of the page sends, with a server of ours in the place of its host."""

    async def run() -> Seen:
        async with serving(answered("ok")) as server:
            fields = {key: value for key, value in TOOLS[name]["backend"].items() if key != "type"}
            fields["url"] = fields["url"].replace("https://api.example.com", server.url(""))
            vault = Vault(WEATHER_KEY="(the secret)")
            tool = http_tool(fields, TOOLS[name]["parameters"], allow=(server.netloc,), secret=vault)
            async with calling(root, tool) as call:
                result = await call(args)
                assert result.success, result.error
            return server.seen[0]

    return asyncio.run(run())


def test_there_are_examples() -> None:
    assert list(TOOLS) == ["weather", "create_ticket", "transcribe"]
    assert [name for name, _, _ in SENT] == ["weather", "create_ticket"]


@pytest.mark.parametrize(("name", "args", "shown"), SENT)
def test_an_example_sends_what_the_page_shows(tmp_path: Path, name: str, args: str, shown: str) -> None:
    """A9, A10, A11, A12, A13."""
    seen = sent(tmp_path, name, parse(args))
    head, _, body = shown.partition("\n\n")
    first, *headers = head.strip().split("\n")
    assert first == f"{seen.method} {seen.target} HTTP/1.1"
    assert headers[0] == "Host: api.example.com"
    assert headers[1:] == [f"{name}: {value}" for name, value in seen.headers[1:]]
    assert body.strip() == seen.body.decode()


def test_the_example_with_a_file_sends_it(tmp_path: Path) -> None:
    """A48."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "talk.mp3").write_bytes(b"sound")
    seen = sent(tmp_path, "transcribe", {"audio_file": "talk.mp3"})
    assert b'name="model"\r\n\r\nwhisper-1\r\n' in seen.body
    assert b'filename="talk.mp3"\r\nContent-Type: audio/mpeg\r\n\r\nsound\r\n' in seen.body


def test_the_page_names_every_field() -> None:
    table = PAGE.split("## The fields")[1].split("\n\n")[1]
    assert [re.findall(r"`(\w+)`", row)[0] for row in table.splitlines()[2:]] == list(http_shape.FIELDS)


def test_the_numbers_of_the_pages() -> None:
    assert (http._TIMEOUT_MS, http.SKILL_OUTPUT_BYTES) == (30_000, 102_400)
    assert "30000 unless" in PAGE and "102400 unless" in PAGE
    assert multipart.MOST_BYTES == 256 * 1024**2 and "256 MiB" in PAGE
    assert ARTIFACT_BYTES == 64 * 1024**2 and "64 MiB" in PAGE
    assert inflate._MOST_TIMES == 100 and "100 times" in PAGE
    assert http_client.MOST_REDIRECTS == 5 and "0 to 5" in PAGE
    assert network.WEB_PORTS == (80, 443) and "ports 80 and 443" in NETWORK


def test_the_entries_of_the_page_on_the_network_are_some() -> None:
    """A45: what the page says can be listed can be."""
    [line] = re.findall(r"^    (network: .*)$", NETWORK, re.MULTILINE)
    assert network.Network(tuple(yaml.safe_load(line)["network"]["allow"])).listed("127.0.0.1", 8080)
