"""Calls of every kind, each with an answer that only it can have, and the tools they are for."""

import json
from pathlib import Path
from typing import Any, NamedTuple

BIG = 1024 * 1024
READABLE = 50
"""How many files lie ready to be read."""


class Said(NamedTuple):
    """What became of a call, whichever door it came in by."""

    code: str | None
    """None for success."""
    text: str
    bytes: int = 0
    """How much a program printed."""


class Kind(NamedTuple):
    """One kind of call. `{}` in a tool's name or an argument is the call's own token."""

    name: str
    tool: str
    args: dict[str, Any]
    code: str | None = None
    token_comes_back: bool = True
    bytes: int = 0
    cancelled: bool = False

    def token(self, number: int) -> str:
        return f"{self.name}-{number % READABLE if self.name == 'read' else number}-x"

    def called(self, number: int) -> tuple[str, dict[str, Any]]:
        token = self.token(number)
        filled = {key: value.format(token) if isinstance(value, str) else value for key, value in self.args.items()}
        return self.tool.format(token), filled

    def fault(self, number: int, said: Said) -> str | None:
        """What is wrong with an answer."""
        token = self.token(number)
        if said.code != self.code:
            return f"{token}: {said.code} instead of {self.code}: {said.text[:300]}"
        if self.token_comes_back and token not in said.text:
            return f"{token}: the answer is another one's: {said.text[:300]}"
        return f"{token}: {said.bytes} bytes of output" if said.bytes < self.bytes else None


SAY = {"say": "{}"}
FUNCTION = Kind("function", "echo_here", SAY)
COLD = Kind("cold", "custom_tool_cold", SAY)
WARM = Kind("warm", "custom_tool_warm", SAY)
SERVE = Kind("serve", "custom_tool_serves", SAY)
TOGETHER = SERVE._replace(name="together")
"""It takes a moment, so that several are under way at the same time."""
MANIFEST = Kind("manifest", "custom_tool_folder", SAY)
COMMAND = Kind("command", "run_command", {"command": "echo {}"})
WRITE = Kind("write", "write_file", {"path": "out/{}.txt", "content": "{}"})
READ = Kind("read", "read_file", {"path": "given/{}.txt"})
BLOCKED = Kind("blocked", "custom_tool_forbidden", SAY, "BLOCKED_BY_POLICY", False)
UNKNOWN = Kind("unknown", "no_{}", {}, "TOOL_NOT_FOUND")
INVALID = Kind("invalid", "custom_tool_cold", {"say": 5}, "VALIDATION_ERROR", False)
FAILING = Kind("failing", "custom_tool_fails", SAY, "EXECUTION_ERROR")
LONG = Kind("big", "custom_tool_big", SAY, bytes=BIG)
LATE = Kind("late", "custom_tool_late", SAY, "TIMEOUT", False)
CANCELLED = Kind("cancelled", "custom_tool_hang", SAY, "CANCELLED", False, cancelled=True)

MIXTURE = (
    FUNCTION, COLD, WARM, SERVE, MANIFEST, COMMAND, WRITE, READ, FUNCTION, BLOCKED,
    FUNCTION, COLD, WARM, SERVE, MANIFEST, UNKNOWN, FUNCTION, READ, FAILING, CANCELLED,
    FUNCTION, COLD, WARM, SERVE, INVALID, COMMAND, WRITE, READ, FUNCTION, LONG,
    FUNCTION, COLD, WARM, SERVE, MANIFEST, FUNCTION, FAILING, READ, FUNCTION, LATE,
)  # fmt: skip
"""Forty calls; the n-th call is of the n-th kind, from the start again after the last."""


def kind_of(number: int) -> Kind:
    return MIXTURE[number % len(MIXTURE)]


# The tools

_ABOUT = (
    '{{"name": "{name}", "description": "Does {name}.", "input_schema": {{"type": "object", '
    '"properties": {{"say": {{"type": "string"}}}}}}}}'
)
_SHELL = """#!/bin/sh
case $1 in
  description) echo '%(about)s' ;;
  run) %(body)s ;;
  *) exit 1 ;;
esac
"""
_SHELL_BODIES = {
    "cold": "cat",
    "fails": "cat >&2; exit 3",
    "big": f"cat; head -c {BIG} /dev/zero | tr '\\0' x",
    "forbidden": 'touch "$TOOLCRIB_WORKSPACE/forbidden"',
    "late": "setsid sleep 600 & exec sleep 600",
    "hang": "setsid sleep 600 & exec sleep 600",
}
_WARM = """#!/usr/bin/env python3
import json, sys
if sys.argv[1] == "description":
    print('%(about)s')
elif sys.argv[1] == "config":
    print('{"warm": true}')
else:
    print(json.load(sys.stdin)["say"])
"""
_SERVES = """#!/usr/bin/env python3
import json, sys, time
if sys.argv[1] == "description":
    print('%(about)s')
elif sys.argv[1] == "config":
    print('{"serve": true}')
elif sys.argv[1] == "run":
    print(json.load(sys.stdin)["say"])
else:
    print('{"serve": 1}', flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["input"]["say"].startswith("together"):
            time.sleep(0.5)
        print(json.dumps({"id": asked["id"], "output": asked["input"]["say"]}), flush=True)
"""
_FOLDER = """name: folder
description: Says it.
version: "1.0.0"
entrypoint: say.sh
parameters:
  - {name: say, type: string, required: true, description: What}
"""
_MODULE = '''"""Tools that run in the process that offers them."""
import ctypes
import gc
import os
from collections import Counter
from typing import Any

import toolcrib


@toolcrib.tool
async def echo_here(say: str) -> str:
    """Say it again."""
    return say


@toolcrib.tool
async def measure() -> dict[str, Any]:
    """What this process holds: bytes of memory once garbage and free heap are gone, and descriptors, by their kind."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except AttributeError:  # another C library
        pass
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    kinds = Counter()
    for name in os.listdir("/proc/self/fd"):
        try:
            kinds[os.readlink(f"/proc/self/fd/{name}").split(":[")[0]] += 1
        except OSError:  # the one that was listed with
            pass
    return {"memory": pages * os.sysconf("SC_PAGE_SIZE"), "descriptors": dict(kinds)}
'''
_CONFIG = """approval: {{default: preApproved, tools: {{custom_tool_forbidden: blocked}}}}
sandbox: {sandbox}
tools: {{custom_tool_late: {{timeout: 200ms}}}}
toolsets:
  custom: {{module: ./load_tools.py, tools: [echo_here, measure]}}
  filesystem: {{}}
  shell: {{approval: {{default: preApproved}}}}
"""


def furnish(home: Path, workspace: Path, *, sandbox: str = "process") -> None:
    """Put the tools into a home, and files into a workspace."""
    (home / "tools" / "folder").mkdir(parents=True)
    for name, body in _SHELL_BODIES.items():
        _program(home / "tools" / name, _SHELL % {"about": _ABOUT.format(name=name), "body": body})
    for name, text in (("warm", _WARM), ("serves", _SERVES)):
        _program(home / "tools" / name, text % {"about": _ABOUT.format(name=name)})
    (home / "tools" / "folder" / "tool.yaml").write_text(_FOLDER)
    _program(home / "tools" / "folder" / "say.sh", '#!/bin/sh\necho "${1#--say=}"\n')
    (home / "load_tools.py").write_text(_MODULE)
    (home / "config.yaml").write_text(_CONFIG.format(sandbox=sandbox))
    (workspace / "given").mkdir()
    for number in range(READABLE):
        (workspace / "given" / f"{READ.token(number)}.txt").write_text(READ.token(number))


def _program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


class Held(NamedTuple):
    """What a process holds."""

    memory: int
    descriptors: dict[str, int]
    """How many of each kind."""

    @staticmethod
    def read(said: Said) -> "Held":
        assert said.code is None, said
        return Held(**json.loads(said.text))

    def beyond(self, before: "Held") -> dict[str, int]:
        """The descriptors that are more than before."""
        more = {kind: count - before.descriptors.get(kind, 0) for kind, count in self.descriptors.items()}
        return {kind: count for kind, count in more.items() if count > 0}
