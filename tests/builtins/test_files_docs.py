"""The page on files is true."""

import re
from collections.abc import Callable
from pathlib import Path

from toolcrib.builtins import TOOLS
from toolcrib.runtime.toolsets import TOOLSETS

PAGE = (Path(__file__).parents[2] / "docs" / "files.md").read_text(encoding="utf-8")


def test_the_commands_show_what_the_page_says(check_console: Callable[[str], int]) -> None:
    assert check_console(PAGE) >= 9


def test_the_table_has_every_tool_and_its_arguments() -> None:
    rows = re.findall(r"^\| (`.*?`) \| (.*?) \| .* \|$", PAGE, re.MULTILINE)
    shown = {
        name: set(re.findall(r"`(\w+)`", given)) for names, given in rows for name in re.findall(r"`(\w+)`", names)
    }
    own = {tool.name: set(tool.input_schema["properties"]) for tool in TOOLS if tool.name in TOOLSETS["filesystem"]}
    assert shown == own
