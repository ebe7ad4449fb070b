"""docs/policy.md is true: its policy is read, its examples are run, and `…` stands for any text within a line."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "policy.md").read_text(encoding="utf-8")


def test_the_page_is_true(home: Path, workspace: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    (policy,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    (home / "policy.yaml").write_text(policy)
    command = tmp_path / "bin" / "toolcrib"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m toolcrib "$@"\n')
    command.chmod(0o755)
    env = environment | {"PATH": f"{command.parent}:{environment['PATH']}", "COLUMNS": "120"}
    (block,) = re.findall(r"^```console\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    steps = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    assert len(steps) == 4
    for step in steps:
        typed, _, expected = step.partition("\n")
        done = subprocess.run(
            ["bash", "-c", typed], cwd=workspace, env=env, text=True, timeout=60,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        shown = done.stdout + (f"[exit status {done.returncode}]\n" if done.returncode else "")
        assert re.fullmatch(_pattern(expected), _pattern_free(shown)), f"$ {typed}\n{shown}"


def _pattern(expected: str) -> str:
    """Lines are wrapped by width, and the home's path is longer here than on the page."""
    return re.escape(_pattern_free(expected)).replace("…", ".*")


def _pattern_free(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
