"""The schemas of what a function takes and gives, from its signature.

Plain types are written out by hand, because importing pydantic costs more than starting a server; everything else is
pydantic's, which knows far more. What pydantic describes it also makes: such a function is given models, enums and
dates, not the JSON they came as.
"""

import inspect
import types
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
)
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from ..core.errors import InvalidJson, ToolError
from ..core.jsontext import JSON, dump
from ..core.schema import Schema, pointer

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", types.NoneType: "null"}
_STREAMS = (AsyncGenerator, AsyncIterator, AsyncIterable, Generator, Iterator, Iterable)

Convert = Callable[[Mapping[str, JSON]], Mapping[str, Any]]
"""From the arguments of a call to those of a function. Raises: `ToolError`, when they do not fit."""


class Parameters(NamedTuple):
    """What a function takes."""

    schema: dict[str, JSON]
    convert: Convert | None = None
    """None: what JSON says is what the function takes."""


class Output(NamedTuple):
    """What a function gives."""

    schema: dict[str, JSON]
    """Of the value itself."""
    checker: Schema
    """Of an object that holds the value, because a schema that is compiled describes an object."""
    to_json: Callable[[Any], JSON] | None = None

    def checked(self, value: Any) -> JSON:
        """The value as JSON.

        Raises:
            ToolError: `EXECUTION_ERROR`, when it is not what the function says it gives.
        """
        if self.to_json is not None:
            value = self.to_json(value)
        if faults := self.checker.check({"result": value}):
            words = "; ".join(fault["message"] for fault in faults)
            raise ToolError(f"the tool's result is not what it says it gives: {words}", details=faults)
        return value


def parameters_of(
    function: Callable[..., Any],
    hints: Mapping[str, Any],
    *,
    without: str | None,
    about: Mapping[str, str] = types.MappingProxyType({}),
) -> Parameters:
    """An object schema that admits these parameters and no others. `about` are words on each of them.

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
            return _by_pydantic(function.__name__, parameters, hints, about)
        properties[each.name] = {"description": about[each.name], **plain} if each.name in about else plain
    required = [each.name for each in parameters if each.default is each.empty]
    schema: dict[str, JSON] = {"type": "object", "properties": properties, "additionalProperties": False}
    return Parameters({**schema, "required": required} if required else schema)


def model_parameters(model: Any, *, as_one: str | None = None) -> Parameters:
    """What a pydantic model admits. The function is given its fields, or, with `as_one`, the model as that argument."""
    schema: dict[str, JSON] = model.model_json_schema()
    schema.setdefault("additionalProperties", False)

    def convert(args: Mapping[str, JSON]) -> Mapping[str, Any]:
        made = _validated(model, args)
        return {as_one: made} if as_one else {name: getattr(made, name) for name in type(made).model_fields}

    return Parameters(schema, convert)


def output_of(hint: Any) -> Output | None:
    """What a return annotation says; None when it says nothing that could be checked."""
    if get_origin(hint) in _STREAMS and get_args(hint):
        hint = list[get_args(hint)[0]]  # type: ignore[misc]  # what is given piece by piece is collected
    schema, to_json = _type(hint), None
    if schema is None:
        from pydantic import TypeAdapter  # late: see above
        from pydantic.errors import PydanticUserError

        try:
            adapter = TypeAdapter(hint)
            schema = adapter.json_schema(mode="serialization")
        except PydanticUserError:  # a type of the function's own; whether its value is JSON is seen when there is one
            return None
        to_json = _serializer(adapter)
    return Output(schema, _holding(schema), to_json) if schema else None


def declared_output(schema: dict[str, JSON]) -> Output:
    """What a tool object says of its result."""
    return Output(schema, _holding(schema))


def _holding(schema: dict[str, JSON]) -> Schema:
    """For an object with the value in it. References lead to the root, so what they lead to moves there."""
    inner = {key: value for key, value in schema.items() if key != "$defs"}
    holder = {"type": "object", "properties": {"result": inner}, "required": ["result"]}
    return Schema({**holder, "$defs": schema["$defs"]} if "$defs" in schema else holder)


def _serializer(adapter: Any) -> Callable[[Any], JSON]:
    def to_json(value: Any) -> JSON:
        from pydantic_core import PydanticSerializationError

        try:
            return adapter.dump_python(value, mode="json", by_alias=True, warnings="error")
        except PydanticSerializationError as exc:
            raise ToolError(f"the tool's result is not what it says it gives: {exc}") from None

    return to_json


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
    if origin is Annotated and all(isinstance(each, str) for each in args[1:]):
        inner = _type(args[0])
        return None if inner is None else {**inner, "description": " ".join(args[1:])}
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


def _by_pydantic(
    name: str, parameters: list[inspect.Parameter], hints: Mapping[str, Any], about: Mapping[str, str]
) -> Parameters:
    from pydantic import ConfigDict, Field, create_model  # late: see above
    from pydantic.fields import FieldInfo

    fields: dict[str, Any] = {}
    for at, each in enumerate(parameters):
        hint = hints.get(each.name, Any)
        given: dict[str, Any] = {"alias": each.name}  # by alias, because a model has names of its own, such as `copy`
        if isinstance(each.default, FieldInfo):
            hint = Annotated[hint, each.default]
        elif each.default is not each.empty:
            given["default"] = each.default
        fields[f"p{at}"] = (hint, Field(**given))
    model = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
    schema: dict[str, JSON] = model.model_json_schema()
    schema.pop("title", None)
    for each_name, words in about.items():
        if each_name in schema["properties"]:
            schema["properties"][each_name].setdefault("description", words)

    def convert(args: Mapping[str, JSON]) -> Mapping[str, Any]:
        made = _validated(model, args)
        return {each.name: getattr(made, f"p{at}") for at, each in enumerate(parameters)}

    return Parameters(schema, convert)


def _validated(model: Any, args: Mapping[str, JSON]) -> Any:
    from pydantic import ValidationError

    try:
        return model.model_validate(dict(args))
    except ValidationError as exc:  # more than a schema can say: a validator of the model's own, a date that is none
        faults = [
            {"pointer": (where := pointer(each["loc"])), "message": f"{where or '(the arguments)'}: {each['msg']}"}
            for each in exc.errors(include_url=False, include_context=False, include_input=False)
        ]
        raise ToolError("Invalid parameters", code="VALIDATION_ERROR", details=faults, before_effect=True) from None
