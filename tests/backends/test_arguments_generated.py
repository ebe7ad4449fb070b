"""Generated arguments, each set through the whole gate to a process of its own, arrive exactly as they were sent.

The tool says its argv and its stdin as JSON. It is in C where there is a compiler, because it is started thousands of
times; otherwise in Python, and then fewer sets are sent.
"""

import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.soak import turns

import toolcrib

SOURCE = r"""
#include <stdio.h>
#include <string.h>

static void quoted(const unsigned char *text, size_t length) {
    putchar('"');
    for (size_t at = 0; at < length; at++) {
        unsigned char byte = text[at];
        if (byte < 0x20 || byte == '"' || byte == '\\') printf("\\u%04x", byte);
        else putchar(byte);
    }
    putchar('"');
}

int main(int count, char **words) {
    static unsigned char given[1 << 22];
    if (count == 2 && !strcmp(words[1], "description")) {
        puts("{\"name\": \"echo\", \"description\": \"Says what it got.\", \"input_schema\": {\"type\": \"object\"}}");
        return 0;
    }
    printf("{\"argv\": [");
    for (int at = 1; at < count; at++) {
        if (at > 1) putchar(',');
        quoted((unsigned char *)words[at], strlen(words[at]));
    }
    printf("], \"stdin\": ");
    quoted(given, fread(given, 1, sizeof given, stdin));
    puts("}");
    return 0;
}
"""
SCRIPT = (
    f"#!{sys.executable} -S\n"
    + """
import json, os, sys
if sys.argv[1:] == ["description"]:
    print(json.dumps({"name": "echo", "description": "Says what it got.", "input_schema": {"type": "object"}}))
else:
    argv = [os.fsencode(word).decode() for word in sys.argv[1:]]
    print(json.dumps({"argv": argv, "stdin": sys.stdin.buffer.read().decode()}))
"""
)
COMPILER = shutil.which(os.environ.get("CC", "cc"))
SETS = turns(2000, 600) if COMPILER else 200
AT_ONCE = 4
NAMES = ("a", "b.c", "d-e", "F_9")
LONG = 100 * 1024
BORDER = [sign * (2**53 + more) for sign in (1, -1) for more in (-1, 0, 1)]
INTEGERS = [0, 1, -1, *BORDER, 2**63 - 1, -(2**63), 2**64, 10**30]
FLOATS = [0.0, -0.0, 1.0, 0.1, 1e-7, 1e16, 1e300, 5e-324, -1.5, *map(float, BORDER)]
TEXTS = ["", " ", "-", "--", "--a=b", "-rf", "\n", "a\nb\n", "\r\n", "\t", "'", '"', "`id`", "$(id)", "\\", "%s", "*", "~",
         "007", "1e5", "null", "true", "é", "e\u0301", "😀", "👩‍👩‍👧", "\u202eabc", "\u2028", "\x1b[31m", "\x7f", "\ufeff", "\U0010ffff"]  # fmt: skip
ALPHABET = "ab-= \n\t'\"\\$`é😀\u202e\x1b\x7f{}[]#:,/0"


@pytest.fixture(scope="module")
def echo(tmp_path_factory) -> Path:
    """The tool's program."""
    path = tmp_path_factory.mktemp("echo") / "echo"
    if COMPILER:
        path.with_suffix(".c").write_text(SOURCE)
        subprocess.run([COMPILER, "-O1", "-o", str(path), str(path.with_suffix(".c"))], check=True)
    else:
        path.write_text(SCRIPT)
        path.chmod(0o755)
    return path


def text(chance: random.Random) -> str:
    if chance.random() < 0.4:
        return chance.choice(TEXTS)
    return "".join(chance.choice(ALPHABET) for _ in range(chance.randrange(16)))


def integer(chance: random.Random) -> int:
    return chance.choice([chance.choice(INTEGERS), chance.randrange(-1000, 1000), chance.randrange(-(2**70), 2**70)])


def number(chance: random.Random) -> float:
    return chance.choice([integer(chance), chance.choice(FLOATS), chance.uniform(-1e6, 1e6)])


def nested(chance: random.Random, depth: int = 3) -> Any:
    kinds: list[Callable[[random.Random], Any]] = [text, number, lambda _: None, lambda each: each.random() < 0.5]
    if depth and chance.random() < 0.5:
        inside = [nested(chance, depth - 1) for _ in range(chance.randrange(4))]
        return inside if chance.random() < 0.5 else {text(chance): each for each in inside}
    return chance.choice(kinds)(chance)


VALUES: dict[str, Callable[[random.Random], Any]] = {
    "string": text,
    "number": number,
    "boolean": lambda chance: chance.random() < 0.5,
    "integer": integer,
    "array": lambda chance: [nested(chance) for _ in range(chance.randrange(4))],
    "object": lambda chance: {text(chance): nested(chance) for _ in range(chance.randrange(4))},
    "null": lambda chance: None,
}
BY_PARAMETERS = ("string", "number", "boolean")


def sets(kind: str) -> Iterator[dict[str, Any]]:
    """Some of the parameters, in any order; now and then a long one."""
    chance = random.Random(kind)
    for turn in range(SETS):
        names = chance.sample(NAMES, chance.randrange(len(NAMES) + 1))
        given = {name: VALUES[kind](chance) for name in names}
        if turn % 100 == 99 and kind in ("string", "array", "object"):
            char = chance.choice("a-é😀" + ("\n" if kind == "string" else ""))  # JSON writes the line end with two
            long = char * (LONG // len(char.encode()))
            given["a"] = {"string": long, "array": [long], "object": {"": long}}[kind]
        yield given


def send(home: Path, workspace: Path, tool: str, given: Iterator[dict[str, Any]], check: Callable[..., None]) -> None:
    """Each set is one call, a few at a time."""
    (home / "config.yaml").write_text("toolsets: {}\napproval: {default: preApproved}\n")

    async def worker(crib: toolcrib.Crib) -> int:
        count = 0
        for args in given:
            result = await crib.call(tool, args)
            assert result.error is None, (ascii(args)[:500], result.error)
            check(args, **json.loads(result.data))
            count += 1
        return count

    async def visit() -> int:
        async with toolcrib.open(workspace=workspace, home=home) as crib:
            return sum(await asyncio.gather(*(worker(crib) for _ in range(AT_ONCE))))

    assert asyncio.run(visit()) == SETS


def exact(value: Any) -> str:
    """So that 1 is not 1.0, nor 0.0 its negative, nor true a number."""
    return json.dumps(value)


@pytest.mark.parametrize("kind", VALUES)
def test_words_arrive_exactly(home, workspace, echo, kind) -> None:
    """F18: one `--name=value` each, in the order of the manifest, whatever the value; and nothing on stdin."""
    folder = home / "tools" / "echo"
    folder.mkdir(parents=True)
    shutil.copy(echo, folder / "echo")
    about: dict[str, Any] = {
        "name": "echo",
        "description": "Says what it got.",
        "version": "1.0.0",
        "entrypoint": "echo",
    }
    if kind in BY_PARAMETERS:
        about["parameters"] = [{"name": name, "type": kind} for name in NAMES]
    else:
        about["input_schema"] = {"type": "object", "properties": {name: {"type": kind} for name in NAMES}}
    (folder / "tool.yaml").write_text(json.dumps(about))

    def check(args: dict[str, Any], *, argv: list[str], stdin: str) -> None:
        words = [word.removeprefix("--").partition("=") for word in argv]
        assert all(word.startswith("--") for word in argv) and stdin == ""
        assert [name for name, _, _ in words] == [name for name in NAMES if name in args]
        for name, _, value in words:
            assert value == args[name] if kind == "string" else exact(json.loads(value)) == exact(args[name])

    send(home, workspace, "custom_tool_echo", sets(kind), check)


def test_json_arrives_exactly(home, workspace, echo) -> None:
    """K13, K28: the arguments of a program are one JSON object on stdin, then its end."""
    (home / "tools").mkdir()
    shutil.copy(echo, home / "tools" / "echo")
    chance = random.Random("json")
    given = ({text(chance): nested(chance, 5) for _ in range(chance.randrange(6))} for _ in range(SETS))

    def check(args: dict[str, Any], *, argv: list[str], stdin: str) -> None:
        assert argv == ["run"]
        assert exact(json.loads(stdin)) == exact(args)

    send(home, workspace, "custom_tool_echo", given, check)
