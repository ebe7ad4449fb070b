"""The pages on scripts and programs are true: their examples run, and their numbers are those of the code."""

import asyncio
import hashlib
import json
import re
from pathlib import Path

import pytest

from toolcrib.backends import archive_member, arguments, binary, script, script_variables
from toolcrib.backends.declared import SKILL_OUTPUT_BYTES, Place, Surroundings
from toolcrib.backends.declared_program import SECONDS
from toolcrib.backends.network import Network
from toolcrib.core.tool import Tool
from toolcrib.sources import download_fetch
from toolcrib.sources.downloads import DownloadCache
from toolcrib.sources.skill import skill_from_text
from toolcrib.store.blobs import Blobs
from toolcrib.store.home import Home

from .archives import honest_tar
from .http_server import answered, serving
from .programs import Bench, NoDownloads, no_secret

ROOT = Path(__file__).parents[2]
SCRIPTS, BINARIES = ((ROOT / "docs" / f"{name}-tools.md").read_text("utf-8") for name in ("script", "binary"))
EXAMPLE = re.compile(r"```yaml\n(- name: (\w+)\n.*?)```((?:\n\nCalled with `.*?` it prints `.*?`$)*)", re.DOTALL | re.M)
CALL = re.compile(r"Called with `(.*?)` it prints `(.*?)`$", re.MULTILINE)
CALLS = [
    (name, declared, args, printed)
    for declared, name, calls in EXAMPLE.findall(SCRIPTS) + EXAMPLE.findall(BINARIES)
    for args, printed in CALL.findall(calls)
]


def read(declared: str, downloads: object = None) -> Tool:
    """The tool of an example, as a skill has it."""
    text = f"---\nname: example\ndescription: An example.\ntools:\n{declared}---\n"
    skill = skill_from_text(text, Surroundings(no_secret, downloads or NoDownloads()))
    assert skill.problems == ()
    (tool,) = skill.tools
    return tool


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_there_are_examples_to_try() -> None:
    assert len(CALLS) == 5 and len(EXAMPLE.findall(BINARIES)) == 3


@pytest.mark.parametrize(("name", "declared", "args", "printed"), CALLS, ids=[each[0] for each in CALLS])
def test_an_example_prints_what_the_page_says(bench, name, declared, args, printed) -> None:
    (bench.workspace / "notes.txt").write_text("zero\none -two three\n")
    result = bench.call(read(declared), json.loads(args))
    assert result.data == f"{printed}\n", result.error


def test_the_long_text_of_the_page_is_counted(bench) -> None:
    (declared,) = (each for each, name, _ in EXAMPLE.findall(SCRIPTS) if name == "count_bytes")
    assert bench.call(read(declared), {"text": "x" * 3_000_000}).data == "3000000\n"


@pytest.mark.parametrize(("at", "name"), [(1, "hello"), (2, "hello_packed")])
def test_an_example_of_a_download_runs(bench, at, name) -> None:
    """With the server and the digest of this test in the place of those of the page."""
    declared, found, _ = EXAMPLE.findall(BINARIES)[at]
    program = b"#!/bin/sh\necho hello\n"
    data = program if name == "hello" else honest_tar({"hello-1.0/bin/hello": program})
    assert found == name

    async def story() -> None:
        async with serving(answered(data)) as server:
            here = declared.replace("https://tools.example.com", f"http://{server.netloc}")
            here = re.sub(r"[0-9a-f]{64}", hashlib.sha256(data).hexdigest(), here)
            home = Home(bench.home)
            tool = read(here, DownloadCache(home, Network((server.netloc,)), Blobs(home)))
            async with bench.open(tool) as crib:
                result = await crib.call(name, {})
            assert result.data == "hello\n", result.error

    asyncio.run(story())


def keys(page: str) -> set[str]:
    table = page.split("| key |")[1].split("\n\n")[0]
    return {key for row in table.splitlines()[2:] for key in re.findall(r"`(\w+)`", row.split("|")[1])}


def test_the_pages_name_every_key() -> None:
    assert keys(SCRIPTS) == {"interpreter", "script", "file", "timeout_ms", "max_output"}
    assert keys(BINARIES) == {"path", "url", "sha256", "member", "args_template", "timeout_ms", "max_output"}
    for make, page in ((script.make, SCRIPTS), (binary.make, BINARIES)):
        with pytest.raises(ValueError, match="there are") as raised:
            make({"zzzzzz": 1}, {}, Place("", ""), Surroundings(no_secret, NoDownloads()))
        assert set(str(raised.value).partition("there are ")[2].split(", ")) == keys(page)


def test_the_numbers_of_the_pages() -> None:
    assert SECONDS == 60 and all("60000 otherwise" in page for page in (SCRIPTS, BINARIES))
    assert SKILL_OUTPUT_BYTES == 102400 and all("102400 otherwise" in page for page in (SCRIPTS, BINARIES))
    assert arguments.LONGEST_WORD == 128 * 1024 and "128 KiB" in SCRIPTS
    assert script_variables.MOST_TOTAL == 1024**2 and "past 1 MiB" in SCRIPTS
    assert download_fetch.MOST_BYTES == 256 * 1024**2 and "256 MiB" in BINARIES
    assert download_fetch.MOST_SECONDS == 600 and "10 minutes" in BINARIES
    assert archive_member.MOST_MEMBERS == 10_000 and "10,000 members" in BINARIES
    assert archive_member.MOST_BYTES == 512 * 1024**2 and "512 MiB" in BINARIES
    assert archive_member.MOST_RATIO == 100 and "100 times" in BINARIES


def test_the_page_names_every_interpreter() -> None:
    first = SCRIPTS.split("```")[0]
    assert re.findall(r"`(\w+)`", first.partition("`interpreter` is")[2]) == list(script.INTERPRETERS)
