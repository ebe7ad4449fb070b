"""Asks an SQLite database, in a process of its own: started by `sql_sqlite`, one question each.

In a process of its own, because a file may be made to harm whoever reads it; because closing a file elsewhere in the
same process takes away SQLite's locks on it; and because a process can be ended. It reads one JSON document and writes
lines of JSON: the columns, each row, and at last how it ended. It imports nothing of ours.
"""

import base64
import json
import math
import os
import signal
import sqlite3
import stat
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

HEAP_BYTES = 256 * 1024 * 1024
"""What SQLite may use."""
VALUE_BYTES = 16 * 1024 * 1024
"""The longest text or blob."""
_SPACE_BYTES = 1024 * 1024 * 1024
_STEPS = 2000
_HEADER = 100
_MAGIC = b"SQLite format 3\0"
_WAL = 2
_MOST_DESCRIPTORS = 64

_READS = frozenset((sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE))
_CHANGES = """
    INSERT UPDATE DELETE ALTER_TABLE REINDEX ANALYZE CREATE_INDEX CREATE_TABLE CREATE_TRIGGER CREATE_VIEW CREATE_VTABLE
    CREATE_TEMP_INDEX CREATE_TEMP_TABLE CREATE_TEMP_TRIGGER CREATE_TEMP_VIEW DROP_INDEX DROP_TABLE DROP_TRIGGER
    DROP_VIEW DROP_VTABLE DROP_TEMP_INDEX DROP_TEMP_TABLE DROP_TEMP_TRIGGER DROP_TEMP_VIEW
"""
_WRITES = _READS | {getattr(sqlite3, f"SQLITE_{name}") for name in _CHANGES.split()}
_ASKING = """
    table_info table_xinfo table_list index_list index_info index_xinfo foreign_key_list foreign_key_check
    integrity_check quick_check collation_list function_list compile_options
"""
"""Pragmas that only tell something, with or without a word after them."""
_TELLING = "encoding page_count page_size freelist_count schema_version user_version application_id journal_mode"
"""Pragmas that tell something as long as nothing is given to them."""
_FUNCTIONS = frozenset(("load_extension", "fts3_tokenizer", "sqlite_log", "readfile", "writefile", "edit"))
_OTHERS = "ATTACH DETACH PRAGMA TRANSACTION SAVEPOINT FUNCTION"
_NAMES = {getattr(sqlite3, f"SQLITE_{name}"): name.replace("_", " ") for name in (*_CHANGES.split(), *_OTHERS.split())}


class Trouble(Exception):
    """Goes back to whoever asked."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Watch:
    """What SQLite asks before and while it works."""

    def __init__(self, *, write: bool) -> None:
        self.write = write
        self.stopped = False
        self.denied = ""

    def authorize(self, action: int, first: str | None, second: str | None, *_: str | None) -> int:
        if action in (_WRITES if self.write else _READS):
            if action != sqlite3.SQLITE_FUNCTION or (second or "").lower() not in _FUNCTIONS:
                return sqlite3.SQLITE_OK
        elif action == sqlite3.SQLITE_UPDATE and first == "sqlite_master":
            return sqlite3.SQLITE_OK  # so it asks about a table like json_each; without writable_schema nobody does it
        elif action == sqlite3.SQLITE_PRAGMA:
            name = (first or "").lower()
            if name in _ASKING.split() or (name in _TELLING.split() and second is None):
                return sqlite3.SQLITE_OK
        about = second if action == sqlite3.SQLITE_FUNCTION else first
        self.denied = self.denied or f"{_NAMES.get(action, 'this')} {about or ''}".strip()
        return sqlite3.SQLITE_DENY

    def stop(self, *_: object) -> None:
        self.stopped = True

    def over(self) -> bool:
        return self.stopped


class Lines:
    """What is written, counted."""

    def __init__(self, most: int) -> None:
        self.most, self.count = most, 0

    def say(self, value: Any) -> bool:
        """Write a line, unless it would be more than may be written."""
        line = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        if self.count + len(line) > self.most:
            return False
        self.count += len(line)
        sys.stdout.buffer.write(line)
        return True


def main() -> int:
    """Answer one question."""
    task = json.loads(sys.stdin.buffer.read())
    _confine()
    lines, watch = Lines(task["max_bytes"]), Watch(write=task["write"])
    signal.signal(signal.SIGTERM, watch.stop)
    try:
        end = _answer(task, lines, watch)
    except Trouble as exc:
        end = {"error": str(exc), "code": exc.code}
    except MemoryError:
        end = {"error": "the answer takes more memory than a query may use; ask for less", "code": "RESOURCE_EXHAUSTED"}
    lines.most = sys.maxsize
    lines.say(end)
    sys.stdout.buffer.flush()
    return 1 if "error" in end else 0


def _confine() -> None:
    """Bounds that hold whatever SQLite does."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_SPACE_BYTES, _SPACE_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):  # not every system has them
        pass


def _answer(task: dict[str, Any], lines: Lines, watch: Watch) -> dict[str, Any]:
    real, fd = _opened(task)
    seen, still = os.fstat(fd), _is_still(real, fd)
    try:
        database = _connected(real, task, still=still)
    except sqlite3.Error as exc:
        raise _trouble(exc, watch) from None
    try:
        _check_same(seen, fd)
        _prepare(database, watch)
        if task["write"]:
            database.execute("BEGIN IMMEDIATE")
        before = database.total_changes
        database.set_authorizer(watch.authorize)
        end = _rows(database, task, lines)
        database.set_authorizer(None)
        if task["write"]:
            end["rows_affected"] = database.total_changes - before
            database.execute("COMMIT")
    except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError) as exc:
        raise _trouble(exc, watch) from None
    finally:
        database.set_authorizer(None)
        database.close()
    if still and (_marks(os.fstat(fd)) != _marks(seen) or not _is_still(real, fd)):
        raise Trouble("READ_ERROR", "the database was written to while it was being read; call again")
    return end


def _opened(task: dict[str, Any]) -> tuple[str, int]:
    """The path without links, and a descriptor of the very file that was judged, which stays open."""
    real = os.path.realpath(task["path"])
    try:
        fd = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as exc:
        raise Trouble("READ_ERROR", f"the database cannot be opened: {exc.strerror}") from None
    about = os.fstat(fd)
    if [about.st_dev, about.st_ino] != task["identity"] or not stat.S_ISREG(about.st_mode):
        raise Trouble("APPROVAL_DENIED", "the path leads elsewhere than when it was judged; call again")
    head = os.pread(fd, _HEADER, 0)
    if head and not head.startswith(_MAGIC):
        raise Trouble("READ_ERROR", "the file is not an SQLite database; give the path of one")
    return real, fd


def _is_still(real: str, fd: int) -> bool:
    """Whether it is kept with a write-ahead log, and nobody has it open for that.

    Reading it the usual way would make the two files that go with such a log, and leave them there.
    """
    if _WAL not in os.pread(fd, _HEADER, 0)[18:20]:
        return False
    try:
        return not os.lstat(f"{real}-wal").st_size
    except FileNotFoundError:
        return True


def _connected(real: str, task: dict[str, Any], *, still: bool) -> sqlite3.Connection:
    mode = "rw" if task["write"] else "ro&immutable=1" if still else "ro"
    uri = f"file:{quote(os.fsencode(real))}?mode={mode}"
    return sqlite3.connect(uri, uri=True, timeout=task["patience"], isolation_level=None, cached_statements=0)


def _check_same(seen: os.stat_result, fd: int) -> None:
    """What SQLite has opened is the file that was judged: it went there by a path, which may have been turned aside."""
    for other in range(3, _MOST_DESCRIPTORS):
        try:
            about = os.fstat(other)
        except OSError:
            continue
        if other != fd and (about.st_dev, about.st_ino) == (seen.st_dev, seen.st_ino):
            return
    raise Trouble("APPROVAL_DENIED", "the path leads elsewhere than when it was judged; call again")


def _prepare(database: sqlite3.Connection, watch: Watch) -> None:
    database.text_factory = _text
    for limit, most in (
        (sqlite3.SQLITE_LIMIT_LENGTH, VALUE_BYTES),
        (sqlite3.SQLITE_LIMIT_SQL_LENGTH, 1024 * 1024),
        (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
        (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 200),
        (sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 100),
        (sqlite3.SQLITE_LIMIT_VDBE_OP, 1_000_000),
        (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000),
        (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
    ):
        database.setlimit(limit, most)
    for name, value in (
        ("hard_heap_limit", str(HEAP_BYTES)),
        ("temp_store", "MEMORY"),  # a sort that is too big fails, instead of filling the disk
        ("trusted_schema", "OFF"),
        ("cell_size_check", "ON"),
        ("query_only", "OFF" if watch.write else "ON"),
    ):
        database.execute(f"PRAGMA {name}={value}").close()
    database.set_progress_handler(watch.over, _STEPS)


def _rows(database: sqlite3.Connection, task: dict[str, Any], lines: Lines) -> dict[str, Any]:
    cursor = database.execute(task["statement"], task["values"])
    lines.say({"columns": [each[0] for each in cursor.description or ()]})
    count, more = 0, False
    for row in _bounded(cursor, task["max_rows"]):
        if row is None or not lines.say([_value(each) for each in row]):
            more = True
            break
        count += 1
    cursor.close()
    return {"row_count": count, "more": more}


def _bounded(cursor: sqlite3.Cursor, most: int) -> Iterator[tuple[Any, ...] | None]:
    """At most so many rows, and None where there would be more."""
    for count, row in enumerate(cursor):
        if count == most:
            yield None
            return
        yield row


def _value(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def _text(raw: bytes) -> str:
    """Readable whatever the bytes are."""
    return raw.decode("utf-8", "backslashreplace")


def _marks(about: os.stat_result) -> tuple[int, int]:
    return about.st_mtime_ns, about.st_size


def _trouble(exc: Exception, watch: Watch) -> Trouble:
    said = str(exc)
    if watch.denied:
        only = "this tool may not do that" if watch.write else "this tool only reads"
        return Trouble("EXECUTION_ERROR", f"{only}: {watch.denied} is refused; write a statement that does without it")
    if watch.stopped:
        return Trouble("CANCELLED", "the query was ended")
    if getattr(exc, "sqlite_errorname", "") == "SQLITE_READONLY_ROLLBACK":
        what = "its writer was interrupted, and left a -journal beside it"
        return Trouble("READ_ERROR", f"{what}; let a program that may write to it open it once, and call again")
    for part, code, advice in (
        ("one statement at a time", "VALIDATION_ERROR", "send one statement"),
        ("readonly database", "EXECUTION_ERROR", "this tool only reads"),
        ("locked", "EXECUTION_ERROR", "somebody else is writing; try again"),
        ("malformed", "READ_ERROR", "the file is damaged"),
        ("not a database", "READ_ERROR", "the file is damaged, or encrypted"),
        ("unable to open", "READ_ERROR", "it needs its write-ahead log, and the directory may be read-only"),
        ("out of memory", "RESOURCE_EXHAUSTED", "ask for less"),
        ("too big", "RESOURCE_EXHAUSTED", f"a text or blob has at most {VALUE_BYTES} bytes here; ask for a part of it"),
        ("too large", "VALIDATION_ERROR", "SQLite's integers have 64 bits"),
        ("surrogates not allowed", "VALIDATION_ERROR", "send whole characters"),
    ):  # fmt: skip
        if part in said:
            return Trouble(code, f"{said}; {advice}")
    return Trouble("EXECUTION_ERROR", f"SQLite says: {said}")


if __name__ == "__main__":
    sys.exit(main())
