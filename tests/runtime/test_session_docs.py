"""The page on sessions is true."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "sessions.md").read_text(encoding="utf-8")


def test_the_commands_show_what_the_page_says(check_console: Callable[[str], int]) -> None:
    assert check_console(PAGE) == 8


def test_the_python_of_the_page_runs(environment: dict[str, str], workspace: Path) -> None:
    """A24, A25, A28, A29, A30."""
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=workspace)
    assert done.stdout == "['greet']\n['greeter']\n['greet']\n['greet']\n['greet']\n", done.stderr
