"""The strict look at a skill: every fault with its file and line."""

from pathlib import Path

import pytest

from toolcrib.sources.skill import read_skill
from toolcrib.sources.skill_lint import Finding, lint

from .skills import AROUND, EXAMPLES, GOOD, SCRIPT, TOOL, put

PORTABLE = "---\nname: good\ndescription: Is good.\n---\n# How\n\nSo.\n"
HTTP = """    backend:
      type: http
      url: https://api.example.com/${city}
      headers:
        Authorization: "Bearer ${env:KEY}"
    parameters:
      type: object
      properties:
        city: {type: string, description: Where.}
"""


def findings(folder: Path, text: str, **about: object) -> list[Finding]:
    return lint(read_skill(str(put(folder, text)), AROUND), **about)  # type: ignore[arg-type]


def told(found: list[Finding]) -> list[tuple[int, str, bool]]:
    return [(each.line, each.code, each.warning) for each in found]


def with_http(old: str = "", new: str = "") -> str:
    return GOOD.replace(SCRIPT, HTTP.replace(old, new) if old else HTTP)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "good"


def test_a_portable_skill_has_no_fault(folder: Path) -> None:
    assert findings(folder, PORTABLE) == []
    assert lint(read_skill(str(EXAMPLES / "text-report"), AROUND)) == []


def test_the_form_with_tools_at_the_top_works_and_is_not_portable(folder: Path) -> None:
    found = findings(folder, GOOD)
    assert told(found) == [(4, "CONFIG_INVALID", True), (5, "CONFIG_INVALID", True)]
    assert all(each.portability and "skill migrate" in each.fix for each in found)


@pytest.mark.parametrize(
    "name", ["Good", "good-", "-good", "go--od", "go_od", "GOOD", "x" * 65, "a b", "é"], ids=lambda name: name[:8]
)
def test_a_name_is_as_the_standard_has_it(name: str, tmp_path: Path) -> None:
    text = PORTABLE.replace("name: good", f"name: {name}")
    found = [each for each in findings(tmp_path / "good", text) if each.code == "TOOL_NAME_INVALID"]
    assert {(each.line, each.warning, each.portability) for each in found} == {(2, False, True)}


def test_the_folder_is_called_as_the_skill_is(tmp_path: Path) -> None:
    found = findings(tmp_path / "other", PORTABLE)
    assert {(each.line, each.warning) for each in found} == {(2, False)} and "'other'" in found[0].message


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("Is good.", "x" * 1025, 3, "1025 characters"),
        ("description: Is good.\n", "", 1, "`description` is missing"),
        ("name: good\n", "", 1, "`name` is missing"),
        ("Is good.", "Is good.\ncompatibility: " + "x" * 501, 4, "501 characters"),
        ("Is good.", "Is good.\nmodel: big", 4, "unknown key 'model'"),
        ("Is good.", "Is good.\nmetadata:\n  a:\n    b: c", 4, "metadata"),
        ("Is good.", "Use when: so", 3, "quotes"),
        ("---\nname", "\n---\nname", 1, "before the front matter"),
    ],
)
def test_what_is_forgiven_in_use_is_a_fault_here(old: str, new: str, line: int, words: str, folder: Path) -> None:
    found = findings(folder, PORTABLE.replace(old, new, 1))
    match = [each for each in found if words in each.message]
    assert match and match[0].line == line and not match[0].warning, found


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("Is good.", "Is --- good.", 3),
        ("Is good.", "Is good.\nmetadata: {a: b}", 4),
        ("Is good.", "Is good.\nallowed-tools: [Read]", 4),
        ("Is good.", "Is good.\nversion: 1.0.0", 4),
        ("---\nname", "\ufeff---\nname", 1),
    ],
    ids=["dashes", "braces", "brackets", "version", "BOM"],
)
def test_where_others_would_not_take_it(old: str, new: str, line: int, folder: Path) -> None:
    found = findings(folder, PORTABLE.replace(old, new, 1))
    assert [(each.line, each.portability) for each in found] == [(line, True)], found


def test_what_the_reference_validator_says_is_what_we_say(tmp_path: Path) -> None:
    """It takes `---` inside the front matter without a word, and drops what stands after it; we do not."""
    validator = pytest.importorskip("skills_ref.validator", reason="the standard's own validator is not installed")
    texts = {
        "good": PORTABLE,
        "tools": GOOD.replace("name: good", "name: tools"),
        "Large": PORTABLE.replace("name: good", "name: Large"),
        "braces": PORTABLE.replace("good", "braces", 1).replace("Is good.", "Is.\nmetadata: {a: b}"),
        "mark": "\ufeff" + PORTABLE.replace("good", "mark", 1),
        "listed": PORTABLE.replace("good", "listed", 1).replace("Is good.", "Is.\nallowed-tools: Read Grep"),
        "long": PORTABLE.replace("good", "long", 1).replace("Is good.", "x" * 1025),
    }
    for name, text in texts.items():
        found = findings(tmp_path / name, text)
        ours = not any(each.portability or not each.warning for each in found)
        assert ours == (validator.validate(tmp_path / name) == []), name


# Tools


@pytest.mark.parametrize(
    ("old", "new", "line", "code"),
    [
        ('"Bearer ${env:KEY}"', '"Bearer sk-1234..."', 12, "ENV_NOT_ALLOWED"),
        ("Authorization", "X-Api-Key", 0, ""),
        ('Authorization: "Bearer ${env:KEY}"', "X-Api-Key: abc", 12, "ENV_NOT_ALLOWED"),
        ('Authorization: "Bearer ${env:KEY}"', "Cookie: session=1", 12, "ENV_NOT_ALLOWED"),
        ('Authorization: "Bearer ${env:KEY}"', "Accept: text/plain", 0, ""),
        ("https:", "http:", 10, "NETWORK_DENIED"),
        ("${city}", "${town}", 10, "VALIDATION_ERROR"),
        ("${city}", "$${town}/${city}", 0, ""),
    ],
)
def test_a_tool_that_is_unwise(old: str, new: str, line: int, code: str, folder: Path) -> None:
    """A39: secrets are not written into a skill; nor is anything sent in the open."""
    found = [each for each in findings(folder, with_http(old, new)) if not each.warning]
    codes = {(each.line, each.code) for each in found}
    assert (line, code) in codes if code else codes == set()


def test_a_host_that_the_user_listed_may_be_http(folder: Path) -> None:
    text = with_http("https://api.example.com", "http://api.example.com:8080")
    assert any(each.code == "NETWORK_DENIED" for each in findings(folder, text))
    assert not any(each.code == "NETWORK_DENIED" for each in findings(folder, text, allow=("api.example.com:8080",)))


def test_a_download_without_a_checksum() -> None:
    """A6: the message says what to add."""
    (found,) = [each for each in lint(read_skill(str(EXAMPLES / "pdf-parser"), AROUND)) if not each.warning]
    assert (found.line, found.code) == (9, "DOWNLOAD_UNVERIFIED") and "sha256:" in found.fix


def test_arguments_that_are_not_described_or_not_used(folder: Path) -> None:
    body = "      method: POST\n      body_template: {a: '${city}'}\n    parameters:"
    text = with_http("    parameters:", body).replace(
        "        city: {type: string, description: Where.}\n",
        "        city: {type: string}\n        more: {type: string, description: x}\n",
    )
    warned = [(each.line, each.message) for each in findings(folder, text) if each.code == "VALIDATION_ERROR"]
    assert warned == [
        (18, "greet: the argument city is not described; the model knows nothing else of it"),
        (19, "greet: the argument more is used nowhere"),
    ]


def test_an_interpreter_that_is_not_here(folder: Path, tmp_path: Path) -> None:
    """A44: it must be installed, and the skill cannot bring it."""
    (tmp_path / "bin").mkdir()
    found = [each for each in findings(folder, GOOD, search_path=str(tmp_path / "bin")) if "sh" in each.message]
    assert [(each.code, each.line, each.warning) for each in found] == [("ENGINE_NOT_AVAILABLE", 8, True)]


def test_a_tool_called_as_a_built_in(folder: Path) -> None:
    found = [each for each in findings(folder, GOOD, taken={"greet"}) if not each.warning]
    assert told(found) == [(6, "TOOL_NAME_CONFLICT", False)]


def test_faults_of_a_sidecar_stand_in_the_sidecar(folder: Path) -> None:
    text = PORTABLE.replace("Is good.", "Is good.\nmetadata:\n  toolcrib-tools: tools.yaml\n  version: '1'")
    put(folder, text, tools_dot_yaml=f"tools:\n{TOOL.replace(SCRIPT, HTTP.replace('https', 'http'))}")
    found = lint(read_skill(str(folder), AROUND))
    assert [(each.path, each.line, each.code) for each in found] == [(f"{folder}/tools.yaml", 6, "NETWORK_DENIED")]


def test_a_skill_that_says_nothing_or_too_much(folder: Path) -> None:
    assert "no text after the front matter" in findings(folder, PORTABLE.partition("# How")[0])[0].message
    assert "all of which an agent reads" in findings(folder, PORTABLE + "line\n" * 600)[0].message
