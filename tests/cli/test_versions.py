"""Which version of a tool ran: in every result and every record, whatever the door."""

import asyncio
import json
from pathlib import Path

import pytest

import toolcrib

FAILS = """#!/bin/sh
if [ "$1" = description ]; then
  echo '{"name": "fails", "version": "0.2.0", "description": "Fails.", "input_schema": {"type": "object"}}'; exit
fi
exit 3
"""
FOLDER = "name: NAME\ndescription: Is NAME.\nversion: 4.5.6\nentrypoint: run.sh\n"


@pytest.fixture
def facts(repeat: Path, cli) -> dict:
    """What `show` says of the tool `repeat`, whose version is 1.2.3."""
    return json.loads(cli("show", "repeat", "--json").stdout)


def test_in_the_result_and_the_record_of_a_call(facts: dict, cli, home: Path, workspace: Path) -> None:
    """K71, F47: library and command line; what MCP passes on is tested with it."""

    async def call() -> toolcrib.Result:
        async with toolcrib.open(workspace=workspace, home=home, approver=toolcrib.SaysYes()) as crib:
            return await crib.call("custom_tool_repeat", {})

    typed = json.loads(cli("call", "repeat", "--yes", "--json").stdout)["metadata"]
    ours = asyncio.run(call()).metadata
    expected = ("1.2.3", facts["digest"])
    assert expected[1].startswith("sha256:")
    assert [(each["version"], each["digest"]) for each in (typed, ours)] == [expected] * 2
    records = json.loads(cli("audit", "show", "--json").stdout)["records"]
    assert [(row["version"], row["tool_digest"]) for row in records] == [expected] * 2
    lines = cli("audit", "show").stdout.splitlines()
    assert all(f"  1.2.3@{expected[1][7:19]}  " in line for line in lines) and len(lines) == 2


def test_also_where_the_call_fails_or_is_refused(cli, facts: dict, make_tool, home: Path) -> None:
    make_tool("fails", FAILS)
    failed = json.loads(cli("call", "fails", "--yes", "--json").stdout)
    invalid = json.loads(cli("call", "repeat", "--input", '{"age": "x"}', "--yes", "--json").stdout)
    refused = json.loads(cli("call", "repeat", "--json").stdout)
    codes = [each["error"]["code"] for each in (failed, invalid, refused)]
    assert codes == ["EXECUTION_ERROR", "VALIDATION_ERROR", "APPROVAL_REQUIRED"]
    assert [each["metadata"]["version"] for each in (failed, invalid, refused)] == ["0.2.0", "1.2.3", "1.2.3"]
    unknown = json.loads(cli("call", "nobody", "--json").stdout)["metadata"]
    assert (unknown["version"], unknown["digest"]) == (None, None)
    assert cli("audit", "show").stdout.splitlines()[-1].split()[4] == "-"


def test_show_says_what_a_tool_replaces(cli, make_tool, home: Path) -> None:
    for name, more in (("old", ""), ("new", "replaces: old\n")):
        folder = make_tool("run.sh", "#!/bin/sh\n", directory=home / "tools" / name).parent
        (folder / "tool.yaml").write_text(FOLDER.replace("NAME", name) + more)
    facts = json.loads(cli("show", "new", "--json").stdout)
    assert (facts["version"], facts["replaces"]) == ("4.5.6", ["old"])
    lines = [line.split(None, 1) for line in cli("show", "new").stdout.splitlines() if line.startswith("  ")]
    shown = {words[0]: words[1] for words in lines if len(words) == 2}
    assert (shown["version"], shown["digest"], shown["replaces"]) == ("4.5.6", facts["digest"], "old")


def test_show_does_not_speak_of_replacing_where_there_is_none(cli, facts: dict) -> None:
    assert facts["replaces"] == []
    assert "replaces" not in cli("show", "repeat").stdout
