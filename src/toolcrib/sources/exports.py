"""What a Python module exports, as tools: plain functions, functions with a schema beside them, and tool objects."""

import asyncio
import hashlib
import inspect
import marshal
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, get_type_hints

from ..backends.docstring import described
from ..backends.function import FunctionBackend, Shape, context_parameter, returned, tool, with_output
from ..backends.quantity import duration
from ..backends.signature import Convert, Output, Parameters, declared_output, model_parameters, parameters_of
from ..core.call import settle
from ..core.context import Context
from ..core.errors import ToolcribError
from ..core.jsontext import JSON, canonical
from ..core.limits import Limits
from ..core.policy import Decision
from ..core.schema import Schema
from ..core.tool import NAME, NO_CAPABILITIES, Backend, Capabilities, Claim, Hooks, Tool

_KEYS = {
    "name": "name",
    "description": "description",
    "version": "version",
    "timeout": "timeout",
    "capabilities": "capabilities",
    "execute": "execute",
    "validate": "validate",
    "initialize": "initialize",
    "shutdown": "shutdown",
    "input_schema": "inputSchema",
    "output_schema": "outputSchema",
    "needs_approval": "needsApproval",
    "dry_run": "dryRun",
}
"""What a tool object may say, in both spellings."""
_INPUT, _CONTEXT = "input", "ctx"


class BadExport(ToolcribError):
    """One export cannot be a tool. The others are not affected."""

    code = "CONFIG_INVALID"


@dataclass(slots=True)
class _Life:
    """Whether a tool was prepared; once is enough, however many calls come at the same time."""

    ready: bool = False
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True, slots=True)
class ModuleBackend:
    """Runs in this process what a module brought, and stands for the module's content as well as for the tool's own.

    A tool is prepared before its first call, not when the tools are listed: a module that is read again while others
    are at work brings tools that nobody has prepared yet.
    """

    inner: Backend
    module: str
    """Digest of the file it came from."""
    prepare: Callable[[Context], Awaitable[None]] | None = None
    life: _Life = field(default_factory=_Life, compare=False)

    @property
    def starts_process(self) -> bool:
        return self.inner.starts_process

    def run(self, args: Mapping[str, JSON], ctx: Context) -> Coroutine[Any, Any, Any]:
        return self.inner.run(args, ctx) if self.prepare is None else self._prepared(args, ctx)

    async def _prepared(self, args: Mapping[str, JSON], ctx: Context) -> Any:
        async with self.life.lock:
            if not self.life.ready and self.prepare is not None:
                await self.prepare(ctx)
                self.life.ready = True
        return await self.inner.run(args, ctx)

    def digest(self) -> str:
        return "sha256:" + hashlib.sha256(f"{self.module} {self.inner.digest()}".encode()).hexdigest()


def exported_tool(
    name: str | None, exported: Any, beside: Mapping[str, Any], *, place: str, digest: str, source: str
) -> Tool:
    """The tool that an export is. `beside` are the module's other names; without a `name`, the export's own counts.

    Raises:
        ToolcribError: it cannot be one.
    """
    made = _made(name, exported, beside)
    if not NAME.fullmatch(made.name):
        raise BadExport(f"{made.name!r} is not a tool name: use 1 to 64 of A-Z a-z 0-9 _ -", code="TOOL_NAME_INVALID")
    if name is not None and made.name != name:
        # Otherwise an entry that blocks one of the two names would let calls of the other through.
        raise BadExport(f"the tool object exported as {name!r} calls itself {made.name!r}; give it one name")
    made.schema.check({})  # a schema that is none is found now, not by a call
    hooks = made.hooks
    backend = ModuleBackend(made.backend, digest, hooks.initialize and _awaited(hooks.initialize))
    shutdown = hooks.shutdown and _when_prepared(_awaited(hooks.shutdown), backend.life, backend.prepare is None)
    return made._replace(
        backend=backend,
        source=source,
        origin=place if made.origin in ("", place) else f"{place}:{made.origin.rpartition(':')[2]}",
        digest=backend.digest(),
        hooks=Hooks(hooks.validate, hooks.dry_run and _awaited(hooks.dry_run), None, shutdown, hooks.touches),
        needs_approval=_claim(made.name, made.needs_approval),
    )


def _made(name: str | None, exported: Any, beside: Mapping[str, Any]) -> Tool:
    if isinstance(exported, Tool):
        backend = exported.backend
        if isinstance(backend, FunctionBackend):
            return with_output(exported, backend, returned(backend.function))
        return exported
    if _is_function(exported):
        return _from_function(name or exported.__name__, exported, beside)
    if not isinstance(exported, type) and _says(exported, "execute") and _says(exported, "name"):
        return _from_object(exported)
    raise BadExport(
        f"Export {name or type(exported).__name__!r} must be a function or tool object "
        f"(with name, description, input_schema and execute), not {_kind(exported)}"
    )


def _from_function(name: str, function: Callable[..., Any], beside: Mapping[str, Any]) -> Tool:
    schema = next((beside[key] for key in (f"{name}_schema", f"{name}Schema") if key in beside), None)
    hints = get_type_hints(function, include_extras=True)
    context_name = context_parameter(hints)
    parameters = [each for each in inspect.signature(function).parameters.values() if each.name != context_name]
    if schema is None:
        if parameters and not any(each.name in hints for each in parameters):
            raise BadExport(
                f"Schema '{name}_schema' required for function '{name}', which has no type hints: "
                "annotate its parameters, or put a pydantic model or a JSON Schema of that name beside it"
            )
        made = tool(name=name)(function)
        assert isinstance(made.backend, FunctionBackend)
        return with_output(made, made.backend, returned(function))
    words = described(inspect.getdoc(function))
    taken = _taken(name, function, schema, hints, parameters, context_name)
    for each, text in words.parameters.items():
        if isinstance(about := taken.schema.get("properties", {}).get(each), dict):
            about.setdefault("description", text)
    return _built(
        name,
        words.text,
        taken,
        FunctionBackend(function, context_name, False, _pin(name, taken.schema, function), Shape(taken.convert)),
        returned(function),
        function,
    )


def _taken(
    name: str,
    function: Callable[..., Any],
    schema: Any,
    hints: Mapping[str, Any],
    parameters: list[inspect.Parameter],
    context_name: str | None,
) -> Parameters:
    """What a function with a schema beside it takes: each property by name, or all of them as its one parameter."""
    described_by = _parameters(name, schema)
    names, properties = [each.name for each in parameters], set(described_by.schema.get("properties", {}))
    if len(names) == 1 and names[0] not in properties and parameters[0].kind is not inspect.Parameter.VAR_KEYWORD:
        if parameters[0].kind is inspect.Parameter.POSITIONAL_ONLY:
            raise BadExport(f"{name}: a tool's parameters have names; {names[0]} cannot be passed by one")
        return _parameters(name, schema, as_one=names[0], hint=hints.get(names[0]))
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters)
    needed = {each.name for each in parameters if each.default is each.empty and each.kind is not each.VAR_KEYWORD}
    if wrong := sorted(needed - properties):
        raise BadExport(f"'{name}_schema' says nothing of {', '.join(wrong)}, which function '{name}' needs")
    if wrong := sorted(properties - set(names)) if not takes_any else []:
        raise BadExport(f"'{name}_schema' has {', '.join(wrong)}, which function '{name}' does not take")
    if described_by.convert is None and not takes_any and any(each in hints for each in names):
        return described_by._replace(convert=parameters_of(function, hints, without=context_name).convert)
    return described_by


def _from_object(said: Any) -> Tool:
    if isinstance(said, Mapping):
        known = {*_KEYS, *_KEYS.values()}
        if unknown := sorted(str(key) for key in said if key not in known):
            raise BadExport(
                f"tool object {said.get('name')!r}: unknown key {unknown[0]!r}; known are {', '.join(_KEYS)}"
            )
    name, execute = _get(said, "name"), _get(said, "execute")
    if not isinstance(name, str) or not callable(execute):
        raise BadExport(f"tool object {name!r}: name must be text, and execute a function")
    if not _says(said, "input_schema"):
        raise BadExport(f"tool object {name!r} has no input_schema: a pydantic model or a JSON Schema")
    capabilities = _get(said, "capabilities") or NO_CAPABILITIES
    if not isinstance(capabilities, Capabilities):
        raise BadExport(f"tool object {name!r}: capabilities must be toolcrib.Capabilities(...)")
    taken = _parameters(name, _get(said, "input_schema"), as_one=_INPUT)
    output = _get(said, "output_schema")
    function = execute if _is_function(execute) else None
    made = _built(
        name,
        _get(said, "description") or (described(inspect.getdoc(function)).text if function else ""),
        taken,
        FunctionBackend(
            _by_position(name, execute), _CONTEXT, False, _pin(name, taken.schema, function), Shape(taken.convert)
        ),
        declared_output(_plain_schema(name, output)) if output else returned(function) if function else None,
        function,
    )
    timeout = _get(said, "timeout")
    return made._replace(
        version=str(_get(said, "version") or "0.0.0"),
        capabilities=capabilities,
        limits=Limits() if timeout is None else Limits(seconds=duration(timeout)),
        hooks=Hooks(*(_get(said, each) for each in ("validate", "dry_run", "initialize", "shutdown"))),
        needs_approval=_get(said, "needs_approval"),
    )


def _built(
    name: str,
    description: str,
    taken: Parameters,
    backend: FunctionBackend,
    output: Output | None,
    function: Callable[..., Any] | None,
) -> Tool:
    code = function and inspect.unwrap(function).__code__
    made = Tool(
        name,
        description or f"Custom tool: {name}",
        Schema(taken.schema),
        backend,
        origin=f"{code.co_filename}:{code.co_firstlineno}" if code else "",
        digest=backend.pin,
    )
    return with_output(made, backend, output)


def _by_position(name: str, execute: Callable[..., Any]) -> Callable[..., Any]:
    """`execute(input)` or `execute(input, ctx)`, to be called by name."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    places = sum(each.kind in kinds for each in inspect.signature(execute).parameters.values())
    if places not in (1, 2):
        raise BadExport(f"tool object {name!r}: execute takes the input and, if it wants, the context")
    with_context = places == 2

    def run(*, input: Any, ctx: Context) -> Any:
        return execute(input, ctx) if with_context else execute(input)

    return run


def _parameters(name: str, schema: Any, *, as_one: str | None = None, hint: Any = None) -> Parameters:
    """What a schema admits: a pydantic model, or a JSON Schema."""
    if _is_model(schema):
        return model_parameters(schema, as_one=as_one)
    plain = _plain_schema(name, schema)
    if as_one is None:
        return Parameters(plain)
    convert: Convert = lambda args: {as_one: dict(args)}  # noqa: E731  # mypy wants it in one place
    return Parameters(plain, model_parameters(hint, as_one=as_one).convert if _is_model(hint) else convert)


def _plain_schema(name: str, schema: Any) -> dict[str, JSON]:
    if _is_model(schema):
        document: dict[str, JSON] = schema.model_json_schema(mode="serialization")
        return document
    if not isinstance(schema, Mapping):
        raise BadExport(f"the schema of {name!r} must be a pydantic model or a JSON Schema, not {_kind(schema)}")
    return deepcopy(dict(schema))


def _claim(name: str, claim: Any) -> Claim | None:
    """A claim that can be asked, or a plain word on why not: a claim that fails in a call would only refuse it."""
    if claim is None or isinstance(claim, bool):
        return claim
    if callable(claim):
        if inspect.iscoroutinefunction(claim):
            raise BadExport(f"{name}: needs_approval is asked while the call is judged, and must not be async")
        required = [each for each in inspect.signature(claim).parameters.values() if each.default is each.empty]
        options: tuple[Any, ...] = ({},) if len(required) > 1 else ()
        # On a copy: what was checked and is recorded is what runs, whatever the claim does with what it looks at.
        return lambda args: claim(deepcopy(dict(args)), *options)
    try:
        return Decision.parse(claim).wire
    except ValueError as exc:
        raise BadExport(f"{name}: needs_approval: {exc}") from None


def _awaited(hook: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    """A hook that may be sync or async, as one that is async."""

    async def call(*args: Any) -> Any:
        value = hook(*args)
        return await value if inspect.isawaitable(value) else value

    return call


def _when_prepared(shutdown: Callable[[], Awaitable[None]], life: _Life, always: bool) -> Callable[[], Awaitable[None]]:
    async def call() -> None:
        if always or life.ready:
            await settle(shutdown())  # the crib is closing: nobody is left who could act on a failure

    return call


def _pin(name: str, schema: dict[str, JSON], function: Callable[..., Any] | None) -> str:
    code = marshal.dumps(inspect.unwrap(function).__code__) if function else b""
    return "sha256:" + hashlib.sha256(canonical([name, schema]) + code).hexdigest()


def _is_function(exported: Any) -> bool:
    if isinstance(exported, type) or not callable(exported):
        return False
    inner = inspect.unwrap(exported)
    return inspect.isfunction(inner) or inspect.ismethod(inner)


def _is_model(schema: Any) -> bool:
    return isinstance(schema, type) and hasattr(schema, "model_json_schema")


def _says(said: Any, key: str) -> bool:
    return _get(said, key) is not None


def _get(said: Any, key: str) -> Any:
    """What a tool object says, in either spelling, of which it may use one."""
    spellings = dict.fromkeys((key, _KEYS[key]))
    values = [said.get(each) if isinstance(said, Mapping) else getattr(said, each, None) for each in spellings]
    given = [value for value in values if value is not None]
    if len(given) > 1:
        raise BadExport(f"a tool object says both {' and '.join(spellings)}; leave one out")
    return given[0] if given else None


def _kind(value: Any) -> str:
    return "a class" if isinstance(value, type) else f"a {type(value).__name__}"
