"""Warm tools through the gate: what was asked for, what runs, and what it leaves."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

import toolcrib
from toolcrib.testing import ScriptedApprover

PAGE = Path(__file__).parents[2] / "docs" / "warm-tools.md"
PROGRAM = f"""#!{sys.executable}
import json, os, sys
if sys.argv[1] == "description":
    print(json.dumps({{"name": "t", "description": "A tool.", "input_schema": {{"type": "object"}}}}))
elif sys.argv[1] == "config":
    print(json.dumps(CONFIG))
else:
    print(json.dumps([json.load(sys.stdin), sorted(os.environ), os.getcwd(), ANSWER]))
"""


def program(config: str = "{}", answer: str = "1") -> str:
    return PROGRAM.replace("CONFIG", config).replace("ANSWER", answer)


async def opened(home, workspace, work, approver=None):
    asked = toolcrib.SaysYes() if approver is None else approver
    async with toolcrib.open(workspace=workspace, home=home, approver=asked) as crib:
        return await work(crib)


def called(home, workspace, name, args=None, times=1):
    async def work(crib):
        return [await crib.call(name, args or {}) for _ in range(times)]

    return asyncio.run(opened(home, workspace, work))


def configured(home, text: str = "") -> None:
    (home / "config.yaml").write_text("toolsets: {}\n" + text)


@pytest.mark.parametrize(
    ("said", "configuration", "warm"),
    [
        ("{}", "", False),
        ("{'warm': True}", "", True),
        ("{}", "tools: {custom_tool_t: {warm: true}}\n", True),
        ("{'warm': True}", "tools: {custom_tool_t: {warm: false}}\n", False),
    ],
)
def test_it_is_asked_for_by_the_program_or_by_the_user_who_has_the_last_word(
    home, workspace, make_tool, said, configuration, warm
) -> None:
    configured(home, configuration)
    make_tool("t", program(said))
    [result] = called(home, workspace, "custom_tool_t", {"a": "ü"})
    answer, variables, cwd, _ = json.loads(result.data)
    assert result.metadata.get("warm", False) is warm
    assert (answer, cwd) == ({"a": "ü"}, str(workspace))
    own = {"TMPDIR", "TOOLCRIB_CALL_ID", "TOOLCRIB_SESSION", "TOOLCRIB_TOOL_DIR", "TOOLCRIB_WORKSPACE"}
    assert own <= set(variables) <= own | {"PATH", "HOME", "USER", "LC_CTYPE"}


def manifest(home, source: str, more: str = "") -> Path:
    folder = home / "tools" / "echo"
    folder.mkdir(parents=True)
    (folder / "tool.yaml").write_text(
        "name: echo\ndescription: Echo.\nversion: 1.0.0\nentrypoint: echo.py\n"
        f"parameters:\n  - {{name: text, type: string, required: true, description: Words}}\n{more}"
    )
    (folder / "echo.py").write_text(f"#!{sys.executable}\n{source}")
    (folder / "echo.py").chmod(0o755)
    return folder


def test_a_folder_with_its_own_files(home, workspace) -> None:
    """What lies beside the entrypoint is found, and is new in each call."""
    configured(home)
    folder = manifest(home, "import sys, helper\nprint(helper.count(), sys.argv[1:])\n", "warm: true\n")
    (folder / "helper.py").write_text(
        "import decimal\nseen = []\ndef count():\n    seen.append(1)\n    return len(seen)\n"
    )
    results = called(home, workspace, "custom_tool_echo", {"text": "--x y"}, times=3)
    assert [(each.data, each.metadata["warm"]) for each in results] == [("1 ['--text=--x y']\n", True)] * 3


def test_another_content_is_another_worker_and_is_asked_about(home, workspace, make_tool) -> None:
    configured(home, "tools: {custom_tool_t: {warm: true}}\n")
    path = make_tool("t", program(answer="'old'"))
    approver = ScriptedApprover(True, True)

    async def work(crib):
        before = await crib.call("custom_tool_t", {})
        path.write_text(program(answer="'new'"))
        stale = await crib.call("custom_tool_t", {})
        await crib.refresh()
        return before, stale, await crib.call("custom_tool_t", {})

    before, stale, after = asyncio.run(opened(home, workspace, work, approver))
    assert [json.loads(each.data)[-1] for each in (before, after)] == ["old", "new"]
    assert stale.error.code == "TOOL_PIN_MISMATCH"
    assert before.metadata["digest"] != after.metadata["digest"]
    assert before.metadata["warm"] and after.metadata["warm"]
    assert len(approver.asked) == 2


def test_a_program_that_is_not_python_is_started(home, workspace, make_tool) -> None:
    configured(home, "tools: {custom_tool_t: {warm: true}}\n")
    words = json.dumps({"name": "t", "description": "A tool.", "input_schema": {"type": "object"}})
    make_tool("t", f"#!/bin/sh\nif [ $1 = description ]; then echo '{words}'; else echo ran; fi\n")
    [result] = called(home, workspace, "custom_tool_t")
    assert (result.data, "warm" in result.metadata) == ("ran\n", False)


def test_its_time_limit_ends_it(home, workspace, make_tool) -> None:
    configured(home, "tools: {custom_tool_t: {warm: true}}\n")
    make_tool("t", program(answer="[x for x in iter(int, 1)]"))

    async def work(crib):
        return await crib.call("custom_tool_t", {}, timeout=0.3)

    late = asyncio.run(opened(home, workspace, work))
    assert (late.error.code, late.error.details["exit_code"]) == ("TIMEOUT", 143)


def test_a_thousand_at_once(home, workspace, make_tool) -> None:
    """They wait for places, and all get their own answer."""
    configured(home, "tools: {custom_tool_t: {warm: true}}\n")
    make_tool("t", program())

    async def work(crib):
        return await asyncio.gather(*(crib.call("custom_tool_t", {"n": n}) for n in range(1000)))

    results = asyncio.run(opened(home, workspace, work))
    assert [json.loads(each.data)[0] for each in results] == [{"n": n} for n in range(1000)]
    assert all(each.metadata["warm"] for each in results)


def test_the_example_of_the_page(home, workspace, make_tool) -> None:
    blocks = PAGE.read_text().split("```")
    source = next(block.removeprefix("python\n") for block in blocks if block.startswith("python\n"))
    settings = next(block.removeprefix("yaml\n") for block in blocks if "custom_tool_words" in block)
    make_tool("words", source.replace("/usr/bin/env python3", sys.executable))
    configured(home, settings)
    [result] = called(home, workspace, "custom_tool_words", {"text": "a text that is too long"})
    assert (result.data, result.metadata["warm"]) == ("a text that is [...]\n", True)
