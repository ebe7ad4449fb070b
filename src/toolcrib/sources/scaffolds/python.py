"""A new tool in Python."""

TEMPLATE = '''\
#!/usr/bin/env python3
# /// script
# dependencies = []
# ///
"""@NAME@: a tool, started with one --name=value word for each argument. What it prints is its answer."""

import json
import os
import sys
from pathlib import Path

# The packages that the block above names are put into vendor, beside this file, by: toolcrib build @NAME@
sys.path.insert(0, str(Path(__file__).resolve().parent / "vendor"))

# The arguments: type, and whether it must be there. The same stands in tool.yaml, for the model and the gate.
PARAMETERS = {
@PARAMETERS@}


def answer(arguments, workspace):
    """The answer as text. Raise ValueError, with words for the model, for what cannot be done."""
    # TODO: do the work here. Paths are meant from the workspace, which is the working directory too.
    lines = ["@NAME@ works."]
    for name, value in arguments.items():
        lines.append(f"{name}: {value if isinstance(value, str) else json.dumps(value)}")
    return "\\n".join(lines)


def write_output(text):
    print(text)


def read_arguments(words):
    arguments = {}
    for word in words:
        name, equals, value = word[2:].partition("=")
        if not (word.startswith("--") and equals and name in PARAMETERS):
            raise ValueError(f"{word[:80]!r} is no argument of this tool; it has: {', '.join(PARAMETERS) or 'none'}")
        arguments[name] = read_value(name, PARAMETERS[name][0], value)
    for name, (_, required) in PARAMETERS.items():
        if required and name not in arguments:
            raise ValueError(f"--{name}=... is missing")
    return arguments


def read_value(name, kind, text):
    if kind == "string":
        return text
    try:
        value = json.loads(text, parse_constant=lambda word: None)  # NaN is not a number here
    except ValueError:
        value = None
    if type(value) not in {"number": (int, float), "boolean": (bool,)}[kind]:
        raise ValueError(f"--{name}={text[:80]!r} is not a {kind}")
    return value


def main(words):
    try:
        arguments = read_arguments(words)
    except ValueError as error:
        print(f"@NAME@: {error}", file=sys.stderr)
        return 2
    workspace = os.environ.get("TOOLCRIB_WORKSPACE") or os.environ.get("FORGE_WORKSPACE") or os.getcwd()
    try:
        write_output(answer(arguments, Path(workspace)))
    except (OSError, ValueError) as error:
        print(f"@NAME@: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
'''
