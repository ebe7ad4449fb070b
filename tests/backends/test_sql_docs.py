"""The page on database queries is true: its examples run, and its numbers are those of the code."""

import contextlib
import json
import re
import sqlite3
from pathlib import Path

import pytest
import yaml

from toolcrib.backends import sql, sql_rows, sql_worker
from toolcrib.backends.declared import SKILL_OUTPUT_BYTES, Unfit

from .declaring import Counter, Secrets, declare

PAGE = (Path(__file__).parents[2] / "docs" / "sql-tools.md").read_text(encoding="utf-8")
EXAMPLES = {each["name"]: each for each in map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))}


@pytest.fixture
def counter(tmp_path):
    counter = Counter(tmp_path)
    (counter.workspace / "data").mkdir()
    with contextlib.closing(sqlite3.connect(counter.workspace / "data" / "shop.db")) as database, database:
        database.execute("CREATE TABLE orders (id INTEGER, customer TEXT, total REAL, placed TEXT)")
        rows = [(1, "O'Hara", 12, "2026-01-15"), (2, "O'Hara", 31.5, "2026-02-01"), (3, "Bob", 5, "2026-02-02")]
        database.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", rows)
    return counter


def offered(name):
    example = EXAMPLES[name]
    fields = {key: value for key, value in example["backend"].items() if key != "type"}
    assert example["backend"]["type"] == "sql"
    return declare(sql.make, fields, example["parameters"]["properties"], secrets=Secrets({"SHOP_PASSWORD": "x"}))


def test_the_first_example_answers_what_the_page_says(counter):
    """A50."""
    args, answer = re.search(r"Called with `(.*?)`, it answers\n\n```json\n(.*?)```", PAGE, re.DOTALL).groups()
    assert counter.call(offered("orders_of"), json.loads(args)).data == json.loads(answer)


def test_the_caller_may_write_the_statement(counter):
    tool = offered("look_into_shop")
    assert counter.call(tool, {"sql": "SELECT count(*) FROM orders"}).data["rows"] == [[3]]
    assert "only reads" in counter.call(tool, {"sql": "DELETE FROM orders"}).error.message


def test_the_postgres_example_is_well_formed(counter):
    data = counter.call(offered("customer_by_mail"), {"mail": "a@b.c"}, dry_run=True).data
    assert data["statement"] == "SELECT id, name FROM customers WHERE mail = $1"
    assert data["database"]["postgres"]["host"] == "db.example.com"


def test_the_page_names_every_field():
    table = PAGE.split("## The fields")[1].split("\n\n")[1]
    named = [re.findall(r"`(\w+)`", row)[0] for row in table.splitlines()[2:]]
    with pytest.raises(Unfit) as refused:
        declare(sql.make, {"nothing_like_it": 1})
    assert str(refused.value).endswith(f"there are {', '.join(named)}")


def test_the_numbers_of_the_page():
    assert (sql_rows.MAX_ROWS, SKILL_OUTPUT_BYTES) == (1000, 102400)
    assert (sql_worker.HEAP_BYTES, sql_worker.VALUE_BYTES) == (256 * 1024**2, 16 * 1024**2)
    assert all(each in PAGE for each in ("1000 unless", "102400", "256 MiB", "at most 16 MiB", "96 MiB"))
