"""What the rows share: a scratch folder, compiled programs, homes with tools, and how long to go on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cached_property
from pathlib import Path

from bench.peers import peers_python
from bench.worker import Worker

ROOT = Path(__file__).parent.parent
NATIVE = Path(__file__).parent / "native"
INPUT = '{"name": "Bob"}'

BASH_TOOL = """#!/bin/bash
if [ "$1" = description ]; then
    echo '{"name": "NAME", "description": "Answer hello.", "input_schema": {"type": "object",' \\
        '"properties": {"name": {"type": "string"}}, "required": ["name"]}}'
    exit
fi
read -r input
echo hello
"""


class CompilerMissing(Exception):
    """There is no C compiler, and no floor can be built without one."""


class Scratch:
    """One run's folder and its means; everything in it is gone when the run ends."""

    def __init__(self, folder: Path, *, quick: bool) -> None:
        self.folder, self.quick = folder, quick

    def rounds(self, full: int) -> int:
        """How many rounds this run takes where a full one takes `full`."""
        return max(3, full // 5) if self.quick else full

    @cached_property
    def peers(self) -> Path:
        """The interpreter of the peers' venv, made at the first use."""
        return peers_python()

    def program(self, name: str) -> Path:
        """A program of `bench/native`, compiled once per run.

        Raises:
            CompilerMissing: neither cc nor what $CC names is here.
        """
        target = self.folder / name
        if not target.exists():
            compiler = shutil.which(os.environ.get("CC", "cc"))
            if compiler is None:
                raise CompilerMissing("no C compiler; install cc or name one in $CC")
            source = NATIVE / f"{name}.c"
            subprocess.run([compiler, "-O2", "-Wall", "-Wextra", "-o", str(target), str(source)], check=True)
        return target

    def home(self, name: str, *, config: str = "") -> Path:
        """A new $TOOLCRIB_HOME with an empty tool folder, where every tool may run unasked and unconfined."""
        home = self.folder / name
        (home / "tools").mkdir(parents=True)
        home.chmod(0o700)
        (home / "config.yaml").write_text(f"sandbox: off\napproval: {{default: preApproved}}\n{config}")
        (home / "config.yaml").chmod(0o600)
        return home

    def env(self, home: Path | None = None) -> dict[str, str]:
        """The environment for a measured process, the same for both sides of a comparison."""
        keep = {name: os.environ[name] for name in ("PATH", "HOME", "USER", "LANG") if name in os.environ}
        return keep | ({"TOOLCRIB_HOME": str(home)} if home else {})

    def workspace(self) -> Path:
        """An empty folder to work in, so that no project's own tools are found."""
        place = self.folder / "workspace"
        place.mkdir(exist_ok=True)
        return place

    def worker(self, name: str, module: str, *arguments: str, python: Path | str = sys.executable) -> Worker:
        """A worker of `bench/workers`, started and warm."""
        command = [str(python), "-m", f"bench.workers.{module}", *arguments]
        return Worker(name, command, cwd=ROOT, env=self.env())


def add_bash_tools(home: Path, names: list[str]) -> list[Path]:
    """Put small shell tools into a home; each describes itself by its own name."""
    paths = [home / "tools" / name for name in names]
    for path in paths:
        path.write_text(BASH_TOOL.replace("NAME", path.name))
        path.chmod(0o755)
    return paths
