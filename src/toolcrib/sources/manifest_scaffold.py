"""New folders with a manifest: what the file says, and a source in each language.

The words that somebody gives for a new tool stand in the manifest alone, in quotes. Only what has been checked
to be made of plain characters goes into a source: the tool's name, and names and types of its parameters.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from ..backends.folder import MANIFEST
from ..core.errors import ToolcribError
from ..core.jsontext import JSON
from .scaffold import Draft, Scaffold
from .scaffolds import bash, go, node, python, rust

DESCRIPTION = "Say in a sentence what this tool does; the model chooses tools by these words."
"""Where nobody said anything."""
_NAMED = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_SAMPLES: Mapping[str, JSON] = {"string": "some text", "number": 1, "boolean": True}
_MOST = 100

LANGUAGES: Mapping[str, Scaffold] = MappingProxyType(
    {
        "python": Scaffold(
            python.TEMPLATE, ".py", row='    "{name}": ("{type}", {required}),\n', words=("True", "False")
        ),
        "bash": Scaffold(bash.TEMPLATE, ".sh", row="    {name}:{type}:{required}\n", words=("required", "optional")),
        "node": Scaffold(node.TEMPLATE, ".mjs", row='  ["{name}", {{ type: "{type}", required: {required} }}],\n'),
        "go": Scaffold(
            go.TEMPLATE,
            ".go",
            ("go", "build", "-o", "{name}", "{name}.go"),
            row='\t{{"{name}", "{type}", {required}}},\n',
            more=(("go.mod", go.MODULE),),
        ),
        "rust": Scaffold(
            rust.TEMPLATE,
            ".rs",
            ("rustc", "-O", "--edition", "2021", "--crate-name", "tool", "-o", "{name}", "{name}.rs"),
            row='    ("{name}", "{type}", {required}),\n',
        ),
    }
)
"""How a source is written, by language."""


class Parameter(NamedTuple):
    """One argument of a new tool."""

    name: str
    type: str = "string"
    """`string`, `number` or `boolean`."""
    required: bool = False
    description: str = ""


def drafts(
    name: str, *, description: str, scaffold: Scaffold, parameters: Sequence[Parameter] = ()
) -> tuple[Draft, ...]:
    """The files of a new tool with this name, which must have been checked.

    Raises:
        ToolcribError: `VALIDATION_ERROR`, for a parameter that cannot be one.
    """
    _check(description, parameters)
    rows = [
        scaffold.row.format(name=each.name, type=each.type, required=scaffold.words[not each.required])
        for each in parameters
    ]
    source = scaffold.draft(name, "".join(rows))
    manifest = _manifest(name, description, source.file, scaffold.build_command(name), parameters)
    more = [Draft(file, text, executable=False) for file, text in scaffold.more]
    return Draft(MANIFEST, manifest, executable=False), source, *more


def quoted(text: str) -> str:
    """A text in YAML, on one line, which is read back as exactly this. Nothing in it is more than text."""
    # JSON's escapes are YAML's, but JSON lets some characters pass that end a line in YAML, or have no place in it.
    written = json.dumps(text, ensure_ascii=False)
    return "".join(char if char.isprintable() else f"\\U{ord(char):08X}" for char in written)


def _check(description: str, parameters: Sequence[Parameter]) -> None:
    for text in (description, *(each.description for each in parameters)):
        if any("\ud800" <= char <= "\udfff" for char in text):
            raise _wrong(f"{text[:80]!r} holds half a character; write it as UTF-8")
    if len(parameters) > _MOST:
        raise _wrong(f"{len(parameters)} parameters are too many; a new tool has at most {_MOST}")
    seen = set()
    for each in parameters:
        if not _NAMED.fullmatch(each.name):
            raise _wrong(f"{each.name!r} is not a parameter name; use A-Z a-z 0-9 _ . - and no - in front")
        if each.type not in _SAMPLES:
            raise _wrong(f"the parameter {each.name} is a {each.type!r}; its type is one of {', '.join(_SAMPLES)}")
        if each.name in seen:
            raise _wrong(f"the parameter {each.name} is there twice")
        seen.add(each.name)


def _manifest(
    name: str, description: str, entrypoint: str, build: tuple[str, ...], parameters: Sequence[Parameter]
) -> str:
    lines = [
        f"name: {quoted(name)}",
        f"description: {quoted(description)}",
        'version: "0.1.0"',
        f"entrypoint: {quoted(entrypoint)}",
        "usage: |",
        "  TODO: say here when to use this tool, and what its answer looks like.",
        *_parameter_lines(parameters),
    ]
    if build:
        lines.append(f"build: {quoted(shlex.join(build))}")
    sample = {each.name: _SAMPLES[each.type] for each in parameters}
    answer = "".join([f"{name} works.\n", *(f"{key}: {_spelled(value)}\n" for key, value in sample.items())])
    given = ", ".join(f"{quoted(key)}: {_flow(value)}" for key, value in sample.items())
    lines += [
        f"examples: # run by: toolcrib test {name}",
        '  - name: "it answers"',
        f"    input: {{{given}}}",
        "    exit: 0",
        f"    output: {quoted(answer)}",
    ]
    return "".join(f"{line}\n" for line in lines)


def _parameter_lines(parameters: Sequence[Parameter]) -> list[str]:
    if not parameters:
        return ["parameters: []"]
    lines = ["parameters:"]
    for each in parameters:
        lines += [
            f"  - name: {quoted(each.name)}",
            f"    type: {each.type}",
            f"    required: {'true' if each.required else 'false'}",
            f"    description: {quoted(each.description.strip() and each.description or 'TODO: say what it is for')}",
        ]
    return lines


def _flow(value: JSON) -> str:
    return quoted(value) if isinstance(value, str) else _spelled(value)


def _spelled(value: JSON) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _wrong(message: str) -> ToolcribError:
    return ToolcribError(message, code="VALIDATION_ERROR")
