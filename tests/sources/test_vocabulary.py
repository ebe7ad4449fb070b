"""Built-in tools under the names and parameters of other systems: what is declared, and what is really called."""

import asyncio
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import pytest

from toolcrib.core.call import Call
from toolcrib.core.errors import ToolError
from toolcrib.core.schema import Schema
from toolcrib.core.source import Loaded
from toolcrib.core.tool import Capabilities, Hooks, Subject, Tool
from toolcrib.sources.vocabularies import VOCABULARIES
from toolcrib.sources.vocabulary import Parameter, Spoken, Word, own_call, own_tool, spoken
from toolcrib.sources.wrap import Offer
from toolcrib.testing import FixedSource, fake_context

WORDS = [(name, word) for name, words in VOCABULARIES.items() for word in words]
CLAUDE = {
    "Bash": {"command", "timeout", "description", "run_in_background"},
    "Read": {"file_path", "offset", "limit"},
    "Write": {"file_path", "content"},
    "Edit": {"file_path", "old_string", "new_string", "replace_all"},
    "Glob": {"pattern", "path"},
    "Grep": {"pattern", "path", "glob", "output_mode", "-i", "-A", "-B", "-C", "-n", "head_limit"},
    "LS": {"path"},
    "TodoWrite": {"todos"},
    "BashOutput": {"bash_id"},
    "KillShell": {"shell_id"},
}
A3S = {
    "bash": {"command", "timeout"},
    "read": {"file_path", "offset", "limit"},
    "write": {"file_path", "content"},
    "edit": {"file_path", "old_string", "new_string", "replace_all"},
    "grep": {"pattern", "path", "glob", "context", "-i", "limit"},
    "glob": {"pattern", "path"},
    "ls": {"path"},
}


class Noting:
    """A backend that keeps what it was called with."""

    starts_process = True
    variables = ("PATH", "LANG")

    def __init__(self, pin: str = "sha256:own") -> None:
        self.pin, self.called = pin, list[Mapping[str, Any]]()

    async def run(self, args: Mapping[str, Any], ctx: Any) -> str:
        self.called.append(dict(args))
        return "done"

    def digest(self) -> str:
        return self.pin


def tool(**more: Any) -> Tool:
    schema = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1, "description": "Ours."},
            "seconds": {"type": "number", "maximum": 10},
            "context": {"type": "integer"},
            "numbers": {"type": "boolean"},
        },
        "required": ["path"],
        "additionalProperties": False,
    }
    made = Tool(
        "look", "Looks.", Schema(schema), Noting(), source="builtin", origin="builtin:look", digest="sha256:own"
    )
    return made._replace(**more)


WORD = Word(
    "look",
    "Look",
    "Looks, in other words.",
    {
        "file": Parameter("path", "Theirs."),
        "ms": Parameter("seconds", "", lambda ms: ms / 1000, {"type": "number", "minimum": 0}),
        "-A": Parameter("context"),
        "-B": Parameter("context"),
        "why": Parameter(schema={"type": "string"}),
        "elsewhere": Parameter("nothing_of_ours"),
    },
    otherwise={"numbers": True, "not_there": 1},
)


def one(own: Tool | None = None, word: Word = WORD) -> Tool:
    (made,) = spoken([own or tool()], [word])
    return made


def own_of(word: Word) -> Tool:
    """The real tool that a word stands for."""
    return getattr(import_module(f"toolcrib.builtins.{word.own}"), word.own)  # type: ignore[no-any-return]


def real(vocabulary: str, name: str) -> Tool:
    (word,) = (word for word in VOCABULARIES[vocabulary] if word.name == name)
    return one(own_of(word), word)


def translated(each: Tool, **args: Any) -> dict[str, Any]:
    assert isinstance(each.backend, Spoken)
    assert each.schema.check(args) == [] and list(each.hooks.validate(args)) == [], "their schema takes it"  # type: ignore[misc]
    return each.backend.translated(args)


# The mechanism


def test_it_has_their_name_their_parameters_and_everything_else_of_ours() -> None:
    own = tool(version="2.0.0", capabilities=Capabilities(writes_files=True))
    made = one(own)
    assert made.input_schema == {
        "type": "object",
        "properties": {
            "file": {"type": "string", "minLength": 1, "description": "Theirs."},
            "ms": {"type": "number", "minimum": 0},
            "-A": {"type": "integer"},
            "-B": {"type": "integer"},
            "why": {"type": "string"},
        },
        "required": ["file"],
        "additionalProperties": False,
    }
    assert (made.name, made.description) == ("Look", "Looks, in other words.")
    same = ("source", "origin", "version", "capabilities", "limits", "output_schema")
    assert [getattr(made, each) for each in same] == [getattr(own, each) for each in same]
    assert made.backend.starts_process and made.backend.variables == ("PATH", "LANG")  # type: ignore[attr-defined]


def test_ours_runs_with_our_arguments() -> None:
    own = tool()
    args = {"file": "x", "ms": 1500, "-A": 2, "-B": 5, "why": "because"}
    assert asyncio.run(one(own).backend.run(args, fake_context())) == "done"
    assert own.backend.called == [{"numbers": True, "path": "x", "seconds": 1.5, "context": 5}]  # type: ignore[attr-defined]


def test_hooks_are_given_our_arguments() -> None:
    seen: list[tuple[str, dict[str, Any]]] = []

    async def preview(args: Mapping[str, Any], ctx: Any) -> str:
        seen.append(("dry_run", dict(args)))
        return "would"

    def touches(args: Mapping[str, Any]) -> list[Subject]:
        seen.append(("touches", dict(args)))
        return [Subject("write", (args["path"],))]

    def validate(args: Mapping[str, Any]) -> list[str]:
        seen.append(("validate", dict(args)))
        return ["no"]

    def claim(args: Mapping[str, Any]) -> str:
        seen.append(("claim", dict(args)))
        return "ask"

    made = one(tool(hooks=Hooks(validate, preview, touches=touches), needs_approval=claim))
    args = {"file": "x"}
    assert made.hooks.touches and made.hooks.dry_run and made.hooks.validate and callable(made.needs_approval)
    assert made.hooks.touches(args) == [Subject("write", ("x",))]
    assert asyncio.run(made.hooks.dry_run(args, fake_context())) == "would"
    assert (made.hooks.validate(args), made.needs_approval(args)) == (["no"], "ask")
    assert seen == [(hook, {"numbers": True, "path": "x"}) for hook in ("touches", "dry_run", "validate", "claim")]


def test_a_tool_without_hooks_has_none() -> None:
    made = one()
    assert (made.hooks.touches, made.hooks.dry_run, made.needs_approval) == (None, None, None)


def test_what_their_schema_lets_pass_and_ours_does_not_is_a_fault() -> None:
    made = one()
    args = {"file": "x", "ms": 60_000}
    assert made.schema.check(args) == [] and made.hooks.validate
    (fault,) = made.hooks.validate(args)
    assert "10" in fault


@pytest.mark.parametrize("args", [{"path": "x"}, {"file": "x", "elsewhere": 1}, {"file": "x", "__class__": 1}])
def test_an_unknown_parameter_is_refused_also_by_who_skips_validation(args: dict[str, Any]) -> None:
    """Ours among them: else a path could be named twice, and one be judged while the other is used."""
    own = tool()
    made = one(own)
    assert made.schema.check(args)
    with pytest.raises(ToolError) as caught:
        asyncio.run(made.backend.run(args, fake_context()))
    assert caught.value.code == "VALIDATION_ERROR" and own.backend.called == []  # type: ignore[attr-defined]


def test_a_tool_without_a_word_stays_and_a_word_without_a_tool_is_nothing() -> None:
    other = tool(name="other")
    made = spoken([other, tool()], [WORD, WORD._replace(own="not_there")])
    assert [each.name for each in made] == ["other", "Look"] and made[0] is other


def test_one_tool_may_have_two_names() -> None:
    assert [each.name for each in spoken([tool()], [WORD, WORD._replace(name="See")])] == ["Look", "See"]


def test_the_digest_binds_to_our_tool_and_to_what_is_said_of_it() -> None:
    made = one()
    assert made.backend.digest() == made.digest
    others = [
        one(tool(digest="sha256:other")),
        one(word=WORD._replace(name="See")),
        one(word=WORD._replace(description="Else.")),
        one(word=WORD._replace(parameters={"file": Parameter("path")})),
    ]
    assert len({made.digest, tool().digest, *(each.digest for each in others)}) == 6


def test_a_change_of_ours_is_a_change() -> None:
    own = tool()
    made = one(own)
    own.backend.pin = "sha256:changed"  # type: ignore[attr-defined]
    assert made.backend.digest() != made.digest


def test_what_is_meant() -> None:
    own = tool()
    made, call = one(own), Call("Look", {"file": "x"}, "1", "session")
    assert own_tool(made) is own and own_tool(own) is own
    assert own_call(call, made) == Call("look", {"numbers": True, "path": "x"}, "1", "session")
    assert own_call(call, own) is call


# The tables


@pytest.mark.parametrize(("vocabulary", "word"), WORDS, ids=lambda each: each.name if isinstance(each, Word) else each)
def test_every_word_means_something(vocabulary: str, word: Word) -> None:
    """Each parameter has one of ours, and what ours cannot do without can be said."""
    own = own_of(word)
    takes = own.input_schema["properties"]
    assert {each.ours for each in word.parameters.values() if each.ours} <= set(takes)
    assert set(word.otherwise) <= set(takes) and set(word.required) <= set(word.parameters)
    assert set(own.input_schema.get("required", ())) <= {each.ours for each in word.parameters.values()}
    made = one(own, word)
    assert set(made.input_schema["properties"]) == set(word.parameters)
    assert all(each.get("description") or "type" in each for each in made.input_schema["properties"].values())
    assert len(made.description) > 20


@pytest.mark.parametrize(("vocabulary", "names"), [("claude", CLAUDE), ("a3s", A3S)])
def test_names_and_parameters_are_theirs(vocabulary: str, names: dict[str, set[str]]) -> None:
    """A1: bash, read, write, edit, grep, glob and ls."""
    assert {word.name: set(word.parameters) for word in VOCABULARIES[vocabulary]} == names


def test_golem_calls_all_but_the_shell_as_we_do() -> None:
    """G2"""
    assert [(word.own, word.name) for word in VOCABULARIES["golem"]] == [("run_command", "shell")]
    for name in ("read_file", "write_file", "list_files", "delete_file", "file_exists", "file_info"):
        assert import_module(f"toolcrib.builtins.{name}")


@pytest.mark.parametrize(
    ("vocabulary", "name", "theirs", "ours"),
    [
        ("claude", "Bash", {"command": "ls", "description": "List"}, {"command": "ls"}),
        ("claude", "Bash", {"command": "ls", "timeout": 120000}, {"command": "ls", "timeout": 120}),
        ("claude", "Bash", {"command": "ls", "timeout": 1500}, {"command": "ls", "timeout": 1.5}),
        ("claude", "Bash", {"command": "ls", "run_in_background": True}, {"command": "ls", "background": True}),
        ("a3s", "bash", {"command": "ls", "timeout": 2000}, {"command": "ls", "timeout": 2}),
        ("golem", "shell", {"command": "ls", "timeout": 2}, {"command": "ls", "timeout": 2}),
        ("claude", "Read", {"file_path": "/w/a", "offset": 1}, {"path": "/w/a", "offset": 0, "line_numbers": True}),
        ("claude", "Read", {"file_path": "a", "offset": 0}, {"path": "a", "offset": 0, "line_numbers": True}),
        (
            "claude",
            "Read",
            {"file_path": "a", "offset": 41, "limit": 10},
            {"path": "a", "offset": 40, "limit": 10, "line_numbers": True},
        ),
        ("a3s", "read", {"file_path": "a", "offset": 40}, {"path": "a", "offset": 40, "line_numbers": True}),
        ("claude", "Write", {"file_path": "a", "content": "x"}, {"path": "a", "content": "x"}),
        (
            "claude",
            "Edit",
            {"file_path": "a", "old_string": "x", "new_string": "", "replace_all": True},
            {"path": "a", "old_string": "x", "new_string": "", "replace_all": True},
        ),
        ("claude", "Glob", {"pattern": "*.py"}, {"pattern": "*.py", "sort": "modified"}),
        ("claude", "Grep", {"pattern": "x"}, {"pattern": "x", "output": "files"}),
        (
            "claude",
            "Grep",
            {"pattern": "x", "output_mode": "content", "-A": 3, "-B": 1, "-i": True, "-n": True, "head_limit": 5},
            {"pattern": "x", "output": "content", "context": 3, "ignore_case": True, "limit": 5},
        ),
        (
            "a3s",
            "grep",
            {"pattern": "x", "-i": True, "context": 2},
            {"pattern": "x", "ignore_case": True, "context": 2},
        ),
        ("claude", "LS", {"path": "src"}, {"path": "src"}),
        ("a3s", "ls", {}, {}),
        (
            "claude",
            "TodoWrite",
            {"todos": [{"content": "a", "status": "pending", "activeForm": "b"}]},
            {"todos": [{"content": "a", "status": "pending", "activeForm": "b"}]},
        ),
        ("claude", "BashOutput", {"bash_id": "job_1"}, {"job_id": "job_1"}),
        ("claude", "KillShell", {"shell_id": "job_1"}, {"job_id": "job_1"}),
    ],
)
def test_arguments_mean_the_same(vocabulary: str, name: str, theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    made = real(vocabulary, name)
    assert translated(made, **theirs) == ours
    assert own_tool(made).schema.check(ours) == []


@pytest.mark.parametrize(
    ("vocabulary", "name", "args"),
    [
        ("claude", "Bash", {}),
        ("claude", "Bash", {"argv": ["ls"]}),
        ("claude", "Bash", {"command": "ls", "dangerouslyDisableSandbox": True}),
        ("claude", "Bash", {"command": "ls", "timeout": 10**9}),
        ("claude", "Read", {"path": "a"}),
        ("claude", "Read", {"file_path": "a", "offset": -1}),
        ("claude", "Edit", {"file_path": "a", "old_string": "x"}),
        ("claude", "Grep", {"pattern": "x", "output_mode": "all"}),
        ("claude", "Grep", {"pattern": "x", "type": "py"}),
        ("claude", "BashOutput", {"bash_id": "job_1", "filter": "x"}),
        ("a3s", "edit", {"file_path": "a", "new_string": "x"}),
        ("golem", "shell", {"command": "ls", "cwd": "/"}),
    ],
)
def test_what_ours_could_not_follow_is_refused(vocabulary: str, name: str, args: dict[str, Any]) -> None:
    assert real(vocabulary, name).schema.check(args)


# Names that are taken


def claimed(vocabulary: str, *names: str, **more: Any) -> tuple[list[str], list[tuple[str, str]]]:
    """What is offered of programs with such names, and what is said of the others."""
    programs = [tool(name=name, source="executable", origin=f"/tools/{name}") for name in names]
    source = Offer(vocabulary=vocabulary, **more).around(FixedSource(*programs), taken=["read_file"])
    loaded: Loaded = asyncio.run(source.load())
    return [each.name for each in loaded.tools], [(each.code, each.message) for each in loaded.problems]


def test_nobody_else_is_called_like_a_word() -> None:
    names, problems = claimed("claude", "Bash", "bash", "Kill-Shell", "mine")
    assert names == ["bash", "Kill-Shell", "mine"]
    assert problems == [("TOOL_NAME_CONFLICT", "Bash is the name of a built-in tool")]
    assert claimed("a3s", "bash")[0] == [] and claimed("toolcrib", "bash", "Bash")[0] == ["bash", "Bash"]


def test_nobody_is_renamed_to_a_word() -> None:
    names, problems = claimed("claude", "x", "y", rename={"x": "Read", "y": "read_file"})
    assert names == [] and [code for code, _ in problems] == ["TOOL_NAME_CONFLICT"] * 2
    assert claimed("claude", "x", rename={"x": "Read"}, prefix="my_")[0] == ["my_Read"]


def test_our_own_name_stays_ours_when_it_is_not_used() -> None:
    assert claimed("claude", "read_file")[0] == []
