"""Vocabularies through every door: the same tools, judged, limited and recorded as what they are, whatever their names."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.core.policy import Answer, Question
from toolcrib.policy.approvers import Standing
from toolcrib.policy.project_files import project_files
from toolcrib.runtime.build import build, read_config
from toolcrib.sources.vocabularies import VOCABULARIES
from toolcrib.store.home import Home

SEVEN = {"bash", "read", "write", "edit", "grep", "glob", "ls"}
OURS_OF_SEVEN = "[run_command, read_file, write_file, edit_file, grep, glob, list_directory]"
SHELLS = [("claude", "Bash"), ("a3s", "bash"), ("golem", "shell")]
READERS = [("claude", "Read"), ("a3s", "read")]
WRITERS = [("claude", "Write"), ("a3s", "write")]


class Person:
    """Says yes for as long as it was told, and keeps what it was asked."""

    def __init__(self, scope: str = "once") -> None:
        self.scope, self.asked = scope, list[Question]()

    async def approve(self, question: Question) -> Answer:
        self.asked.append(question)
        return Standing(allowed=True, by="test", scope=self.scope)


class Place:
    """A home with a profile for each vocabulary, and a workspace."""

    def __init__(self, home: Path, workspace: Path) -> None:
        self.home, self.workspace = home, workspace
        (home / "profiles").mkdir()
        for name in VOCABULARIES:
            self.profile(name)

    def profile(self, name: str, more: str = "", *, file: str = "") -> None:
        (self.home / "profiles" / f"{file or name}.yaml").write_text(f"vocabulary: {name}\n{more}")

    def policy(self, *rules: str) -> None:
        (self.home / "policy.yaml").write_text("rules:\n" + "".join(f"  - {rule}\n" for rule in rules))

    def config(self, text: str) -> None:
        (self.home / "config.yaml").write_text(text)

    def call(self, profile: str | None, name: str, args: dict[str, Any], person: Any = None, **more: Any) -> Any:
        async def once() -> toolcrib.Result:
            async with toolcrib.open(
                home=self.home, workspace=self.workspace, profile=profile, approver=person
            ) as crib:
                return await crib.call(name, args, **more)

        return asyncio.run(once())

    def use(self, profile: str | None, do: Callable[[toolcrib.Crib], Any]) -> Any:
        async def once() -> Any:
            async with toolcrib.open(home=self.home, workspace=self.workspace, profile=profile) as crib:
                return do(crib)

        return asyncio.run(once())

    def names(self, profile: str | None) -> set[str]:
        found: set[str] = self.use(profile, lambda crib: {tool.name for tool in crib.tools()})
        return found

    def files(self) -> list[str]:
        return sorted(os.listdir(self.workspace))


@pytest.fixture
def place(home: Path, workspace: Path) -> Place:
    return Place(home, workspace)


def refused(result: toolcrib.Result, code: str = "BLOCKED_BY_POLICY") -> bool:
    return result.error is not None and result.error.code == code


# What is offered


def test_the_seven_of_a3s(place: Place) -> None:
    """A1: seven built-ins; whatever else there is keeps its own name, unless the profile leaves it out."""
    place.profile("a3s", f"sources: {{only: {OURS_OF_SEVEN}}}\n", file="seven")
    assert place.names("seven") == SEVEN
    assert place.names("a3s") >= SEVEN


def test_the_seven_do_what_they_always_did(place: Place) -> None:
    """A42: a story told in another system's words."""

    def call(name: str, **args: Any) -> Any:
        result = place.call("a3s", name, args, Person())
        assert result.success, result.error
        return result.data

    call("write", file_path="src/a.py", content="one = 1\ntwo = 2\n")
    assert "one = 1" in call("read", file_path="src/a.py", offset=0, limit=1)
    assert "two" not in call("read", file_path="src/a.py", offset=0, limit=1)
    call("edit", file_path="src/a.py", old_string="two = 2", new_string="TWO = 2")
    assert (place.workspace / "src" / "a.py").read_text() == "one = 1\nTWO = 2\n"
    assert "src/a.py" in str(call("grep", pattern="two", **{"-i": True}))
    assert "src/a.py" in str(call("glob", pattern="**/*.py"))
    assert "src" in str(call("ls", path="."))
    assert call("bash", command="cat src/a.py", timeout=20_000) == "one = 1\nTWO = 2\n"


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_each_tool_is_offered_once(place: Place, vocabulary: str) -> None:
    """The rest under our names: nothing is lost, and nothing is there twice."""
    plain, named = place.names(None), place.names(vocabulary)
    renamed = {word.own: word.name for word in VOCABULARIES[vocabulary]}
    assert named == {renamed.get(name, name) for name in plain} and len(named) == len(plain)


def test_our_own_words_are_the_default(place: Place) -> None:
    assert place.names("toolcrib") == place.names(None)
    assert not place.use("toolcrib", lambda crib: crib.config.offer.renames)


@pytest.mark.parametrize(("vocabulary", "name"), SHELLS)
def test_a_name_of_ours_that_is_not_used_is_not_there(place: Place, vocabulary: str, name: str) -> None:
    result = place.call(vocabulary, "run_command", {"command": "touch ran"}, Person())
    assert refused(result, "TOOL_NOT_FOUND") and place.files() == []
    assert place.call(vocabulary, name, {"command": "touch ran"}, Person()).success and place.files() == ["ran"]


def test_what_a_profile_leaves_out_is_left_out_by_our_name(place: Place) -> None:
    place.profile("claude", "sources: {without: [run_command]}\n")
    assert "Bash" not in place.names("claude") and "Read" in place.names("claude")
    assert refused(place.call("claude", "Bash", {"command": "touch ran"}, Person()), "TOOL_NOT_FOUND")
    assert place.files() == []


def test_toolsets_are_ours(place: Place) -> None:
    place.profile("claude", "toolsets: {shell: {}}\n")
    assert "Bash" in place.names("claude") and "Read" not in place.names("claude")


def test_a_program_may_not_be_called_like_a_word(place: Place, make_tool: Any) -> None:
    script = """#!/bin/sh
case $1 in description) echo '{"name": "Bash", "description": "x", "input_schema": {"type": "object"}}';;
run) : > ran;; esac
"""
    make_tool("Bash", script)
    place.config("custom_tools: {prefix: ''}\n")
    assert "Bash" in place.names(None)
    codes = place.use("claude", lambda crib: [each.code for each in crib.problems()])
    tool = place.use("claude", lambda crib: crib.find("Bash"))
    assert codes == ["TOOL_NAME_CONFLICT"] and tool.source == "builtin"


# The gate


@pytest.mark.parametrize(("vocabulary", "name"), SHELLS)
@pytest.mark.parametrize(
    "rule",
    [
        "{tool: run_command, approval: blocked}",
        "{command: touch, approval: blocked}",
        "{tool: run_command, args: {/command: ['touch ran']}, approval: blocked}",
        "{capabilities: [executes_commands], approval: blocked}",
    ],
)
def test_what_is_blocked_is_blocked_under_every_name(place: Place, vocabulary: str, name: str, rule: str) -> None:
    place.policy(rule)
    person = Person()
    assert refused(place.call(vocabulary, name, {"command": "touch ran"}, person))
    assert place.files() == [] and person.asked == []


@pytest.mark.parametrize(("vocabulary", "name"), WRITERS)
@pytest.mark.parametrize(
    "rule",
    [
        "{tool: write_file, args: {/path: [secret]}, approval: blocked}",
        "{paths: [secret], approval: blocked}",
        "{tool: write_file, paths: [secret], access: write, approval: blocked}",
    ],
)
def test_a_rule_about_an_argument_of_ours_holds_for_theirs(place: Place, vocabulary: str, name: str, rule: str) -> None:
    place.policy(rule)
    assert refused(place.call(vocabulary, name, {"file_path": "secret", "content": "x"}, Person()))
    assert place.files() == []
    assert place.call(vocabulary, name, {"file_path": "open", "content": "x"}, Person()).success


@pytest.mark.parametrize(("vocabulary", "name"), SHELLS)
def test_what_is_blocked_under_their_name_is_blocked_too(place: Place, vocabulary: str, name: str) -> None:
    place.policy(f"{{tool: {name}, approval: blocked}}")
    assert refused(place.call(vocabulary, name, {"command": "touch ran"}, Person())) and place.files() == []


@pytest.mark.parametrize(("vocabulary", "name"), SHELLS)
@pytest.mark.parametrize("where", ["rule", "config"])
def test_a_yes_to_their_name_is_no_yes_to_our_tool(place: Place, vocabulary: str, name: str, where: str) -> None:
    """It was said of another tool of that name, or of none."""
    if where == "rule":
        place.policy(f"{{tool: {name}, approval: preApproved}}")
    else:
        place.config(f"approval: {{tools: {{{name}: preApproved}}}}\n")
    assert refused(place.call(vocabulary, name, {"command": "touch ran"}), "APPROVAL_REQUIRED")
    assert place.files() == []


@pytest.mark.parametrize(("vocabulary", "name"), SHELLS)
def test_a_yes_to_our_tool_holds_under_every_name(place: Place, vocabulary: str, name: str) -> None:
    place.policy("{command: touch, approval: preApproved}")
    assert place.call(vocabulary, name, {"command": "touch ran"}).success and place.files() == ["ran"]
    assert refused(place.call(vocabulary, name, {"command": "touch a; rm ran"}), "APPROVAL_REQUIRED")
    assert place.files() == ["ran"]


def test_rules_of_a_toolset_are_for_the_shell_under_any_name(place: Place) -> None:
    rules = "toolsets: {shell: {rules: [{pattern: touch, approval: preApproved}, {pattern: rm, approval: blocked}]}}\n"
    place.profile("claude", rules)
    assert place.call("claude", "Bash", {"command": "touch ran"}).success
    assert refused(place.call("claude", "Bash", {"command": "rm ran"}, Person())) and place.files() == ["ran"]


def test_the_verdicts_of_all_tools_are_the_same(place: Place) -> None:
    """Whatever is configured: under no vocabulary does a tool get another verdict in general."""
    place.config("approval: {default: ask, tools: {write_file: blocked, run_command: preApproved}}\n")

    def verdicts(crib: toolcrib.Crib) -> dict[str, str]:
        own = crib.config.offer.own_name
        return {own(tool): crib.verdict(tool).decision.wire for tool in crib.tools()}

    plain = place.use(None, verdicts)
    assert plain["write_file"] == "blocked" and plain["run_command"] == "preApproved"
    assert {name: place.use(name, verdicts) for name in VOCABULARIES} == dict.fromkeys(VOCABULARIES, plain)


def test_a_person_is_told_by_which_name_it_can_be_allowed(place: Place) -> None:
    person = Person()
    place.call("claude", "Bash", {"command": "touch ran"}, person)
    assert "rules and settings call it run_command" in person.asked[0].reason


# Answers that are remembered


@pytest.mark.parametrize(("vocabulary", "name"), SHELLS)
@pytest.mark.parametrize("scope", ["session", "project", "user"])
def test_an_answer_is_for_the_name_that_was_seen(place: Place, vocabulary: str, name: str, scope: str) -> None:
    """Whoever allowed `run_command` is asked anew about `Bash`, and the other way round; once each."""
    (place.workspace / "a").write_text("x")
    args, person = {"command": "cat a"}, Person(scope)
    for profile, called in ((None, "run_command"), (vocabulary, name)):
        assert place.call(profile, called, args, person).success
    assert [question.tool.name for question in person.asked] == ["run_command", name]
    if scope != "session":
        for profile, called in ((None, "run_command"), (vocabulary, name)):
            assert place.call(profile, called, args).success, "and is not asked about the same again"
        assert len(person.asked) == 2
    assert refused(place.call(vocabulary, name, {"command": "rm a"}), "APPROVAL_REQUIRED")


# Paths


@pytest.mark.parametrize(("vocabulary", "name"), READERS)
@pytest.mark.parametrize("path", ["../secret", "link", "folder/../../secret", "{outside}/secret", "/proc/self/environ"])
def test_nothing_outside_is_read_under_any_name(
    place: Place, tmp_path: Path, vocabulary: str, name: str, path: str
) -> None:
    (tmp_path / "secret").write_text("S3CRET")
    (place.workspace / "link").symlink_to(tmp_path / "secret")
    result = place.call(vocabulary, name, {"file_path": path.format(outside=tmp_path)}, Person())
    assert result.error is not None and "S3CRET" not in str(result)
    assert result.error.code in ("PATH_OUTSIDE_WORKSPACE", "FILE_NOT_FOUND")


@pytest.mark.parametrize(("vocabulary", "name"), WRITERS)
@pytest.mark.parametrize(
    "path", ["../new", "link", "{outside}/secret", ".toolcrib/config.yaml", ".git/hooks/pre-commit"]
)
def test_nothing_outside_or_protected_is_written_under_any_name(
    place: Place, tmp_path: Path, vocabulary: str, name: str, path: str
) -> None:
    (tmp_path / "secret").write_text("S3CRET")
    (place.workspace / "link").symlink_to(tmp_path / "secret")
    (place.workspace / ".git" / "hooks").mkdir(parents=True)
    person = Person()
    result = place.call(vocabulary, name, {"file_path": path.format(outside=tmp_path), "content": "x"}, person)
    assert result.error is not None and result.error.code in ("PATH_OUTSIDE_WORKSPACE", "PATH_PROTECTED")
    assert person.asked == [] and (tmp_path / "secret").read_text() == "S3CRET"
    assert not (tmp_path / "new").exists() and place.files() == [".git", "link"]
    assert os.listdir(place.workspace / ".git" / "hooks") == []


def test_absolute_paths_in_the_workspace_work(place: Place) -> None:
    """These systems ask for absolute paths."""
    path = str(place.workspace / "a.txt")
    assert place.call("claude", "Write", {"file_path": path, "content": "hello\n"}, Person()).success
    result = place.call("claude", "Read", {"file_path": path})
    assert result.success and "hello" in result.data


def test_a_link_that_is_turned_while_a_person_thinks_is_not_followed(place: Place, tmp_path: Path) -> None:
    """What was judged is what is touched, also by its other name."""
    (tmp_path / "outside").write_text("old")
    (place.workspace / "inside").write_text("old")
    (place.workspace / "link").symlink_to("inside")

    class Turning(Person):
        async def approve(self, question: Question) -> Answer:
            (place.workspace / "link").unlink()
            (place.workspace / "link").symlink_to(tmp_path / "outside")
            return await super().approve(question)

    result = place.call("claude", "Write", {"file_path": "link", "content": "new"}, Turning())
    assert not result.success and (tmp_path / "outside").read_text() == "old"


# The rest of what holds for a tool


@pytest.mark.parametrize(("vocabulary", "name"), SHELLS)
def test_its_time_its_variables_and_its_secrets_are_those_of_our_tool(
    place: Place, monkeypatch: pytest.MonkeyPatch, vocabulary: str, name: str
) -> None:
    monkeypatch.setenv("WORD", "passed")
    monkeypatch.setenv("API_KEY", "s3cr3t-value-1234")
    place.config("tools: {run_command: {timeout: 500ms, env: [WORD], secrets: [API_KEY]}}\n")
    slow = place.call(vocabulary, name, {"command": "sleep 30"}, Person())
    assert refused(slow, "TIMEOUT") and slow.error.details["seconds"] == 0.5
    text = "echo $WORD; test -n $API_KEY && echo $API_KEY > kept"
    result = place.call(vocabulary, name, {"command": text}, Person())
    assert result.data == "passed\n" and (place.workspace / "kept").read_text() == "s3cr3t-value-1234\n"


@pytest.mark.parametrize(("vocabulary", "name"), WRITERS)
def test_a_dry_run_writes_nothing(place: Place, vocabulary: str, name: str) -> None:
    args = {"file_path": "a", "content": "x\n"}
    result = place.call(vocabulary, name, args, Person(), dry_run=True)
    assert result.success and "+x" in str(result.data) and place.files() == []


@pytest.mark.parametrize(
    ("name", "args"),
    [("Bash", {"argv": ["touch", "ran"]}), ("Write", {"path": "ran", "content": "x"}), ("Write", {"file_path": "ran"})],
)
def test_arguments_are_checked_by_their_schema(place: Place, name: str, args: dict[str, Any]) -> None:
    assert refused(place.call("claude", name, args, Person()), "VALIDATION_ERROR") and place.files() == []


def test_skipping_validation_opens_no_second_way(place: Place) -> None:
    """Both names of a path at once: neither is written to."""
    args = {"file_path": "a", "path": "b", "content": "x"}
    result = place.call("claude", "Write", args, Person(), skip_validation=True)
    assert refused(result, "VALIDATION_ERROR") and place.files() == []


def test_the_record_says_what_was_called_and_what_that_is(place: Place) -> None:
    place.call("claude", "Bash", {"command": "true"}, Person())
    place.call("claude", "Write", {"file_path": "../x", "content": ""}, Person())
    place.call("claude", "list_files", {})
    (log,) = (place.home / "audit").glob("*.jsonl")
    records = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(each["event"], each["tool"], each.get("means")) for each in records] == [
        ("start", "Bash", "run_command"),
        ("call", "Bash", "run_command"),
        ("call", "Write", "write_file"),
        ("call", "list_files", None),
    ]


# The file


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("vocabulary: cloude\n", "'cloude' is not one of toolcrib, a3s, golem, claude"),
        ("vocabulary: [claude]\n", "is not one of"),
        ("vocabulary: claude\napproval: {tools: {Bash: preApproved}}\n", "Bash is what run_command is called here"),
        ("vocabulary: claude\ntools: {Write: {timeout: 1s}}\n", "Write is what write_file is called here"),
        ("vocabulary: claude\ntoolsets: {shell: {approval: {tools: {Bash: ask}}}}\n", "shell has no tool 'Bash'"),
    ],
)
def test_a_wrong_profile_says_what_is_wrong(place: Place, text: str, words: str) -> None:
    (place.home / "profiles" / "p.yaml").write_text(text)
    with pytest.raises(toolcrib.ConfigError) as caught:
        read_config(str(place.workspace), Home(place.home), "p")
    assert words in str(caught.value) and "p.yaml" in str(caught.value)


def test_a_project_cannot_choose_the_words(place: Place) -> None:
    """Under another name a tool could pass for one that was allowed."""
    own = place.workspace / ".toolcrib" / "profiles"
    own.mkdir(parents=True)
    (own / "theirs.yaml").write_text("vocabulary: claude\n")
    build(home=place.home, workspace=place.workspace).trust.add(
        str(place.workspace), project_files(str(place.workspace))
    )
    config = read_config(str(place.workspace), Home(place.home), "theirs")
    assert config.offer.words == () and "line 1: vocabulary would loosen" in config.problems[0].message
    assert place.names("theirs") == place.names(None)


# The other doors


def test_list_and_call(place: Place, run_cli: Any) -> None:
    listed = run_cli("list", "--profile", "claude", "--names").stdout.split()
    assert {"Bash", "Read", "Write"} <= set(listed) and not {"run_command", "read_file"} & set(listed)
    again = run_cli("list", "--profile", "claude", "--json")
    shown = {tool["name"]: tool for tool in json.loads(again.stdout)["tools"]}
    assert set(shown["Write"]["input_schema"]["properties"]) == {"file_path", "content"}
    assert shown["Write"]["approval"] == "ask" and shown["Read"]["approval"] == "preApproved"
    done = run_cli("call", "Write", "--profile", "claude", "--file_path", "a.txt", "--content", "x", "--yes")
    assert (done.returncode, place.files()) == (0, ["a.txt"]), done.stderr
    assert run_cli("call", "Read", "--profile", "claude", "--file_path", "../x").returncode == 1
    assert run_cli("call", "write_file", "--profile", "claude", "--yes").returncode == 4
    shown = run_cli("show", "Bash", "--profile", "claude", "--json")
    assert shown.returncode == 0 and "run_in_background" in shown.stdout


def test_policy_explains_by_both_names(place: Place, run_cli: Any) -> None:
    place.policy("{tool: run_command, command: touch, approval: blocked}")
    argv = ("policy", "explain", "Bash", "--profile", "claude", "--input", '{"command": "touch x"}', "--json")
    assert json.loads(run_cli(*argv).stdout)["decision"] == "blocked"


def test_declarations(place: Place) -> None:
    declared = place.use("claude", lambda crib: crib.registry.declarations())
    names = {each["name"]: each["parameters"] for each in declared[0]["functionDeclarations"]}
    assert "file_path" in names["Read"]["properties"] and "read_file" not in names


def test_serving(place: Place, run_cli: Any) -> None:
    """MCP clients see their own words, and calls are judged as everywhere."""
    requests = [
        {"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
        {"id": 1, "method": "tools/list"},
        {
            "id": 2,
            "method": "tools/call",
            "params": {"name": "Write", "arguments": {"file_path": "../x", "content": ""}},
        },
        {"id": 3, "method": "tools/call", "params": {"name": "Write", "arguments": {"file_path": "a", "content": "x"}}},
    ]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in requests)
    done = run_cli("serve", "mcp", "--profile", "claude", "--ask", "client", input=lines)
    answers = {each["id"]: each["result"] for line in done.stdout.splitlines() if "id" in (each := json.loads(line))}
    assert {"Bash", "Read", "Write"} <= {tool["name"] for tool in answers[1]["tools"]}
    assert answers[2]["isError"] and not answers[3].get("isError"), done.stderr
    assert place.files() == ["a"]
