"""What the tools of a project ask for, as far as it is written down. Nothing is started to find out."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ..backends.folder import MANIFEST
from ..backends.wishes import Wishes
from ..core.errors import ConfigError
from ..policy.project_files import Entry, read_below, unkey
from ..runtime.demand import in_words
from ..sources import wish
from ..sources.manifest_file import MOST_BYTES
from ..store.yamltext import parse
from ._project import MOST_SHOWN
from ._text import visible


def asked_by(project: str, found: Sequence[Entry]) -> dict[str, list[str]]:
    """By the path of each manifest that asks for something, what that is. Read from the very bytes that are shown."""
    manifests = [entry for entry in found if entry.kind != "link" and os.path.basename(entry.path) == MANIFEST]
    asked = {entry.path: _asked(project, entry) for entry in manifests[:MOST_SHOWN] if entry.size <= MOST_BYTES}
    return {path: words for path, words in asked.items() if words}


def show_asked(asked: Mapping[str, Sequence[str]]) -> None:
    if asked:
        sys.stderr.write("What their tools ask for, and get when you trust and approve them:\n")
    for path, words in asked.items():
        for each in words:
            sys.stderr.write(f"  {visible(path)}: {visible(each)}\n")


def _asked(project: str, entry: Entry) -> list[str]:
    try:
        data, digest = read_below(project, unkey(entry.path), MOST_BYTES)
        value = parse(data, entry.path).value if digest == entry.digest else None
    except (OSError, ConfigError):  # such a manifest is no tool, and gets nothing
        return []
    return list(in_words(_wishes(value))) if isinstance(value, dict) else []


def _wishes(value: Mapping[str, Any]) -> Wishes:
    """What is said of it as it should be; the rest is a fault, and such a tool is not offered."""
    network = value.get("network")
    try:
        hosts = wish.hosts(list(network) if isinstance(network, dict) else network or False)
        files = wish.files(value.get("files") or {})
    except ValueError:
        return Wishes()
    names = {
        key: tuple(map(str, value.get(key) or ()))
        for key in ("env", "secrets")
        if isinstance(value.get(key), list | dict)
    }
    return Wishes(network=hosts, ro=files.get("ro", ()), rw=files.get("rw", ()), **names)
