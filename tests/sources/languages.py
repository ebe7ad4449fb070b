"""Which languages this machine can run."""

import shutil
import subprocess

import pytest

RUNS = {
    "python": ("python3", "--version"),
    "bash": ("bash", "--version"),
    "node": ("node", "--version"),
    "go": ("go", "version"),
    "rust": ("rustc", "--version"),
}


def need(language: str) -> None:
    """Skip the test where the language is not installed, or only its name is."""
    words = RUNS[language]
    if shutil.which(words[0]) is None or subprocess.run(words, capture_output=True, timeout=60).returncode:
        pytest.skip(f"{words[0]} is not installed")
