"""Which project directories the user trusts. Before that, nothing in them is run, imported or interpreted."""

import os
import time
from collections.abc import Callable
from typing import Any

from ..core.errors import ConfigError, InvalidJson
from ..core.jsontext import dump, parse

PROJECT_DIR = ".toolcrib"


class Trust:
    """The user's word about projects, in `trust.json` of the home. A project has no vote on its own trust."""

    def __init__(self, path: str, write: Callable[[bytes], None]) -> None:
        self._path, self._write = path, write

    def trusts(self, project: str) -> bool:
        """A record counts for the very directory it was made for, not for another that came to its place."""
        record = self._read().get(os.path.realpath(project))
        return record is not None and record.get("identity") == _identity(project)

    def add(self, project: str) -> None:
        records = self._read()
        records[os.path.realpath(project)] = {"identity": _identity(project), "at": time.time()}
        self._save(records)

    def remove(self, project: str) -> bool:
        """Says whether it was trusted."""
        records = self._read()
        found = records.pop(os.path.realpath(project), None) is not None
        if found:
            self._save(records)
        return found

    def _read(self) -> dict[str, Any]:
        try:
            with open(self._path, "rb") as file:
                value = parse(file.read())
        except FileNotFoundError:
            return {}
        except InvalidJson as exc:
            raise ConfigError(f"{exc}; remove the file and trust your projects anew", path=self._path) from None
        if not isinstance(value, dict) or not isinstance(value.get("projects"), dict):
            raise ConfigError("not a trust file; remove it and trust your projects anew", path=self._path)
        return dict(value["projects"])

    def _save(self, records: dict[str, Any]) -> None:
        self._write(dump({"version": 1, "projects": records}))


def _identity(project: str) -> list[int]:
    seen = os.stat(project)
    return [seen.st_dev, seen.st_ino]
