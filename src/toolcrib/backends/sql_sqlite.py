"""SQLite as a tool's database: a file of the workspace, or one that came with a skill."""

import hashlib
import os
import stat
import sys
from collections.abc import Mapping
from typing import NamedTuple

from ..core.context import Context
from ..core.errors import Refused, ToolError
from ..core.jsontext import JSON, dump
from ..core.limits import ARTIFACT_BYTES
from ..core.process import Command
from ..core.tool import Subject
from .declared import Place, Unfit
from .process import callers, file_digest, run_to_end
from .sql_rows import last_document, table
from .sql_statement import Statement
from .template import Pieces, as_text, filled, names, pieces

_WORKER = os.path.join(os.path.dirname(__file__), "sql_worker.py")
_PATIENCE_SECONDS = 5.0
"""With somebody else who is writing."""
_ROOM = 4096
"""Left in an artifact for the last line."""


class SqliteQuery(NamedTuple):
    """One query on one database. It runs in a process of its own (`sql_worker`)."""

    path: Pieces
    folder: str
    """Where the path counts from; empty for the workspace, whose guard then finds the file."""
    statement: Statement
    write: bool
    max_rows: int
    mark: str

    @property
    def starts_process(self) -> bool:
        return True

    def digest(self) -> str:
        if not self.folder:
            return self.mark
        return "sha256:" + hashlib.sha256(f"{self.mark} {file_digest(self._in_folder())}".encode()).hexdigest()

    async def run(self, args: Mapping[str, JSON], ctx: Context) -> JSON:
        task = {
            **self._found(args, ctx),
            "write": self.write,
            "statement": self.statement.of(args),
            "values": [_bound(each) for each in self.statement.values(args)],
            "max_rows": self.max_rows,
            "patience": min(_PATIENCE_SECONDS, ctx.limits.seconds / 4),
            "max_bytes": ARTIFACT_BYTES - _ROOM,
        }
        argv = (sys.executable, "-I", "-S", "-B", _WORKER)
        env = {"TOOLCRIB_CALL_ID": ctx.call_id, **callers(ctx.host.environ)}
        host = ctx.host
        command = Command(argv, ctx.cwd, ctx.call_id, env, dump(task), ctx.limits, host.artifacts, host.filters)
        done = await run_to_end(command, ctx)
        end = last_document(done.stdout)
        if not isinstance(end, dict) or not ("row_count" in end or "error" in end):
            message = f"the query ended without an answer (exit status {done.code}); the database may be damaged"
            raise ToolError(message, details={"exit_code": done.code, "stderr": done.stderr.text()})
        if "error" in end:
            kind = Refused if end["code"] == "APPROVAL_DENIED" else ToolError
            raise kind(f"{self.shown(args)}: {end['error']}", code=end["code"])
        return table(done.stdout, end, max_rows=self.max_rows)

    def touches(self, args: Mapping[str, JSON]) -> list[Subject]:
        """Which file; and the call as a whole, which is somebody else's tool, whatever was said of the file."""
        if self.folder:
            return [Subject()]
        return [Subject("write" if self.write else "read", (self.shown(args),)), Subject()]

    def shown(self, args: Mapping[str, JSON]) -> str:
        """The path, as the call says it."""
        return filled(self.path, self.statement.given(args), _no_secret, as_text)

    def _found(self, args: Mapping[str, JSON], ctx: Context) -> dict[str, JSON]:
        """The file, and how to know it again. It is not opened here: closing it would take away somebody's locks."""
        path = self._in_folder() if self.folder else self.shown(args)
        about = os.stat(path) if self.folder else ctx.workspace.stat(path)
        if not stat.S_ISREG(about.st_mode):
            raise ToolError(f"{path} is not a regular file; use the path of one", code="PATH_NOT_REGULAR")
        if not self.folder:
            owner = ctx.workspace.stat(".").st_uid
            if about.st_nlink > 1 and about.st_uid not in (owner, os.geteuid() or owner):
                message = f"{path} is a second name of a file that belongs to somebody else; copy the file instead"
                raise ToolError(message, code="PATH_OUTSIDE_WORKSPACE")
        absolute = os.path.join(self.folder or ctx.cwd, path)
        return {"path": absolute, "identity": [about.st_dev, about.st_ino]}

    def _in_folder(self) -> str:
        return os.path.join(self.folder, self.path[0].text)


def made(
    database: Mapping[str, JSON],
    known: Mapping[str, JSON],
    statement: Statement,
    place: Place,
    *,
    write: bool,
    max_rows: int,
) -> SqliteQuery:
    """From `database: {sqlite: path, from: workspace|skill}`. Raises: `Unfit`."""
    path = database["sqlite"]
    if not isinstance(path, str) or not path:
        raise Unfit("/database/sqlite", "sqlite has to be the path of a database")
    template, kind = pieces(path, "/database/sqlite"), database.get("from", "workspace")
    args, envs = names(template)
    if envs or [name for name in args if name not in known]:
        raise Unfit("/database/sqlite", "a path is made of text and of the tool's own parameters")
    if kind == "workspace":
        return SqliteQuery(template, "", statement, write, max_rows, place.mark)
    if kind != "skill":
        raise Unfit("/database/from", "from is workspace, or skill for a database that came with it")
    if args or write or not place.folder:
        raise Unfit(
            "/database/from", "a database that comes with a skill has a fixed path in its folder, and is only read"
        )
    folder = os.path.realpath(place.folder)
    if not os.path.realpath(os.path.join(folder, path)).startswith(folder + "/"):
        raise Unfit("/database/sqlite", f"{path} is not in the skill's folder")
    return SqliteQuery(template, folder, statement, write, max_rows, place.mark)


def _bound(value: JSON) -> JSON:
    """SQLite knows texts, numbers and NULL; a list or an object is bound as JSON, for `json_each`."""
    return dump(value).decode() if isinstance(value, list | dict) else value


def _no_secret(name: str) -> str:
    raise Refused(f"the secret {name} has no place in a path", code="ENV_NOT_ALLOWED")
