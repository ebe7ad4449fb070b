"""A place for a load to run in, and what it takes to run one."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from toolcrib.sandbox.scratch import remove_tree

FOLDER = Path(__file__).parent
LONG_SECONDS = 3600


@pytest.fixture(autouse=True)
def _on_linux() -> None:
    if sys.platform != "linux":
        pytest.skip("what is left behind is looked for in /proc, which is not here")


class Place(NamedTuple):
    home: Path
    workspace: Path
    tmp: Path
    """The temporary directory of whatever runs here, and of nothing else."""

    def run(self, script: str, *args: object, seconds: float = LONG_SECONDS) -> Any:
        """What a program of this folder found, which it prints as JSON."""
        words = [sys.executable, str(FOLDER / script), *map(str, args)]
        env = {key: os.environ[key] for key in ("PATH", "PYTHONPATH", "LANG", "LC_ALL") if key in os.environ}
        env["PATH"] = f"{os.path.dirname(sys.executable)}{os.pathsep}{env['PATH']}"  # where our own Python is found
        env |= {"TMPDIR": str(self.tmp), "HOME": str(self.tmp.parent), "TOOLCRIB_HOME": str(self.home)}
        done = subprocess.run(words, env=env, cwd=self.workspace, capture_output=True, text=True, timeout=seconds)
        assert done.returncode == 0, done.stderr[-4000:]
        return json.loads(done.stdout)


@pytest.fixture
def place() -> Iterator[Place]:
    """The path of a socket is short, and pytest's own directories are long."""
    root = Path(tempfile.mkdtemp(prefix="tcl")).resolve()
    found = Place(root / "home", root / "work", root / "tmp")
    for each in found:
        each.mkdir(mode=0o700)
    yield found
    remove_tree(str(root))  # copies of programs lie in folders that nobody may write to


@pytest.fixture
def needs_door() -> Callable[[str], None]:
    """Skips the test where a door cannot be built."""

    def look(door: str) -> None:
        if door == "grpc" and find_spec("grpc") is None:
            pytest.skip("gRPC is not installed: pip install 'toolcrib[grpc]'")

    return look


@pytest.fixture
def needs_tier() -> Callable[[str], None]:
    """Skips the test where a tier of the sandbox does not hold."""

    def look(tier: str) -> None:
        if tier in ("landlock", "bubblewrap") and (why := import_module(f"toolcrib.sandbox.{tier}").canary()):
            pytest.skip(f"{tier} does not hold here: {why}")

    return look
