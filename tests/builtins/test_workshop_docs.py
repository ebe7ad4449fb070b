"""The part of the page on making tools that is about agents is true."""

import re
import shlex
from pathlib import Path

import pytest

from toolcrib.builtins import TOOLS
from toolcrib.builtins.build_custom_tool import SECONDS
from toolcrib.cli._prompt import drawn
from toolcrib.runtime.toolsets import TOOLSETS

PAGE = (Path(__file__).parents[2] / "docs" / "making-tools.md").read_text(encoding="utf-8")
PART = PAGE.split("## For agents\n")[1].split("\n## ")[0]


def test_the_commands_work(run_cli, home: Path) -> None:
    """F1, F36."""
    (block,) = re.findall(r"^```sh\n(.*?)^```$", PART, re.DOTALL | re.MULTILINE)
    lines = block.replace("~/.toolcrib", str(home)).splitlines()
    assert len(lines) == 7
    for line in lines:
        done = run_cli(*shlex.split(line)[1:])
        assert done.returncode == 0, f"{line}\n{done.stderr}"
    assert list((home / "tools").iterdir()) == []


def test_the_prompt_is_as_shown(shop) -> None:
    """F34."""
    shop.create("greet", description="Greet somebody.", language="bash")
    request = shop.person.asked[0].request
    page = drawn(request, width=200, now=request.created)
    (block,) = re.findall(r"^```text\n(.*?)^```$", PART, re.DOTALL | re.MULTILINE)
    assert re.search(re.escape(block).replace("…", ".*"), page), page


def test_the_table_is_right(shop) -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| `(\w+)`", PART, re.MULTILINE)
    assert {name for name, *_ in rows} == set(TOOLSETS["workshop"])
    tools = {tool.name: tool for tool in TOOLS}

    async def verdicts(crib):
        return {name: crib.verdict(crib.find(name)).decision.wire for name in TOOLSETS["workshop"]}

    assert {name: says for name, _, says in rows} == shop.use(verdicts)
    for name, about, _ in rows:
        named = set(re.findall(r"`(\w+)`", about))
        assert named == set(tools[name].input_schema["properties"]), name
    assert SECONDS == 300.0 and "300 seconds" in PART


def test_the_rule_of_the_page_allows_it(shop) -> None:
    folder = shop.create("greet")
    rule = re.search(r"^    (rules:\n    - .*)$", PART, re.MULTILINE)
    assert rule is not None
    text = rule[1].replace("\n    ", "\n").replace("~/.toolcrib/tools", str(shop.tools))
    (shop.home / "policy.yaml").write_text(text)
    shop.person.asked.clear()
    assert shop.call("write_file", {"path": f"{folder}/notes", "content": "x"}).success
    assert shop.person.asked == []


@pytest.mark.parametrize("config", ["toolsets: {}", "custom_tools: {enabled: false}"])
def test_without_the_toolset_there_are_none(shop, config: str) -> None:
    (shop.home / "config.yaml").write_text(config)

    async def names(crib):
        return {tool.name for tool in crib.tools()}

    assert not shop.use(names) & TOOLSETS["workshop"]
