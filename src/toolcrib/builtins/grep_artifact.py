"""`grep_artifact`: the lines of an answer that was too long to be shown whole, which a regular expression fits."""

from collections.abc import Mapping
from typing import Any

from ..core.context import Context
from ..core.jsontext import JSON
from ..core.tool import Capabilities, Hooks
from ._artifact import IDENT, opened
from ._tool import builtin
from .grep import TERMS, GrepBackend


class ArtifactBackend(GrepBackend):
    """Searches as `grep` does."""

    async def run(self, args: Mapping[str, JSON], ctx: Context) -> Any:
        from ._searching import search_file  # late: with all that it needs, it is larger than most tools

        with opened(args["id"], ctx) as (file, _):
            return await search_file(args, ctx, file.fileno(), args["id"])


grep_artifact = builtin(
    "grep_artifact",
    "Search an answer that was cut for a regular expression, line by line. The cut answer names the artifact's id.",
    {
        "type": "object",
        "properties": {"id": IDENT, **TERMS},
        "required": ["id", "pattern"],
        "additionalProperties": False,
    },
    ArtifactBackend,
    capabilities=Capabilities(idempotent=True),
    hooks=Hooks(),
)
