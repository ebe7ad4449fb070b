"""Arguments against a schema: faults in words, bounds, and no way out."""

import socket
import time

import pytest

from toolcrib.core.errors import ToolcribError
from toolcrib.core.jsontext import dump
from toolcrib.core.schema import Schema, pointer

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "age": {"type": "integer", "minimum": 0},
        "tags": {"type": "array", "items": {"type": "string"}},
        "color": {"enum": ["red", "green"]},
        "a/b~c": {"type": "object", "properties": {"x": {"type": "number"}}},
        "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "code": {"type": "string", "pattern": "^[a-z]+$"},
    },
    "required": ["name"],
    "additionalProperties": False,
}


def faults(document, value) -> list[tuple[str, str]]:
    return [(fault["pointer"], fault["expected"]) for fault in Schema(document).check(value)]


def test_right_arguments_have_no_faults() -> None:
    assert faults(PERSON, {"name": "Bob", "age": 3, "tags": ["a"], "a/b~c": {"x": 1.5}, "either": 1}) == []


@pytest.mark.parametrize(
    ("value", "where", "expected"),
    [
        ({}, "", "the required property 'name'"),
        ({"name": 5}, "/name", "string"),
        ({"name": "B", "age": "3"}, "/age", "integer"),
        ({"name": "B", "age": -1}, "/age", "minimum 0"),
        ({"name": ""}, "/name", "minLength 1"),
        ({"name": "B", "tags": ["a", 2]}, "/tags/1", "string"),
        ({"name": "B", "color": "blue"}, "/color", 'one of ["red","green"]'),
        ({"name": "B", "nmae": 1}, "", "no property 'nmae'"),
        ({"name": "B", "a/b~c": {"x": "1"}}, "/a~1b~0c/x", "number"),
        ({"name": "B", "either": []}, "/either", "string or integer"),
        ({"name": "B", "code": "A1"}, "/code", "text that matches ^[a-z]+$"),
    ],
)
def test_a_fault_names_the_place_what_was_expected_and_what_came(value, where, expected) -> None:
    """K26: with a JSON pointer, so that the next try is right."""
    (fault,) = Schema(PERSON).check(value)
    assert (fault["pointer"], fault["expected"]) == (where, expected)
    assert expected in fault["message"]
    assert fault["got"] in fault["message"]


@pytest.mark.parametrize("value", ["007", "1e5", "true", "null", "[]"])
def test_nothing_is_coerced(value) -> None:
    assert faults(
        {"type": "object", "properties": {"n": {"type": ["integer", "boolean", "array", "null"]}}}, {"n": value}
    )


def test_at_most_eight_faults_are_told() -> None:
    document = {"type": "object", "additionalProperties": {"type": "integer"}}
    assert len(Schema(document).check({f"k{index}": "x" for index in range(100)})) == 8


def test_a_long_value_is_shortened_in_the_message() -> None:
    (fault,) = Schema(PERSON).check({"name": "B", "age": "9" * 1_000_000})
    assert len(fault["message"]) < 300
    assert "1000002 characters" in fault["got"]


def test_big_and_odd_values_have_a_verdict() -> None:
    document = {"type": "object", "properties": {"n": {"type": "integer"}, "x": {"type": "number"}}}
    assert faults(document, {"n": 10**40, "x": 1e300}) == []
    assert faults(document, {"n": 1.0}) == []  # JSON Schema: a number without a fraction is an integer
    assert faults(document, {"n": 1.5}) == [("/n", "integer")]
    assert len(Schema(document).check({"n": {1, 2}})) == 1
    assert len(Schema(document).check({"n": "\ud800"})) == 1


def rejected(document) -> str:
    with pytest.raises(ToolcribError) as raised:
        Schema(document).check({})
    assert raised.value.code == "SCHEMA_REJECTED"
    return str(raised.value)


@pytest.mark.parametrize(
    ("document", "word"),
    [
        ([], "not an array"),
        ("x", "not text"),
        ({"type": "string"}, '"string"'),
        ({"type": ["object", "null"]}, "object"),
        ({"type": "object", "properties": {"a": {"type": "strnig"}}}, "/properties/a/type"),
        ({"type": "object", "properties": []}, "/properties"),
        ({"type": "object", "required": "name"}, "/required"),
        ({"type": "object", "properties": {"a": {"pattern": "("}}}, "pattern"),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}, "none"),
    ],
)
def test_a_bad_schema_is_rejected_with_the_place(document, word) -> None:
    assert word in rejected(document)


@pytest.mark.parametrize(
    "reference",
    [
        "http://127.0.0.1:%d/x.json",
        "https://127.0.0.1:%d/x.json",
        "file:///etc/passwd",
        "other.json",
        "ftp://127.0.0.1/x",
    ],
)
def test_no_reference_leads_outside(reference) -> None:
    """Nothing is fetched and no file is opened: a socket that listens hears nothing."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.setblocking(False)
        uri = reference % server.getsockname()[1] if "%" in reference else reference
        message = rejected({"type": "object", "properties": {"a": {"$ref": uri}}})
        assert uri in message
        with pytest.raises(BlockingIOError):
            server.accept()


def test_size_depth_and_parts_are_bounded() -> None:
    assert "262144 bytes" in rejected({"type": "object", "description": "x" * 300_000})
    deep: dict = {}
    for _ in range(100):
        deep = {"properties": {"a": deep}}
    assert "64 levels" in rejected({"type": "object", **deep})
    assert "10000 parts" in rejected({"type": "object", "properties": {f"p{index}": {} for index in range(10_001)}})


def test_a_schema_that_refers_to_itself_is_fine_and_ends() -> None:
    tree = {
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"$ref": "#"}}, "name": {"type": "string"}},
        "required": ["name"],
    }
    value: dict = {"name": "leaf"}
    for _ in range(200):
        value = {"name": "node", "children": [value]}
    assert faults(tree, value) == []


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "(.*)*x", "^(([a-z])+.)+[A-Z]([a-z])+$", "(x+x+)+y"])
def test_a_pattern_cannot_make_us_wait(pattern) -> None:
    """C8: the classic bombs against backtracking end at once, with a verdict."""
    schema = Schema({"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}})
    began = time.perf_counter()
    schema.check({"a": "a" * 50_000 + "!"})
    schema.check({"a": "x" * 5_000})
    assert time.perf_counter() - began < 3


def test_a_schema_from_text_is_parsed_when_it_is_needed() -> None:
    schema = Schema(text=dump(PERSON).decode())
    assert schema == Schema(PERSON)
    assert schema.document == PERSON
    assert Schema(text="not json at all").__class__ is Schema  # not looked at yet


def test_pointer_escapes_as_rfc_6901_says() -> None:
    assert pointer([]) == ""
    assert pointer(["a/b", "m~n", 0, ""]) == "/a~1b/m~0n/0/"
