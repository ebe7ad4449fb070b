"""PostgreSQL as a tool's database: which server, as whom, and what is refused before anything is sent."""

import asyncio
from collections.abc import Mapping
from importlib import import_module
from typing import NamedTuple, Protocol, cast

from ..core.context import Context
from ..core.errors import Refused, ToolError
from ..core.jsontext import JSON
from ..core.tool import Subject
from .declared import Place, Surroundings, Unfit
from .field import mapping, number
from .network import Network, Vetted
from .sql_statement import READING, WRITING, Statement, first_word, is_nested, words
from .template import Pieces, as_text, filled, names, pieces
from .url import BadUrl, parse_host

PORT = 5432
SECURE = ("require", "verify-full")
MODES = ("disable", "prefer", *SECURE)
REFUSED = frozenset(
    "pg_terminate_backend pg_cancel_backend pg_reload_conf pg_rotate_logfile pg_promote pg_switch_wal "
    "pg_create_restore_point pg_backup_start pg_backup_stop pg_read_file pg_read_binary_file pg_ls_dir pg_stat_file "
    "pg_file_write pg_file_unlink lo_import lo_export lo_unlink lo_create lo_from_bytea lo_put pg_notify set_config "
    "pg_logical_emit_message pg_create_logical_replication_slot pg_create_physical_replication_slot "
    "pg_drop_replication_slot pg_advisory_lock pg_advisory_xact_lock pg_sleep pg_sleep_for pg_sleep_until "
    "dblink dblink_exec dblink_connect dblink_connect_u dblink_send_query dblink_open "
    "query_to_xml query_to_xmlschema query_to_xml_and_xmlschema".upper().split()
)
"""Functions with effects that a read-only transaction does not stop; not for a statement that a caller writes."""


class Server(NamedTuple):
    """What a connection needs."""

    host: str
    port: int
    dbname: str
    user: str
    password: str
    sslmode: str


class PostgresQuery(NamedTuple):
    """One query on one server, in a transaction of its own."""

    host: str
    port: int
    dbname: str
    user: Pieces
    password: Pieces
    sslmode: str
    """Empty: `require`, or `prefer` for a host that the user's configuration lists."""
    url: str
    """The name of the secret that is the whole address; it leads to this host and port, or nowhere."""
    statement: Statement
    write: bool
    max_rows: int
    mark: str
    around: Surroundings
    network: Network

    @property
    def starts_process(self) -> bool:
        return False

    def digest(self) -> str:
        return self.mark

    async def run(self, args: Mapping[str, JSON], ctx: Context) -> JSON:
        text, values = self.statement.of(args), self.statement.values(args)
        engine = await _engine()
        server = self._of_url(ctx, engine) if self.url else self._of_fields(ctx)
        addresses = await self._vetted(server, ctx)
        return await engine.query(server, addresses, text, values, ctx, write=self.write, max_rows=self.max_rows)

    def faults(self, args: Mapping[str, JSON]) -> list[str]:
        """What of a statement that the caller wrote is refused at once."""
        text = self.statement.given(args).get(self.statement.by) if self.statement.by else None
        if not isinstance(text, str):
            return []
        allowed = WRITING if self.write else READING
        found = [] if first_word(text) in allowed else [f"the statement has to begin with {', '.join(sorted(allowed))}"]
        used = {word.rpartition(".")[2] for word in words(text)}
        if refused := sorted(used & REFUSED):
            found.append(f"{', '.join(refused).lower()} cannot be used here; write the statement without it")
        if is_nested(text):
            found.append("a comment holds no other comment; leave it out")
        if 'U&"' in text.upper():
            found.append('names are written plainly, not as U&"…"')
        return found

    def touches(self, args: Mapping[str, JSON]) -> list[Subject]:
        """Which host; and what is written is judged as this one call, whatever was said of the host before."""
        host = Subject("host", (self._subject(),))
        return [host, Subject()] if self.write else [host]

    def _subject(self) -> str:
        return f"{self._bracketed()}:{self.port}"

    def _bracketed(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host

    def described(self) -> JSON:
        """For a preview: no secret is looked up for it."""
        if self.url:
            return {"url": f"${{env:{self.url}}}", "host": self.host, "port": self.port}
        user = "".join(piece.text for piece in self.user)
        return {"postgres": {"host": self.host, "port": self.port, "dbname": self.dbname, "user": user}}

    def _of_fields(self, ctx: Context) -> Server:
        def secret(name: str) -> str:
            return self._secret(ctx, name)

        user, password = (filled(each, {}, secret, as_text) for each in (self.user, self.password))
        return self._with_mode(Server(self.host, self.port, self.dbname, user, password, self.sslmode))

    def _of_url(self, ctx: Context, engine: "Engine") -> Server:
        found = engine.server(self._secret(ctx, self.url), self.url)
        if (found.host, found.port) != (self.host, self.port):
            raise refused_setting(self.url, f"leads elsewhere than to {self._subject()}, which the tool declares")
        return self._with_mode(found)

    def _secret(self, ctx: Context, name: str) -> str:
        host = self._bracketed()
        return self.around.secret(ctx.tool_name, name, host=host, own=host)

    def _with_mode(self, server: Server) -> Server:
        listed = self.network.listed(server.host, server.port)
        return server._replace(sslmode=server.sslmode or ("prefer" if listed else "require"))

    async def _vetted(self, server: Server, ctx: Context) -> list[Vetted]:
        secure = server.sslmode in SECURE
        limit = ctx.limits.seconds
        return await self.network.vetted(server.host, server.port, secure=secure, ports=(PORT,), timeout=limit)


class Engine(Protocol):
    """What `sql_postgres` gives; written down here because that file is imported late."""

    def server(self, url: str, name: str) -> Server: ...

    async def query(
        self, server: Server, addresses: list[Vetted], text: str, values: list[JSON], ctx: Context,
        *, write: bool, max_rows: int,
    ) -> JSON: ...  # fmt: skip


def made(
    database: Mapping[str, JSON],
    statement: Statement,
    place: Place,
    around: Surroundings,
    *,
    write: bool,
    max_rows: int,
) -> PostgresQuery:
    """From `database: {postgres: {…}}` or `database: {url: "${env:NAME}", host: …}`. Raises: `Unfit`."""
    network = _network(around)
    if "url" in database:
        template = pieces(database["url"], "/database/url") if isinstance(database["url"], str) else ()
        if [piece.kind for piece in template] != ["env"]:
            raise Unfit("/database/url", "url is a secret as a whole, such as ${env:DATABASE_URL}; or use `postgres`")
        host, port = (
            _host(database.get("host"), "/database/host"),
            number(database, "port", PORT, 65535, above="/database"),
        )
        url = template[0].name
        return PostgresQuery(host, port, "", (), (), "", url, statement, write, max_rows, place.mark, around, network)
    above = "/database/postgres"
    about = mapping(database, "postgres", "host", "port", "dbname", "user", "password", "sslmode", above="/database")
    host, port = _host(about.get("host"), f"{above}/host"), number(about, "port", PORT, 65535, above=above)
    texts = {name: about.get(name, "") for name in ("dbname", "user", "password", "sslmode")}
    for name, value in texts.items():
        if not isinstance(value, str) or (not value and name in ("dbname", "user")) or "\0" in value:
            raise Unfit(f"{above}/{name}", f"{name} has to be text" if name in about else f"{name} is missing")
    if texts["sslmode"] not in ("", *MODES):
        raise Unfit(f"{above}/sslmode", f"sslmode is one of {', '.join(MODES)}; left out, require")
    user, password = (_secret_text(texts[name], f"{above}/{name}") for name in ("user", "password"))
    if "${" in texts["dbname"]:
        raise Unfit(f"{above}/dbname", "dbname is fixed text; a placeholder may stand in user and password")
    return PostgresQuery(
        host, port, texts["dbname"], user, password, texts["sslmode"], "",
        statement, write, max_rows, place.mark, around, network,
    )  # fmt: skip


async def _engine() -> Engine:
    try:
        engine = await asyncio.to_thread(import_module, f"{__package__}.sql_postgres")
    except ImportError as exc:
        message = f"PostgreSQL needs psycopg ({exc}); install it: pip install 'toolcrib[postgres]'"
        raise ToolError(message, code="ENGINE_NOT_AVAILABLE", before_effect=True) from None
    return cast(Engine, engine)


def _network(around: Surroundings) -> Network:
    try:
        return Network(around.allow)
    except ValueError as exc:
        raise Unfit("/database", f"`network: allow` in the configuration: {exc}") from None


def _host(value: JSON, pointer: str) -> str:
    try:
        return parse_host(value if isinstance(value, str) else "")
    except BadUrl as exc:
        raise Unfit(pointer, f"{exc}; it is fixed text, and no path of a socket") from None


def _secret_text(value: str, pointer: str) -> Pieces:
    template = pieces(value, pointer)
    if names(template).args:
        raise Unfit(pointer, "only a secret may stand here: ${env:NAME}")
    return template


def refused_setting(name: str, what: str) -> Refused:
    """For an address that asks for more than a tool may have."""
    return Refused(f"the secret {name} {what}", code="ENV_NOT_ALLOWED")
