"""A source tree of some size, the same for everybody: Django's, as the package index has it."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

RELEASE = "Django==5.2"
NAME = "Django-5.2"


class TreeUnavailable(RuntimeError):
    """It could not be fetched; rows that need it are skipped and say so."""


def source_tree(folder: Path) -> Path:
    """The unpacked tree, fetched into `folder` at the first use.

    Raises:
        TreeUnavailable: there is no package index within reach.
    """
    tree = folder / NAME
    if not tree.exists():
        options = ["--no-deps", "--no-binary", ":all:", "--quiet", "--disable-pip-version-check"]
        command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), RELEASE]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        archives = sorted(folder.glob("[Dd]jango-*.tar.gz"))
        if not archives:
            reason = done.stderr.strip().splitlines()[-1:] or ["pip said nothing"]
            raise TreeUnavailable(f"{RELEASE} could not be fetched (offline?): {reason[0]}")
        with tarfile.open(archives[0]) as archive:
            archive.extractall(folder, filter="data")
        unpacked = folder / archives[0].name.removesuffix(".tar.gz")
        if unpacked != tree:
            unpacked.rename(tree)
    return tree
