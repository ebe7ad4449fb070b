"""Arguments made up from a schema: right ones that are hard to take, and wrong ones.

Each is checked against the schema before anybody gets it, so a right one is right and a wrong one is wrong. The same
schema and seed give the same arguments.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

from ..core.errors import InvalidJson
from ..core.jsontext import JSON, canonical
from ..core.schema import Schema
from .pattern import Unknown, matching

Args = dict[str, JSON]

LONG = 100 * 1024
_LONG_ATTEMPTS = (2, 9)
"""Those in which one text is that long."""
_LONGEST = 10 * LONG
_MOST_ITEMS = 1000
_TRIES = 30
"""For each set of arguments that is asked for."""
_DEEP, _DEEPEST = 5, 12
_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
_OF_KEYWORD = {
    "properties": "object", "required": "object", "additionalProperties": "object", "items": "array",
    "prefixItems": "array", "minItems": "array", "maxItems": "array", "pattern": "string", "minLength": "string",
    "maxLength": "string", "format": "string", "minimum": "number", "maximum": "number", "multipleOf": "number",
}  # fmt: skip
_TEXTS = (
    "", "-", "--help", "-5", "two words", " ", "line\nline", "\n", "tab\there", "😀 e\u0301 \u202e", "007", "1e5",
    "true", "null", "{}", "--name=value", 'a "b" \'c\'', "$(exit 7) `exit 7` ${HOME} %s %n", "a;b|c&d",
    "\\", "\x1b[31m", "\x7f",
)  # fmt: skip
_FORMATS = {
    "date": ("2024-02-29", "1970-01-01"),
    "date-time": ("2024-02-29T23:59:59Z", "1970-01-01T00:00:00+01:00"),
    "time": ("23:59:59Z",),
    "email": ("someone@example.com",),
    "hostname": ("example.com",),
    "ipv4": ("192.0.2.1",),
    "ipv6": ("2001:db8::1",),
    "uri": ("https://example.com/a?b=c#d",),
    "uuid": ("123e4567-e89b-12d3-a456-426614174000",),
}
_BORDER = 2**53
_INTEGERS = (0, 1, -1, 7, 255, 65536, _BORDER, -_BORDER, _BORDER - 1, 1 - _BORDER, _BORDER + 1)
_NUMBERS = (0.5, -0.5, 0.1, 1e-7, 1e21, -1e21, 1.7976931348623157e308, float(_BORDER))
_OTHERS: tuple[tuple[str, JSON], ...] = (
    ("null", None), ("boolean", True), ("number", 0.5), ("string", "text"), ("array", []), ("object", {}),
)  # fmt: skip


class _Cannot(Exception):
    """Nothing could be made up."""


def valid(schema: Mapping[str, JSON], *, count: int, seed: int) -> Iterator[Args]:
    """At most so many different arguments that the schema takes: with the least there can be first, then with all."""
    known, made = Schema(dict(schema)), 0
    maker = _Maker(schema, Random(seed))
    seen: set[bytes] = set()
    for attempt in range(count * _TRIES):
        if made == count:
            return
        args = _whole(lambda: maker.arguments(attempt))  # noqa: B023  # called at once
        if args is None or known.check(args) or (key := canonical(args)) in seen:
            continue
        seen.add(key)
        made += 1
        yield args


def invalid(schema: Mapping[str, JSON], *, count: int, seed: int) -> Iterator[tuple[Args, str]]:
    """At most so many different arguments that the schema refuses, each with what is wrong with it."""
    known, random = Schema(dict(schema)), Random(seed)
    bases = list(valid(schema, count=2, seed=seed)) or [{}]
    maker = _Maker(schema, random)
    values = [each for base in bases for each in _whole(lambda: list(_wrong_values(base, maker))) or ()]  # noqa: B023
    random.shuffle(values)
    spoilt = [*_wrong_names(bases[0], maker), *values]
    seen: set[bytes] = set()
    for args, why in spoilt:
        if len(seen) == count:
            return
        key = _whole(lambda: canonical(args))  # noqa: B023  # called at once
        if key is not None and key not in seen and known.check(args):
            seen.add(key)
            yield args, why


def _whole(make: Callable[[], Any]) -> Any:
    """What could be made; None where nothing could."""
    try:
        return make()
    except (_Cannot, Unknown, InvalidJson, RecursionError, OverflowError):
        return None


def _wrong_names(base: Args, maker: "_Maker") -> Iterator[tuple[Args, str]]:
    """Good arguments with one too few, or one too many."""
    for name in _list((_whole(lambda: maker.resolved(maker.root)) or {}).get("required")):
        yield {key: value for key, value in base.items() if key != name}, f"{name} is missing"
    yield {**base, "no_such_argument": "text"}, "it has an argument that is not known"


def _wrong_values(base: Args, maker: "_Maker") -> Iterator[tuple[Args, str]]:
    """Good arguments, one of which has another value."""
    root = _whole(lambda: maker.resolved(maker.root)) or {}
    for name, part in _map(root.get("properties")).items():
        for kind, other in _OTHERS:
            yield {**base, name: other}, f"{name} is of the type {kind}"
        for value, why in _outside(_whole(lambda: maker.resolved(part)) or {}):  # noqa: B023  # called at once
            yield {**base, name: value}, f"{name} {why}"
        if isinstance(base.get(name), list):
            for _, other in _OTHERS:
                yield {**base, name: [*base[name], other]}, f"{name} has a wrong item"
        if isinstance(base.get(name), dict):
            yield {**base, name: {**base[name], "no_such_key": 1}}, f"{name} has a key that is not known"


def _outside(part: Mapping[str, JSON]) -> Iterator[tuple[JSON, str]]:
    """Values just beyond what a part of a schema takes."""
    if "enum" in part or "const" in part:
        yield "none of them", "is none of those that are allowed"
    for key, step in (("minimum", -1), ("exclusiveMinimum", 0), ("maximum", 1), ("exclusiveMaximum", 0)):
        if _is_number(part.get(key)):
            yield part[key] + step, f"is beyond its {key}"
    if _is_number(part.get("multipleOf")) and part["multipleOf"] < _BORDER:
        yield part["multipleOf"] / 2, "is no multiple"
    if _is_count(part.get("minLength")) and 0 < part["minLength"] <= _LONGEST:
        yield "x" * (part["minLength"] - 1), "is too short"
    if _is_count(part.get("maxLength")) and part["maxLength"] <= _LONGEST:
        yield "x" * (part["maxLength"] + 1), "is too long"
    if "pattern" in part:
        yield "\x00\n", "does not match its pattern"
    if _is_count(part.get("maxItems")) and part["maxItems"] <= _MOST_ITEMS:
        yield [None] * (part["maxItems"] + 1), "has too many items"


class _Maker:
    """Makes up values for the parts of one schema."""

    def __init__(self, root: Mapping[str, JSON], random: Random) -> None:
        self.root, self._random = root, random
        self._long = False
        """The next text that may be long is."""

    def arguments(self, attempt: int) -> Args:
        """The first with the least there can be, the second with all, the others with some."""
        self._long = attempt in _LONG_ATTEMPTS
        return self._object(self.resolved(self.root), 0, share={0: 0.0, 1: 1.0}.get(attempt, 0.6))

    def resolved(self, part: JSON, depth: int = 0) -> dict[str, JSON]:
        """A part of the schema with its references and choices replaced by one of what they stand for."""
        if part is False or depth > _DEEPEST:
            raise _Cannot
        if not isinstance(part, dict):
            return {}
        held = {key: value for key, value in part.items() if key not in ("$ref", "anyOf", "oneOf", "allOf")}
        more = [self._referred(part["$ref"])] if "$ref" in part else []
        more += _list(part.get("allOf"))
        more += [self._random.choice(part[key]) for key in ("anyOf", "oneOf") if _list(part.get(key))]
        for each in more:
            held = _both(held, self.resolved(each, depth + 1))
        return held

    def value(self, part: JSON, depth: int) -> JSON:
        """A value for a part of the schema. Raises: `_Cannot`."""
        if depth > _DEEPEST:
            raise _Cannot
        part = self.resolved(part)
        if "const" in part:
            return part["const"]
        if _list(part.get("enum")):
            return self._random.choice(part["enum"])
        kind = self._kind(part)
        makers: dict[str, Callable[[], JSON]] = {
            "string": lambda: self._text(part),
            "integer": lambda: self._number(part, whole=True),
            "number": lambda: self._number(part, whole=self._random.random() < 0.5),
            "boolean": lambda: self._random.random() < 0.5,
            "array": lambda: self._array(part, depth),
            "object": lambda: self._object(part, depth, share=0.6 if depth < _DEEP else 0.0),
            "null": lambda: None,
        }
        return makers[kind]()

    def _kind(self, part: Mapping[str, JSON]) -> str:
        said = part.get("type")
        if isinstance(said, list):
            said = self._random.choice(said) if said else None
        guessed = said or next((kind for key, kind in _OF_KEYWORD.items() if key in part), None)
        kind = guessed or self._random.choice(_TYPES[:4])
        if kind not in _TYPES:
            raise _Cannot
        return str(kind)

    def _referred(self, where: JSON) -> JSON:
        """What a reference within the schema leads to."""
        if not isinstance(where, str) or not (where == "#" or where.startswith("#/")):
            raise _Cannot
        found: JSON = self.root
        for step in where.split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            found = found.get(step) if isinstance(found, dict) else None
            if found is None:
                raise _Cannot
        return found

    def _text(self, part: Mapping[str, JSON]) -> str:
        if isinstance(part.get("pattern"), str):
            return matching(part["pattern"], self._random)
        if part.get("format") in _FORMATS:
            return self._random.choice(_FORMATS[part["format"]])
        least = part["minLength"] if _is_count(part.get("minLength")) else 0
        most = part["maxLength"] if _is_count(part.get("maxLength")) else sys.maxsize
        if least > _LONGEST:
            raise _Cannot
        if most >= LONG and self._long:
            self._long = False
            return "x" * max(LONG, least)
        fitting = [text for text in _TEXTS if least <= len(text) <= most]
        if fitting and self._random.random() < 0.8:
            return self._random.choice(fitting)
        length = self._random.randint(least, min(most, least + 20))
        return "".join(self._random.choice("abc xyz-0189éß😀") for _ in range(length))

    def _number(self, part: Mapping[str, JSON], *, whole: bool) -> JSON:
        if _is_number(part.get("multipleOf")):
            return part["multipleOf"] * self._random.randint(-3, 12)
        low = max((part[key] for key in ("minimum", "exclusiveMinimum") if _is_number(part.get(key))), default=None)
        high = min((part[key] for key in ("maximum", "exclusiveMaximum") if _is_number(part.get(key))), default=None)
        bounds = [bound for bound in (low, high) if bound is not None]
        near = [bound + step for bound in bounds for step in (-1, 0, 1)]
        choices = [*(_INTEGERS if whole else (*_INTEGERS, *_NUMBERS)), *near]
        if low is not None and high is not None:
            choices.append(self._random.randint(int(low), max(int(low), int(high))))
        fitting = [
            each for each in choices
            if (low is None or each >= low) and (high is None or each <= high) and not (whole and each != int(each))
        ]  # fmt: skip
        if not fitting:
            raise _Cannot
        found = self._random.choice(fitting)
        return int(found) if whole else found

    def _array(self, part: Mapping[str, JSON], depth: int) -> list[JSON]:
        least = part["minItems"] if _is_count(part.get("minItems")) else 0
        most = part["maxItems"] if _is_count(part.get("maxItems")) else least + 3
        if least > _MOST_ITEMS:
            raise _Cannot
        length = least if depth >= _DEEP else self._random.randint(least, max(least, min(most, least + 3)))
        first = _list(part.get("prefixItems"))
        rest = part.get("items", True)
        return [self.value(first[at] if at < len(first) else rest, depth + 1) for at in range(length)]

    def _object(self, part: Mapping[str, JSON], depth: int, *, share: float) -> Args:
        required = [name for name in _list(part.get("required")) if isinstance(name, str)]
        properties = _map(part.get("properties"))
        least = part["minProperties"] if _is_count(part.get("minProperties")) else 0
        chosen = [name for name in properties if name in required or self._random.random() < share]
        others = [name for name in properties if name not in chosen]
        chosen += others[: max(0, least - len(chosen))]
        chosen += [name for name in required if name not in properties]
        return {name: self.value(properties.get(name, True), depth + 1) for name in chosen}


def _both(one: Mapping[str, JSON], other: Mapping[str, JSON]) -> dict[str, JSON]:
    """Two parts of a schema that both hold, as far as that can be said in one."""
    held = {**one, **other}
    if "properties" in one and "properties" in other:
        mine, theirs = _map(one["properties"]), _map(other["properties"])
        held["properties"] = {
            name: {"allOf": [mine[name], theirs[name]]}
            if name in mine and name in theirs
            else mine.get(name, theirs.get(name))
            for name in (*mine, *(name for name in theirs if name not in mine))
        }
    if "required" in one and "required" in other:
        held["required"] = [*_list(one["required"]), *_list(other["required"])]
    for key, stricter in (("minimum", max), ("maximum", min), ("minLength", max), ("maxLength", min)):
        if _is_number(one.get(key)) and _is_number(other.get(key)):
            held[key] = stricter(one[key], other[key])
    return held


def _map(value: JSON) -> dict[str, JSON]:
    return value if isinstance(value, dict) else {}


def _list(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else []


def _is_number(value: JSON) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: JSON) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
