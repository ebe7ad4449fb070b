"""SKILL.md files as people really write them: what can be read is read, and the rest is named with its line."""

from pathlib import Path

import pytest

from toolcrib.sources.skill import SkillError, read_skill
from toolcrib.sources.skill_head import tool_patterns

from .skills import AROUND, GOOD, TOOL, put, said, text_skill

HEAD = "---\nname: odd\ndescription: Is odd.\n"


def lines_named(text: str) -> list[int]:
    return [each.to_dict()["line"] for each in text_skill(text).problems]


def test_front_matter_and_body() -> None:
    """A20, A22: name, description, version and tools, and a text for the agent."""
    skill = text_skill(GOOD)
    about = (skill.name, skill.description, skill.version, skill.body)
    assert about == ("good", "Is good.", "1.0.0", "# How\n\nCall greet.")
    assert [tool.name for tool in skill.tools] == ["greet"] and skill.problems == ()


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace("\n", "\r\n"),
        "\ufeff" + GOOD,
        "\ufeff" + GOOD.replace("\n", "\r\n"),
        GOOD.replace("---\n", "---  \n"),
        GOOD.replace("name: good", "name: good  # a comment"),
        GOOD.replace("\n", "\r"),
    ],
    ids=["CRLF", "BOM", "both", "blanks after the dashes", "comment", "CR"],
)
def test_it_makes_no_difference(text: str) -> None:
    skill, plain = text_skill(text), text_skill(GOOD)
    assert (skill.problems, skill.body, skill.version) == ((), plain.body, "1.0.0")
    assert [tool.name for tool in skill.tools] == ["greet"]


def test_an_unquoted_colon_loses_nothing() -> None:
    """TRAPS: "a whole skill lost because one description held an unquoted colon"."""
    skill = text_skill(GOOD.replace("Is good.", "Use when: a file is there, e.g. a: b"))
    assert skill.description == "Use when: a file is there, e.g. a: b"
    assert [tool.name for tool in skill.tools] == ["greet"]
    assert [each.to_dict()["line"] for each in skill.problems] == [3] and "quotes" in said(skill)


@pytest.mark.parametrize(
    "value", ["@team `does` it", "%percent", "a: b: c # d", "[Read, Write", '"half', "*all", "- x"]
)
def test_words_that_are_no_yaml_are_taken_as_they_stand(value: str) -> None:
    skill = text_skill(GOOD.replace("Is good.", value))
    assert skill.description == value and [tool.name for tool in skill.tools] == ["greet"]
    assert lines_named(GOOD.replace("Is good.", value)) == [3]


def test_a_description_over_several_lines() -> None:
    text = GOOD.replace("Is good.", "Use: when\n  it is\n  so: or so")
    assert text_skill(text).description == "Use: when it is so: or so"


def test_dashes_inside_do_not_end_the_front_matter() -> None:
    """TRAPS: "`---` inside front matter breaking the parse"."""
    text = GOOD.replace("Is good.", "|\n  Is --- good.\n  ---\n  Really.")
    skill = text_skill(text)
    assert skill.description == "Is --- good.\n---\nReally." and len(skill.tools) == 1 and skill.problems == ()


@pytest.mark.parametrize("name", ["yes", "no", "on", "off", "true", "null", "1.10", "12"])
def test_a_name_is_words_whatever_yaml_takes_it_for(name: str) -> None:
    """TRAPS: "`name: yes`"."""
    text = GOOD.replace("name: good", f"name: {name}")
    if name in ("null", "1.10"):  # nothing, and a dot, which no name has
        with pytest.raises(SkillError) as caught:
            text_skill(text)
        assert caught.value.code == "TOOL_NAME_INVALID"
    else:
        assert text_skill(text).name == name


@pytest.mark.parametrize(("written", "version"), [("1.10", "1.10"), ("2", "2"), ('"1.0"', "1.0"), ("1.0.0-rc.1",) * 2])
def test_a_version_is_what_is_written(written: str, version: str) -> None:
    skill = text_skill(GOOD.replace("version: 1.0.0", f"version: {written}"))
    assert (skill.version, skill.tools[0].version, skill.problems) == (version, version, ())


def test_without_front_matter_it_is_called_as_it_is_handed_over() -> None:
    skill = text_skill("# Reading\n\nHow to read a file,\nline by line.\n\nMore.\n", name="reading")
    assert (skill.name, skill.description) == ("reading", "How to read a file, line by line.")
    assert skill.body.startswith("# Reading") and "no front matter" in said(skill)


def test_front_matter_that_does_not_end() -> None:
    skill = text_skill("---\nname: x\n\n# Body\n", name="open")
    assert (skill.name, skill.tools) == ("open", ()) and "line 1" in said(skill) and "# Body" in skill.body


def test_blank_lines_before_the_front_matter() -> None:
    skill = text_skill("\n\n" + GOOD)
    assert skill.name == "good" and "before the front matter" in said(skill)


def test_unknown_keys_are_named_with_their_line() -> None:
    skill = text_skill(GOOD.replace("version: 1.0.0", "version: 1.0.0\nmodel: big\nhooks: {a: b}"))
    assert [tool.name for tool in skill.tools] == ["greet"]
    assert [each.to_dict()["line"] for each in skill.problems] == [5, 6] and "'model'" in said(skill)


@pytest.mark.parametrize("line", ["description: [a, b]", "version: {a: 1}", "metadata: words", "license: [MIT]",
                                  "allowed-tools: {a: b}", "tools: words", "compatibility: {}"])  # fmt: skip
def test_a_wrong_type_is_named_and_the_rest_counts(line: str) -> None:
    key = line.partition(":")[0]
    kept = "\n".join(each for each in HEAD.split("\n") if not each.startswith(f"{key}:"))
    skill = text_skill(f"{kept}{line}\n---\nA body.\n")
    assert skill.name == "odd" and f"`{key}`" in said(skill) and skill.body == "A body."


def test_a_tool_that_is_no_yaml_does_not_take_the_others_along() -> None:
    broken = "  - name: broken\n    backend: {type: script, interpreter\n    description: [\n"
    text = GOOD.replace(TOOL, TOOL + broken + TOOL.replace("greet", "other"))
    skill = text_skill(text)
    assert [tool.name for tool in skill.tools] == ["greet", "other"] and skill.declares == 2
    assert any(line in lines_named(text) for line in (9, 10, 11))


def test_a_tool_that_is_wrong_does_not_take_the_others_along() -> None:
    """A3: each fault with its line and what puts it right."""
    wrong = "  - name: wrong\n    description: Has a typing error.\n    backend: {type: scirpt}\n"
    text = GOOD.replace(TOOL, wrong + TOOL)
    skill = text_skill(text)
    assert [tool.name for tool in skill.tools] == ["greet"]
    assert lines_named(text) == [8] and "did you mean script?" in said(skill)


def test_tabs_are_read_as_blanks() -> None:
    text = "---\nname: odd\ndescription: Is odd.\nmetadata:\n\tauthor: me\n---\nBody.\n"
    skill = text_skill(text)
    assert skill.metadata == {"author": "me"} and lines_named(text) == [5]


def test_a_key_twice_counts_once() -> None:
    skill = text_skill(GOOD.replace("version: 1.0.0", "version: 1.0.0\nversion: 2.0.0"))
    assert skill.version == "1.0.0" and "second time" in said(skill) and len(skill.tools) == 1


def test_what_is_not_utf8_is_said(tmp_path: Path) -> None:
    folder = put(tmp_path / "good")
    (folder / "SKILL.md").write_bytes(GOOD.encode().replace(b"Is good.", b"Is \xff good."))
    skill = read_skill(str(folder), AROUND)
    assert skill.description == "Is \ufffd good." and "not UTF-8" in said(skill) and "line 3" in said(skill)


def test_a_long_body_is_cut_and_said() -> None:
    """TRAPS: "a 294 KB file"."""
    skill = text_skill(GOOD + "x" * 294_000)
    assert len(skill.body) < 103_000 and "294" in skill.body[-60:] and "INPUT_TOO_LARGE" in said(skill)
    assert len(skill.tools) == 1


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("Read Grep", ("Read", "Grep")),
        ("Read, Grep,Glob", ("Read", "Grep", "Glob")),
        ("Bash(git add:*) Bash(git commit -m:*), Read", ("Bash(git add:*)", "Bash(git commit -m:*)", "Read")),
        (["Read", " Bash(npm run *) "], ("Read", "Bash(npm run *)")),
        ("mcp__srv__do *", ("mcp__srv__do", "*")),
        ("", ()),
        ({"a": 1}, None),
        ([1], None),
    ],
)
def test_allowed_tools_are_kept_as_they_are_named(value, found) -> None:
    assert tool_patterns(value) == found


def test_who_says_nothing_of_tools_narrows_nothing() -> None:
    assert text_skill(GOOD).allowed_tools is None
    assert text_skill(GOOD.replace("version: 1.0.0", "allowed-tools: Read")).allowed_tools == ("Read",)
    # What cannot be understood allows nothing.
    assert text_skill(GOOD.replace("version: 1.0.0", "allowed-tools: {a: b}")).allowed_tools == ()
