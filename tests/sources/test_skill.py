"""A skill and its tools: what is declared is what is offered, and what runs is what was declared."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.core.tool import Tool
from toolcrib.sources.executable import Settings, ToolSettings
from toolcrib.sources.skill import Skill, SkillError, read_skill, skill_file

from .skills import AROUND, EXAMPLES, GOOD, SCRIPT, TOOL, put, said, text_skill


def with_tool(lines: str) -> Skill:
    """A skill with one more key in the declaration of its tool."""
    return text_skill(GOOD.replace(SCRIPT, SCRIPT + "".join(f"    {line}\n" for line in lines.split("\n"))))


def called(workspace: Path, home: Path, tools: tuple[Tool, ...], name: str, **args: Any) -> toolcrib.Result:
    async def visit() -> toolcrib.Result:
        yes = toolcrib.SaysYes()
        async with toolcrib.open(workspace=workspace, home=home, tools=tools, approver=yes) as crib:
            return await crib.call(name, args)

    return asyncio.run(visit())


@pytest.mark.parametrize(
    ("name", "tool", "backend"),
    [
        ("pdf-parser", "pdf-extract", "binary"),
        ("openai-whisper", "transcribe", "http"),
        ("data-processor", "chunk-text", "script"),
    ],
)
def test_the_example_skills_register_as_they_stand(name: str, tool: str, backend: str) -> None:
    """A2, A3, A20, A23: pdf-parser, openai-whisper and data-processor."""
    folder = EXAMPLES / name
    from_folder = read_skill(str(folder), AROUND)
    from_text = text_skill((folder / "SKILL.md").read_text())
    for skill in (from_folder, from_text):
        assert (skill.name, skill.problems, [each.name for each in skill.tools]) == (name, (), [tool])
        assert skill.tools[0].source == "skill" and skill.tools[0].digest == skill.tools[0].backend.digest()
        assert type(skill.tools[0].backend).__module__.endswith(f".{backend}")
    assert from_folder.tools[0].origin == str(folder / "SKILL.md")
    assert from_text.tools[0].origin == f"skill {name}"


def test_the_script_of_an_example_runs(workspace: Path, home: Path) -> None:
    """A21, A46: a tool of a skill is tried by itself, through the gate."""
    tools = read_skill(str(EXAMPLES / "data-processor"), AROUND).tools
    result = called(workspace, home, tools, "chunk-text", text="abcde", chunk_size=2)
    assert (result.error, result.data) == (None, "Chunk 1: 2 chars\nChunk 2: 2 chars\nChunk 3: 1 chars\n")


def test_one_skill_has_tools_of_several_backends() -> None:
    """A21: and each has its own version where it says so (A52)."""
    skill = read_skill(str(EXAMPLES / "text-report"), AROUND)
    assert skill.problems == () and skill.version == "1.2.0"
    kinds = {tool.name: (type(tool.backend).__module__.rsplit(".", 1)[1], tool.version) for tool in skill.tools}
    assert kinds["text_report"] == ("script", "1.2.0") and kinds["text_differs"] == ("script", "1.2.0")
    assert kinds["word_meaning"][1] == "2.0"
    assert skill.allowed_tools == ("text_report", "text_differs", "word_meaning", "Read")


def test_the_tools_of_a_sidecar_run(workspace: Path, home: Path) -> None:
    tools = read_skill(str(EXAMPLES / "text-report"), AROUND).tools
    result = called(workspace, home, tools, "text_report", text="one two\ntwo\n", top=1)
    assert (result.error, result.data) == (None, "2 lines, 3 words, 12 characters\n     2  two\n")
    assert called(workspace, home, tools, "text_differs", one="a b", other="ab").data == "same\n"


def test_parameters_are_a_schema_that_holds(workspace: Path, home: Path) -> None:
    """A40: a pattern in `parameters` is looked at before anything runs."""
    skill = with_tool(
        "parameters:\n  type: object\n  properties:\n    path: {type: string, pattern: '^[a-z]+\\.pdf$'}\n"
        "  required: [path]"
    )
    assert skill.problems == ()
    assert called(workspace, home, skill.tools, "greet", path="a.pdf").data == "hello\n"
    for bad in ({"path": "../a.pdf"}, {}, {"path": 1}):
        result = called(workspace, home, skill.tools, "greet", **bad)
        assert result.error is not None and result.error.code == "VALIDATION_ERROR"


def test_an_argument_that_it_does_not_have_is_refused(workspace: Path, home: Path) -> None:
    skill = with_tool("parameters: {type: object, properties: {a: {type: string}}}")
    result = called(workspace, home, skill.tools, "greet", a="x", b="y")
    assert result.error is not None and result.error.code == "VALIDATION_ERROR" and "'b'" in str(result.error)
    bare = text_skill(GOOD)
    result = called(workspace, home, bare.tools, "greet", a="x")
    assert result.error is not None and result.error.code == "VALIDATION_ERROR"


def test_a_schema_that_takes_more_takes_more(workspace: Path, home: Path) -> None:
    skill = with_tool("parameters: {type: object, additionalProperties: true}")
    assert called(workspace, home, skill.tools, "greet", b="y").error is None


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("parameters: [a]", "SCHEMA_REJECTED", "not a map"),
        ("parameters: {city: {description: x}}", "SCHEMA_REJECTED", "no schema"),
        ("parameters: {type: string}", "SCHEMA_REJECTED", "object"),
        ("parameters: {type: object, properties: [a]}", "SCHEMA_REJECTED", "properties"),
        ("parameters: {type: object, properties: {a: {type: strnig}}}", "SCHEMA_REJECTED", "/properties/a/type"),
        ("parameters: {type: object, properties: {a: {$ref: 'file:///etc/passwd'}}}", "SCHEMA_REJECTED", "reference"),
        ("output_schema: words", "SCHEMA_REJECTED", "output_schema"),
        ("timeout: 0", "CONFIG_INVALID", "timeout"),
        ("timeout: soon", "CONFIG_INVALID", "timeout"),
        ("needs_approval: perhaps", "CONFIG_INVALID", "needs_approval"),
        ("paramters: {}", "CONFIG_INVALID", "did you mean parameters?"),
        ("needs_aproval: blocked", "CONFIG_INVALID", "did you mean needs_approval?"),
    ],
)
def test_a_declaration_that_is_wrong_is_not_offered(line: str, code: str, words: str) -> None:
    """A3: the fault has the line of its key."""
    skill = with_tool(line)
    assert skill.tools == () and skill.declares == 1
    assert [(each.code, each.to_dict()["line"]) for each in skill.problems] == [(code, 9)] and words in said(skill)


@pytest.mark.parametrize(
    ("backend", "words"),
    [
        ("backend: words", "not a map"),
        ("backend: {interpreter: sh}", "`type` is missing"),
        ("backend: {type: bash}", "there are binary, http, script"),
        ("backend: {type: [script]}", "`type` is"),
        ("backend: {type: script, interpreter: perl, script: x}", "perl"),
        ("backend: {type: script, interpreter: sh, script: x, shell: true}", "there is no field shell"),
    ],
)
def test_a_backend_that_is_wrong_is_not_offered(backend: str, words: str) -> None:
    skill = text_skill(GOOD.replace(SCRIPT, f"    {backend}\n"))
    assert skill.tools == () and words in said(skill) and skill.problems[0].to_dict()["line"] == 8


def test_a_key_that_means_nothing_is_named_and_the_tool_is_offered() -> None:
    skill = with_tool("tags: [a, b]")
    assert len(skill.tools) == 1 and "unknown key 'tags'" in said(skill) and "line 9" in said(skill)


@pytest.mark.parametrize(("claim", "heard"), [("true", "ask"), ("ask", "ask"), ("blocked", "blocked")])
def test_a_claim_tightens(claim: str, heard: str) -> None:
    assert with_tool(f"needs_approval: {claim}").tools[0].needs_approval == heard


@pytest.mark.parametrize("claim", ["false", "preApproved"])
def test_a_claim_never_loosens(claim: str, workspace: Path, home: Path) -> None:
    skill = with_tool(f"needs_approval: {claim}")
    assert skill.tools[0].needs_approval is None and "no tool approves itself" in said(skill)

    async def visit() -> toolcrib.Result:
        async with toolcrib.open(workspace=workspace, home=home, tools=skill.tools) as crib:
            return await crib.call("greet", {})

    result = asyncio.run(visit())
    assert result.error is not None and result.error.code == "APPROVAL_REQUIRED"


def test_its_own_time_and_the_users_word() -> None:
    """A38 for skills: what the tool says, and over it what the user says of it."""
    assert text_skill(GOOD).tools[0].limits.seconds == 60
    text = GOOD.replace(SCRIPT, SCRIPT + "    timeout: 1500ms\n")
    assert text_skill(text).tools[0].limits.seconds == 1.5
    settings = Settings(per_tool={"greet": ToolSettings(seconds=7.0, variables=("LANG",))})
    tool = text_skill(text, settings=settings).tools[0]
    assert tool.limits.seconds == 7 and "LANG" in tool.backend.variables  # type: ignore[attr-defined]


def test_two_tools_of_one_name_are_neither() -> None:
    skill = text_skill(GOOD.replace(TOOL, TOOL + TOOL.replace("greet", "Greet") + TOOL.replace("greet", "other")))
    assert [tool.name for tool in skill.tools] == ["other"] and "TOOL_NAME_CONFLICT" in said(skill)


@pytest.mark.parametrize("name", ["a b", "../x", "a/b", "a\\u001bb", "x" * 65, "", "é"])
def test_a_tool_has_a_name(name: str) -> None:
    skill = text_skill(GOOD.replace("name: greet", f'name: "{name}"'))
    assert skill.tools == () and skill.problems[0].code == "TOOL_NAME_INVALID"


# What it is made of


def test_every_file_of_the_folder_is_part_of_it(tmp_path: Path) -> None:
    folder = put(tmp_path / "good", notes_dot_md="one")
    first = read_skill(str(folder), AROUND)
    (folder / "notes.md").write_text("two")
    second = read_skill(str(folder), AROUND)
    assert first.digest != second.digest and first.tools[0].digest != second.tools[0].digest
    (folder / "notes.md").write_text("one")
    third = read_skill(str(folder), AROUND)
    assert (third.digest, third.tools[0].digest) == (first.digest, first.tools[0].digest)


def test_two_tools_of_one_skill_have_two_digests() -> None:
    one, other = text_skill(GOOD.replace(TOOL, TOOL + TOOL.replace("greet", "other"))).tools
    assert one.digest != other.digest


def test_a_file_is_read_on_demand() -> None:
    skill = read_skill(str(EXAMPLES / "text-report"), AROUND)
    paths = [each.path for each in skill.files]
    assert paths == ["SKILL.md", "references/counting.md", "scripts/report.py", "tools.yaml"]
    assert skill_file(skill, "references/counting.md").startswith(b"# How words are counted")


@pytest.mark.parametrize("path", ["nothing.md", "../good/SKILL.md", "/etc/passwd", "", ".", "a\0b"])
def test_no_other_file_is_read(path: str, tmp_path: Path) -> None:
    skill = read_skill(str(put(tmp_path / "good")), AROUND)
    with pytest.raises(SkillError) as caught:
        skill_file(skill, path)
    assert caught.value.code == "FILE_NOT_FOUND"


def test_a_file_that_changed_meanwhile_is_not_read(tmp_path: Path) -> None:
    folder = put(tmp_path / "good", notes_dot_md="one", big_dot_md="x" * 100)
    skill = read_skill(str(folder), AROUND)
    (folder / "notes.md").write_text("two")
    with pytest.raises(SkillError) as caught:
        skill_file(skill, "notes.md")
    assert caught.value.code == "TOOL_PIN_MISMATCH"
    with pytest.raises(SkillError) as caught:
        skill_file(skill, "big.md", most=99)
    assert caught.value.code == "INPUT_TOO_LARGE"


# The portable form


def test_tools_in_a_file_beside_it(tmp_path: Path) -> None:
    text = "---\nname: good\ndescription: Is good.\nmetadata:\n  toolcrib-tools: lists/tools.yaml\n---\nBody.\n"
    for listed in (f"tools:\n{TOOL}", TOOL):
        folder = put(tmp_path / "good", text, lists__tools_dot_yaml=listed)
        skill = read_skill(str(folder), AROUND)
        assert (skill.problems, [tool.name for tool in skill.tools]) == ((), ["greet"])


def test_a_fault_in_that_file_is_named_with_its_line(tmp_path: Path) -> None:
    text = "---\nname: good\ndescription: Is good.\nmetadata:\n  toolcrib-tools: tools.yaml\n---\nBody.\n"
    folder = put(tmp_path / "good", text, tools_dot_yaml=f"tools:\n{TOOL}  - name: bad\n    backend: {{type: x}}\n")
    skill = read_skill(str(folder), AROUND)
    assert [tool.name for tool in skill.tools] == ["greet"]
    assert {(each.origin, each.to_dict()["line"]) for each in skill.problems} == {
        (f"{folder}/tools.yaml", 5),
        (f"{folder}/tools.yaml", 6),
    }


def test_text_has_no_file_beside_it() -> None:
    text = "---\nname: good\ndescription: Is good.\nmetadata:\n  toolcrib-tools: tools.yaml\n---\nBody.\n"
    skill = text_skill(text)
    assert skill.tools == () and "handed over without its folder" in said(skill)


def test_the_folder_is_named_when_the_name_is_not_one(tmp_path: Path) -> None:
    folder = put(tmp_path / "good", GOOD.replace("name: good", "name: Very Good!"))
    skill = read_skill(str(folder), AROUND)
    assert skill.name == "good" and "TOOL_NAME_INVALID" in said(skill) and "line 2" in said(skill)


def test_a_file_in_small_letters_is_one_too(tmp_path: Path) -> None:
    folder = put(tmp_path / "good")
    (folder / "SKILL.md").rename(folder / "skill.md")
    skill = read_skill(str(folder), AROUND)
    assert (skill.name, skill.origin, len(skill.tools)) == ("good", f"{folder}/skill.md", 1)


def test_what_runs_is_what_was_read(tmp_path: Path, workspace: Path, home: Path) -> None:
    """A script that another one took the place of does not run."""
    folder = tmp_path / "text-report"
    shutil.copytree(EXAMPLES / "text-report", folder)
    tools = read_skill(str(folder), AROUND).tools
    (folder / "scripts" / "report.py").write_text(f"open({str(tmp_path / 'canary')!r}, 'w')\n")
    result = called(workspace, home, tools, "text_report", text="a")
    assert result.error is not None and result.error.code == "TOOL_PIN_MISMATCH"
    assert not (tmp_path / "canary").exists()
