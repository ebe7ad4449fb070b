"""The page on the list of tools and the one function is true: its program prints what it says."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "execute-tool.md").read_text(encoding="utf-8")


def test_the_program_of_the_page(workspace: Path, environment: dict[str, str]) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (printed,) = re.findall(r"```\n(True.*?)```", PAGE, re.DOTALL)
    argv = [sys.executable, "-c", program]
    done = subprocess.run(argv, cwd=workspace, env=environment, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (printed, "")
    assert [path.name for path in workspace.iterdir()] == ["notes.txt"]
