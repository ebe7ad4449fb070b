"""PostgreSQL as a tool's database: a real server, started for these tests from the system's own programs."""

import asyncio
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
import tracemalloc
from glob import glob
from pathlib import Path
from tempfile import mkdtemp

import pytest

from toolcrib.backends import sql
from toolcrib.testing import ScriptedApprover

from .declaring import TEXT, Counter, Secrets, declare, hostile_texts

psycopg = pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
INT = {"type": "integer"}
SECRET = "the-password-of-the-reader"


class Server:
    """A server of one's own: its port, and a way in as the one who may do everything."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.root = psycopg.connect(host="127.0.0.1", port=port, user="root", dbname="postgres", autocommit=True)

    def ask(self, text: str) -> list[tuple]:
        return self.root.execute(text).fetchall()

    def sessions(self) -> int:
        return self.ask("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'toolcrib'")[0][0]

    def left_alone(self) -> bool:
        """Waits for the server to notice that somebody hung up."""
        until = time.monotonic() + 10
        while self.sessions():
            assert time.monotonic() < until, "a session is still there"
        return True

    def state(self) -> list[tuple]:
        return [self.ask("SELECT * FROM kept ORDER BY id"), self.ask("SELECT relname FROM pg_class WHERE relkind IN ('r','S','v') AND relnamespace = 'public'::regnamespace ORDER BY 1"),
                self.ask("SELECT last_value, is_called FROM counting"), self.ask("SELECT count(*) FROM pg_largeobject_metadata")]  # fmt: skip


@pytest.fixture(scope="session")
def server():
    places = [*sorted(glob("/usr/lib/postgresql/*/bin"), reverse=True), os.path.dirname(shutil.which("initdb") or "")]
    programs = next((place for place in places if place and os.path.exists(f"{place}/postgres")), None)
    if programs is None:
        pytest.skip("there is no PostgreSQL server here; install Debian's package postgresql")
    as_whom = {}
    if os.geteuid() == 0:  # which it refuses to run as
        person = pwd.getpwnam("nobody")
        as_whom = {"user": person.pw_uid, "group": person.pw_gid, "extra_groups": []}
    place = mkdtemp()  # not below `tmp_path`, which whoever it runs as could not enter
    os.chmod(place, 0o777)
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
    data = f"{place}/data"
    make = [f"{programs}/initdb", "-D", data, "-U", "root", "-A", "trust", "-N", "-E", "UTF8", "--locale=C"]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL, cwd="/", env=env, **as_whom)
    rules = "host all reader 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n"
    Path(data, "pg_hba.conf").write_text(rules)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [f"{programs}/postgres", "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", ""]
    words += ["-c", "fsync=off", "-c", "shared_buffers=16MB", "-c", "autovacuum=off", "-c", "log_min_messages=panic"]
    process = subprocess.Popen(words, cwd="/", env=env, stderr=subprocess.DEVNULL, **as_whom)
    server = None
    try:
        server = _ready(port, process)
        yield server
    finally:
        if server is not None:
            server.root.close()
        process.send_signal(signal.SIGQUIT)  # at once, whoever is connected
        process.wait(20)
        shutil.rmtree(place, ignore_errors=True)


def _ready(port, process):
    until = time.monotonic() + 30
    while True:
        try:
            server = Server(port)
            break
        except psycopg.OperationalError:
            assert process.poll() is None and time.monotonic() < until, "the server did not start"
    server.root.execute(
        "CREATE TABLE kept (id int PRIMARY KEY, name text); INSERT INTO kept VALUES (1, 'ann'), (2, 'bob');"
        "CREATE SEQUENCE counting; CREATE TABLE notes (id serial, text text);"
        f"CREATE ROLE reader LOGIN PASSWORD '{SECRET}'; GRANT SELECT ON kept TO reader"
    )
    return server


@pytest.fixture
def counter(tmp_path):
    return Counter(tmp_path)


def offer(
    server,
    query,
    properties=None,
    *,
    user="root",
    listed=True,
    secrets=None,
    database=None,
    password="",
    mode="",
    **fields,
):
    about = {"host": "127.0.0.1", "port": server.port, "dbname": "postgres", "user": user}
    about |= {"password": password} if password else {}
    about |= {"sslmode": mode} if mode else {}
    fields = {"database": database or {"postgres": about}, "query": query, **fields}
    allow = (f"127.0.0.1:{server.port}",) if listed else ()
    return declare(sql.make, fields, properties, allow=allow, secrets=secrets)


def free(server, **about):
    return offer(server, "${sql}", {"sql": TEXT}, **about)


def test_a_query_gives_columns_and_rows(server, counter):
    """A50: bound values, a list as an array."""
    tool = offer(server, "SELECT id, name FROM kept WHERE id = ANY(:ids) AND name <> ${not} ORDER BY id",
                 {"ids": {"type": "array"}, "not": TEXT})  # fmt: skip
    result = counter.call(tool, {"ids": [1, 2], "not": "bob"})
    assert result.data == {"columns": ["id", "name"], "rows": [[1, "ann"]], "row_count": 1, "truncated": False}
    assert server.left_alone()


TYPES = {
    "1.50::numeric": "1.50", "'NaN'::numeric": "NaN", "'NaN'::float8": "NaN", "'-inf'::float8": "-Infinity", "1.5::float8": 1.5,
    "true": True, "NULL::int": None, "9223372036854775807": 9223372036854775807, "'2024-02-29'::date": "2024-02-29",
    "'infinity'::date": "infinity", "'4000-01-01 BC'::date": "4000-01-01 BC", "'10:00'::time": "10:00:00",
    "'2024-01-01 10:00:00'::timestamp": "2024-01-01 10:00:00", "'1 day'::interval": "P1D",
    "'\\x00ff'::bytea": {"base64": "AP8="}, "'{\"a\": [1, 2.5, null]}'::jsonb": {"a": [1, 2.5, None]},
    "'12345678901234567890'::json": 12345678901234567890, "ARRAY[1, 2]": [1, 2], "ARRAY['2024-01-01'::date]": ["2024-01-01"],
    "ROW(1, 'a')": ["1", "a"], "'[1,2)'::int4range": "[1,2)", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid":
    "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "'10.0.0.0/8'::cidr": "10.0.0.0/8", "'x'::\"char\"": "x", "'<a/>'::xml": "<a/>",
}  # fmt: skip


def test_every_type_is_written_down(server, counter):
    tool = offer(server, "SELECT " + ", ".join(TYPES))
    assert dict(zip(TYPES, counter.call(tool).data["rows"][0], strict=True)) == TYPES


WRITES = [
    "INSERT INTO kept VALUES (9, 'x')", "UPDATE kept SET name = 'x'", "DELETE FROM kept", "DROP TABLE kept", "TRUNCATE kept",
    "CREATE TABLE made (a int)", "ALTER TABLE kept ADD z int", "SELECT 1 AS id INTO made", "CREATE TEMP TABLE made (a int)",
    "WITH x AS (DELETE FROM kept RETURNING *) SELECT * FROM x", "SELECT nextval('counting')", "SELECT setval('counting', 9)",
    "SELECT * FROM kept FOR UPDATE", "SELECT 1; DELETE FROM kept", "SELECT 1; COMMIT; DELETE FROM kept", "COMMIT", "ROLLBACK; DELETE FROM kept",
    "COPY kept TO STDOUT", "COPY kept FROM STDIN", "COPY (SELECT 1) TO PROGRAM 'touch /tmp/made'", "COPY kept TO '/tmp/made'",
    "SET TRANSACTION READ WRITE", "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE", "RESET ALL", "DO $$ BEGIN DELETE FROM kept; END $$",
    "CALL made()", "VACUUM", "LOCK TABLE kept", "LISTEN made", "NOTIFY made", "PREPARE made AS DELETE FROM kept", "EXPLAIN ANALYZE DELETE FROM kept",
    "SELECT set_config('transaction_read_only', 'off', false)", 'SELECT "pg_terminate_backend"(1)', "SELECT pg_catalog.pg_read_file('/etc/passwd')",
    'SELECT U&"pg\\005fsleep"(9)', "SELECT lo_export(1, '/tmp/made')", "SELECT pg_sleep(60)", "SELECT $é$ ' $é$, pg_sleep(60), $é$ ' $é$", "SELECT query_to_xml('DELETE FROM kept', true, true, '')",
    "(DELETE FROM kept)", "SELECT 1) x; DELETE FROM kept; --", "VALUES (1); DELETE FROM kept", "TABLE kept; DROP TABLE kept",
]  # fmt: skip


def test_a_tool_that_reads_changes_nothing(server, counter):
    """A50: every kind of statement that writes, sends two at once or ends the transaction: all is as it was."""
    before = server.state()

    async def scene():
        async with counter.open(free(server)) as crib:
            return [(text, await crib.call("ask", {"sql": text})) for text in WRITES]

    for text, result in asyncio.run(scene()):
        assert result.error is not None, text
    assert server.state() == before and server.left_alone()


def test_what_a_query_does_on_the_side_is_taken_back(server, counter):
    """A read-only transaction lets some functions pass; it is never committed."""
    before = server.state()
    counter.call(free(server), {"sql": "SELECT lo_creat(-1)"})
    assert server.state() == before


def test_hostile_values_are_values(server, counter):
    """A50: 1,000 values, each bound to a place: they come back as they were sent, and find or change nothing."""
    values, names = list(hostile_texts(1000, seed=51, without="\x00")), [f"v{at}" for at in range(25)]
    places = ", ".join(f":{name}::text" for name in names)
    ask = offer(
        server, f"SELECT {places}, (SELECT count(*) FROM kept WHERE name IN ({places}))", dict.fromkeys(names, TEXT)
    )
    groups = [dict(zip(names, values[at : at + 25], strict=True)) for at in range(0, 1000, 25)]
    before = server.state()

    async def scene():
        async with counter.open(ask) as crib:
            return [await crib.call("ask", group) for group in groups]

    assert [result.data["rows"] for result in asyncio.run(scene())] == [[[*group.values(), 0]] for group in groups]
    assert server.state() == before


def test_a_value_that_postgresql_has_no_text_for_is_said(server, counter):
    assert counter.call(offer(server, "SELECT :v::text", {"v": TEXT}), {"v": "a\0b"}).error.code == "VALIDATION_ERROR"


def test_writing_is_said_judged_and_asked_about(server, counter):
    """A50: one statement, in one transaction; a denial changes nothing."""
    tool = offer(server, "INSERT INTO notes (text) VALUES (:t) RETURNING text", {"t": TEXT}, write=True)
    assert (tool.capabilities.accesses_network, tool.capabilities.idempotent) == (True, False)
    assert counter.call(tool, {"t": "x"}, approver=ScriptedApprover(False)).error.code == "APPROVAL_DENIED"
    assert server.ask("SELECT count(*) FROM notes") == [(0,)]
    value = "'); DROP TABLE notes; --"
    data = counter.call(tool, {"t": value}).data
    assert (data["rows"], data["rows_affected"]) == ([[value]], 1)
    assert server.ask("SELECT text FROM notes") == [(value,)]
    server.root.execute("DELETE FROM notes")


@pytest.mark.parametrize(
    "text",
    [
        "DELETE FROM kept; DELETE FROM notes",
        "/* /* */ INSERT */ COPY kept TO PROGRAM 'true'",
        "COPY kept TO PROGRAM 'true'",
        "COMMIT",
        "DO $$ BEGIN END $$",
    ],
)
def test_also_a_tool_that_writes_sends_one_statement_of_its_kind(server, counter, text):
    before = server.state()
    assert counter.call(free(server, write=True), {"sql": text}).error is not None
    assert server.state() == before


def test_a_change_that_fails_is_taken_back(server, counter):
    before = server.state()
    error = counter.call(free(server, write=True), {"sql": "INSERT INTO kept VALUES (7, 'x'), (1, 'y')"}).error
    assert error.details == {"sqlstate": "23505"} and server.state() == before


def test_a_long_answer_is_whole_in_an_artifact(server, counter):
    """A8: 100 KiB are kept, and a billion rows stay where they are."""
    result = counter.call(offer(server, "SELECT x, repeat('y', 20) FROM generate_series(1, 20000) AS x", max_rows=9000))
    (artifact,) = result.metadata["artifacts"]
    lines = Path(artifact["path"]).read_text().splitlines()
    assert (len(lines), result.data["row_count"], result.data["truncated"]) == (9001, 9000, True)
    assert lines[9000] == f'[9000,"{"y" * 20}"]' and 0 < len(result.data["rows"]) < 9000


def test_rows_are_taken_as_they_are_needed(server, counter):
    """A hundred million rows of a hundred bytes, of which a few are asked for."""
    text = "SELECT repeat('x', 100) FROM kept a, (SELECT 1 FROM pg_class, pg_class b, pg_class c, pg_class d) AS many"
    tool = offer(server, text, max_rows=50)
    tracemalloc.start()
    result = counter.call(tool)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (result.data["row_count"], result.data["truncated"]) == (50, True) and peak < 20_000_000


def test_a_row_that_is_too_big_is_not_taken(server, counter, monkeypatch):
    """The connection ends when more came than is taken for one batch of rows."""
    from toolcrib.backends import sql_postgres

    if not hasattr(socket, "TCP_INFO"):
        pytest.skip("this system does not say how much came over a connection")
    monkeypatch.setattr(sql_postgres, "MOST_RECEIVED", 4_000_000)
    result = counter.call(offer(server, "SELECT repeat('x', 60000000)", timeout_ms=20_000))
    assert result.error.code == "RESOURCE_EXHAUSTED" and server.left_alone()


ENDLESS = "SELECT count(*) FROM generate_series(1, 1000000000000) AS a"


def test_a_query_without_end_is_ended_on_the_server_too(server, counter):
    """A38."""
    result = counter.call(offer(server, ENDLESS, timeout_ms=300))
    assert result.error.code == "TIMEOUT" and server.left_alone()


def test_a_cancelled_call_ends_the_query(server, counter):
    async def scene():
        async with counter.open(offer(server, ENDLESS)) as crib:
            task = asyncio.create_task(crib.call("ask", {}))
            while not await asyncio.to_thread(server.sessions):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(scene())
    assert server.left_alone()


@pytest.mark.parametrize("greeting", [b"", b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I"], ids=["at all", "to the query"])
def test_a_server_that_never_answers_is_left_in_time(counter, greeting):
    """A38: it takes the connection and says nothing more; the connection is gone soon afterwards."""

    async def scene():
        gone = asyncio.Event()

        async def silent(reader, writer):
            await reader.read(8)
            writer.write(greeting)
            await reader.read()
            gone.set()
            writer.close()

        listening = await asyncio.start_server(silent, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        about = {"host": "127.0.0.1", "port": port, "dbname": "d", "user": "u", "sslmode": "disable"}
        fields = {"database": {"postgres": about}, "query": "SELECT 1", "timeout_ms": 300}
        async with counter.open(declare(sql.make, fields, allow=(f"127.0.0.1:{port}",))) as crib:
            async with asyncio.timeout(4):
                result = await crib.call("ask", {})
        async with asyncio.timeout(10):
            await gone.wait()
        listening.close()
        return result

    assert asyncio.run(scene()).error.code == "TIMEOUT"


@pytest.mark.parametrize(("listed", "mode"), [(False, ""), (False, "disable"), (False, "require")])
def test_a_server_that_is_not_listed_is_never_reached(counter, listed, mode):
    """Nothing connects: the listener would have counted it."""

    async def scene():
        came = []
        listening = await asyncio.start_server(lambda reader, writer: came.append(writer.close()), "127.0.0.1", 0)
        about = {"host": "127.0.0.1", "port": listening.sockets[0].getsockname()[1], "dbname": "d", "user": "u"}
        about |= {"sslmode": mode} if mode else {}
        async with counter.open(declare(sql.make, {"database": {"postgres": about}, "query": "SELECT 1"})) as crib:
            result = await crib.call("ask", {})
        listening.close()
        return result, came

    result, came = asyncio.run(scene())
    assert (result.error.code, came) == ("NETWORK_DENIED", [])


def test_encryption_that_is_demanded_is_not_done_without(server, counter):
    """The server has none: nothing is sent but the question for it."""
    error = counter.call(offer(server, "SELECT 1", mode="require")).error
    assert error.code == "EXECUTION_ERROR" and "SSL" in error.message


def test_a_password_is_a_secret_and_the_role_rules(server, counter):
    """It is asked for by the literal host; what the role may not read is not read."""
    secrets = Secrets({"PASSWORD": SECRET})
    tool = free(server, user="reader", password="${env:PASSWORD}", secrets=secrets)
    assert counter.call(tool, {"sql": "SELECT count(*) FROM kept"}).data["rows"] == [[2]]
    assert secrets.asked == [("ask", "PASSWORD", "127.0.0.1", "127.0.0.1")]
    assert "permission denied" in counter.call(tool, {"sql": "SELECT * FROM notes"}).error.message
    refused = counter.call(free(server, user="reader", password="${env:OTHER}", secrets=secrets), {"sql": "SELECT 1"})
    assert refused.error.code == "ENV_NOT_ALLOWED"
    wrong = counter.call(free(server, user="reader", password="wrong"), {"sql": "SELECT 1"})
    assert "password authentication failed" in wrong.error.message and "wrong" not in wrong.error.message


def test_nothing_is_taken_from_the_environment(server, counter, monkeypatch):
    """Neither a password, nor a service, nor settings of the server."""
    for name, value in {"PGPASSWORD": SECRET, "PGOPTIONS": "-c search_path=nowhere", "PGHOST": "/nowhere", "PGSSLMODE": "require",
                        "PGAPPNAME": "other", "PGDATABASE": "other", "PGUSER": "other"}.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    assert counter.call(offer(server, "SELECT count(*) FROM kept")).data["rows"] == [[2]]
    assert counter.call(offer(server, "SELECT 1", user="reader")).error is not None


def test_an_address_may_be_one_secret(server, counter):
    """It is bound to the host that the tool declares, and leads there or nowhere."""
    url = f"postgresql://reader:{SECRET}@127.0.0.1:{server.port}/postgres"
    database = {"url": "${env:URL}", "host": "127.0.0.1", "port": server.port}
    secrets = Secrets({"URL": url})
    assert counter.call(offer(server, "SELECT count(*) FROM kept", database=database, secrets=secrets)).data[
        "rows"
    ] == [[2]]
    assert secrets.asked == [("ask", "URL", "127.0.0.1", "127.0.0.1")]
    wrong = ("nonsense", f"{url}?options=-c%20x%3D1", f"{url}?service=x", f"{url}?hostaddr=127.0.0.1", "postgresql://u@/d?host=/tmp",
             "postgresql://u@a,b/d", url.replace("127.0.0.1", "127.0.0.2"), url.replace(str(server.port), "1"))  # fmt: skip
    for each in wrong:
        error = counter.call(offer(server, "SELECT 1", database=database, secrets=Secrets({"URL": each}))).error
        assert error.code == "ENV_NOT_ALLOWED" and SECRET not in error.message, each


def test_a_preview_connects_to_nothing(server, counter):
    tool = offer(server, "DELETE FROM kept WHERE id = :id", {"id": INT}, write=True, password="${env:NONE}")
    data = counter.call(tool, {"id": 1}, dry_run=True).data
    assert (data["statement"], data["parameters"], data["write"]) == ("DELETE FROM kept WHERE id = $1", {"id": 1}, True)
    assert server.sessions() == 0


def test_many_at_once_get_their_own_answers(server, counter):
    async def scene():
        async with counter.open(offer(server, "SELECT :n::int, count(*) FROM kept", {"n": INT})) as crib:
            return await asyncio.gather(*(crib.call("ask", {"n": at}) for at in range(20)))

    assert [result.data["rows"] for result in asyncio.run(scene())] == [[[at, 2]] for at in range(20)]
    assert server.left_alone()
