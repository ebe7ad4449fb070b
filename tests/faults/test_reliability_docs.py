"""The page on what happens when something goes wrong is true."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcrib.builtins.jobs import MOST_RUNNING
from toolcrib.runtime.capacity import _MOST_AT_ONCE
from toolcrib.serve import stdio
from toolcrib.store.pending import MOST_WAITING

PAGE = (Path(__file__).parents[2] / "docs" / "reliability.md").read_text(encoding="utf-8")


def test_the_commands_show_what_the_page_says(
    site: Any, make_tool: Callable[..., Path], check_console: Callable[[str], int]
) -> None:
    if shutil.which("jq") is None:
        pytest.skip("the page uses jq")
    (program,) = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    make_tool("killer", program)
    (config,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    (site.home / "config.yaml").write_text(config)
    assert check_console(PAGE) == 4
    site.assert_nothing_is_left()


def test_the_bounds_of_the_page_are_those_of_the_code() -> None:
    """gRPC's own page is held to the code beside its tests."""
    rows = dict(re.findall(r"^\| ([^|]+?) \| ([^|]+?) \|", PAGE.split("## Too much at once")[1], re.MULTILINE))
    assert rows["programs at a time, in one process"].startswith(f"{_MOST_AT_ONCE},")
    assert rows["requests under way on an MCP connection"].startswith(f"{stdio.UNDER_WAY:,}, or 32 MiB")
    assert rows["answers an MCP client has not read"] == f"{stdio.UNREAD_BYTES // 2**20} MiB"
    assert rows["calls of a session that wait for a person"] == str(MOST_WAITING)
    assert rows["background jobs of a session"] == str(MOST_RUNNING)
    assert "ten seconds" in PAGE and stdio.DRAIN_SECONDS == 10
