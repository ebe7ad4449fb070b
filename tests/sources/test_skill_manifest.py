"""A `tool.yaml` with a `backend:` is read as a tool of a skill is: one form, one reader."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.core.source import Loaded
from toolcrib.sources.executable import Place, Settings, ToolSettings
from toolcrib.sources.manifest import ManifestSource
from toolcrib.sources.manifest_file import read_manifest

from .skills import AROUND, trust, trust_in

TEXT = """name: shout
description: Say something loudly.
version: "1.2.0"
backend:
  type: script
  interpreter: sh
  script: printf '%s\\n' "$TOOL_ARG_TEXT" | tr a-z A-Z
parameters:
  type: object
  properties:
    text: {type: string, description: What to say.}
  required: [text]
"""


class Shelf:
    """A directory with folders, and what is kept of it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.kept: dict[str, bytes] = {}

    def put(self, name: str, text: str) -> Path:
        folder = self.directory / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tool.yaml").write_text(text)
        return folder

    def load(self, settings: Settings | None = None, *, around: Any = lambda: AROUND, **about: Any) -> Loaded:
        cache = (self.kept.get, self.kept.__setitem__)
        given = settings or Settings()
        source = ManifestSource(str(self.directory), given, cache, "", rank=10, around=around, **about)
        return asyncio.run(source.load())


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "tools")


def test_it_is_offered_and_runs(shelf: Shelf, workspace: Path, home: Path) -> None:
    """A3: the same keys as in a skill."""
    folder = shelf.put("shout", TEXT)
    (tool,) = shelf.load().tools
    assert (tool.name, tool.source, tool.version) == ("custom_tool_shout", "manifest", "1.2.0")
    assert tool.origin == str(folder / "tool.yaml") and tool.limits.seconds == 60

    async def visit() -> toolcrib.Result:
        async with toolcrib.open(workspace=workspace, home=home, tools=[tool], approver=toolcrib.SaysYes()) as crib:
            return await crib.call("custom_tool_shout", {"text": "hey"})

    assert asyncio.run(visit()).data == "HEY\n"


def test_it_is_kept_and_not_read_again(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shelf.put("shout", TEXT)
    first = shelf.load()
    again = shelf.load()
    assert first.tools[0]._replace(schema=None, hooks=None) == again.tools[0]._replace(schema=None, hooks=None)  # type: ignore[arg-type]
    (folder / "notes.md").write_text("new")
    changed = shelf.load()
    assert changed.tools[0].digest != first.tools[0].digest


def test_what_the_user_says_of_it_counts(shelf: Shelf) -> None:
    shelf.put("shout", TEXT)
    special = {"custom_tool_shout": ToolSettings(seconds=3.0, variables=("LANG",))}
    (tool,) = shelf.load(Settings(per_tool=special)).tools
    assert tool.limits.seconds == 3 and "LANG" in tool.backend.variables  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("old", "new", "code", "line"),
    [
        ("name: shout", "name: other", "TOOL_NAME_INVALID", 1),
        ("type: script", "type: scirpt", "CONFIG_INVALID", 5),
        ("interpreter: sh", "interpreter: perl", "CONFIG_INVALID", 6),
        ("type: object", "type: list", "SCHEMA_REJECTED", 8),
        ('version: "1.2.0"', "entrypoint: run.sh", "CONFIG_INVALID", 3),
    ],
)
def test_its_faults_are_found(old: str, new: str, code: str, line: int, shelf: Shelf) -> None:
    shelf.put("shout", TEXT.replace(old, new))
    loaded = shelf.load()
    assert loaded.tools == () and [(each.code, each.to_dict().get("line")) for each in loaded.problems] == [
        (code, line)
    ]
    found, faults = read_manifest(TEXT.replace(old, new).encode(), "tool.yaml", folder="shout", files=[])
    assert found is None and (faults[0].code, faults[0].line) == (code, line)


def test_one_is_like_the_tool_of_a_skill(shelf: Shelf) -> None:
    found, faults = read_manifest(TEXT.encode(), "tool.yaml", folder="shout", files=[])
    assert faults == () and found is not None and found.entrypoint == ""
    assert json.loads(found.declaration)["backend"]["type"] == "script"


def test_a_host_that_has_nothing_for_it_says_so(shelf: Shelf) -> None:
    shelf.put("shout", TEXT)
    loaded = shelf.load(around=None)
    assert loaded.tools == () and [each.code for each in loaded.problems] == ["ENGINE_NOT_AVAILABLE"]


def test_a_projects_is_nothing_before_it_is_trusted(workspace: Path, home: Path) -> None:
    shelf = Shelf(workspace / ".toolcrib" / "tools")
    folder = shelf.put("shout", TEXT)
    kept = trust_in(home)
    place = Place(str(workspace), ".toolcrib/tools", lambda: kept.record(str(workspace)))
    (problem,) = shelf.load(place=place).problems
    assert (problem.code, problem.holds) == ("WORKSPACE_UNTRUSTED", ("custom_tool_shout",))
    trust(home, workspace)
    assert len(shelf.load(place=place).tools) == 1
    (folder / "tool.yaml").write_text(TEXT.replace("tr a-z A-Z", "tee canary"))
    assert shelf.load(place=place).tools == ()
