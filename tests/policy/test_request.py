"""The question as data: complete, without secrets, the same after it was stored, and bound to what it is about."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcrib.backends.function import tool
from toolcrib.backends.process import ProcessBackend
from toolcrib.core.call import Call
from toolcrib.core.policy import Question
from toolcrib.core.tool import Capabilities, Subject, Tool
from toolcrib.policy.remember import covers
from toolcrib.policy.request import TTL_SECONDS, Request, Surroundings, call_digest, describe, short_id

SECRET = "hunter2-hunter2"


@tool
def greet(name: str = "", loud: bool = False) -> str:
    """Greet somebody.

    At length.
    """
    return name


def conceal(value: Any) -> Any:
    return json.loads(json.dumps(value).replace(SECRET, "[redacted:PIN]"))


def question(*subjects: Subject, about: Tool = greet, message: str | None = None, **args: Any) -> Question:
    return Question(Call("greet", args, "c-1", "s-1", "mcp"), about, "a rule", message, subjects or (Subject(),))


@pytest.fixture
def around(workspace: Path) -> Surroundings:
    return Surroundings(str(workspace), "process", conceal)


def test_it_says_all_there_is_to_say(around: Surroundings, workspace: Path) -> None:
    about = greet._replace(capabilities=Capabilities(writes_files=True, idempotent=True))
    subjects = (
        Subject("write", (f"{workspace}/a",)), Subject("read", (f"{workspace}/b",)), Subject("host", ("example.org",))
    )  # fmt: skip
    around = around._replace(variables=lambda tool: ("PATH",), secrets=lambda tool: ("PIN",))
    request = describe(question(*subjects, about=about, name="Bob"), subjects[:1], around)
    assert (request.asker, request.session, request.tool, request.tool_id) == ("mcp", "s-1", "greet", "function:greet")
    assert (request.description, request.reason, request.sandbox) == ("Greet somebody.", "a rule", "process")
    assert request.claims == ("writes files", "idempotent")
    assert request.files == (("write", f"{workspace}/a"), ("read", f"{workspace}/b"))
    assert request.hosts == ("example.org",)
    assert (request.variables, request.secrets, request.arguments) == (("PATH",), ("PIN",), {"name": "Bob"})
    (asked,) = request.subjects
    assert asked.shown_wide == f"writing any file below {workspace} (protected places aside)"
    assert asked.shown_exact == f"writing exactly {workspace}/a"
    assert request.expires - request.created == TTL_SECONDS


def test_it_is_the_same_after_it_was_stored(around: Surroundings) -> None:
    subjects = (Subject("command", ("git", "log")), Subject("shell", ("a; b",)), Subject("read", ("/srv/d/\udc80",)))
    request = describe(question(*subjects, message="sure?", name="x", loud=True), subjects, around)
    assert Request.from_dict(json.loads(json.dumps(request.to_dict()))) == request


def changed(**more: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda given: {**given, **more}


@pytest.mark.parametrize(
    "spoil",
    [
        changed(more=1),
        lambda given: {name: value for name, value in given.items() if name != "digest"},
        changed(session=1),
        changed(expires=True),
        changed(expires="soon"),
        changed(previous=0),
        changed(arguments=[]),
        changed(hosts="example.org"),
        changed(files=[["write"]]),
        changed(subjects=[{"kind": "call"}]),
        changed(subjects=[{"kind": "call", "value": [], "wide": True, "exact": {}}]),
        changed(subjects={}),
        lambda given: [],
        lambda given: None,
    ],
)
def test_anything_else_is_no_request(around: Surroundings, spoil: Callable[[dict[str, Any]], Any]) -> None:
    given = spoil(describe(question(), (Subject(),), around).to_dict())
    with pytest.raises(ValueError, match="not a request"):
        Request.from_dict(given)


def test_no_secret_is_in_it(around: Surroundings) -> None:
    subjects = (
        Subject("command", ("curl", "-H", f"Auth: {SECRET}")),
        Subject("shell", (f"echo {SECRET}",)),
        Subject("read", (f"/srv/data/{SECRET}/x",)),
        Subject("host", (f"{SECRET}.example.org",)),
    )
    asked = question(*subjects, message=f"send {SECRET}?", name=SECRET)
    request = describe(asked, subjects, around)
    assert SECRET not in json.dumps(request.to_dict())
    assert request.arguments == {"name": "[redacted:PIN]"}
    for subject, shown in zip(subjects, request.subjects, strict=True):
        assert shown.wide is None
        assert covers(shown.exact, subject, asked), "it is remembered by the digest of the arguments"
        assert not covers(shown.exact, subject, question(*subjects, name="other"))


@pytest.mark.parametrize(
    "other",
    [
        question(name="Eve"),
        question(),
        question(name="Bob", loud=False),
        question(name="Bob", about=greet._replace(digest="sha256:other")),
        question(name="Bob", about=greet._replace(name="greet2")),
        question(name="Bob", about=greet._replace(source="executable")),
        question(name="Bob", message="Really?"),
        Question(Call("greet", {"name": "Bob"}, "c-1", "s-2"), greet, ""),
        Question(Call("greet", {"name": "Bob"}, "c-1", "s-1", dry_run=True), greet, ""),
    ],
)
def test_an_answer_is_bound_to_tool_version_arguments_session_and_question(other: Question) -> None:
    assert call_digest(other) != call_digest(question(name="Bob"))


def test_and_to_nothing_else() -> None:
    same = Question(Call("greet", {"loud": True, "name": "Bob"}, "c-2", "s-1", "cli"), greet, "another reason")
    assert call_digest(same) == call_digest(question(name="Bob", loud=True))


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program"
    path.write_text("#!/bin/sh\necho new\n")
    path.chmod(0o755)
    return path


def as_tool(program: Path) -> Tool:
    digest = "sha256:" + hashlib.sha256(program.read_bytes()).hexdigest()
    return greet._replace(backend=ProcessBackend(str(program)), source="executable", digest=digest)


def test_a_changed_program_is_shown_with_its_difference(around: Surroundings, program: Path) -> None:
    old = {"sha256:old": b"#!/bin/sh\necho old\n"}
    around = around._replace(previous=lambda tool: "sha256:old", content=old.get)
    request = describe(question(about=as_tool(program)), (Subject(),), around)
    assert request.changed
    lines = request.difference.splitlines()
    assert "-echo old" in lines and "+echo new" in lines


@pytest.mark.parametrize("previous", [None, "the same"])
def test_a_new_or_unchanged_one_has_none(around: Surroundings, program: Path, previous: str | None) -> None:
    about = as_tool(program)
    around = around._replace(previous=lambda tool: previous and about.digest, content=lambda digest: b"x")
    request = describe(question(about=about), (Subject(),), around)
    assert (request.changed, request.difference) == (False, "")


def test_a_difference_is_bounded_and_says_how_much_more_there_is(around: Surroundings, program: Path) -> None:
    program.write_text("\n".join(f"line {number}" for number in range(20_000)))
    around = around._replace(previous=lambda tool: "sha256:old", content={"sha256:old": b""}.get)
    request = describe(question(about=as_tool(program)), (Subject(),), around)
    assert len(request.difference) < 70_000
    assert request.difference.endswith("more characters are not shown …]")


def test_the_program_is_where_it_really_lies(around: Surroundings, program: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(program)
    about = as_tool(program)._replace(backend=ProcessBackend(str(link)))
    assert describe(question(about=about), (Subject(),), around).program == str(program)


def test_the_programs_of_commands_are_looked_up(around: Surroundings) -> None:
    subjects = (Subject("command", ("sh", "x")), Subject("command", ("no-such-program",)))
    program = describe(question(*subjects), subjects, around).program
    assert program.startswith("/") and program.endswith(", no-such-program (not found)")


def test_ids_are_short_typable_and_different() -> None:
    ids = {short_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert all(len(each) == 8 and each.isalnum() and each == each.lower() for each in ids)
