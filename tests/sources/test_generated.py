"""Arguments made up from a schema: the right ones are right, the wrong ones wrong, and both are hard (K66, F50)."""

import json

import pytest

from toolcrib.core.schema import Schema
from toolcrib.sources.generated import LONG, invalid, valid

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 20},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "ratio": {"type": "number", "exclusiveMinimum": 0},
        "loud": {"type": "boolean"},
        "day": {"type": "string", "pattern": "^\\d{4}-\\d{2}$"},
        "kind": {"enum": ["a", "b", None, 3]},
        "always": {"const": {"x": [1]}},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
        "where": {"$ref": "#/$defs/place"},
        "id": {"anyOf": [{"type": "integer", "multipleOf": 5}, {"type": "string", "format": "uuid"}]},
        "both": {"allOf": [{"type": "integer", "minimum": 3}, {"maximum": 9}]},
        "maybe": {"type": ["string", "null"]},
    },
    "required": ["name", "where"],
    "additionalProperties": False,
    "$defs": {
        "place": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "inner": {"$ref": "#/$defs/place"}},
            "required": ["city"],
        }
    },
}
HUGE = 10**400
SCHEMAS = {
    "too large for anybody": {
        "type": "object",
        "properties": {
            "a": {"type": "string", "minLength": 10**12, "maxLength": 10**13},
            "b": {"type": "array", "minItems": 10**9, "maxItems": 10**9},
            "c": {"type": "integer", "multipleOf": HUGE},
            "d": {"type": "number", "minimum": HUGE, "maximum": HUGE},
        },
    },
    "person": PERSON,
    "no arguments": {"type": "object", "properties": {}, "additionalProperties": False},
    "anything": {},
    "one of": {
        "type": "object",
        "oneOf": [
            {"properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False},
            {"properties": {"b": {"type": "number"}}, "required": ["b"], "additionalProperties": False},
        ],
    },
    "required without a description": {"type": "object", "required": ["x"]},
    "endless": {"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"a": {"$ref": "#/$defs/a"}}, "required": ["a"]}}},
    "never": {"type": "object", "properties": {"x": False}, "required": ["x"]},
    "contradiction": {"type": "object", "properties": {"x": {"type": "integer", "minimum": 5, "maximum": 4}}, "required": ["x"]},
    "a pattern nobody knows": {"type": "object", "properties": {"x": {"type": "string", "pattern": "^\\p{Lu}(?=a)"}}, "required": ["x"]},
    "at least two": {"type": "object", "properties": {"a": {}, "b": {}, "c": {"type": "null"}}, "minProperties": 2},
    "unevaluated": {"type": "object", "allOf": [{"properties": {"a": {"type": "string"}}}], "unevaluatedProperties": False},
}  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
@pytest.mark.parametrize("seed", range(3))
def test_a_right_one_is_right_and_a_wrong_one_is_wrong(schema: dict, seed: int) -> None:
    known = Schema(schema)
    right = list(valid(schema, count=60, seed=seed))
    wrong = list(invalid(schema, count=60, seed=seed))
    assert [args for args in right if known.check(args)] == []
    assert [(args, why) for args, why in wrong if not known.check(args)] == []
    assert len({json.dumps(args, sort_keys=True) for args in right}) == len(right) <= 60
    assert len({json.dumps(args, sort_keys=True) for args, _ in wrong}) == len(wrong) <= 60


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("person", 60, 40),
        ("one of", 10, 3),
        ("no arguments", 1, 1),
        ("at least two", 10, 1),
        ("unevaluated", 10, 3),
        ("too large for anybody", 1, 3),
    ],
)
def test_there_are_enough_of_them(name: str, right: int, wrong: int) -> None:
    assert len(list(valid(SCHEMAS[name], count=60, seed=1))) >= right
    assert len(list(invalid(SCHEMAS[name], count=60, seed=1))) >= wrong


@pytest.mark.parametrize("name", ["never", "contradiction", "endless"])
def test_where_nothing_is_right_nothing_is_made_up(name: str) -> None:
    assert list(valid(SCHEMAS[name], count=20, seed=1)) == []


def test_the_same_seed_makes_the_same(seed: int = 5) -> None:
    assert list(valid(PERSON, count=30, seed=seed)) == list(valid(PERSON, count=30, seed=seed))
    assert list(invalid(PERSON, count=30, seed=seed)) == list(invalid(PERSON, count=30, seed=seed))
    assert list(valid(PERSON, count=30, seed=seed)) != list(valid(PERSON, count=30, seed=seed + 1))


def test_the_first_has_the_least_and_the_second_all() -> None:
    first, second = valid(PERSON, count=2, seed=0)
    assert set(first) == {"name", "where"} and set(second) == set(PERSON["properties"])


def test_hard_values_are_among_them() -> None:
    """Empty, with a dash in front, with a line end, not ASCII, very long; and numbers at the border of 2^53."""
    schema = {
        "type": "object",
        "properties": {"s": {"type": "string"}, "n": {"type": "number"}},
        "required": ["s", "n"],
    }
    made = list(valid(schema, count=400, seed=0))
    texts, numbers = {each["s"] for each in made}, {each["n"] for each in made}
    assert {"", "--help", "007"} <= texts
    assert any("\n" in text for text in texts) and any("😀" in text for text in texts)
    assert 1 <= sum(len(text) >= LONG for text in texts) <= 3
    assert {2**53, -(2**53), 2**53 + 1, 2**53 - 1} <= numbers
    assert not any("\0" in text for text in texts)  # no command line could carry it


def test_what_is_wrong_is_said() -> None:
    reasons = {why for _, why in invalid(PERSON, count=200, seed=0)}
    assert {
        "name is missing",
        "it has an argument that is not known",
        "name is too short",
        "age is beyond its maximum",
    } <= reasons
