"""What every backend keeps to: `core.tool.Backend`."""

import asyncio

import pytest

from toolcrib.backends.folder import FolderBackend, read_folder
from toolcrib.backends.function import tool
from toolcrib.backends.process import ProcessBackend
from toolcrib.backends.serve import ServeBackend
from toolcrib.core.errors import ToolError
from toolcrib.core.process import Captured, Completed
from toolcrib.testing import ScriptedSandbox, fake_context


@tool
async def speak(loud: bool = False) -> str:
    """Say hello."""
    if loud:
        raise ToolError("too loud; speak softly")
    return "hello"


@tool
def speak_at_once(loud: bool = False) -> str:
    """Say hello."""
    if loud:
        raise ToolError("too loud; speak softly")
    return "hello"


FAILED = Completed(1, Captured(), Captured(b'{"error": "too loud; speak softly"}', total=35))


@pytest.fixture(params=["process", "serve", "folder", "async function", "function"])
def made(request, tmp_path):
    """A backend, a context in which it succeeds, and one in which it fails."""
    if request.param == "folder":
        (tmp_path / "speak").write_text("#!/bin/sh\n")
        content = read_folder(str(tmp_path))
        failed = Completed(1, Captured(), Captured(b"too loud; speak softly", total=22))
        ran = ScriptedSandbox(Completed(0, Captured(b"hello", total=5), Captured()))
        return (
            FolderBackend(str(tmp_path), "speak", ("loud",), content.listing, content.digest),
            fake_context(sandbox=ran),
            fake_context(sandbox=ScriptedSandbox(failed)),
        )
    if request.param in ("process", "serve"):
        (tmp_path / "speak").write_text("#!/bin/sh\n")
        (tmp_path / "speak").chmod(0o755)
        ran = ScriptedSandbox(Completed(0, Captured(b"hello", total=5), Captured()))
        runs = ProcessBackend(str(tmp_path / "speak"))
        return (
            runs if request.param == "process" else ServeBackend(runs, {}),  # this sandbox keeps nothing running
            fake_context(sandbox=ran),
            fake_context(sandbox=ScriptedSandbox(FAILED)),
        )
    backend = (speak if request.param == "async function" else speak_at_once).backend
    return backend, fake_context(), fake_context()


def test_it_says_whether_it_starts_a_process(made) -> None:
    assert made[0].starts_process is isinstance(made[0], ProcessBackend | ServeBackend | FolderBackend)


def test_it_answers(made) -> None:
    backend, ctx, _ = made
    assert asyncio.run(_awaited(backend.run({}, ctx))) == "hello"


def test_it_raises_what_the_model_should_read(made) -> None:
    backend, _, ctx = made
    with pytest.raises(ToolError, match="too loud; speak softly"):
        asyncio.run(_awaited(backend.run({"loud": True}, ctx)))


def test_its_digest_stays_the_same_while_it_does(made) -> None:
    first = made[0].digest()
    assert first.startswith("sha256:") and len(first) == 71
    assert made[0].digest() == first


async def _awaited(work):
    return await work
