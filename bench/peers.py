"""The peers' virtual environment: made when it is missing, never the project's own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
REQUIREMENTS = HERE / "peers.txt"
VENV = HERE / ".venv-peers"
PYTHON = VENV / "bin" / "python"
_STAMP = VENV / "installed.txt"
_NAMED = ("fastmcp", "langchain-core", "mcp", "openai-agents", "pydantic", "pydantic-ai-slim")
_VERSIONS = "import sys, json, importlib.metadata as m; print(json.dumps({n: m.version(n) for n in sys.argv[1:]}))"


class PeersUnavailable(Exception):
    """The peers could not be installed; rows that need them are skipped and say so."""


def peers_python() -> Path:
    """The interpreter that has the peers, after installing them if need be.

    Raises:
        PeersUnavailable: there is no package index within reach, or the install failed.
    """
    if not _installed():
        print("bench: installing the peers into bench/.venv-peers (once, about a minute)", file=sys.stderr)
        _run([sys.executable, "-m", "venv", "--clear", str(VENV)])
        _run([str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(REQUIREMENTS)])
        _STAMP.write_text(_wanted())
    return PYTHON


def peer_versions() -> dict[str, str]:
    """Name and version of every peer, for the foot of the report; nothing where there are no peers."""
    if not _installed():
        return {}
    versions: dict[str, str] = json.loads(subprocess.check_output([str(PYTHON), "-c", _VERSIONS, *_NAMED]))
    return versions


def _wanted() -> str:
    return f"{sys.version}\n{REQUIREMENTS.read_text()}"


def _installed() -> bool:
    """Whether a whole install of these very requirements, for this very Python, is there."""
    return _STAMP.exists() and _STAMP.read_text() == _wanted()


def _run(command: list[str]) -> None:
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        complaints = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        reason = complaints[-1] if complaints else f"{Path(command[0]).name} ended with {done.returncode}"
        raise PeersUnavailable(f"the peers could not be installed (offline?): {reason}")
