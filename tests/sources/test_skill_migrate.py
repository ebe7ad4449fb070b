"""Moving tools into a file of their own: nothing is lost, and nothing else is touched."""

import os
from pathlib import Path

import pytest

from toolcrib.sources.skill import SkillError, read_skill
from toolcrib.sources.skill_lint import lint
from toolcrib.sources.skill_migrate import migrate, migration

from .skills import AROUND, EXAMPLES, GOOD, TOOL, put

BODY = "\n# How  \n\ttabs,  blanks \n\n---\ntools:\n  - not a tool\n\nno line end"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "good"


def migrated(folder: Path) -> str:
    migrate(migration(str(folder)))
    return (folder / "SKILL.md").read_bytes().decode()


def test_a_skill_is_the_same_afterwards_and_portable(folder: Path) -> None:
    """A52: the version goes with it."""
    before = read_skill(str(put(folder)), AROUND)
    text = migrated(folder)
    after = read_skill(str(folder), AROUND)
    assert (folder / "tools.yaml").read_text() == f"tools:\n{TOOL}"
    assert text == (
        "---\nname: good\ndescription: Is good.\nmetadata:\n"
        '  version: "1.0.0"\n  toolcrib-tools: tools.yaml\n---\n# How\n\nCall greet.\n'
    )
    assert after.problems == () and lint(after) == []
    kept = ("name", "description", "version", "body")
    assert [getattr(before, each) for each in kept] == [getattr(after, each) for each in kept]
    assert [each._replace(backend=None, digest="", hooks=None) for each in before.tools] == [  # type: ignore[arg-type]
        each._replace(backend=None, digest="", hooks=None)  # type: ignore[arg-type]
        for each in after.tools
    ]


def test_comments_order_and_body_stay(folder: Path) -> None:
    text = (
        "---\n# first\nname: good  # a name\n\ntools:\n  # about greet\n" + TOOL + "  # after it\n\n# of the licence\n"
        "license: MIT\nmetadata:\n    # whose\n    author: me\n# last\ndescription: Is good.\n---" + BODY
    )
    put(folder, text)
    after = migrated(folder)
    assert after == (
        "---\n# first\nname: good  # a name\n\n\n# of the licence\nlicense: MIT\nmetadata:\n    # whose\n"
        "    author: me\n    toolcrib-tools: tools.yaml\n# last\ndescription: Is good.\n---" + BODY
    )
    assert (folder / "tools.yaml").read_text() == "tools:\n  # about greet\n" + TOOL + "  # after it\n"
    assert read_skill(str(folder), AROUND).problems == ()


def test_line_ends_stay(folder: Path) -> None:
    put(folder, (GOOD + "more\r\n").replace("\r\n", "\n").replace("\n", "\r\n"))
    text = migrated(folder)
    assert text.count("\n") == text.count("\r\n") and "metadata:\r\n" in text
    assert (folder / "tools.yaml").read_bytes().count(b"\r\n") == 4
    assert len(read_skill(str(folder), AROUND).tools) == 1


@pytest.mark.parametrize("name", ["pdf-parser", "openai-whisper", "data-processor"])
def test_the_examples_can_be_moved(name: str, tmp_path: Path) -> None:
    folder = put(tmp_path / name, (EXAMPLES / name / "SKILL.md").read_text())
    before = read_skill(str(folder), AROUND)
    migrated(folder)
    after = read_skill(str(folder), AROUND)
    assert after.problems == () and [each.name for each in after.tools] == [each.name for each in before.tools]
    assert not any(each.portability for each in lint(after))


def test_a_dry_run_writes_nothing(folder: Path) -> None:
    put(folder)
    found = migration(str(folder))
    assert found.changes and os.listdir(folder) == ["SKILL.md"]
    diff = found.diff()
    assert (
        "--- a/SKILL.md\n+++ b/SKILL.md\n" in diff and "-tools:\n" in diff and "+  toolcrib-tools: tools.yaml\n" in diff
    )
    assert "--- /dev/null\n+++ b/tools.yaml\n" in diff and "+tools:\n" in diff


def test_nothing_to_move(folder: Path) -> None:
    put(folder)
    migrated(folder)
    assert not migration(str(folder)).changes


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Is good.", "Use when: so"),
        ("version: 1.0.0", "metadata: {a: b}"),
        ("version: 1.0.0", "version: 1.0.0\nmetadata:\n  version: '2'"),
        ("---\nname", "name"),
        ("---\n# How", "# How"),
    ],
    ids=["no YAML", "braces", "two versions", "no front matter", "no end"],
)
def test_what_cannot_be_moved_safely_is_left_alone(old: str, new: str, folder: Path) -> None:
    put(folder, GOOD.replace(old, new, 1))
    before = (folder / "SKILL.md").read_bytes()
    with pytest.raises(SkillError, match="was not changed"):
        migration(str(folder))
    assert (folder / "SKILL.md").read_bytes() == before and os.listdir(folder) == ["SKILL.md"]


def test_a_file_that_is_there_is_not_overwritten(folder: Path, tmp_path: Path) -> None:
    put(folder, tools_dot_yaml="mine")
    before = (folder / "SKILL.md").read_bytes()
    with pytest.raises(SkillError) as caught:
        migrate(migration(str(folder)))
    assert caught.value.code == "TOOL_NAME_CONFLICT"
    assert ((folder / "tools.yaml").read_text(), (folder / "SKILL.md").read_bytes()) == ("mine", before)
    (folder / "tools.yaml").unlink()
    (folder / "tools.yaml").symlink_to(tmp_path / "outside")
    with pytest.raises(SkillError):
        migrate(migration(str(folder)))
    assert not (tmp_path / "outside").exists() and sorted(os.listdir(folder)) == ["SKILL.md", "tools.yaml"]


def test_what_was_begun_can_be_finished(folder: Path) -> None:
    """The new file comes first: a machine that stops between the two leaves a skill that works as before."""
    put(folder)
    found = migration(str(folder))
    (folder / "tools.yaml").write_bytes(found.sidecar)
    assert read_skill(str(folder), AROUND).problems == ()
    migrate(found)
    assert len(read_skill(str(folder), AROUND).tools) == 1


def test_a_change_meanwhile_is_not_lost(folder: Path) -> None:
    put(folder)
    found = migration(str(folder))
    (folder / "SKILL.md").write_text(GOOD + "an edit")
    with pytest.raises(SkillError) as caught:
        migrate(found)
    assert caught.value.code == "TOOL_PIN_MISMATCH" and (folder / "SKILL.md").read_text() == GOOD + "an edit"


def test_a_link_is_not_replaced(folder: Path, tmp_path: Path) -> None:
    folder.mkdir()
    (tmp_path / "real.md").write_text(GOOD)
    (folder / "SKILL.md").symlink_to(tmp_path / "real.md")
    with pytest.raises(SkillError):
        migration(str(folder))
    assert (tmp_path / "real.md").read_text() == GOOD


def test_rights_stay(folder: Path) -> None:
    put(folder)
    (folder / "SKILL.md").chmod(0o600)
    migrated(folder)
    assert (folder / "SKILL.md").stat().st_mode & 0o777 == 0o600
