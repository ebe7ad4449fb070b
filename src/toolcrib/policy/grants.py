"""What a user lets single tools have beyond the rest: `grants.json` of the home. A changed tool loses it."""

import os
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..core.errors import ConfigError, InvalidJson
from ..core.jsontext import dump, parse
from ._alone import alone
from ._own_file import own_file
from .request import short_id

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
"""What a variable may be called; matched whole."""
ENV, NETWORK, RO, RW = "env", "network", "ro", "rw"
KINDS = (ENV, NETWORK, RO, RW)
"""A variable of the environment, a host (or `*`), a path to read, a path to write."""
_KEYS = {"id": str, "tool": str, "digest": str, "kind": str, "value": str, "at": float, "version": str | None}
_OLDER = {"id": str, "tool": str, "digest": str, "variable": str, "at": float, "version": str | None}
"""What files have that knew of nothing but variables."""
_PERHAPS = {"version"}


class Granted(NamedTuple):
    """One thing that one version of one tool may have. A built-in tool has it in every version: the digest is empty."""

    id: str
    tool: str
    """The tool's id."""
    digest: str
    kind: str
    value: str
    at: float
    version: str | None = None
    """What the tool called this version of itself; None where that was not kept."""


class Grants:
    """Read from the file each time; written whole, by one process at a time."""

    def __init__(self, path: str, write: Callable[[bytes], None]) -> None:
        self._path, self._write = path, write

    def grants_for(self, tool_id: str, digest: str, kind: str = ENV) -> tuple[str, ...]:
        """What this very version of a tool may have of a kind.

        Raises:
            ConfigError: the file is not what we write.
        """
        about = (tool_id, digest, kind)
        return tuple(each.value for each in self.all() if (each.tool, each.digest, each.kind) == about)

    def stamp(self) -> tuple[int, ...] | None:
        """Another one when the file is."""
        try:
            seen = os.stat(self._path)
        except OSError:
            return None
        return seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size

    def all(self) -> tuple[Granted, ...]:
        try:
            value = parse(own_file(self._path))
        except FileNotFoundError:
            return ()
        except InvalidJson as exc:
            raise ConfigError(f"{exc}; remove the file and grant anew", path=self._path) from None
        except OSError as exc:
            raise ConfigError(f"{exc.strerror}; see that you may read it", path=self._path) from None
        if not isinstance(value, dict) or set(value) != {"version", "grants"} or value["version"] != 1:
            raise ConfigError("not a file of grants; remove it and grant anew", path=self._path)
        rows = value["grants"]
        if not isinstance(rows, list) or not all(map(_is_grant, rows)):
            raise ConfigError("a grant in it is not one; remove the file and grant anew", path=self._path)
        return tuple(_granted(row) for row in rows)

    def add(
        self, tool_id: str, digest: str, values: Sequence[str], *, kind: str = ENV, version: str | None = None
    ) -> tuple[Granted, ...]:
        """Grant variables, or something of another kind, to a tool as it is now. What an older version had is gone."""
        with alone(self._path):  # what one takes back, another who writes does not bring back
            kept = [each for each in self.all() if each.tool != tool_id or each.digest == digest]
            had = {each.value for each in kept if each.tool == tool_id and each.kind == kind}
            fresh = [name for name in dict.fromkeys(values) if name not in had]
            made = [Granted(short_id(), tool_id, digest, kind, name, time.time(), version) for name in fresh]
            self._save((*kept, *made))
        about = (tool_id, kind)
        return tuple(each for each in (*kept, *made) if (each.tool, each.kind) == about and each.value in values)

    def remove(
        self,
        *,
        id: str | None = None,
        tool: str | None = None,
        kinds: Sequence[str] | None = None,
        values: Sequence[str] | None = None,
    ) -> int:
        """Take back one, all of one tool (or some of what it has), or all. Says how many."""
        if not os.path.exists(self._path):
            return 0
        with alone(self._path):
            held = self.all()
            kept = tuple(
                each
                for each in held
                if (id is not None and each.id != id)
                or (tool is not None and each.tool != tool)
                or (kinds is not None and each.kind not in kinds)
                or (values is not None and each.value not in values)
            )
            if len(kept) < len(held):
                self._save(kept)
        return len(held) - len(kept)

    def _save(self, rows: Sequence[Granted]) -> None:
        self._write(dump({"version": 1, "grants": [each._asdict() for each in rows]}))


def _granted(row: dict[str, Any]) -> Granted:
    if "variable" in row:
        row = {**{key: row[key] for key in row if key != "variable"}, "kind": ENV, "value": row["variable"]}
    return Granted(**row)


def _is_grant(row: Any) -> bool:
    if not isinstance(row, dict):
        return False
    keys = _OLDER if "variable" in row else _KEYS
    if not keys.keys() - _PERHAPS <= row.keys() <= keys.keys():
        return False
    if not all(isinstance(row[key], keys[key]) for key in row):
        return False
    kind, value = row.get("kind", ENV), str(row.get("value") or row.get("variable") or "")
    return kind in KINDS and bool(value) and "\0" not in value and (kind != ENV or bool(VARIABLE.fullmatch(value)))
