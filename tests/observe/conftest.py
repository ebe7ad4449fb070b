"""A record to look at, and programs that write to it."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import toolcrib
from toolcrib.core.jsontext import parse


@toolcrib.tool(name="note", input_schema={"type": "object", "properties": {"text": {"type": "string"}}})
async def note(text: str = "") -> str:
    """Give the text back."""
    return text


@pytest.fixture
def logs(home: Path) -> Path:
    """The directory of the record."""
    return home / "audit"


@pytest.fixture
def record(home: Path, workspace: Path) -> Callable[..., list[toolcrib.Result]]:
    """`record(("note", {...}), ...)` makes these calls in one crib and returns their results."""

    def calls(*wanted: tuple[str, object]) -> list[toolcrib.Result]:
        async def go() -> list[toolcrib.Result]:
            async with toolcrib.open(home=home, workspace=workspace, tools=[note], approver=toolcrib.SaysYes()) as crib:
                return [await crib.call(name, args) for name, args in wanted]

        return asyncio.run(go())

    return calls


@pytest.fixture
def lines(logs: Path) -> Callable[[], list[dict]]:
    """Every line of the record, parsed."""
    return lambda: [parse(line) for file in sorted(logs.glob("*.jsonl")) for line in file.read_bytes().splitlines()]


@pytest.fixture
def script(home: Path, workspace: Path, tmp_path: Path) -> Callable[..., subprocess.Popen]:
    """`script("write.py", ...)` starts a program of this directory, with the home and the workspace as its words."""

    def start(name: str, *words: object, before: tuple[str, ...] = ()) -> subprocess.Popen:
        program = [sys.executable, str(Path(__file__).parent / name), str(home), str(workspace), *map(str, words)]
        return subprocess.Popen(
            [*before, *program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=workspace,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path)},
        )

    return start


@pytest.fixture
def answer() -> Callable[[subprocess.Popen], dict]:
    """The one JSON document that such a program prints."""

    def read(process: subprocess.Popen) -> dict:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        return parse(out)

    return read
