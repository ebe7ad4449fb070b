"""Tools as a list of declarations and one function that returns text: for agents that were written around these two.

Every call goes through a crib of its own, and so through the gate: judged, asked about and recorded like any other.
"""

import os
from collections.abc import Mapping
from typing import Any

from ..builtins import TOOLS as BUILT_IN
from ..core.call import Result
from ..core.context import new_id
from ..core.jsontext import JSON, dump_ascii
from ..core.policy import Answer, Question
from ..core.registry import OWN, Registry
from ..policy.request import FullQuestion
from .build import open
from .default_context import Confirm, confirmed

ASKER = "execute_tool"
"""The door, as it is recorded and shown."""
_SESSION = new_id()
"""Of this process: what one call leaves for the next, such as a list of things to do."""
_FIELDS = frozenset(("type", "description", "properties", "items", "required", "enum"))


def declarations() -> list[dict[str, JSON]]:
    """The built-in tools, in the dialect of schemas that Gemini takes."""
    registry = Registry()
    for tool in BUILT_IN:
        registry.register(tool, rank=OWN)
    (declared,) = registry.declarations()
    tools = [{**each, "parameters": lowered(each["parameters"])} for each in declared["functionDeclarations"]]
    return [{"functionDeclarations": tools}]


def lowered(schema: Mapping[str, JSON]) -> dict[str, JSON]:
    """A schema without the words that the dialect does not know. The gate still checks all of them."""
    kept = {key: value for key, value in schema.items() if key in _FIELDS}
    if "properties" in kept:
        kept["properties"] = {name: lowered(inner) for name, inner in kept["properties"].items()}
    if "items" in kept:
        kept["items"] = lowered(kept["items"])
    return kept if "type" in kept else {"type": "string", **kept}


async def execute_tool(
    name: str,
    args: Mapping[str, JSON] | None = None,
    confirm: Confirm | None = None,
    *,
    workspace: str | os.PathLike[str] = ".",
    home: str | os.PathLike[str] | None = None,
    profile: str | None = None,
) -> str:
    """Call one tool and give its answer as text; what went wrong as `Error: …`.

    `confirm` is asked where a person would be, with what is about to happen; without it, nobody says yes.
    """
    approver = None if confirm is None else _Confirming(confirm)
    async with open(
        workspace=workspace, home=home, approver=approver, session=_SESSION, asker=ASKER, profile=profile
    ) as crib:
        return as_text(await crib.call(name, args))


def as_text(result: Result) -> str:
    """Text as it is, anything else as JSON that people can read."""
    if result.error is not None:
        return f"Error: {result.error.message}"
    return result.data if isinstance(result.data, str) else _pretty(result.data)


def _pretty(data: JSON) -> str:
    import json  # late: the one place that draws JSON for people

    return json.dumps(data, indent=2, ensure_ascii=False)


class _Confirming:
    """An approver around a function that says yes or no. Its answers are for the one call."""

    blind = True

    def __init__(self, confirm: Confirm) -> None:
        self._confirm = confirm

    async def approve(self, question: Question) -> Answer:
        return Answer(allowed=await confirmed(self._confirm, _words(question)), by="confirm")


def _words(question: Question) -> str:
    if question.message is not None:
        return question.message
    shown: Mapping[str, Any] = question.call.args
    if isinstance(question, FullQuestion):  # with the secrets taken out
        shown = question.request.arguments
    return f"{question.tool.name} {dump_ascii(dict(shown)).decode()}: {question.reason}"


TOOLS = declarations()
