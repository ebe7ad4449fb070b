"""Built-in tools that work with something the runtime has: its workbench, a session's jobs, a session's todos.

Each such tool waits with a bench of its own, so that it also works alone; the runtime puts its own in that one's place.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from ..core.context import Context
from ..core.jsontext import JSON
from ..core.limits import Limits
from ..core.tool import DEFAULT_LIMITS, NO_HOOKS, Capabilities, Hooks, Subject, Tool
from ._tool import builtin

Bench = TypeVar("Bench")


class BenchBackend(NamedTuple, Generic[Bench]):
    """Runs in this process, as every built-in does, with a bench at hand."""

    pin: str
    craft: "Craft[Bench]"
    bench: Bench
    variables: tuple[str, ...] = ()
    """Names that a program which it starts is given of the host's environment."""
    starts_process: bool = False

    def run(self, args: Mapping[str, JSON], ctx: Context) -> Coroutine[Any, Any, Any]:
        return self.craft.run(args, ctx, self)

    def digest(self) -> str:
        return self.pin

    def hooks(self) -> Hooks:
        touches, preview, faults, bench = self.craft.touches, self.craft.preview, self.craft.faults, self.bench
        return Hooks(
            touches=touches and (lambda args: touches(args, bench)),
            dry_run=preview and (lambda args, ctx: preview(args, ctx, self)),
            validate=faults and (lambda args: faults(args, bench)),
        )


Worked = Callable[[Mapping[str, JSON], Context, BenchBackend[Bench]], Coroutine[Any, Any, JSON]]


class Craft(NamedTuple, Generic[Bench]):
    """What one of these tools does."""

    run: Worked[Bench]
    touches: Callable[[Mapping[str, JSON], Bench], Sequence[Subject]] | None = None
    preview: Worked[Bench] | None = None
    faults: Callable[[Mapping[str, JSON], Bench], Sequence[str]] | None = None
    """What is wrong with arguments that the schema lets pass."""


def crafted(
    name: str,
    description: str,
    schema: dict[str, JSON],
    craft: Craft[Bench],
    bench: Bench,
    *,
    capabilities: Capabilities,
    variables: tuple[str, ...] = (),
    starts_process: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Tool:
    """A built-in tool that works with a bench: with this one, as long as no other takes its place."""

    def backend(digest: str) -> BenchBackend[Bench]:
        return BenchBackend(digest, craft, bench, variables, starts_process)

    tool = builtin(name, description, schema, backend, capabilities=capabilities, hooks=NO_HOOKS)
    return fitted(tool._replace(limits=limits), bench)


def fitted(tool: Tool, *benches: object) -> Tool:
    """The tool, at the one of these benches that is of the kind it works with; any other tool as it is."""
    if not isinstance(tool.backend, BenchBackend):
        return tool
    for bench in benches:
        if type(bench) is type(tool.backend.bench):
            backend = tool.backend._replace(bench=bench)
            return tool._replace(backend=backend, hooks=backend.hooks())
    return tool
