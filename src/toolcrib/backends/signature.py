"""The schema of a function's parameters, from its signature.

Plain types are written out by hand, because importing pydantic costs more than starting a server; everything else is
pydantic's, which knows far more.
"""

import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any, Literal, Union, get_args, get_origin

from ..core.errors import InvalidJson
from ..core.jsontext import JSON, dump

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", types.NoneType: "null"}


def parameters_schema(
    function: Callable[..., Any], hints: Mapping[str, Any], *, without: str | None
) -> dict[str, JSON]:
    """An object schema that admits these parameters and no others.

    Raises:
        TypeError: a parameter has no name to pass it by.
    """
    parameters = [each for each in inspect.signature(function).parameters.values() if each.name != without]
    for each in parameters:
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD, each.POSITIONAL_ONLY):
            raise TypeError(f"{function.__name__}: a tool's parameters have names; {each} cannot be passed by one")
    properties: dict[str, JSON] = {}
    for each in parameters:
        plain = _plain(hints.get(each.name, Any), each.default)
        if plain is None:
            return _by_pydantic(function.__name__, parameters, hints)
        properties[each.name] = plain
    required = [each.name for each in parameters if each.default is each.empty]
    schema: dict[str, JSON] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": required} if required else schema


def _plain(hint: Any, default: Any) -> dict[str, JSON] | None:
    """The schema of a plain type; None for what is not plain."""
    schema = _type(hint)
    if schema is None or default is inspect.Parameter.empty:
        return schema
    try:
        dump(default)
    except InvalidJson:
        return None
    return {**schema, "default": default}


def _type(hint: Any) -> dict[str, JSON] | None:
    if hint is Any:
        return {}
    if hint is None or (isinstance(hint, type) and hint in _PLAIN):
        return {"type": _PLAIN[hint or types.NoneType]}
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        branches = [_type(each) for each in args]
        return None if None in branches else {"anyOf": branches}
    if origin is Literal and all(type(each) in (str, int, bool) for each in args):
        return {"enum": list(args)}
    if origin is list and len(args) == 1:
        items = _type(args[0])
        return None if items is None else {"type": "array", "items": items}
    if origin is dict and len(args) == 2 and args[0] is str:
        values = _type(args[1])
        return None if values is None else {"type": "object", "additionalProperties": values}
    return None


def _by_pydantic(name: str, parameters: list[inspect.Parameter], hints: Mapping[str, Any]) -> dict[str, JSON]:
    from pydantic import ConfigDict, create_model  # late: see above

    fields: dict[str, Any] = {
        each.name: (hints.get(each.name, Any), ... if each.default is each.empty else each.default)
        for each in parameters
    }
    schema: dict[str, JSON] = create_model(name, __config__=ConfigDict(extra="forbid"), **fields).model_json_schema()
    schema.pop("title", None)
    return schema
