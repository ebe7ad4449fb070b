"""Hostile skills: nothing of them is followed out, waited for, expanded or run, and all that comes of them is bounded."""

import os
import random
import threading
import time
import tracemalloc
from pathlib import Path

import pytest

from toolcrib.sources import skill as skills
from toolcrib.sources.skill import SkillError, read_skill
from toolcrib.sources.skill_file import MOST_BYTES, MOST_TOOLS

from .skills import AROUND, EXAMPLES, GOOD, SCRIPT, TOOL, put, said, text_skill

SIDE = "---\nname: good\ndescription: Is good.\nmetadata:\n  toolcrib-tools: {}\n---\nBody.\n"
SECRET = "root-of-all-evil"


def refused(folder: Path) -> SkillError:
    with pytest.raises(SkillError) as caught:
        read_skill(str(folder), AROUND)
    return caught.value


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file that no skill may show."""
    path = tmp_path / "outside.md"
    path.write_text(GOOD.replace("Is good.", SECRET))
    return path


@pytest.mark.parametrize(
    "bomb",
    [
        "a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b]\n"
        "d: &d [*c, *c, *c, *c, *c, *c, *c]\ntools: [*d, *d, *d, *d, *d, *d]\n",
        "metadata: &m {a: *m}\n",
        "<<: {name: other}\n",
        "x: !!python/object/apply:os.system [touch canary]\n",
        "tools: !!python/object/new:os.system [touch canary]\n",
        "description: &x boom\nlicense: *x\n",
        "x: " + "[" * 5000 + "\n",
        "x: " + "{a: " * 5000 + "\n",
    ],
    ids=["laughs", "cycle", "merge", "tag", "tagged tools", "alias", "deep list", "deep map"],
)
def test_yaml_bombs_come_to_nothing(bomb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tracemalloc.start()
    began = time.monotonic()
    skill = text_skill(f"---\nname: good\n{bomb}---\nBody.\n")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (skill.name, skill.tools) == ("good", ()) and skill.problems
    assert peak < 20_000_000 and time.monotonic() - began < 5
    assert os.listdir(tmp_path) == []


def test_front_matter_of_ten_mebibytes_is_not_read(tmp_path: Path) -> None:
    folder = put(tmp_path / "good", GOOD.replace("Is good.", "x" * (10 * 1024**2)))
    tracemalloc.start()
    error = refused(folder)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert error.code == "INPUT_TOO_LARGE" and peak < 4 * 1024**2
    with pytest.raises(SkillError) as caught:
        text_skill("x" * (MOST_BYTES + 1), name="x")
    assert caught.value.code == "INPUT_TOO_LARGE"


@pytest.mark.parametrize("broken", ["", "  - [\n"])
def test_ten_thousand_tools_are_not_made(broken: str) -> None:
    """As YAML, and where it has to be read entry by entry."""
    many = "".join(f"  - {{name: t{number}, backend: {{type: script}}}}\n" for number in range(10_000))
    began = time.monotonic()
    skill = text_skill(GOOD.replace(TOOL, many + broken))
    assert skill.tools == () and "INPUT_TOO_LARGE" in said(skill) and len(skill.problems) < 10
    assert time.monotonic() - began < 10


def test_as_many_tools_as_may_be_are_made() -> None:
    many = "".join(TOOL.replace("greet", f"t{number}") for number in range(MOST_TOOLS))
    assert len(text_skill(GOOD.replace(TOOL, many)).tools) == MOST_TOOLS
    assert text_skill(GOOD.replace(TOOL, many + TOOL)).tools == ()


@pytest.mark.parametrize("keys", [200, 20_000])
def test_many_unknown_keys_are_few_problems(keys: int) -> None:
    skill = text_skill(GOOD.replace("version: 1.0.0\n", "".join(f"key{number}: x\n" for number in range(keys))))
    assert 0 < len(skill.problems) <= 25 and all(len(each.message) < 1000 for each in skill.problems)


def test_many_wrong_lines_are_few_tries() -> None:
    began = time.monotonic()
    wrong = "".join(f"  - name: t{number}\n" + "    a: b: c\n" * 500 for number in range(150))
    skill = text_skill(GOOD.replace(TOOL, wrong))
    assert skill.tools == () and time.monotonic() - began < 20


def test_whatever_the_text_is_it_is_a_skill_or_an_error_of_ours() -> None:
    chance = random.Random(7)
    bits = ["---", "\n", "\t", "  ", "- ", ": ", "#", "|", "[", "]", "{", "}", "&a", "*a", "!!x", "'", '"', "\\", "\0",
            "\x1b", "\ud800", "\u2028", "\x85", "tools:", "metadata:", "name:", "\r", "@", "?", "<<:", "null", "${"]  # fmt: skip
    for _ in range(300):
        text = chance.choice((GOOD, SIDE.format("tools.yaml"), (EXAMPLES / "openai-whisper" / "SKILL.md").read_text()))
        for _ in range(chance.randint(1, 8)):
            at, until = chance.randrange(len(text) + 1), chance.randrange(len(text) + 1)
            text = (
                text[:at]
                + chance.choice((chance.choice(bits), text[until : until + 60], ""))
                + text[at + chance.randint(0, 9) :]
            )
        try:
            assert len(text_skill(text, name="made").problems) <= 101
        except SkillError:
            pass


# Files that are not what they seem


def test_a_link_in_place_of_the_file_is_not_followed(tmp_path: Path, outside: Path) -> None:
    folder = tmp_path / "good"
    folder.mkdir()
    (folder / "SKILL.md").symlink_to(outside)
    error = refused(folder)
    assert error.code == "PATH_NOT_REGULAR" and SECRET not in str(error)


def test_a_pipe_in_place_of_the_file_is_not_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / "good"
    folder.mkdir()
    os.mkfifo(folder / "SKILL.md")
    began = time.monotonic()
    assert refused(folder).code == "PATH_NOT_REGULAR" and time.monotonic() - began < 5


def test_a_device_or_directory_in_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "good" / "SKILL.md").mkdir(parents=True)
    assert refused(tmp_path / "good").code == "PATH_NOT_REGULAR"
    assert refused(tmp_path / "none").code == "FILE_NOT_FOUND"


@pytest.mark.parametrize(
    "named", ["../outside.md", "../../x", "/etc/passwd", "link.yaml", "dir/tools.yaml", "pipe", "."]
)
def test_a_file_beside_it_stays_beside_it(named: str, tmp_path: Path, outside: Path) -> None:
    folder = put(tmp_path / "good", SIDE.format(named))
    if named == "link.yaml":
        (folder / "real.yaml").write_text(f"tools:\n{TOOL}")
        (folder / "link.yaml").symlink_to("real.yaml")
    if named == "dir/tools.yaml":
        (folder / "real").mkdir()
        (folder / "real" / "tools.yaml").write_text(f"tools:\n{TOOL}")
        (folder / "dir").symlink_to("real")
    if named == "pipe":
        os.mkfifo(folder / "pipe")
    began = time.monotonic()
    skill = read_skill(str(folder), AROUND)
    assert skill.tools == () and skill.declares == 1 and SECRET not in repr(skill)
    assert skill.problems and time.monotonic() - began < 5


def test_a_folder_with_a_link_out_offers_no_tools_and_keeps_its_words(tmp_path: Path, outside: Path) -> None:
    folder = put(tmp_path / "good")
    (folder / "notes.md").symlink_to(outside)
    skill = read_skill(str(folder), AROUND)
    assert (skill.body, skill.tools, skill.files) == ("# How\n\nCall greet.", (), ())
    assert "PATH_OUTSIDE_WORKSPACE" in said(skill) and SECRET not in repr(skill)


def test_a_sidecar_that_is_too_long(tmp_path: Path) -> None:
    folder = put(tmp_path / "good", SIDE.format("tools.yaml"), tools_dot_yaml="# " + "x" * MOST_BYTES)
    skill = read_skill(str(folder), AROUND)
    assert skill.tools == () and "INPUT_TOO_LARGE" in said(skill)


@pytest.mark.parametrize("name", ["a\\u001b[2Jb", "../../x", "a\\nb", "x" * 200, "a/b", "\\u202eabc"])
def test_a_name_that_is_none_is_never_used(name: str, tmp_path: Path) -> None:
    text = GOOD.replace("name: good", f'name: "{name}"')
    assert read_skill(str(put(tmp_path / "good", text)), AROUND).name == "good"
    with pytest.raises(SkillError) as caught:
        text_skill(text)
    assert caught.value.code == "TOOL_NAME_INVALID" and "\x1b" not in str(caught.value)
    with pytest.raises(SkillError):
        text_skill(GOOD, name="../x")


# Somebody changes it meanwhile


def test_what_is_parsed_is_what_was_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is another one by the time it is read is not taken for the one that was looked at."""
    folder = put(tmp_path / "good")
    looked = skills.content_of

    def then_swapped(path: str) -> object:
        found = looked(path)
        put(folder, GOOD.replace("echo hello", "touch canary"))
        return found

    monkeypatch.setattr(skills, "content_of", then_swapped)
    assert refused(folder).code == "TOOL_PIN_MISMATCH"


def test_a_script_that_is_swapped_while_the_tools_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = GOOD.replace(SCRIPT, "    backend: {type: script, interpreter: sh, file: run.sh}\n")
    folder = put(tmp_path / "good", text, run_dot_sh="echo hello\n")
    assert read_skill(str(folder), AROUND).problems == ()
    made = skills.declared_tool

    def swapped(*args: object, **kwargs: object) -> object:
        (folder / "run.sh").write_text("touch canary\n")
        return made(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(skills, "declared_tool", swapped)
    assert refused(folder).code == "TOOL_PIN_MISMATCH"


def test_under_constant_change_it_is_one_or_the_other(tmp_path: Path) -> None:
    """Never a mixture, never the file outside, and never an error of another kind."""
    folder = put(tmp_path / "good")
    other = tmp_path / "other.md"
    other.write_text(GOOD.replace("Is good.", "Is other.").replace("echo hello", "echo other"))
    bait = tmp_path / "bait.md"
    bait.write_text(GOOD.replace("Is good.", SECRET))
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for number, target in enumerate((folder / "SKILL.md", other, bait)):
                draft = tmp_path / f"draft{number}"
                if target == bait:
                    os.symlink(bait, draft)
                else:
                    draft.write_text(GOOD if number == 0 else other.read_text())
                os.replace(draft, folder / "SKILL.md")

    changer = threading.Thread(target=swap)
    changer.start()
    try:
        seen = set()
        for _ in range(150):
            try:
                skill = read_skill(str(folder), AROUND)
            except SkillError as exc:
                seen.add(exc.code)
                continue
            assert SECRET not in repr(skill)
            said_so = skill.description == "Is other."
            for tool in skill.tools:
                assert (b"other" in tool.backend.text) == said_so  # type: ignore[attr-defined]
    finally:
        stop.set()
        changer.join()
    assert seen <= {"TOOL_PIN_MISMATCH", "PATH_NOT_REGULAR", "FILE_NOT_FOUND", "READ_ERROR"}
