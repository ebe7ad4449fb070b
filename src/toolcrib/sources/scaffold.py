"""New tools: what a language needs, how a file is written, and the templates of programs that describe themselves."""

import os
from dataclasses import dataclass

from ..core.errors import ToolcribError
from ..core.tool import NAME

GO = "install Go (https://go.dev/dl, or: apt install golang)"
RUST = "install Rust (https://rustup.rs, or: apt install rustc)"
INSTALL = {
    "go": GO,
    "rustc": RUST,
    "cargo": RUST,
    "node": "install Node.js (https://nodejs.org, or: apt install nodejs)",
    "npm": "install Node.js (https://nodejs.org, or: apt install npm)",
    "cc": "install a C compiler (apt install build-essential)",
    "make": "install make (apt install make)",
    "python3": "install Python (https://www.python.org, or: apt install python3)",
}
"""What to do when a program that builds tools is not there."""


@dataclass(frozen=True, slots=True)
class Draft:
    """One file of a new tool."""

    file: str
    text: str
    executable: bool


@dataclass(frozen=True, slots=True)
class Scaffold:
    """How a new tool is written in one language."""

    template: str
    suffix: str = ""
    """Of the source file."""
    build: tuple[str, ...] = ()
    """The command that builds it, in its directory, where one is needed; `{name}` stands for the tool's name."""
    row: str = ""
    """How one parameter is written in the table of the template; `{name}`, `{type}` and `{required}` are filled in."""
    words: tuple[str, str] = ("true", "false")
    """What stands for a parameter that is required, and for one that is not."""
    more: tuple[tuple[str, str], ...] = ()
    """Further files: name and text."""

    def draft(self, name: str, table: str = "") -> Draft:
        """The source, with the name and the parameters filled in. Both must have been checked."""
        text = self.template.replace("@NAME@", name).replace("@PARAMETERS@", table)
        return Draft(name + self.suffix, text, not self.build)

    def build_command(self, name: str) -> tuple[str, ...]:
        return tuple(word.format(name=name) for word in self.build)


def check_name(name: str, prefix: str) -> None:
    """Whether a tool can be called this.

    Raises:
        ToolcribError: `TOOL_NAME_INVALID`, with what can.
    """
    if not NAME.fullmatch(name) or name.startswith("-"):
        raise ToolcribError(f"{name!r} is not a tool name; use A-Z a-z 0-9 _ -", code="TOOL_NAME_INVALID")
    if not NAME.fullmatch(prefix + name):
        message = f"{prefix}{name} has {len(prefix + name)} characters; a tool name has at most 64"
        raise ToolcribError(message, code="TOOL_NAME_INVALID")


def check_free(directory: str, name: str) -> None:
    """Whether nothing in a tools directory has this name, or one that a client would take for it.

    Raises:
        ToolcribError: `TOOL_NAME_CONFLICT`, with what has it.
    """
    folded = name.replace("-", "_")
    for held in os.listdir(directory) if os.path.isdir(directory) else ():
        if held.split(".")[0].replace("-", "_") == folded:
            message = f"{os.path.join(directory, held)} is there already; choose another name, or remove it"
            raise ToolcribError(message, code="TOOL_NAME_CONFLICT")


def write(draft: Draft, directory: str, *, mode: int) -> str:
    """Write a new file whole, and return its path. What is there already stays as it is.

    Raises:
        FileExistsError: something has this name.
        OSError: it cannot be written.
    """
    os.makedirs(directory, mode=mode | 0o100, exist_ok=True)
    path = os.path.join(directory, draft.file)
    mode = mode if draft.executable else mode & 0o666
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        with open(fd, "w", encoding="utf-8", newline="") as file:
            file.write(draft.text)
    except BaseException:
        os.unlink(path)
        raise
    return path


_PYTHON = '''\
#!/usr/bin/env python3
"""@NAME@: a tool is a program that answers to two words, `description` and `run`."""

import json
import sys

DESCRIPTION = {
    "name": "@NAME@",
    "description": "Say in a sentence what this tool does; the model chooses tools by these words.",
    "version": "0.1.0",
    "input_schema": {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "What to work on"},
        },
        "required": ["text"],
        "additionalProperties": False,
    },
}


def answer(text):
    return f"@NAME@ got: {text}"


def main(verb):
    if verb == "description":
        print(json.dumps(DESCRIPTION))
        return 0
    if verb == "run":
        try:
            print(answer(**json.load(sys.stdin)))  # the arguments, one JSON object on stdin
        except (OSError, TypeError, ValueError) as error:
            print(json.dumps({"error": str(error), "details": type(error).__name__}), file=sys.stderr)
            return 1
        return 0
    print("usage: @NAME@ description|run", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) == 2 else ""))
'''

_BASH = r"""#!/usr/bin/env bash
# @NAME@: a tool is a program that answers to two words, `description` and `run`.

set -u

fail() { # a structured error; the words must need no escaping
    printf '{"error": "%s", "details": "%s"}\n' "$1" "$2" >&2
    exit 1
}

# The text argument NAME from the JSON object in $input. Bash reads no JSON, so jq or python3 does.
argument() {
    if command -v jq >/dev/null; then
        jq -j --arg name "$1" '.[$name] // ""' <<<"$input"
    elif command -v python3 >/dev/null; then
        python3 -c 'import json, sys; print(end=json.loads(sys.argv[1]).get(sys.argv[2], ""))' "$input" "$1"
    else
        fail "neither jq nor python3 is installed" "install one of them"
    fi || fail "the arguments could not be read" "send one JSON object"
}

case ${1-} in
    description)
        cat <<'JSON'
{
  "name": "@NAME@",
  "description": "Say in a sentence what this tool does; the model chooses tools by these words.",
  "version": "0.1.0",
  "input_schema": {
    "type": "object",
    "properties": {
      "text": {"type": "string", "description": "What to work on"}
    },
    "required": ["text"],
    "additionalProperties": false
  }
}
JSON
        ;;
    run)
        input=$(cat) # the arguments, one JSON object on stdin
        text=$(argument text) || exit 1
        printf '%s\n' "@NAME@ got: $text"
        ;;
    *)
        echo "usage: @NAME@ description|run" >&2
        exit 1
        ;;
esac
"""

_NODE = r"""#!/usr/bin/env node
// @NAME@: a tool is a program that answers to two words, `description` and `run`.

"use strict";

const { readFileSync } = require("node:fs");

const DESCRIPTION = {
  name: "@NAME@",
  description: "Say in a sentence what this tool does; the model chooses tools by these words.",
  version: "0.1.0",
  input_schema: {
    type: "object",
    properties: {
      text: { type: "string", description: "What to work on" },
    },
    required: ["text"],
    additionalProperties: false,
  },
};

function answer({ text }) {
  return `@NAME@ got: ${text}`;
}

const verb = process.argv.length === 3 ? process.argv[2] : "";
if (verb === "description") {
  console.log(JSON.stringify(DESCRIPTION));
} else if (verb === "run") {
  try {
    console.log(answer(JSON.parse(readFileSync(0, "utf8")))); // the arguments, one JSON object on stdin
  } catch (error) {
    console.error(JSON.stringify({ error: error.message, details: error.name }));
    process.exitCode = 1;
  }
} else {
  console.error("usage: @NAME@ description|run");
  process.exitCode = 1;
}
"""

_GO = r"""//go:build ignore

// @NAME@: a tool is a program that answers to two words, `description` and `run`.
// After a change, build it again: go build -o @NAME@ @NAME@.go
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

const description = `{
  "name": "@NAME@",
  "description": "Say in a sentence what this tool does; the model chooses tools by these words.",
  "version": "0.1.0",
  "input_schema": {
    "type": "object",
    "properties": {
      "text": {"type": "string", "description": "What to work on"}
    },
    "required": ["text"],
    "additionalProperties": false
  }
}`

type arguments struct {
	Text string `json:"text"`
}

func answer(args arguments) string {
	return "@NAME@ got: " + args.Text
}

func main() {
	verb := ""
	if len(os.Args) == 2 {
		verb = os.Args[1]
	}
	switch verb {
	case "description":
		fmt.Println(description)
	case "run":
		var args arguments // one JSON object on stdin
		if err := json.NewDecoder(os.Stdin).Decode(&args); err != nil {
			fail("the arguments could not be read", err)
		}
		fmt.Println(answer(args))
	default:
		fmt.Fprintln(os.Stderr, "usage: @NAME@ description|run")
		os.Exit(1)
	}
}

func fail(message string, err error) {
	json.NewEncoder(os.Stderr).Encode(map[string]string{"error": message, "details": err.Error()})
	os.Exit(1)
}
"""

SCAFFOLDS = {
    "python": Scaffold(_PYTHON),
    "bash": Scaffold(_BASH),
    "node": Scaffold(_NODE),
    "go": Scaffold(_GO, ".go", ("go", "build", "-o", "{name}", "{name}.go")),
}
"""Of programs that describe themselves, by language."""
