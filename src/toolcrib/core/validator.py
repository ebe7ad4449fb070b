"""Values against a schema: compiled once, bounded, and closed to the outside."""

from itertools import islice
from typing import Any

import jsonschema_rs

from .errors import ToolcribError
from .jsontext import JSON, dump
from .schema import pointer

MAX_BYTES = 256 * 1024
MAX_DEPTH = 64
MAX_NODES = 10_000
MAX_FAULTS = 8


class Validator:
    """A compiled schema."""

    __slots__ = ("_inner",)

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def check(self, value: JSON) -> list[dict[str, JSON]]:
        try:
            if self._inner.is_valid(value):
                return []
            return [_fault(error) for error in islice(self._inner.iter_errors(value), MAX_FAULTS)]
        except ValueError as exc:  # a value that JSON has no word for
            return [{"pointer": "", "expected": "a JSON value", "got": str(exc), "message": str(exc)}]


def compiled(document: JSON) -> Validator:
    """A validator for an input schema: a JSON object that describes an object.

    Raises:
        ToolcribError: `SCHEMA_REJECTED`, with the place.
    """
    if not isinstance(document, dict):
        raise _rejected(f"an input schema is a JSON object, not {_kind(document)}")
    if document.get("type", "object") != "object":
        given = dump(document["type"]).decode()
        raise _rejected(f'/type: arguments are always an object, so "type" is "object", not {given}')
    if len(dump(document)) > MAX_BYTES:
        raise _rejected(f"longer than {MAX_BYTES} bytes")
    _bounded(document)
    return Validator(_compile(document))


def _compile(document: JSON, registry: Any = None) -> Any:
    try:
        return jsonschema_rs.validator_for(document, retriever=_refuse, registry=registry)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as exc:
        path = getattr(exc, "instance_path", ())
        where = pointer(path) + ": " if path else ""
        raise _rejected(f"{where}{getattr(exc, 'message', None) or exc}") from None


def _refuse(uri: str) -> JSON:
    # Without this the library would fetch http references and open file references: a tool's schema is not a request.
    raise ValueError(f"references outside the schema are not followed: {uri}")


def _bounded(document: JSON) -> None:
    level: list[JSON] = [document]
    nodes = 0
    for _ in range(MAX_DEPTH):
        inner = [node.values() if isinstance(node, dict) else node for node in level if isinstance(node, dict | list)]
        level = [child for children in inner for child in children]
        nodes += len(level)
        if nodes > MAX_NODES:
            raise _rejected(f"more than {MAX_NODES} parts")
        if not level:
            return
    raise _rejected(f"nested deeper than {MAX_DEPTH} levels")


def _rejected(reason: str) -> ToolcribError:
    return ToolcribError(f"the input schema was rejected: {reason}", code="SCHEMA_REJECTED")


def _fault(error: Any) -> dict[str, JSON]:
    where, expected, got = pointer(error.instance_path), _expected(error), _shortened(error.instance)
    message = f"{where or '(the arguments)'}: expected {expected}, got {got}"
    return {"pointer": where, "expected": expected, "got": got, "message": message}


def _expected(error: Any) -> str:
    """What would have been right, in words a model can act on."""
    kind = error.kind
    match kind.name:
        case "type":
            return " or ".join(kind.types)
        case "required":
            return f"the required property {kind.property!r}"
        case "enum":
            return f"one of {_shortened(kind.options)}"
        case "additionalProperties" | "unevaluatedProperties":
            return f"no property {', '.join(map(repr, kind.unexpected))}"
        case "pattern":
            return f"text that matches {kind.pattern}"
        case "anyOf" | "oneOf":
            branches = [_expected(first) for branch in getattr(kind, "context", []) for first in branch[:1]]
            return " or ".join(dict.fromkeys(branches)) or f"exactly one form of {kind.name}"
        case _:
            return f"{kind.name} {_shortened(getattr(kind, 'limit', None))}".removesuffix(" null")


def _kind(value: JSON) -> str:
    names = {dict: "an object", list: "an array", str: "text", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), "null")


def _shortened(value: JSON, limit: int = 80) -> str:
    text = dump(value).decode()
    return text if len(text) <= limit else f"{text[:limit]}… ({_kind(value)}, {len(text)} characters)"
