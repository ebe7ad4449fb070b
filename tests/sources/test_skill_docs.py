"""The page on skills is true: its example runs as it says, and its tables and numbers are those of the code."""

import asyncio
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from toolcrib.backends import folder
from toolcrib.backends.declared import SKILL_OUTPUT_BYTES
from toolcrib.backends.http_shape import FIELDS
from toolcrib.core.policy import Decision
from toolcrib.sources import declared, skill, skill_file, skill_head
from toolcrib.sources.executable import Settings
from toolcrib.sources.manifest import ManifestSource
from toolcrib.sources.skill_places import skill_directories
from toolcrib.store.home import Home

from .skills import AROUND, EXAMPLES, ROOT

PAGE = (ROOT / "docs" / "skills.md").read_text(encoding="utf-8")
SKILL = re.search(r"````markdown\n(.*?)````", PAGE, re.DOTALL)[1]  # type: ignore[index]
COMMANDS = re.search(r"```sh\n(.*?)```", PAGE, re.DOTALL)[1].splitlines()  # type: ignore[index]


@pytest.fixture
def text_tools(home: Path) -> Path:
    place = home / "skills" / "text-tools"
    place.mkdir(parents=True)
    (place / "SKILL.md").write_text(SKILL)
    return place


def first_column(heading: str) -> set[str]:
    table = PAGE.split(heading)[1].split("\n\n")[1]
    return {key for row in table.splitlines()[2:] for key in re.findall(r"`([\w-]+)`", row.split("|")[1])}


def test_the_commands_of_the_page(text_tools: Path, run_cli: Any) -> None:
    """A22, A46: listed, used in a session, called there, and removed."""
    done = [run_cli(*shlex.split(line)[1:]) for line in COMMANDS]
    assert [each.returncode for each in done] == [0] * 5, [each.stderr for each in done]
    assert "Count and compare text." in done[0].stdout
    assert (done[2].stdout, done[3].stdout, done[4].stdout) == ("count_words\n", "3\n", "count_words\n")


def test_the_example_becomes_what_the_page_shows(text_tools: Path, run_cli: Any) -> None:
    assert run_cli("skill", "migrate", "text-tools").returncode == 0
    shown = re.search(r"```yaml\n(---\n.*?---\n)```", PAGE, re.DOTALL)
    assert shown is not None and (text_tools / "SKILL.md").read_text().startswith(shown[1])
    assert run_cli("skill", "lint", "text-tools").returncode == 0


def test_the_manifest_of_the_page_is_offered(tmp_path: Path) -> None:
    (tmp_path / "shout").mkdir()
    text = re.search(r"```yaml\n(name: shout\n.*?)```", PAGE, re.DOTALL)
    assert text is not None
    (tmp_path / "shout" / "tool.yaml").write_text(text[1])
    kept: dict[str, bytes] = {}
    cache = (kept.get, kept.__setitem__)
    loaded = asyncio.run(ManifestSource(str(tmp_path), Settings(), cache, "", rank=10, around=lambda: AROUND).load())
    assert [tool.name for tool in loaded.tools] == ["custom_tool_shout"] and loaded.problems == ()


def test_the_page_names_every_key() -> None:
    assert first_column("## The keys of the front matter") == set(skill_head.KEYS)
    assert first_column("## The keys of a tool") == set(declared.KEYS)
    backends = [row for row in PAGE.splitlines() if row.startswith("| `backend`")][0]
    assert set(re.findall(r"`(\w+)`", backends)) - {"backend", "type"} == set(declared.BACKENDS)
    claims = [row for row in PAGE.splitlines() if row.startswith("| `needs_approval`")][0]
    assert {Decision.ASK.wire, Decision.BLOCKED.wire} <= set(re.findall(r"`(\w+)`", claims))


def test_the_page_names_every_place() -> None:
    places = skill_directories("/work", Home("/user/.toolcrib"), "/user")
    table = PAGE.split("## Where skills are found")[1].split("\n\n")[1]
    yours, theirs = (set(re.findall(r"`([^`]+)`", row)) for row in table.splitlines()[2:])
    assert yours == {each.path.replace("/user", "~") for each in places if each.scope == "user"}
    assert theirs == {each.path.removeprefix("/work/") for each in places if each.scope == "project"}


def test_the_numbers_of_the_page() -> None:
    """A44, A45: the limits are written down."""
    assert (skill_head.MOST_DESCRIPTION, skill_file.MOST_TOOLS) == (1024, 200)
    assert "1,024 characters" in PAGE and "200 tools" in PAGE
    assert (skill_file.MOST_BYTES, skill.MOST_BODY) == (1024**2, 100 * 1024)
    assert (folder.MOST_FILES, folder.MOST_BYTES, SKILL_OUTPUT_BYTES) == (2000, 64 * 1024**2, 100 * 1024)
    assert "2,000 files and 64 MiB" in PAGE and "first 100 KiB" in PAGE and "answer 100 KiB" in PAGE
    assert {"stream", "files"} <= set(FIELDS)


def test_the_examples_are_named(run_cli: Any) -> None:
    assert {each.name for each in EXAMPLES.iterdir()} == {
        "data-processor",
        "openai-whisper",
        "pdf-parser",
        "text-report",
    }
