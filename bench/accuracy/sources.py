"""The public sources that are looked at, fetched from the package indexes as their projects publish them."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """One project's source distribution, and the part of it that is compared."""

    title: str
    language: str
    index: str
    """`pip` or `npm`."""
    package: str
    version: str
    part: str
    """Below the folder that unpacking makes: what is compared."""
    endings: tuple[str, ...]
    used_in: str = ""
    """Below that part: where references are looked for, when not in all of it."""
    conditions: tuple[str, ...] = ()
    """Of npm's `exports`: under which the package offers its source instead of what was built from it."""


SOURCES = (
    Source("Django", "python", "pip", "Django", "5.2", "Django-5.2", (".py",), "django"),
    Source("zod", "typescript", "npm", "zod", "4.6.7", "package/src", (".ts", ".tsx"), "", ("@zod/source",)),
    Source("cryptography", "rust", "pip", "cryptography", "42.0.8", "cryptography-42.0.8/src/rust", (".rs",)),
)
TYPESCRIPT = Source("TypeScript", "javascript", "npm", "typescript", "5.9.3", "package", ())


class Unfetched(Exception):
    """A source could not be had from its index."""


def fetched(source: Source, folder: Path) -> Path:
    """The folder that holds the part of a source which is compared, fetched and unpacked unless it is there.

    Raises:
        Unfetched: the index did not give it.
    """
    home = folder / f"{source.index}-{source.package}-{source.version}"
    if not home.is_dir():
        archive = _archive(source, folder)
        home.mkdir(parents=True)
        with tarfile.open(archive) as packed:
            packed.extractall(home, filter="data")
        archive.unlink()
    return home / source.part


def _archive(source: Source, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    if source.index == "pip":
        wanted = f"{source.package}=={source.version}"
        options = ["download", "--quiet", "--no-deps", "--no-binary", source.package, "--dest", "."]
        command = [sys.executable, "-m", "pip", *options, wanted]
    else:
        command = ["npm", "pack", "--silent", f"{source.package}@{source.version}"]
    before = set(folder.iterdir())
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise Unfetched(f"{source.title} {source.version}: {exc}") from exc
    found = [file for file in folder.iterdir() if file not in before and file.name.endswith((".tar.gz", ".tgz"))]
    if done.returncode or not found:
        raise Unfetched(f"{source.title} {source.version}: {done.stderr.strip()[-300:]}")
    return found[0]


def files(source: Source, root: Path) -> list[Path]:
    """The files that are compared, in a stable order."""
    return sorted(file for file in root.rglob("*") if file.suffix in source.endings and file.is_file())
