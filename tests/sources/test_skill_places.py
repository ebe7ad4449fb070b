"""Where skills are found, who covers whom, and that a project's are nothing before the user trusts them."""

import os
from pathlib import Path
from typing import Any

import pytest

from toolcrib.sources import skill, skill_file, skill_places
from toolcrib.sources.skill import SkillError
from toolcrib.sources.skill_places import Catalogue, Listed

from .skills import GOOD, SCRIPT, catalogue, put, trust


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """What `~` means."""
    path = tmp_path / "user"
    path.mkdir()
    return path


@pytest.fixture
def shelf(home: Path, workspace: Path, user: Path) -> Catalogue:
    return catalogue(home, workspace, user)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of all that was interpreted."""
    seen: list[str] = []

    def noted(data: bytes, path: str) -> Any:
        seen.append(path)
        return skill_file.read_front(data, path)

    monkeypatch.setattr(skill, "read_front", noted)
    monkeypatch.setattr(skill_places, "read_front", noted)
    return seen


def names(listed: Listed) -> list[tuple[str, str]]:
    return [(each.name, each.scope) for each in listed.entries]


def refused(shelf: Catalogue, name: str) -> SkillError:
    with pytest.raises(SkillError) as caught:
        shelf.find(name)
    return caught.value


def test_the_users_places(shelf: Catalogue, home: Path, user: Path) -> None:
    put(home / "skills" / "one")
    put(user / ".agents" / "skills" / "two")
    put(user / ".claude" / "skills" / "three")
    listed = shelf.all()
    assert names(listed) == [("one", "user"), ("three", "user"), ("two", "user")] and listed.problems == ()
    assert shelf.find("two").tools[0].name == "greet"
    assert listed.entries[0].to_dict() == {
        "name": "one",
        "description": "Is one.",
        "version": "1.0.0",
        "origin": str(home / "skills" / "one" / "SKILL.md"),
        "folder": str(home / "skills" / "one"),
        "scope": "user",
        "trusted": True,
    }


def test_nothing_anywhere_is_nothing(shelf: Catalogue) -> None:
    assert shelf.all() == Listed((), ())
    assert refused(shelf, "one").code == "TOOL_NOT_FOUND"


@pytest.mark.parametrize("place", [".toolcrib/skills", ".agents/skills", ".claude/skills"])
def test_a_projects_place_counts_when_it_is_trusted(
    place: str, shelf: Catalogue, home: Path, workspace: Path, parsed: list[str], tmp_path: Path
) -> None:
    """Before, none of its bytes is interpreted, and the name is held."""
    canary = tmp_path / "canary"
    put(workspace / place / "one", GOOD.replace("name: good", "name: one").replace("echo hello", f"touch {canary}"))
    put(home / "skills" / "one")
    listed = shelf.all()
    assert names(listed) == [] and parsed == [str(home / "skills" / "one" / "SKILL.md")]
    (problem,) = listed.problems
    assert (problem.code, problem.holds) == ("WORKSPACE_UNTRUSTED", ("one",))
    assert f"toolcrib trust {workspace}" in problem.message and problem.origin.endswith(f"{place}/one/SKILL.md")
    assert refused(shelf, "one").code == "WORKSPACE_UNTRUSTED"
    assert refused(shelf, str(workspace / place / "one")).code == "WORKSPACE_UNTRUSTED"
    assert refused(shelf, f"./{place}/one/SKILL.md").code == "WORKSPACE_UNTRUSTED"
    assert str(workspace) not in "".join(parsed) and not canary.exists()
    trust(home, workspace)
    assert names(shelf.all()) == [("one", "project")]
    assert shelf.find("one").origin == str(workspace / place / "one" / "SKILL.md")


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "SKILL.md").write_text(GOOD.replace("hello", "changed")),
        lambda folder: (folder / "notes.md").write_text("changed"),
        lambda folder: (folder / "new.sh").write_text("new"),
        lambda folder: (folder / "notes.md").unlink(),
        lambda folder: (folder / "notes.md").chmod(0o755),
    ],
    ids=["the skill", "a file", "one more", "one less", "a program now"],
)
def test_a_projects_skill_that_changed_is_nothing_again(
    change: Any, shelf: Catalogue, home: Path, workspace: Path, parsed: list[str]
) -> None:
    folder = put(workspace / ".claude" / "skills" / "one", notes_dot_md="one")
    put(home / "skills" / "one")
    trust(home, workspace)
    assert names(shelf.all()) == [("one", "project")]
    parsed.clear()
    change(folder)
    listed = shelf.all()
    assert names(listed) == [] and [each.code for each in listed.problems] == ["TOOL_PIN_MISMATCH"]
    assert "toolcrib trust" in listed.problems[0].message
    assert refused(shelf, "one").code == "TOOL_PIN_MISMATCH"
    assert not any(path.startswith(str(workspace)) for path in parsed)


def test_a_skill_that_came_after_trust_is_not_trusted(
    shelf: Catalogue, home: Path, workspace: Path, parsed: list[str]
) -> None:
    put(workspace / ".claude" / "skills" / "one")
    trust(home, workspace)
    put(workspace / ".claude" / "skills" / "two")
    listed = shelf.all()
    assert names(listed) == [("one", "project")]
    assert [(each.code, each.holds) for each in listed.problems] == [("WORKSPACE_UNTRUSTED", ("two",))]
    assert not any("two" in path for path in parsed)


def test_other_rules_than_those_trusted_withhold_all(shelf: Catalogue, home: Path, workspace: Path) -> None:
    put(workspace / ".claude" / "skills" / "one")
    (workspace / ".toolcrib").mkdir()
    (workspace / ".toolcrib" / "policy.yaml").write_text("rules: []\n")
    trust(home, workspace)
    assert names(shelf.all()) == [("one", "project")]
    (workspace / ".toolcrib" / "policy.yaml").unlink()
    assert refused(shelf, "one").code == "WORKSPACE_UNTRUSTED"


def test_a_project_is_called_by_its_folders(shelf: Catalogue, home: Path, workspace: Path) -> None:
    """Its names are known before it is read, so that no name ever means another skill than it seems to."""
    put(workspace / ".claude" / "skills" / "folder", GOOD.replace("name: good", "name: mine"))
    put(home / "skills" / "mine")
    trust(home, workspace)
    listed = shelf.all()
    assert names(listed) == [("folder", "project"), ("mine", "user")]
    assert "calls itself" in listed.problems[0].message
    assert shelf.find("folder").name == "folder"


def test_a_project_covers_the_user_and_gives_back(shelf: Catalogue, home: Path, workspace: Path) -> None:
    put(home / "skills" / "one")
    theirs = put(workspace / ".agents" / "skills" / "one")
    trust(home, workspace)
    assert names(shelf.all()) == [("one", "project")]
    (theirs / "SKILL.md").unlink()
    assert names(shelf.all()) == [("one", "user")]


def test_two_of_one_rank_are_neither(shelf: Catalogue, home: Path, user: Path) -> None:
    put(home / "skills" / "one")
    put(user / ".claude" / "skills" / "one", GOOD.replace("name: good", "name: one"))
    listed = shelf.all()
    assert names(listed) == [] and [each.code for each in listed.problems] == ["TOOL_NAME_CONFLICT"]
    assert str(home) in listed.problems[0].message and str(user) in listed.problems[0].message
    assert refused(shelf, "one").code == "TOOL_NAME_CONFLICT"


def test_copies_and_links_are_one(shelf: Catalogue, home: Path, user: Path) -> None:
    put(home / "skills" / "one")
    put(user / ".claude" / "skills" / "one")
    (user / ".agents").mkdir()
    (user / ".agents" / "skills").symlink_to(home / "skills")
    assert (names(shelf.all()), shelf.all().problems) == ([("one", "user")], ())


def test_the_users_own_may_be_a_link(shelf: Catalogue, home: Path, tmp_path: Path) -> None:
    put(tmp_path / "elsewhere" / "one")
    (home / "skills").mkdir()
    (home / "skills" / "one").symlink_to(tmp_path / "elsewhere" / "one")
    assert shelf.find("one").tools[0].name == "greet"


@pytest.mark.parametrize("which", [".claude", ".claude/skills", ".claude/skills/one"])
def test_a_projects_must_not_be_a_link(
    which: str, shelf: Catalogue, home: Path, workspace: Path, tmp_path: Path, parsed: list[str]
) -> None:
    """Trust is in what lies in the project, not in what a link leads to."""
    outside = tmp_path / "outside"
    put(outside / "skills" / "one")
    target = {
        ".claude": outside,
        ".claude/skills": outside / "skills",
        ".claude/skills/one": outside / "skills" / "one",
    }
    link = workspace / which
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target[which])
    trust(home, workspace)
    listed = shelf.all()
    assert names(listed) == [] and [each.holds for each in listed.problems] == [("one",)] and parsed == []
    assert refused(shelf, "one").code == "PATH_NOT_REGULAR"


def test_a_path_that_is_no_projects_is_what_was_typed(shelf: Catalogue, workspace: Path, tmp_path: Path) -> None:
    put(workspace / "mine")
    assert shelf.find("./mine").name == shelf.find(str(workspace / "mine" / "SKILL.md")).name == "mine"
    error = refused(shelf, "mine")
    assert error.code == "TOOL_NOT_FOUND" and "./mine" in str(error)
    assert refused(shelf, "./nothing").code == "FILE_NOT_FOUND"


def test_the_skill_of_another_project_needs_trust_there(
    shelf: Catalogue, home: Path, tmp_path: Path, parsed: list[str]
) -> None:
    other = tmp_path / "other"
    folder = put(other / ".claude" / "skills" / "one")
    assert refused(shelf, str(folder)).code == "WORKSPACE_UNTRUSTED" and parsed == []
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert refused(shelf, str(link)).code == "WORKSPACE_UNTRUSTED" and parsed == []
    trust(home, other)
    assert shelf.find(str(folder)).name == "one"


def test_what_is_the_users_is_not_the_projects(home: Path, tmp_path: Path) -> None:
    """In one's own home directory, `~/.claude/skills` is the user's and needs no trust."""
    put(tmp_path / ".claude" / "skills" / "one")
    shelf = catalogue(home, tmp_path, tmp_path)
    assert (names(shelf.all()), shelf.all().problems) == ([("one", "user")], ())


def test_a_near_name_is_hinted_at(shelf: Catalogue, home: Path) -> None:
    put(home / "skills" / "pdf-parser")
    assert "did you mean pdf-parser?" in str(refused(shelf, "pdf-praser"))


def test_the_catalogue_reads_a_file_once(shelf: Catalogue, home: Path, parsed: list[str]) -> None:
    folder = put(home / "skills" / "one")
    shelf.all()
    shelf.all()
    assert len(parsed) == 1
    put(folder, GOOD.replace("name: good", "name: one").replace("Is good.", "Is another one."))
    assert shelf.all().entries[0].description == "Is another one." and len(parsed) == 2


def test_the_catalogue_makes_no_tools(shelf: Catalogue, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Progressive disclosure: a wrong tool is found when the skill is used, and not before."""
    put(home / "skills" / "one", GOOD.replace("name: good", "name: one").replace(SCRIPT, "    backend: {}\n"))
    assert shelf.all().problems == ()
    assert "`type` is missing" in shelf.find("one").problems[0].message


def test_what_cannot_be_read_takes_nothing_along(shelf: Catalogue, home: Path) -> None:
    put(home / "skills" / "good")
    (home / "skills" / "pipe").mkdir()
    os.mkfifo(home / "skills" / "pipe" / "SKILL.md")
    (home / "skills" / "loop").symlink_to("loop")
    put(home / "skills" / ".hidden")
    (home / "skills" / "empty").mkdir()
    os.mkdir(os.fsencode(home / "skills") + b"/\xff\n")
    Path(os.fsdecode(os.fsencode(home / "skills") + b"/\xff\n/SKILL.md")).write_text(GOOD)
    listed = shelf.all()
    assert names(listed) == [("good", "user")]
    assert sorted(each.code for each in listed.problems) == ["PATH_NOT_REGULAR", "TOOL_NAME_INVALID"]
    assert all(each.message.isascii() and "\n" not in each.message for each in listed.problems)


def test_a_directory_with_too_many(shelf: Catalogue, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skill_places, "MOST_SKILLS", 3)
    for number in range(5):
        put(home / "skills" / f"s{number}")
    listed = shelf.all()
    assert len(listed.entries) == 3 and [each.code for each in listed.problems] == ["INPUT_TOO_LARGE"]
