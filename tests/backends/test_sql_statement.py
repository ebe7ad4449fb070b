"""A declared query becomes fixed text and a list of names, whatever stands in it."""

import time

import pytest

from toolcrib.backends.declared import Unfit
from toolcrib.backends.sql_statement import first_word, is_nested, statement, words
from toolcrib.core.errors import ToolError

KNOWN = {"a": {}, "b": {}, "long-name": {}}


@pytest.mark.parametrize(
    ("query", "text", "names"),
    [
        ("SELECT :a", "SELECT $1", ("a",)),
        ("SELECT ${a}, :b, ${a}", "SELECT $1, $2, $1", ("a", "b")),
        ("SELECT ${long-name}", "SELECT $1", ("long-name",)),
        ("SELECT :a::int", "SELECT $1::int", ("a",)),
        ("SELECT x::text FROM t WHERE y=:a", "SELECT x::text FROM t WHERE y=$1", ("a",)),
        ("SELECT ':a' || :a", "SELECT ':a' || $1", ("a",)),
        ("SELECT 'it''s :b', :a", "SELECT 'it''s :b', $1", ("a",)),
        ('SELECT ":b" FROM t WHERE x = :a', 'SELECT ":b" FROM t WHERE x = $1', ("a",)),
        ("SELECT 1 -- :nope\n, :a", "SELECT 1 -- :nope\n, $1", ("a",)),
        ("SELECT /* :nope ${no} */ :a", "SELECT /* :nope ${no} */ $1", ("a",)),
        ("SELECT $$ :nope $$, $x$ :no $$ $x$, :a", "SELECT $$ :nope $$, $x$ :no $$ $x$, $1", ("a",)),
        (r"SELECT E'\' :nope', :a", r"SELECT E'\' :nope', $1", ("a",)),
        ("SELECT x[1:2], y[z:w] FROM t", "SELECT x[1:2], y[z:w] FROM t", ()),
        ("SELECT 'open :a", "SELECT 'open :a", ()),
    ],
)
def test_places_are_numbered_and_the_rest_stays(query, text, names):
    """A50: bound parameters, in either spelling."""
    assert statement(query, KNOWN, mark="$")[:2] == (text, names)


@pytest.mark.parametrize(
    "query",
    ["SELECT :nope", "SELECT ${nope}", "SELECT '${a}'", "SELECT '%${a}%'", 'SELECT "${a}"', "SELECT ${env:KEY}",
     "${nope}", "SELECT ${}", "SELECT $$${a}$$", "SELECT '\0'", "x" * 70_000],
)  # fmt: skip
def test_what_would_not_be_bound_is_refused(query):
    """A placeholder in quotes would be text, and one of no parameter would be nothing."""
    with pytest.raises(Unfit) as refused:
        statement(query, KNOWN, mark="?")
    assert refused.value.pointer == "/query"


def test_a_query_that_is_one_placeholder_is_written_by_the_caller():
    found = statement(" ${a}; ", KNOWN, mark="?")
    assert (found.by, found.of({"a": "SELECT 1"}), found.values({"a": "SELECT 1"})) == ("a", "SELECT 1", [])
    for wrong in ({}, {"a": ""}, {"a": 5}, {"a": "SELECT\0"}, {"a": "x" * 70_000}):
        with pytest.raises(ToolError, match="one SQL statement"):
            found.of(wrong)


def test_an_argument_that_is_not_given_is_null():
    assert statement("SELECT :a, :b", KNOWN, mark="?").values({"b": 0}) == [None, 0]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("select 1", "SELECT"),
        (" -- DROP\n /* x */ ((WITH a", "WITH"),
        ("'x'", ""),
        ("", ""),
        ("1 select", ""),
        (";copy", ""),
    ],
)
def test_the_first_word_is_found_behind_comments(text, first):
    assert first_word(text) == first


def test_words_are_those_that_act():
    assert list(words("""select 'pg_sleep' /* x */, "Pg_Sleep"(1) -- y""")) == ["SELECT", "PG_SLEEP"]


@pytest.mark.parametrize(
    "part", ["$", "'", '"', "$a", "$a$", "/*", "(e'\\", ":", "--\n", "${", "${a", ":a", "a$b$", "E'"]
)
def test_no_text_takes_long_to_read(part):
    """Of the greatest length, made of what opens something and never ends."""
    text = part * (60_000 // len(part))
    started = time.process_time()
    list(words(text)), first_word(text), is_nested(text)
    assert time.process_time() - started < 2


def test_a_comment_in_a_comment_is_noticed():
    assert is_nested("SELECT /* /* */ 1") and not is_nested("SELECT /* */ 1 /* */ '/* /*'")
