"""A Python function as a tool: the signature is the schema, the docstring the description."""

import functools
import hashlib
import inspect
import marshal
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints, overload

from ..core.context import Context
from ..core.jsontext import JSON, canonical
from ..core.limits import Limits, duration
from ..core.schema import Schema
from ..core.tool import NO_CAPABILITIES, Capabilities, Claim, Hooks, Tool
from .signature import parameters_schema


@dataclass(frozen=True, slots=True)
class FunctionBackend:
    """Runs in this process, unconfined: the function is the host program's own."""

    function: Callable[..., Any]
    context_name: str | None
    """The parameter that takes the context, if there is one."""
    is_async: bool
    pin: str
    starts_process: bool = False

    def run(self, args: Mapping[str, JSON], ctx: Context) -> Coroutine[Any, Any, Any]:
        if self.context_name is not None:
            args = {self.context_name: ctx, **args}
        # A coroutine function's own coroutine is all there is to wait for; a wrapper would cost as much as the call.
        return self.function(**args) if self.is_async else self._plain(args)

    async def _plain(self, args: Mapping[str, Any]) -> Any:
        return self.function(**args)

    def digest(self) -> str:
        return self.pin


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
    context_name = next((each for each, hint in hints.items() if hint is Context and each != "return"), None)
    schema = input_schema or parameters_schema(function, hints, without=context_name)
    code = inspect.unwrap(function).__code__
    pin = hashlib.sha256(canonical([own_name, schema]) + marshal.dumps(code)).hexdigest()
    return Tool(
        name=own_name,
        description=description or inspect.getdoc(function) or f"Custom tool: {own_name}",
        schema=Schema(schema),
        backend=FunctionBackend(function, context_name, inspect.iscoroutinefunction(function), "sha256:" + pin),
        source="function",
        origin=f"{code.co_filename}:{code.co_firstlineno}",
        version=version,
        digest="sha256:" + pin,
        capabilities=capabilities,
        limits=Limits() if timeout is None else Limits(seconds=duration(timeout)),
        hooks=Hooks(validate, dry_run, initialize, shutdown),
        needs_approval=needs_approval,
    )
