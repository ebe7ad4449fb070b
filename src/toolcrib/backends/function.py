"""A Python function as a tool: the signature is the schema, the docstring the description."""

import functools
import hashlib
import inspect
import marshal
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, get_args, get_type_hints, overload

from ..core.context import Context
from ..core.jsontext import JSON, canonical
from ..core.limits import Limits
from ..core.schema import Schema
from ..core.tool import NO_CAPABILITIES, Capabilities, Claim, Hooks, Tool
from .docstring import described
from .quantity import duration
from .signature import Convert, Output, output_of, parameters_of
from .view import view

_TOLD_BYTES = 4096
"""Longest word on a value that was yielded; the result holds it whole."""


class Shape(NamedTuple):
    """What stands between a call's JSON and a function that takes or gives more than that."""

    convert: Convert | None = None
    output: Output | None = None


@dataclass(frozen=True, slots=True)
class FunctionBackend:
    """Runs in this process, unconfined: the function is the host program's own."""

    function: Callable[..., Any]
    context_name: str | None
    """The parameter that takes the context, if there is one."""
    is_async: bool
    pin: str
    shape: Shape | None = None
    """None for a function whose arguments and whose value, awaited if it is async, are those of the call."""
    starts_process: bool = False

    def run(self, args: Mapping[str, JSON], ctx: Context) -> Coroutine[Any, Any, Any]:
        if self.shape is not None:
            return self._shaped(args, ctx, self.shape)
        if self.context_name is not None:
            args = {self.context_name: ctx, **args}
        # A coroutine function's own coroutine is all there is to wait for; a wrapper would cost as much as the call.
        return self.function(**args) if self.is_async else self._plain(args)

    async def _plain(self, args: Mapping[str, Any]) -> Any:
        return self.function(**args)

    async def _shaped(self, args: Mapping[str, Any], ctx: Context, shape: Shape) -> Any:
        if shape.convert is not None:
            args = shape.convert(args)
        if self.context_name is not None:
            args = {self.context_name: ctx, **args}
        value = self.function(**args)
        if inspect.isasyncgen(value) or inspect.isgenerator(value):
            value = await _collected(value, ctx)
        elif inspect.isawaitable(value):
            value = await value
        return value if shape.output is None else shape.output.checked(value)

    def digest(self) -> str:
        return self.pin


async def _collected(values: Any, ctx: Context) -> list[Any]:
    """All that a generator yields, async or not. Whoever asked is told of each value as it comes."""
    found: list[Any] = []

    def keep(value: Any) -> None:
        found.append(value)
        ctx.progress(len(found), None, view(str(value), _TOLD_BYTES))

    if inspect.isgenerator(values):
        for value in values:
            keep(value)
        return found
    async with aclosing(values):
        async for value in values:
            keep(value)
    return found


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    version: str = "0.0.0",
    capabilities: Capabilities = NO_CAPABILITIES,
    needs_approval: Claim | None = None,
    timeout: float | str | None = None,
    input_schema: dict[str, JSON] | None = None,
    validate: Callable[[Mapping[str, JSON]], list[str]] | None = None,
    dry_run: Callable[[Mapping[str, JSON], Context], Coroutine[Any, Any, JSON]] | None = None,
    initialize: Callable[[Context], Awaitable[None]] | None = None,
    shutdown: Callable[[], Awaitable[None]] | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(function: Callable[..., Any] | None = None, /, **about: Any) -> Any:
    """Make a function a tool: `@tool`, or `@tool(name=…, capabilities=…, …)`."""
    return functools.partial(_made, **about) if function is None else _made(function)


def _made(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    description: str | None = None,
    version: str = "0.0.0",
    capabilities: Capabilities = NO_CAPABILITIES,
    needs_approval: Claim | None = None,
    timeout: float | str | None = None,
    input_schema: dict[str, JSON] | None = None,
    validate: Callable[[Mapping[str, JSON]], list[str]] | None = None,
    dry_run: Callable[[Mapping[str, JSON], Context], Coroutine[Any, Any, JSON]] | None = None,
    initialize: Callable[[Context], Awaitable[None]] | None = None,
    shutdown: Callable[[], Awaitable[None]] | None = None,
) -> Tool:
    own_name = name or function.__name__
    hints = get_type_hints(function, include_extras=True)
    context_name = context_parameter(hints)
    words = described(inspect.getdoc(function))
    convert = None
    if input_schema is None:
        input_schema, convert = parameters_of(function, hints, without=context_name, about=words.parameters)
    generates = inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function)
    shape = Shape(convert) if convert or generates else None
    code = inspect.unwrap(function).__code__
    pin = "sha256:" + hashlib.sha256(canonical([own_name, input_schema]) + marshal.dumps(code)).hexdigest()
    return Tool(
        name=own_name,
        description=description or words.text or f"Custom tool: {own_name}",
        schema=Schema(input_schema),
        backend=FunctionBackend(function, context_name, inspect.iscoroutinefunction(function), pin, shape),
        source="function",
        origin=f"{code.co_filename}:{code.co_firstlineno}",
        version=version,
        digest=pin,
        capabilities=capabilities,
        limits=Limits() if timeout is None else Limits(seconds=duration(timeout)),
        hooks=Hooks(validate, dry_run, initialize, shutdown),
        needs_approval=needs_approval,
    )


def context_parameter(hints: Mapping[str, Any]) -> str | None:
    """The parameter that is annotated as `Context`, or as one that may be missing."""
    found = (
        name for name, hint in hints.items() if name != "return" and (hint is Context or Context in get_args(hint))
    )
    return next(found, None)


def returned(function: Callable[..., Any]) -> Output | None:
    """What a function is annotated to return, if that can be checked."""
    hints = get_type_hints(function, include_extras=True)
    return output_of(hints["return"]) if "return" in hints else None


def with_output(made: Tool, backend: FunctionBackend, output: Output | None) -> Tool:
    """The tool, with each result held against what it says it gives."""
    shape = (backend.shape or Shape())._replace(output=output)
    return made._replace(backend=replace(backend, shape=shape), output_schema=output and output.schema)
