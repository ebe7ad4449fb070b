"""Arguments from flags: read left to right, typed by the schema, nothing guessed and nothing dropped."""

from typing import Any

import pytest

from toolcrib.cli._flags import Own, UsageError, flag_lines, split

OWN = Own("--yes", "--json", "--help", valued=("--input",))
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "ratio": {"type": "number"},
        "loud": {"type": "boolean"},
        "maybe": {"type": ["boolean", "null"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "counts": {"type": "array", "items": {"type": "integer"}},
        "where": {"type": "object"},
        "max_depth": {"type": ["integer", "null"]},
        "dash-ed": {"type": "string"},
        "anything": {},
        "level": {"enum": [1, 2, 3]},
        "colour": {"$ref": "#/$defs/Colour"},
        "point": {"$ref": "#/$defs/Point"},
        "loop": {"$ref": "#/$defs/Loop"},
        "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "text_or_list": {"type": ["string", "array"]},
        "no-cache": {"type": "boolean"},
        "cache": {"type": "boolean"},
        "json": {"type": "string"},
    },
    "$defs": {"Colour": {"enum": ["red"]}, "Point": {"type": "object"}, "Loop": {"$ref": "#/$defs/Loop"}},
}

TYPED: list[tuple[list[str], dict[str, Any]]] = [
    (["--name", "Bob", "--age", "25"], {"name": "Bob", "age": 25}),
    (["--name="], {"name": ""}),
    (["--name", ""], {"name": ""}),
    (["--name=a=b"], {"name": "a=b"}),
    (["--name", "--yes"], {"name": "--yes"}),
    (["--name", "-h"], {"name": "-h"}),
    (["--name", "007"], {"name": "007"}),
    (["--name", "null"], {"name": "null"}),
    (["--name", "[1]"], {"name": "[1]"}),
    (["--name", "x\x1b[2J\n"], {"name": "x\x1b[2J\n"}),
    (["--age", "-5"], {"age": -5}),
    (["--age=-5"], {"age": -5}),
    (["--age", "123456789012345678901234567890"], {"age": 123456789012345678901234567890}),
    (["--ratio", "-0.5"], {"ratio": -0.5}),
    (["--loud"], {"loud": True}),
    (["--loud", "false"], {"loud": False}),
    (["--loud=false"], {"loud": False}),
    (["--loud=true"], {"loud": True}),
    (["--no-loud"], {"loud": False}),
    (["--maybe"], {"maybe": True}),
    (["--maybe=null"], {"maybe": None}),
    (["--no-cache"], {"no-cache": True}),
    (["--no-no-cache"], {"no-cache": False}),
    (["--tags", "a", "--tags", "b"], {"tags": ["a", "b"]}),
    (["--tags", '["a", "b"]', "--tags", "c"], {"tags": ["a", "b", "c"]}),
    (["--tags", ""], {"tags": [""]}),
    (["--tags", "[]"], {"tags": []}),
    (["--counts", "1", "--counts=-2"], {"counts": [1, -2]}),
    (["--where", '{"city": {"name": "Ulm"}, "at": [1, null]}'], {"where": {"city": {"name": "Ulm"}, "at": [1, None]}}),
    (["--max-depth", "3"], {"max_depth": 3}),
    (["--max_depth", "null"], {"max_depth": None}),
    (["--dash_ed", "x"], {"dash-ed": "x"}),
    (["--anything", "5"], {"anything": "5"}),
    (["--level", "2"], {"level": 2}),
    (["--colour", "red"], {"colour": "red"}),
    (["--point", '{"x": 1}'], {"point": {"x": 1}}),
    (["--loop", "5"], {"loop": "5"}),
    (["--either", "5"], {"either": 5}),
    (["--text_or_list", "5"], {"text_or_list": "5"}),
]


@pytest.mark.parametrize(("words", "expected"), TYPED, ids=lambda value: " ".join(value) if type(value) is list else "")
def test_a_flag_becomes_what_the_schema_says(words: list[str], expected: dict[str, Any]) -> None:
    read = split(words, OWN, SCHEMA)
    assert (read.theirs, read.ours, read.bare) == (expected, {}, [])


WRONG = [
    (["--age", "x"], "--age is integer, and 'x' is not valid JSON"),
    (["--age", ""], "--age is integer, and '' is not valid JSON"),
    (["--age", "007"], "--age is integer, and '007' is not valid JSON"),
    (["--age"], "--age needs a value"),
    (["--age", "1", "--age", "2"], "--age is given twice"),
    (["--loud=yes"], "--loud is boolean, not 'yes'; write true or false"),
    (["--no-loud=true"], "--no-loud takes no value; write --loud=true or --loud=false"),
    (["--no-name"], "no argument --no-name"),
    (["--nam", "x"], "did you mean --name?"),
    (["--where", "{"], "--where is object, and '{' is not valid JSON"),
    (["--tags", "[x"], "given as JSON"),
    (["--ratio", "NaN"], "not valid JSON"),
    (["--", "x"], "no argument --"),
    (["--yes=1"], "--yes takes no value"),
    (["--input"], "--input needs a value"),
    (["--input", "{}", "--input={}"], "--input is given twice"),
]


@pytest.mark.parametrize(("words", "expected"), WRONG, ids=lambda value: " ".join(value) if type(value) is list else "")
def test_a_wrong_flag_says_what_would_be_right(words: list[str], expected: str) -> None:
    with pytest.raises(UsageError) as caught:
        split(words, OWN, SCHEMA)
    assert expected in str(caught.value)


def test_our_flags_win_over_the_tools() -> None:
    read = split(["--json", "--name", "x", "--input", "--yes", "bare", "-h"], OWN, SCHEMA)
    assert read == ({"--json": True, "--input": "--yes", "--help": True}, {"name": "x"}, ["bare"])


def test_without_a_schema_reading_stops_at_the_tools_name() -> None:
    assert split(["--json", "hello", "--name", "x"], OWN, None) == ({"--json": True}, {}, ["hello", "--name", "x"])
    with pytest.raises(UsageError, match="comes before the tool's name"):
        split(["--name", "x", "hello"], OWN, None)


def test_help_shows_hostile_words_harmlessly_and_says_what_no_flag_can_reach() -> None:
    schema = {
        "properties": {
            "a\x1b[31m": {"type": "string", "description": "\x1b]0;owned\x07 \u202e words\nmore"},
            "json": {"type": "string"},
            "n": {"type": "integer", "description": "how many"},
        },
        "required": ["n"],
    }
    lines = flag_lines(schema, OWN)
    assert all(line.isprintable() for line in lines)
    assert lines[0].endswith("(only in --input)")
    assert lines[1] == "  --json STRING  (only in --input: --json is our own)"
    assert lines[2] == "  --n INTEGER  how many (required)"
