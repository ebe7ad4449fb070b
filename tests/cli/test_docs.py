"""Every example in docs/cli.md, run in its order. `…` stands for any text within a line."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from toolcrib.cli import VERBS, main

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "cli.md"
BROKEN = """#!/bin/sh
echo '{"name": "two words", "description": "Broken."}'
"""


def examples() -> list[tuple[str, str]]:
    """Each command, and what is shown after it."""
    blocks = re.findall(r"^```console\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    steps = [step for block in blocks for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [(step.partition("\n")[0], step.partition("\n")[2]) for step in steps]


def test_the_page_is_true(home: Path, workspace: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    shutil.copytree(ROOT / "examples" / "tools", home / "tools")
    (workspace / "broken").write_text(BROKEN)
    (workspace / "broken").chmod(0o755)
    command = tmp_path / "bin" / "toolcrib"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m toolcrib "$@"\n')
    command.chmod(0o755)
    env = environment | {"PATH": f"{command.parent}:{environment['PATH']}"}
    assert len(examples()) > 12
    for typed, expected in examples():
        done = subprocess.run(
            ["bash", "-c", typed], cwd=workspace, env=env, text=True, timeout=60,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        shown = done.stdout + (f"[exit status {done.returncode}]\n" if done.returncode else "")
        pattern = re.escape(expected).replace("…", ".*")
        assert re.fullmatch(pattern, shown), f"$ {typed}\n{shown}"


@pytest.mark.parametrize("verb", list(VERBS))
def test_every_verb_shows_an_example_in_its_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status = main([verb, "--help"])
    except SystemExit as exc:
        status = int(exc.code or 0)
    shown = capsys.readouterr()
    assert (status, shown.err) == (0, "")
    assert re.search(rf"^ +(.*[ (])?toolcrib {verb}(?! \[-h\])", shown.out, re.MULTILINE)
