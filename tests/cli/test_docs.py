"""Every example in docs/cli.md, run in its order. `…` stands for any text within a line."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from toolcrib.cli import VERBS, main

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "cli.md"
BROKEN = """#!/bin/sh
echo '{"name": "two words", "description": "Broken."}'
"""


def test_the_page_is_true(home: Path, workspace: Path, check_console: Callable[[str], int]) -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    shutil.copytree(ROOT / "examples" / "tools", home / "tools")
    (workspace / "broken").write_text(BROKEN)
    (workspace / "broken").chmod(0o755)
    assert check_console(PAGE.read_text()) > 12


@pytest.mark.parametrize("verb", list(VERBS))
def test_every_verb_shows_an_example_in_its_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status = main([verb, "--help"])
    except SystemExit as exc:
        status = int(exc.code or 0)
    shown = capsys.readouterr()
    assert (status, shown.err) == (0, "")
    assert re.search(rf"^ +(.*[ (])?toolcrib {verb}(?! \[-h\])", shown.out, re.MULTILINE)
