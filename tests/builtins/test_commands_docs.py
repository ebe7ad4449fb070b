"""The page on commands, jobs and todos is true."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from toolcrib.builtins import _pace, jobs, todos
from toolcrib.builtins.job_kill import job_kill
from toolcrib.builtins.job_list import job_list
from toolcrib.builtins.job_output import LONGEST_WAIT, job_output
from toolcrib.builtins.run_command import LONGEST, run_command
from toolcrib.builtins.todo_write import todo_write
from toolcrib.sandbox.background import KEPT_BYTES
from toolcrib.store.todos import MOST_LISTS

PAGE = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")


def test_the_example_prints_what_the_page_says(environment: dict[str, str], workspace: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (expected,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    words = [sys.executable, "-W", "error", "-c", example]
    done = subprocess.run(words, capture_output=True, text=True, cwd=workspace, env=environment, timeout=60)
    assert (done.stdout, done.stderr) == (expected, "")


def test_the_commands_work(run_cli: Any) -> None:
    (block,) = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    written, read = (run_cli(*shlex.split(line)[1:]) for line in block.splitlines())
    assert (written.returncode, read.returncode) == (0, 0)
    assert json.loads(read.stdout)["todos"] == [{"content": "Pack", "status": "in_progress"}]


def test_the_tables_name_every_argument() -> None:
    named = set(re.findall(r"^\| `(\w+)` \| (?!`job_id`)", PAGE.split("## In the background")[0], re.MULTILINE))
    assert named == set(run_command.input_schema["properties"])
    for tool in (job_output, job_kill, job_list):
        row = re.search(rf"^\| `{tool.name}` \|(.*?)\|", PAGE, re.MULTILINE)
        assert row is not None
        assert set(re.findall(r"`(\w+)`", row[1])) == set(tool.input_schema["properties"])
    item = todo_write.input_schema["properties"]["todos"]["items"]["properties"]
    assert all(f"`{name}`" in PAGE.split("## Todos")[1] for name in item)


def test_the_numbers_are_right() -> None:
    assert (LONGEST, _pace.IDLE_SECONDS, LONGEST_WAIT) == (600, 30, 300)
    assert all(words in " ".join(PAGE.split()) for words in ("at most 600", "every 30 seconds", "up to 300 seconds"))
    assert (KEPT_BYTES, jobs.MOST_RUNNING, jobs.MOST_ENDED) == (32 * 1024, 16, 200)
    assert "the last 32 KiB" in PAGE and "At most 16 jobs" in PAGE and "the last 200 that ended" in PAGE
    assert (todos.MOST, todos.LONGEST) == (200, 2000)
    assert "200 items of 2,000 characters" in PAGE and f"the {MOST_LISTS:,} lists" in PAGE
