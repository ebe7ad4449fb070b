"""The page on code is true."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from toolcrib.codeindex import find, languages, precise_worker, query, repomap
from toolcrib.core.tool import Tool

PAGE = (Path(__file__).parents[3] / "docs" / "code.md").read_text(encoding="utf-8")


def test_the_commands_show_what_the_page_says(
    workspace: Path, environment: dict[str, str], check_console: Callable[[str], int]
) -> None:
    assert check_console(PAGE) == 10
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", example], capture_output=True, text=True, cwd=workspace, env=environment
    )
    assert f"prints `{done.stdout.strip()}`" in PAGE, done.stderr


def test_the_table_has_every_tool_and_its_arguments(code_tools: tuple[Tool, ...]) -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| .* \|$", PAGE, re.MULTILINE)
    shown = {name: set(re.findall(r"`(\w+)`", given)) for name, given in rows}
    assert shown == {tool.name: set(tool.input_schema["properties"]) for tool in code_tools}


def test_the_numbers_and_names_of_the_page() -> None:
    assert query.LARGE == 200 and "more than 200 files" in PAGE
    assert repomap.BYTES_PER_TOKEN == 4 and "four bytes each" in PAGE
    assert (find.SECONDS, precise_worker.MEMORY_BYTES) == (10.0, 2 * 1024**3) and "10 seconds and 2 GiB" in PAGE
    named = PAGE.split("Languages: ")[1].split(". Files")[0].replace("\n", " ")
    assert len(named.split(", ")) == len(languages.LANGUAGES)
