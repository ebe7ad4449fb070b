"""What all built-in tools are made of. No signature is looked at: their schemas are written out, and start at once."""

from collections.abc import Callable, Coroutine, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from ..core.context import Context
from ..core.jsontext import JSON, canonical
from ..core.schema import Schema
from ..core.tool import Backend, Capabilities, Hooks, Tool

PATH: dict[str, JSON] = {"type": "string", "minLength": 1, "description": "Relative to the workspace."}
DIRECTORY: dict[str, JSON] = {
    "type": "string",
    "minLength": 1,
    "default": ".",
    "description": "Relative to the workspace; left out, the workspace itself.",
}
ONE_PATH: dict[str, JSON] = {
    "type": "object",
    "properties": {"path": PATH},
    "required": ["path"],
    "additionalProperties": False,
}
"""The schema of a tool that is given a path and nothing else."""
Run = Callable[[Mapping[str, JSON], Context], Coroutine[Any, Any, Any]]


class BuiltinBackend(NamedTuple):
    """Runs in this process, as part of it."""

    function: Run
    pin: str

    @property
    def starts_process(self) -> bool:
        return False

    def run(self, args: Mapping[str, JSON], ctx: Context) -> Coroutine[Any, Any, Any]:
        return self.function(args, ctx)

    def digest(self) -> str:
        return self.pin


def builtin(
    name: str,
    description: str,
    schema: dict[str, JSON],
    make_backend: Callable[[str], Backend],
    *,
    capabilities: Capabilities,
    hooks: Hooks,
) -> Tool:
    """A built-in tool. Its digest is of what a person approves: what it says it does, and what it takes."""
    digest = "sha256:" + sha256(canonical([name, description, schema])).hexdigest()
    return Tool(
        name,
        description,
        Schema(schema),
        make_backend(digest),
        source="builtin",
        origin=f"builtin:{name}",
        version="1.0.0",
        digest=digest,
        capabilities=capabilities,
        hooks=hooks,
    )


def in_process(run: Run) -> Callable[[str], Backend]:
    return lambda digest: BuiltinBackend(run, digest)
