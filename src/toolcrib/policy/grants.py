"""What a user lets single tools have beyond the rest: `grants.json` of the home. A changed tool loses it."""

import fcntl
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from ..core.errors import ConfigError, InvalidJson
from ..core.jsontext import dump, parse
from .request import short_id

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
"""What a variable may be called; matched whole."""
_KEYS = {"id": str, "tool": str, "digest": str, "variable": str, "at": float, "version": str | None}
_NEW = {"version"}
"""What older files do not have."""


class Granted(NamedTuple):
    """One variable of the environment, for one version of one tool."""

    id: str
    tool: str
    """The tool's id."""
    digest: str
    variable: str
    at: float
    version: str | None = None
    """What the tool called this version of itself; None where that was not kept."""


class Grants:
    """Read from the file each time; written whole, by one process at a time."""

    def __init__(self, path: str, write: Callable[[bytes], None]) -> None:
        self._path, self._write = path, write

    def grants_for(self, tool_id: str, digest: str) -> tuple[str, ...]:
        """The variables that this very version of a tool may see.

        Raises:
            ConfigError: the file is not what we write.
        """
        return tuple(each.variable for each in self.all() if (each.tool, each.digest) == (tool_id, digest))

    def stamp(self) -> tuple[int, ...] | None:
        """Another one when the file is."""
        try:
            seen = os.stat(self._path)
        except OSError:
            return None
        return seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size

    def all(self) -> tuple[Granted, ...]:
        try:
            with open(self._path, "rb") as file:
                value = parse(file.read())
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
        return tuple(Granted(**row) for row in rows)

    def add(
        self, tool_id: str, digest: str, variables: Sequence[str], *, version: str | None = None
    ) -> tuple[Granted, ...]:
        """Grant variables to a tool as it is now. What an older version of it had is gone."""
        with self._alone():
            kept = [each for each in self.all() if each.tool != tool_id or each.digest == digest]
            had = {each.variable for each in kept if each.tool == tool_id}
            fresh = [name for name in dict.fromkeys(variables) if name not in had]
            made = [Granted(short_id(), tool_id, digest, name, time.time(), version) for name in fresh]
            self._save((*kept, *made))
        return tuple(each for each in (*kept, *made) if each.tool == tool_id and each.variable in variables)

    def remove(self, *, id: str | None = None, tool: str | None = None, variables: Sequence[str] | None = None) -> int:
        """Take back one, all of one tool (or some of its variables), or all. Says how many."""
        if not os.path.exists(self._path):
            return 0
        with self._alone():
            held = self.all()
            kept = tuple(
                each
                for each in held
                if (id is not None and each.id != id)
                or (tool is not None and each.tool != tool)
                or (variables is not None and each.variable not in variables)
            )
            if len(kept) < len(held):
                self._save(kept)
        return len(held) - len(kept)

    def _save(self, rows: Sequence[Granted]) -> None:
        self._write(dump({"version": 1, "grants": [each._asdict() for each in rows]}))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Two writers one after the other: what one takes back, the other does not bring back."""
        os.makedirs(os.path.dirname(self._path), 0o700, exist_ok=True)
        fd = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)


def _is_grant(row: Any) -> bool:
    if not isinstance(row, dict) or not set(_KEYS) - _NEW <= set(row) <= set(_KEYS):
        return False
    return all(isinstance(row[key], _KEYS[key]) for key in row) and bool(VARIABLE.fullmatch(row["variable"]))
