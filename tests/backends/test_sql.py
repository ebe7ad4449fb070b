"""SQLite as a tool's database, through the real gate."""

import asyncio
import contextlib
import hashlib
import itertools
import json
import os
import shutil
import sqlite3
import threading
from pathlib import Path

import pytest

from toolcrib.backends import sql
from toolcrib.backends.declared import Unfit
from toolcrib.testing import ScriptedApprover

from .declaring import TEXT, Counter, declare, hostile_texts

INT = {"type": "integer"}


@pytest.fixture
def counter(tmp_path):
    counter = Counter(tmp_path)
    with contextlib.closing(sqlite3.connect(counter.workspace / "kept.db")) as database, database:
        database.execute("CREATE TABLE kept (id INTEGER PRIMARY KEY, name TEXT, price REAL, raw BLOB)")
        database.execute("CREATE INDEX by_name ON kept (name)")
        rows = [(1, "ann", 1.5, b"\x00\xff"), (2, "bob", None, None), (3, "o'hara", 1e400, b"")]
        database.executemany("INSERT INTO kept VALUES (?, ?, ?, ?)", rows)
    return counter


def offer(query, properties=None, *, database=None, folder="", **fields):
    fields = {"database": database or {"sqlite": "kept.db"}, "query": query, **fields}
    return declare(sql.make, fields, properties, folder=folder)


def free(**fields):
    """The statement is the caller's."""
    return offer("${sql}", {"sql": TEXT}, **fields)


def state(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.is_file()}


def test_a_query_gives_columns_and_rows(counter):
    """A50: values are bound, and what JSON has no word for is written down."""
    tool = offer("SELECT * FROM kept WHERE id >= :low AND name <> ${not} ORDER BY id", {"low": INT, "not": TEXT})
    assert counter.call(tool, {"low": 1, "not": "bob"}).data == {
        "columns": ["id", "name", "price", "raw"],
        "rows": [[1, "ann", 1.5, {"base64": "AP8="}], [3, "o'hara", "Infinity", {"base64": ""}]],
        "row_count": 2,
        "truncated": False,
    }


def test_an_argument_left_out_is_null_and_a_list_is_json(counter):
    tool = offer(
        "SELECT :a IS NULL, (SELECT count(*) FROM kept WHERE id IN (SELECT value FROM json_each(:ids)))",
        {"a": TEXT, "ids": {"type": "array"}},
    )
    assert counter.call(tool, {"ids": [1, 3, 99]}).data["rows"] == [[1, 2]]


def test_text_that_is_not_utf8_is_readable(counter):
    assert counter.call(free(), {"sql": "SELECT CAST(x'ff41' AS TEXT)"}).data["rows"] == [["\\xffA"]]


def test_more_rows_than_asked_for_are_counted_out(counter):
    data = counter.call(offer("SELECT id FROM kept", max_rows=2)).data
    assert (data["rows"], data["row_count"], data["truncated"]) == ([[1], [2]], 2, True)
    assert "more than these 2 rows" in data["note"]


SERIES = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n{}) SELECT x, 'abcdefghij' FROM n"


def test_a_long_answer_is_whole_in_an_artifact(counter):
    """A8: 100 KiB are kept; the artifact has every row, one a line."""
    result = counter.call(offer(SERIES.format(" WHERE x < 20000"), max_rows=50_000))
    shown = result.data["rows"]
    assert result.data["row_count"] == 20_000 and result.data["truncated"] and 1000 < len(shown) < 10_000
    (artifact,) = result.metadata["artifacts"]
    first, *rows, last = map(json.loads, Path(artifact["path"]).read_text().splitlines())
    assert first == {"columns": ["x", "'abcdefghij'"]} and last == {"row_count": 20_000, "more": False}
    assert rows == [[at, "abcdefghij"] for at in range(1, 20_001)] and rows[: len(shown)] == shown
    assert artifact["id"] in result.data["note"]


def test_rows_without_end_stop_at_the_limit(counter):
    assert counter.call(offer(SERIES.format(""))).data["row_count"] == 1000


WRITES = [
    "INSERT INTO kept VALUES (9, 'x', 1, 1)", "UPDATE kept SET name = 'x'", "DELETE FROM kept", "DROP TABLE kept",
    "REPLACE INTO kept VALUES (1, 'x', 1, 1)", "CREATE TABLE made (a)", "CREATE TEMP TABLE made (a)", "ALTER TABLE kept ADD z",
    "CREATE INDEX made ON kept (name)", "CREATE VIEW made AS SELECT 1", "CREATE VIRTUAL TABLE made USING fts5(a)",
    "CREATE TRIGGER made AFTER INSERT ON kept BEGIN SELECT 1; END", "WITH x AS (SELECT 1) DELETE FROM kept",
    "INSERT INTO kept(name) VALUES ('x') RETURNING id", "VACUUM", "VACUUM INTO 'made.db'", "REINDEX", "ANALYZE",
    "ATTACH 'made.db' AS made", "ATTACH ':memory:' AS made", "DETACH main", "BEGIN IMMEDIATE", "COMMIT", "SAVEPOINT made",
    "PRAGMA writable_schema = ON", "PRAGMA query_only = OFF", "PRAGMA journal_mode = WAL", "PRAGMA journal_mode(DELETE)",
    "PRAGMA user_version = 5", "PRAGMA application_id(5)", "PRAGMA wal_checkpoint", "PRAGMA optimize", "PRAGMA incremental_vacuum",
    "PRAGMA temp_store_directory = '.'", "PRAGMA hard_heap_limit = 0", "SELECT * FROM pragma_user_version(5)",
    "SELECT load_extension('./made.so')", "SELECT fts3_tokenizer('simple', x'00')", "UPDATE sqlite_master SET sql = ''",
    "EXPLAIN DELETE FROM kept; DELETE FROM kept", "SELECT 1; DELETE FROM kept", "SELECT 1;;DROP TABLE kept--",
    "SELECT writefile('made.db', 'x')", "SELECT edit('x')",
]  # fmt: skip


def test_a_tool_that_reads_changes_nothing(counter):
    """A50: every kind of statement that writes, sends two at once or reaches another file: all is as it was."""
    before = state(counter.workspace)

    async def scene():
        async with counter.open(free()) as crib:
            return [(text, await crib.call("ask", {"sql": text})) for text in WRITES]

    for text, result in asyncio.run(scene()):
        assert result.error is not None, text
    assert state(counter.workspace) == before


def test_what_only_tells_something_is_let_through(counter):
    asked = [
        "PRAGMA table_info(kept)", "SELECT * FROM pragma_table_info('kept')", "PRAGMA journal_mode", "SELECT name FROM sqlite_master",
        "EXPLAIN QUERY PLAN SELECT * FROM kept", "VALUES (1)", "SELECT key FROM json_each('[1]')", "PRAGMA integrity_check",
    ]  # fmt: skip

    async def scene():
        async with counter.open(free()) as crib:
            return [(text, await crib.call("ask", {"sql": text})) for text in asked]

    assert [(text, result.error) for text, result in asyncio.run(scene()) if not result.success] == []


@pytest.mark.parametrize(
    "text",
    ["SELECT zeroblob(1000000000)", "SELECT hex(zeroblob(16000000))", "SELECT replace(hex(zeroblob(8000000)), '0', '0000000000')",
     "SELECT group_concat(hex(randomblob(1000000))) FROM (WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n "
     "WHERE x < 100) SELECT x FROM n)",
     "SELECT " + ",".join(["randomblob(16000000)"] * 100)],
)  # fmt: skip
def test_a_value_that_is_too_big_is_refused(counter, text):
    """Memory has a limit of its own, in a process of its own."""
    assert counter.call(free(), {"sql": text}).error.code == "RESOURCE_EXHAUSTED"


@pytest.mark.parametrize(
    "text",
    [SERIES.format("") + " WHERE x < 0", "SELECT printf('%.*c', 1000000000, 'x')", SERIES.format("").replace("SELECT x,", "SELECT sum(x),")],
    ids=["a search without end", "a text of a gigabyte", "a sum without end"],
)  # fmt: skip
def test_a_query_without_end_is_ended(counter, text):
    """A38: and no process is left of it."""
    tool = free(timeout_ms=400)
    result = counter.call(tool, {"sql": text})
    assert result.error.code == "TIMEOUT"
    assert not _workers(counter.workspace)


def _workers(workspace: Path) -> list[str]:
    """The processes that ask a database for a call in this workspace."""
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else []:
        with contextlib.suppress(OSError):
            here = name.isdigit() and os.readlink(f"/proc/{name}/cwd") == str(workspace.resolve())
            if here and b"sql_worker" in Path(f"/proc/{name}/cmdline").read_bytes():
                found.append(name)
    return found


def test_hostile_values_are_values(counter):
    """A50: 1,000 values, each bound to a place: they come back as they were sent, and find or change nothing."""
    values, names = list(hostile_texts(1000, seed=50)), [f"v{at}" for at in range(25)]
    places = ", ".join(f":{name}" for name in names)
    ask = offer(f"SELECT {places}, (SELECT count(*) FROM kept WHERE name IN ({places}))", dict.fromkeys(names, TEXT))
    add = offer(
        "INSERT INTO kept (name) VALUES " + ", ".join(f"(${{{name}}})" for name in names),
        dict.fromkeys(names, TEXT),
        write=True,
    )
    groups = [dict(zip(names, values[at : at + 25], strict=True)) for at in range(0, 1000, 25)]

    async def scene():
        async with counter.open(ask, add._replace(name="add")) as crib:
            asked = await asyncio.gather(*(crib.call("ask", group) for group in groups))
            added = [await crib.call("add", group) for group in groups[:8]]
            return asked, added

    asked, added = asyncio.run(scene())
    assert [result.data["rows"] for result in asked] == [[[*group.values(), 0]] for group in groups]
    assert [result.data["rows_affected"] for result in added] == [25] * 8
    with contextlib.closing(sqlite3.connect(counter.workspace / "kept.db")) as database:
        assert [row[0] for row in database.execute("SELECT name FROM kept WHERE id > 3 ORDER BY id")] == values[:200]
        assert [row[0] for row in database.execute("SELECT name FROM sqlite_master")] == ["kept", "by_name"]


def test_an_argument_left_out_is_what_the_schema_says(counter):
    properties = {"path": {"type": "string", "default": "kept.db"}, "id": {"type": "integer", "default": 2}}
    tool = offer("SELECT name FROM kept WHERE id = :id", properties, database={"sqlite": "${path}"})
    assert [counter.call(tool, args).data["rows"] for args in ({}, {"id": 1})] == [[["bob"]], [["ann"]]]


def test_writing_is_said_judged_and_asked_about(counter):
    """A50: `write: true` is never pre-approved by where the file lies, and a denial changes nothing."""
    before = state(counter.workspace)
    tool = offer("UPDATE kept SET name = :name WHERE id = 1", {"name": TEXT}, write=True)
    assert (tool.capabilities.writes_files, tool.capabilities.idempotent) == (True, False)
    person = ScriptedApprover(False)
    assert counter.call(tool, {"name": "x"}, approver=person).error.code == "APPROVAL_DENIED"
    assert "write" in [subject.kind for subject in person.asked[0].subjects]
    assert state(counter.workspace) == before
    assert counter.call(tool, {"name": "x"}).data["rows_affected"] == 1
    assert state(counter.workspace) != before and set(state(counter.workspace)) == {"kept.db"}


def test_reading_is_asked_about_as_any_tool_of_a_skill(counter):
    person = ScriptedApprover(False)
    assert counter.call(free(), {"sql": "SELECT 1"}, approver=person).error.code == "APPROVAL_DENIED"


@pytest.mark.parametrize("text", ["ATTACH 'made.db' AS made", "VACUUM INTO 'made.db'", "PRAGMA writable_schema = ON",
                                  "DELETE FROM kept; DELETE FROM kept", "COMMIT", "SELECT load_extension('x')"])  # fmt: skip
def test_also_a_tool_that_writes_stays_in_its_database(counter, text):
    before = state(counter.workspace)
    assert counter.call(free(write=True), {"sql": text}).error is not None
    assert state(counter.workspace) == before


def test_a_change_that_fails_is_taken_back(counter):
    text = "INSERT INTO kept (id, name) SELECT value, 'new' FROM json_each('[7, 8, 1]')"
    assert "UNIQUE" in counter.call(free(write=True), {"sql": text}).error.message
    assert counter.call(free(), {"sql": "SELECT count(*) FROM kept"}).data["rows"] == [[3]]


def test_a_change_that_takes_too_long_is_taken_back(counter):
    """A38: nothing half-written stays, not even a journal."""
    text = f"INSERT INTO kept (name) SELECT x FROM ({SERIES.format('')})"
    assert counter.call(free(write=True, timeout_ms=500), {"sql": text}).error.code == "TIMEOUT"
    assert counter.call(free(), {"sql": "SELECT count(*) FROM kept"}).data["rows"] == [[3]]
    assert set(state(counter.workspace)) == {"kept.db"}


def test_a_path_that_leads_out_is_refused(counter, tmp_path):
    """By a link, by dots, by an absolute path, as a link in the middle: the outside is not read."""
    outside = tmp_path / "outside"
    outside.mkdir()
    with contextlib.closing(sqlite3.connect(outside / "secret.db")) as database, database:
        database.execute("CREATE TABLE kept (name)")
    (counter.workspace / "link.db").symlink_to(outside / "secret.db")
    (counter.workspace / "folder").symlink_to(outside)
    before = state(outside)
    for path in ("link.db", "folder/secret.db", "../outside/secret.db", str(outside / "secret.db")):
        for write in (False, True):
            tool = offer("SELECT * FROM kept", {"p": TEXT}, database={"sqlite": "${p}"}, write=write)
            assert counter.call(tool, {"p": path}).error.code == "PATH_OUTSIDE_WORKSPACE", path
    assert state(outside) == before


def test_a_link_inside_the_workspace_is_followed(counter):
    (counter.workspace / "link.db").symlink_to("kept.db")
    tool = offer("SELECT count(*) FROM kept", database={"sqlite": "link.db"})
    assert counter.call(tool).data["rows"] == [[3]]


def test_what_is_no_database_is_said(counter):
    os.mkfifo(counter.workspace / "pipe.db")
    (counter.workspace / "folder.db").mkdir()
    (counter.workspace / "text.db").write_text("no database at all, and longer than a header" * 10)
    (counter.workspace / "empty.db").write_bytes(b"")
    whole = (counter.workspace / "kept.db").read_bytes()
    (counter.workspace / "cut.db").write_bytes(whole[:4096])
    (counter.workspace / "torn.db").write_bytes(whole[:100] + b"\xab" * (len(whole) - 100))
    codes = {}
    for path in ("pipe.db", "folder.db", "text.db", "none.db", "cut.db", "torn.db", "empty.db"):
        result = counter.call(offer("SELECT * FROM kept", {"p": TEXT}, database={"sqlite": "${p}"}), {"p": path})
        codes[path] = result.error.code if result.error else result.data
    assert codes == {
        "pipe.db": "PATH_NOT_REGULAR", "folder.db": "PATH_NOT_REGULAR", "text.db": "READ_ERROR", "none.db": "FILE_NOT_FOUND",
        "cut.db": "READ_ERROR", "torn.db": "READ_ERROR", "empty.db": "EXECUTION_ERROR",
    }  # fmt: skip


def test_a_write_ahead_log_is_read_and_none_is_made(counter):
    """A database at rest gets no files beside it; one in use is read with what its log holds."""
    path = counter.workspace / "kept.db"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
    count = offer("SELECT count(*) FROM kept")
    assert counter.call(count).data["rows"] == [[3]] and set(state(counter.workspace)) == {"kept.db"}
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("INSERT INTO kept (name) VALUES ('new')")
        database.commit()
        assert counter.call(count).data["rows"] == [[4]]
    assert counter.call(count).data["rows"] == [[4]] and set(state(counter.workspace)) == {"kept.db"}


def test_a_database_that_is_being_written_is_read_whole(counter):
    """A writer who is not done is not seen; one who holds the file alone is waited for, and then said."""
    path = counter.workspace / "kept.db"
    count = offer("SELECT count(*) FROM kept")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO kept (name) VALUES ('new')")
        assert counter.call(count).data["rows"] == [[3]]
        writer.execute("COMMIT")
        assert counter.call(count).data["rows"] == [[4]]
        writer.execute("BEGIN EXCLUSIVE")
        error = counter.call(offer("SELECT 1 FROM kept", timeout_ms=2000)).error
        assert "locked" in error.message
        writer.execute("ROLLBACK")


def test_what_an_interrupted_writer_left_is_said(counter):
    """A journal that has to be played back first: a reader does not, and one who writes does."""
    path = counter.workspace / "kept.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("INSERT INTO kept (name) SELECT x FROM (" + SERIES.format(" WHERE x < 5000") + ")")
        writer.execute("PRAGMA cache_size = 2")
        writer.execute("BEGIN")
        writer.execute("UPDATE kept SET name = 'half done'")
        for name in ("kept.db", "kept.db-journal"):
            shutil.copy(counter.workspace / name, counter.workspace / name.replace("kept", "left"))
        writer.execute("ROLLBACK")
    before = state(counter.workspace)
    query = "SELECT count(*) FROM kept WHERE name = 'half done'"
    error = counter.call(offer(query, database={"sqlite": "left.db"})).error
    assert error.code == "READ_ERROR" and "-journal" in error.message and state(counter.workspace) == before
    assert counter.call(offer(query, database={"sqlite": "left.db"}, write=True)).data["rows"] == [[0]]


def test_a_path_that_is_turned_aside_meanwhile_never_leads_out(counter, tmp_path):
    """Somebody turns a link on the way to another directory, again and again; what lies there never comes."""
    outside, inside = tmp_path / "outside", counter.workspace / "inside"
    outside.mkdir()
    inside.mkdir()
    for folder, word in ((outside, "secret"), (inside, "plain")):
        with contextlib.closing(sqlite3.connect(folder / "a.db")) as database, database:
            database.execute("CREATE TABLE words (word)")
            database.execute("INSERT INTO words VALUES (?)", [word])
    before, stop = state(outside), threading.Event()
    turning, next_one = counter.workspace / "turning", counter.workspace / "next"
    turning.symlink_to("inside")

    def swap():
        for at, target in enumerate(itertools.cycle((outside, Path("inside")))):
            if stop.wait(0.002 + at % 7 * 0.004):
                return
            next_one.symlink_to(target)
            next_one.replace(turning)

    async def scene():
        read = offer("SELECT word FROM words", database={"sqlite": "turning/a.db"})
        write = offer("UPDATE words SET word = 'turned'", database={"sqlite": "turning/a.db"}, write=True)
        async with counter.open(read, write._replace(name="write")) as crib:
            return [await crib.call(name, {}) for _ in range(60) for name in ("ask", "write")]

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        results = asyncio.run(scene())
    finally:
        stop.set()
        swapper.join()
    assert {str(result.data["rows"]) for result in results if result.success} <= {"[['plain']]", "[['turned']]", "[]"}
    assert state(outside) == before


def test_many_at_once_get_their_own_answers(counter):
    async def scene():
        async with counter.open(offer("SELECT :n, count(*) FROM kept", {"n": INT})) as crib:
            return await asyncio.gather(*(crib.call("ask", {"n": at}) for at in range(20)))

    assert [result.data["rows"] for result in asyncio.run(scene())] == [[[at, 3]] for at in range(20)]


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="this system has no /proc to look for processes in")
def test_a_cancelled_call_leaves_no_process(counter):
    async def scene():
        async with counter.open(free()) as crib:
            task = asyncio.create_task(crib.call("ask", {"sql": SERIES.format("") + " WHERE x < 0"}))
            async with asyncio.timeout(10):
                while not _workers(counter.workspace):
                    await asyncio.sleep(0.002)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return _workers(counter.workspace)

    assert asyncio.run(scene()) == []


def test_a_database_that_came_with_a_skill_is_pinned(counter, tmp_path):
    """It is read from the skill's folder, and not when it is another one than was approved."""
    folder = tmp_path / "skill"
    folder.mkdir()
    (counter.workspace / "kept.db").rename(folder / "kept.db")
    tool = offer("SELECT count(*) FROM kept", database={"sqlite": "kept.db", "from": "skill"}, folder=str(folder))
    assert counter.call(tool).data["rows"] == [[3]] and set(state(folder)) == {"kept.db"}
    with contextlib.closing(sqlite3.connect(folder / "kept.db")) as database, database:
        database.execute("DELETE FROM kept")
    assert counter.call(tool).error.code == "TOOL_PIN_MISMATCH"


def test_a_preview_shows_the_statement_and_runs_nothing(counter):
    tool = offer("DELETE FROM kept WHERE id = :id", {"id": INT}, write=True)
    before = state(counter.workspace)
    assert counter.call(tool, {"id": 1}, dry_run=True).data == {
        "dry_run": True, "database": {"sqlite": "kept.db"}, "statement": "DELETE FROM kept WHERE id = ?1",
        "parameters": {"id": 1}, "write": True,
    }  # fmt: skip
    assert state(counter.workspace) == before


def test_an_integer_beyond_64_bits_is_said(counter):
    error = counter.call(offer("SELECT :n", {"n": INT}), {"n": 2**70}).error
    assert error.code == "VALIDATION_ERROR" and "64 bits" in error.message


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"query": "SELECT 1"}, "/database"),
        ({"database": {"sqlite": "a.db"}}, "/query"),
        ({"database": {"sqlite": "a.db", "url": "${env:X}"}, "query": "SELECT 1"}, "/database"),
        ({"database": {"mysql": "a.db"}, "query": "SELECT 1"}, "/database/mysql"),
        ({"database": {"sqlite": 5}, "query": "SELECT 1"}, "/database/sqlite"),
        ({"database": {"sqlite": "${env:X}"}, "query": "SELECT 1"}, "/database/sqlite"),
        ({"database": {"sqlite": "${nope}"}, "query": "SELECT 1"}, "/database/sqlite"),
        ({"database": {"sqlite": "a.db", "from": "skill"}, "query": "SELECT 1"}, "/database/from"),
        ({"database": {"sqlite": "a.db", "from": "home"}, "query": "SELECT 1"}, "/database/from"),
        ({"database": {"sqlite": "a.db"}, "query": "SELECT 1", "write": "yes"}, "/write"),
        ({"database": {"sqlite": "a.db"}, "query": "SELECT 1", "max_rows": 0}, "/max_rows"),
        ({"database": {"sqlite": "a.db"}, "query": "SELECT 1", "timeout_ms": 0}, "/timeout_ms"),
        ({"database": {"sqlite": "a.db"}, "query": "SELECT 1", "writes": True}, "/writes"),
        ({"database": {"postgres": {"host": "h", "dbname": "d"}}, "query": "SELECT 1"}, "/database/postgres/user"),
        ({"database": {"postgres": {"dbname": "d", "user": "u"}}, "query": "SELECT 1"}, "/database/postgres/host"),
        ({"database": {"postgres": {"host": "/run", "dbname": "d", "user": "u"}}, "query": "SELECT 1"}, "/database/postgres/host"),
        ({"database": {"postgres": {"host": "h", "dbname": "d", "user": "u", "sslmode": "x"}}, "query": "SELECT 1"},
         "/database/postgres/sslmode"),
        ({"database": {"postgres": {"host": "h", "dbname": "d", "user": "u", "options": "x"}}, "query": "SELECT 1"},
         "/database/postgres/options"),
        ({"database": {"url": "${env:URL}"}, "query": "SELECT 1"}, "/database/host"),
        ({"database": {"sqlite": "a.db", "host": "h"}, "query": "SELECT 1"}, "/database"),
        ({"database": {"url": "postgresql://u:p@h/d", "host": "h"}, "query": "SELECT 1"}, "/database/url"),
        ({"database": {"url": "${env:URL}", "host": "h"}, "query": "DROP TABLE x"}, "/query"),
        ({"database": {"url": "${env:URL}", "host": "h"}, "query": "COPY x TO PROGRAM 'id'", "write": True}, "/query"),
    ],
)  # fmt: skip
def test_a_wrong_declaration_is_refused_with_its_place(fields, pointer):
    with pytest.raises(Unfit) as refused:
        declare(sql.make, fields, {"p": TEXT})
    assert refused.value.pointer == pointer
