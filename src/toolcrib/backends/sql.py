"""A database query as a tool: its statement is declared, values are bound, and it only reads unless it says so."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from ..core.context import Context
from ..core.jsontext import JSON
from ..core.limits import Limits
from ..core.tool import Capabilities, Hooks
from . import sql_sqlite
from .declared import SKILL_OUTPUT_BYTES, Declared, Place, Surroundings, Unfit, only, text_of
from .field import defaults, mapping, number
from .sql_rows import MAX_ROWS
from .sql_statement import READING, WRITING, Statement, first_word, statement

_MOST_ROWS = 1_000_000
_LONGEST_MS = 3_600_000
_KINDS = {"sqlite": ("from",), "postgres": (), "url": ("host", "port")}
"""What `database` is one of, and what may stand beside each."""
_PREVIEW = Callable[[Mapping[str, JSON], Context], Coroutine[Any, Any, JSON]]


def make(fields: Mapping[str, JSON], parameters: Mapping[str, JSON], place: Place, around: Surroundings) -> Declared:
    """From `database`, `query` and, where they are said, `write`, `max_rows` and `timeout_ms`. Raises: `Unfit`."""
    only(fields, "database", "query", "write", "max_rows", "timeout_ms", "max_output")
    beside = [name for names in _KINDS.values() for name in names]
    database, write = mapping(fields, "database", *_KINDS, *beside), fields.get("write", False)
    kinds = [kind for kind in _KINDS if kind in database]
    if len(kinds) != 1 or set(database) - {kinds[0], *_KINDS[kinds[0]]}:
        raise Unfit(
            "/database", "database is {sqlite: path}, {postgres: {host, dbname, user}} or {url: secret, host: host}"
        )
    if not isinstance(write, bool):
        raise Unfit("/write", "write is true or false; left out, the tool only reads")
    known = parameters.get("properties") or {}
    query, max_rows = text_of(fields, "query"), number(fields, "max_rows", MAX_ROWS, _MOST_ROWS)
    limits = Limits(
        number(fields, "timeout_ms", 30_000, _LONGEST_MS) / 1000,
        number(fields, "max_output", SKILL_OUTPUT_BYTES, 1024 * 1024),
    )
    if "sqlite" in database:
        found = statement(query, known, mark="?")._replace(defaults=defaults(parameters))
        backend = sql_sqlite.made(database, known, found, place, write=write, max_rows=max_rows)
        claims = Capabilities(writes_files=write, idempotent=not write)
        hooks = Hooks(dry_run=_preview(found, {"sqlite": database["sqlite"]}, write=write), touches=backend.touches)
        return Declared(backend, limits, claims, hooks)
    from . import sql_connection  # late: most tools are of another kind

    found = statement(query, known, mark="$")._replace(defaults=defaults(parameters))
    allowed = WRITING if write else READING
    if not found.by and first_word(found.text) not in allowed:
        raise Unfit("/query", f"the query has to begin with one of {', '.join(sorted(allowed))}")
    server = sql_connection.made(database, found, place, around, write=write, max_rows=max_rows)
    claims = Capabilities(writes_files=write, accesses_network=True, idempotent=not write)
    hooks = Hooks(
        validate=server.faults,
        dry_run=_preview(found, server.described(), write=write),
        touches=server.touches,
    )
    return Declared(server, limits, claims, hooks)


def _preview(found: Statement, database: JSON, *, write: bool) -> _PREVIEW:
    async def preview(args: Mapping[str, JSON], ctx: Context) -> JSON:
        bound = dict(zip(found.names, found.values(args), strict=True))
        return {"dry_run": True, "database": database, "statement": found.of(args), "parameters": bound, "write": write}

    return preview
