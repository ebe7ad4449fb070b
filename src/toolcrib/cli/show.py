"""`toolcrib show`: everything about one tool."""

import os
from dataclasses import asdict
from typing import Any

from ..backends.folder import FolderBackend
from ..core.jsontext import dump_ascii
from ..core.tool import Tool
from ..runtime.build import build
from ..runtime.demand import wishes_of
from ..runtime.runtime import Crib
from ..store.state import State
from ._approver import SCOPE
from ._flags import flag_lines
from ._loop import run
from ._parser import verb_parser
from ._survey import about, absent, look_once
from ._text import visible
from .call import OWN

EXAMPLE = """
  toolcrib show hello
  toolcrib show hello --json | jq .input_schema
"""


def main(argv: list[str]) -> int:
    parser = verb_parser("show", "Show everything about one tool.", EXAMPLE)
    parser.add_argument("name", metavar="NAME", help="its name, with or without the prefix")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args(argv)
    crib = build(workspace=os.getcwd(), asker="terminal", profile=options.profile)
    run(look_once(crib))
    tool = crib.find(options.name)
    if tool is None:
        raise absent(crib, options.name)
    facts = describe(crib, tool)
    if options.json:
        print(dump_ascii(facts).decode())
    else:
        _draw(tool, facts)
    return 0


def describe(crib: Crib, tool: Tool) -> dict[str, Any]:
    """What `show --json` says of a tool."""
    state = State(crib.home)
    approved = state.knew(tool.id, tool.digest)
    return about(crib, tool) | {
        "id": tool.id,
        "approval_reason": crib.verdict(tool).reason,
        "approved_at_terminal": state.remembers(tool.id, tool.digest, SCOPE),
        "changed_since_approval": approved is not None and approved != tool.digest,
        "limits": asdict(tool.limits),
        "capabilities": asdict(tool.capabilities),
        "environment": list(getattr(tool.backend, "variables", ())),
        "dialect": getattr(tool.backend, "dialect", None),
        "wishes": wishes_of(tool)._asdict(),
        "replaces": list(tool.backend.replaces) if isinstance(tool.backend, FolderBackend) else [],
    }


def _draw(tool: Tool, facts: dict[str, Any]) -> None:
    limits = tool.limits
    memory = f"{limits.memory_bytes} bytes of memory" if limits.memory_bytes else "no limit on memory"
    capabilities = [name.replace("_", " ") for name, claimed in facts["capabilities"].items() if claimed]
    if facts["approved_at_terminal"]:
        asked = "you allowed this very version at a terminal"
    elif facts["changed_since_approval"]:
        asked = "it has CHANGED since you last allowed it"
    else:
        asked = "you have not been asked yet"
    rows = [
        ("origin", visible(tool.origin)),
        ("source", tool.source + (f", dialect {facts['dialect']}" if facts["dialect"] else "")),
        ("version", visible(tool.version)),
        ("digest", tool.digest),
        ("approval", f"{facts['approval']}: {visible(facts['approval_reason'])}"),
        ("asked", asked),
        ("limits", f"{limits.seconds:g} s, {limits.output_bytes} bytes of output kept, {memory}"),
        ("may", ", ".join(capabilities) or "nothing special"),
        ("environment", visible(", ".join(facts["environment"])) or "nothing"),
    ]
    wishes = [f"{kind}: {', '.join(names)}" for kind, names in facts["wishes"].items() if names]
    rows += [("asks for", visible("; ".join(wishes)))] if wishes else []
    if facts["replaces"]:
        rows.insert(4, ("replaces", visible(", ".join(facts["replaces"]))))
    print(f"{tool.name}\n")
    print("\n".join(f"  {visible(line)}" for line in tool.description.strip().splitlines()) + "\n")
    print("\n".join(f"  {label:<12} {text}" for label, text in rows) + "\n")
    print("\n".join(["  arguments", *(f"  {line}" for line in flag_lines(tool.input_schema, OWN) or ["  none"])]))
