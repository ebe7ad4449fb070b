"""The page on making tools is true: what it types works, and what it names is so."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from toolcrib.backends import folder
from toolcrib.sources import script_block
from toolcrib.sources.scaffolds import python
from toolcrib.sources.workshop import LANGUAGES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "making-tools.md").read_text(encoding="utf-8").split("\n## For agents")[0]


BLOCKS = re.findall(r"^```(console|bash|yaml)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_the_commands_of_the_page(home: Path, typed: Callable[[str], str]) -> None:
    """What is typed shows what stands below it; what is edited takes the place of what the scaffold has."""
    folder = home / "tools" / "shout"
    assert [kind for kind, _ in BLOCKS] == ["console", "bash", "console", "console", "yaml", "console"]
    for kind, text in BLOCKS:
        if kind == "bash":
            replace(folder / "shout.sh", r"^main\(\) \{$.*?^\}\n", text)
        elif kind == "yaml":
            replace(folder / "tool.yaml", r"^    output: .*?\n", text)
        for line, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
            shown = typed(line)
            assert re.fullmatch(re.escape(expected).replace("…", ".*"), shown), f"$ {line}\n{shown}"


def replace(path: Path, expression: str, text: str) -> None:
    changed, count = re.subn(expression, lambda _: text, path.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert count == 1
    path.write_text(changed)


def test_the_table_of_languages() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*) \| (.*) \|$", PAGE.split("## Languages")[1].split("\n\n")[1], re.MULTILINE)
    assert [language for language, *_ in rows] == list(LANGUAGES)
    for language, source, built in rows:
        scaffold = LANGUAGES[language]
        assert source == ", ".join(
            f"`{name}`" for name in ("NAME" + scaffold.suffix, *(name for name, _ in scaffold.more))
        )
        assert (" ".join(scaffold.build_command("NAME")) in built) if scaffold.build else built.startswith("nothing")


def test_the_blocks_of_the_page() -> None:
    block, lines = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    found = script_block.read_block(block)
    assert found == script_block.Block(">=3.11", ("httpx>=0.28", "rich"))
    assert lines.replace("NAME", "@NAME@") in python.TEMPLATE
    assert f"`{script_block.VENDOR}`" in PAGE
    assert (folder.MOST_FILES, folder.MOST_BYTES) == (2000, 64 * 1024**2) and "2,000 files and 64 MiB" in PAGE


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "examples" / "manifests").iterdir()))
def test_the_examples_pass_their_own(shelf, run_cli, name: str) -> None:
    """K66, F50."""
    shutil.copytree(ROOT / "examples" / "manifests" / name, shelf.user_tools / name)
    done = run_cli("test", name, "--yes", "--cases", "5")
    assert done.returncode == 0, done.stdout
