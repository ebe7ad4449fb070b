"""What a schema says of its properties, as far as a command line needs to know it."""

from collections.abc import Mapping

from ..core.jsontext import JSON

_DEPTH = 8
"""How many references are followed. A schema may refer to itself."""
_KINDS = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}


def properties(schema: Mapping[str, JSON]) -> dict[str, JSON]:
    """The properties of an object's schema, by name."""
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def types(schema: JSON, root: Mapping[str, JSON], depth: int = _DEPTH) -> set[str]:
    """The JSON types a value may have; empty when anything goes, or when it is not easily said."""
    if not isinstance(schema, dict) or depth == 0:
        return set()
    kind = schema.get("type")
    if isinstance(kind, str):
        return {kind}
    if isinstance(kind, list):
        return {each for each in kind if isinstance(each, str)}
    if "const" in schema or isinstance(schema.get("enum"), list):
        return {_KINDS.get(type(value), "null") for value in schema.get("enum") or [schema.get("const")]}
    if isinstance(reference := schema.get("$ref"), str):
        return types(_referred(reference, root), root, depth - 1)
    for key in ("anyOf", "oneOf"):
        branches = [types(each, root, depth - 1) for each in schema.get(key) or ()]
        if branches:
            return set().union(*branches) if all(branches) else set()
    return next((kinds for each in schema.get("allOf") or () if (kinds := types(each, root, depth - 1))), set())


def _referred(reference: str, root: Mapping[str, JSON]) -> JSON:
    """What a reference within the schema points at (`#/$defs/Colour`)."""
    at: JSON = root
    for step in reference.removeprefix("#/").split("/") if reference.startswith("#/") else ():
        key = step.replace("~1", "/").replace("~0", "~")
        at = at.get(key) if isinstance(at, dict) else None
    return at if at is not root else None
