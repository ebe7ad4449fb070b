"""What every source keeps to: `core.source.Source`."""

import asyncio
import os

import pytest

from toolcrib.backends.function import tool
from toolcrib.core.context import Host, new_id
from toolcrib.core.source import Loaded
from toolcrib.core.tool import NAME
from toolcrib.sandbox.processes import Processes
from toolcrib.sources.executable import ExecutableSource, Settings
from toolcrib.sources.isolated import IsolatedSource
from toolcrib.sources.manifest import ManifestSource
from toolcrib.sources.probe import Prober
from toolcrib.sources.probe_cache import ProbeCache
from toolcrib.sources.python import ModuleSource
from toolcrib.sources.wrap import Only, Prefixed, Ranked, Renamed
from toolcrib.testing import FixedSource, MemoryFiles

PROGRAM = """#!/bin/sh
echo '{"name": "greet", "description": "Greets.", "input_schema": {"type": "object"}}'
"""


@tool
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello, {name}!"


WRAPPED = {
    "only": lambda: Only(FixedSource(greet, rank=10), lambda name: True),
    "prefixed": lambda: Prefixed(FixedSource(greet, rank=10), "my_"),
    "renamed": lambda: Renamed(FixedSource(greet, rank=10), {"greet": "hello"}),
    "ranked": lambda: Ranked(FixedSource(greet, rank=20), 10),
}


@pytest.fixture(params=["fixed", "executable", "module", "module in a process", "manifest", *WRAPPED])
def source(request, tmp_path):
    if request.param in WRAPPED:
        yield WRAPPED[request.param]()
        return
    if request.param == "module in a process":
        (tmp_path / "tools.py").write_text('def greet(name: str) -> str:\n    """Greet somebody."""\n    return name\n')
        sandbox, kept = Processes(new_id()), dict[str, bytes]()
        host = Host(
            str(tmp_path), sandbox, lambda report, judged, session: MemoryFiles({}), {"PATH": os.environ["PATH"]}
        )
        about = {"cache": (kept.get, kept.__setitem__), "settings": Settings(), "kind": "module", "rank": 10}
        yield IsolatedSource(str(tmp_path / "tools.py"), ["greet"], host, **about)
        sandbox.close()
        return
    if request.param == "module":
        (tmp_path / "tools.py").write_text('def greet(name: str) -> str:\n    """Greet somebody."""\n    return name\n')
        yield ModuleSource(str(tmp_path / "tools.py"), ["greet"])
        return
    if request.param == "manifest":
        (tmp_path / "greet").mkdir()
        about = "name: greet\ndescription: Greets.\nversion: 1.0.0\nentrypoint: greet\n"
        (tmp_path / "greet" / "tool.yaml").write_text(about)
        (tmp_path / "greet" / "greet").write_text("#!/bin/sh\n")
        (tmp_path / "greet" / "greet").chmod(0o755)
        kept: dict[str, bytes] = {}
        yield ManifestSource(str(tmp_path), Settings(), (kept.get, kept.__setitem__), "/usr/bin:/bin", rank=10)
        return
    if request.param == "fixed":
        yield FixedSource(greet, rank=10)
        return
    (tmp_path / "greet").write_text(PROGRAM)
    (tmp_path / "greet").chmod(0o755)
    sandbox = Processes(identity := new_id())
    prober = Prober(sandbox, {"PATH": "/usr/bin:/bin"}, ("PATH",), marks=lambda: f"{identity}-1")
    kept = {}
    cache = ProbeCache(kept.get, kept.__setitem__)
    yield ExecutableSource(str(tmp_path), prober, cache, Settings(), rank=10)
    sandbox.close()


def test_it_has_a_rank(source) -> None:
    assert source.rank == 10


def test_it_loads_tools_with_names_digests_and_schemas(source) -> None:
    loaded = asyncio.run(source.load())
    assert isinstance(loaded, Loaded)
    (each,) = loaded.tools
    assert NAME.fullmatch(each.name) and each.description and each.origin
    assert each.digest.startswith("sha256:") and each.digest == each.backend.digest()
    assert each.input_schema["type"] == "object"
    assert loaded.problems == ()


def test_it_gives_the_very_same_object_when_nothing_changed(source) -> None:
    async def twice() -> bool:
        return await source.load() is await source.load()

    assert asyncio.run(twice())
