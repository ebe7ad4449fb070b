"""Tools that change under a crib that is open: what runs goes on, what is broken says so, what is mended is back."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import toolcrib
from toolcrib.runtime.runtime import Crib

DESCRIBED = {"name": "said", "version": "1.0.0", "description": "Waits.", "input_schema": {"type": "object"}}
WAITS = 'echo began > "$TOOLCRIB_WORKSPACE/began"; read line < "$TOOLCRIB_WORKSPACE/end"; echo "$line from VERSION"'
PROGRAM = (
    f"#!/bin/sh\nif [ \"$1\" = description ]; then\ncat <<'END'\n{json.dumps(DESCRIBED)}\nEND\nelse\n{WAITS}\nfi\n"
)
MANIFEST = "name: waits\ndescription: Waits.\nversion: 'VERSION'\nentrypoint: run.sh\n"
MODULE = """
import asyncio, os
from pathlib import Path

VERSION = "1.0.0"

async def waits() -> str:
    \"\"\"Waits.\"\"\"
    await asyncio.to_thread(Path("{ws}/began").write_text, "began")
    line = await asyncio.to_thread(Path("{ws}/end").read_text)
    return line.strip() + " from VERSION\\n".replace("VERSION", VERSION)
"""


class Kind(NamedTuple):
    """One kind of tool: how it is written, how it is broken, and what a broken one answers."""

    name: str
    write: Callable[[Path, Path, str], None]
    spoil: Callable[[Path], None]
    code: str


def write_program(home: Path, workspace: Path, version: str) -> None:
    (home / "tools").mkdir(exist_ok=True)
    (home / "tools" / "waits").write_text(PROGRAM.replace("VERSION", version).replace('"1.0.0"', f'"{version}"'))
    (home / "tools" / "waits").chmod(0o755)


def write_folder(home: Path, workspace: Path, version: str) -> None:
    folder = home / "tools" / "waits"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tool.yaml").write_text(MANIFEST.replace("VERSION", version))
    (folder / "run.sh").write_text("#!/bin/sh\n" + WAITS.replace("VERSION", version))
    (folder / "run.sh").chmod(0o755)


def write_module(home: Path, workspace: Path, version: str) -> None:
    (home / "config.yaml").write_text("toolsets: {custom: {module: ./tools.py, tools: [waits]}}\n")
    (home / "tools.py").write_text(MODULE.format(ws=workspace).replace('"1.0.0"', f'"{version}"'))


def spoil_program(home: Path) -> None:
    (home / "tools" / "waits").write_text("#!/bin/sh\necho nothing of use\n")


def spoil_folder(home: Path) -> None:
    (home / "tools" / "waits" / "tool.yaml").write_text("name: waits\nnonsense: yes\n")


def spoil_module(home: Path) -> None:
    (home / "tools.py").write_text("def waits(:\n")


KINDS = [
    Kind("custom_tool_said", write_program, spoil_program, "VALIDATION_ERROR"),
    Kind("custom_tool_waits", write_folder, spoil_folder, "CONFIG_INVALID"),
    Kind("waits", write_module, spoil_module, "CONFIG_INVALID"),
]


def run(home: Path, workspace: Path, use: Callable[[Crib], Any]) -> Any:
    async def main() -> Any:
        async with toolcrib.open(workspace=workspace, home=home, approver=toolcrib.SaysYes()) as crib:
            return await asyncio.wait_for(use(crib), 30)

    return asyncio.run(main())


@pytest.mark.parametrize("kind", KINDS, ids=["program", "folder", "module"])
def test_a_tool_that_breaks_while_it_runs(home: Path, workspace: Path, kind: Kind) -> None:
    """K69, G33: the call ends as the version it began with; a new one is told what is wrong, until it is mended."""
    for name in ("began", "end"):
        os.mkfifo(workspace / name)
    kind.write(home, workspace, "1.0.0")

    async def begun(crib: Crib) -> "asyncio.Task[toolcrib.Result]":
        call = asyncio.create_task(crib.call(kind.name))
        assert (await asyncio.to_thread((workspace / "began").read_text)).strip() == "began"
        return call

    async def ended(call: "asyncio.Task[toolcrib.Result]") -> toolcrib.Result:
        await asyncio.to_thread((workspace / "end").write_text, "well\n")
        return await call

    async def use(crib: Crib) -> None:
        first = crib.find(kind.name)
        assert first is not None
        call = await begun(crib)
        kind.spoil(home)
        assert await crib.refresh()
        assert crib.find(kind.name) is None
        assert [problem.code for problem in crib.problems()] == [kind.code]
        refused = await crib.call(kind.name)
        assert refused.error is not None and refused.error.code == kind.code
        assert refused.error.message == crib.problems()[0].message
        assert await crib.refresh() is False  # nothing new: it is not tried again each time

        old = await ended(call)
        assert (old.error, old.data) == (None, "well from 1.0.0\n")
        assert old.metadata["digest"] == first.digest

        kind.write(home, workspace, "1.1.0")
        assert await crib.refresh()
        assert crib.problems() == ()
        new = await ended(await begun(crib))
        assert new.data == "well from 1.1.0\n"
        assert new.metadata["digest"] not in (None, first.digest)

    run(home, workspace, use)


NAMED = """#!/bin/sh
[ "$1" = description ] && echo '{"name": "NAME", "description": "Is NAME.", "input_schema": {"type": "object"}}'
exit 0
"""
BROKEN = "#!/bin/sh\nexit 3\n"


def code(result: toolcrib.Result) -> str | None:
    return result.error.code if result.error else None


def test_a_broken_program_answers_to_its_files_name(home: Path, workspace: Path, make_tool: Any) -> None:
    """And one that was never a tool in this crib's life as well: whoever calls it learns what is wrong with it."""
    make_tool("lame", BROKEN)

    async def use(crib: Crib) -> list[str | None]:
        return [code(await crib.call(name)) for name in ("custom_tool_lame", "custom_tool_game")]

    assert run(home, workspace, use) == ["EXECUTION_ERROR", "TOOL_NOT_FOUND"]


def test_a_broken_program_takes_no_name_from_a_tool_that_works(home: Path, workspace: Path, make_tool: Any) -> None:
    """Neither as it is written, nor with another dash."""
    make_tool("first", BROKEN)
    make_tool("other", NAMED.replace("NAME", "first"))
    make_tool("two-part", BROKEN)
    make_tool("b", NAMED.replace("NAME", "two_part"))

    async def use(crib: Crib) -> list[str | None]:
        return [code(await crib.call(name)) for name in ("custom_tool_first", "custom_tool_two_part")]

    assert run(home, workspace, use) == [None, None]


def test_a_tool_that_takes_over_the_name_has_it(home: Path, workspace: Path, make_tool: Any) -> None:
    make_tool("file", NAMED.replace("NAME", "said"))

    async def use(crib: Crib) -> None:
        make_tool("file", BROKEN)
        await crib.refresh()
        assert code(await crib.call("custom_tool_said")) == "EXECUTION_ERROR"
        make_tool("another", NAMED.replace("NAME", "said"))
        await crib.refresh()
        assert code(await crib.call("custom_tool_said")) is None
        assert code(await crib.call("custom_tool_file")) == "EXECUTION_ERROR"
        (home / "tools" / "another").unlink()
        (home / "tools" / "file").unlink()
        await crib.refresh()
        assert code(await crib.call("custom_tool_said")) == "TOOL_NOT_FOUND"

    run(home, workspace, use)
