"""`run_command`, alone with a fake context, and through the gate."""

import asyncio
import importlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.builtins.run_command import run_command
from toolcrib.core.call import Call
from toolcrib.core.context import Context, Host
from toolcrib.core.policy import Answer, Question
from toolcrib.core.process import Captured, Command, Completed, Ended
from toolcrib.policy.approvers import Standing
from toolcrib.sandbox.guard import GuardedFiles
from toolcrib.testing import FakeHands, ScriptedApprover, ScriptedSandbox, fake_context

module = importlib.import_module("toolcrib.builtins.run_command")  # the tool hides it from plain imports


def call(home: Path, workspace: Path, args: dict[str, Any], approver: Any = None) -> toolcrib.Result:
    return toolcrib.call_sync("run_command", args, workspace=workspace, home=home, approver=approver)


def test_a_text_goes_to_a_shell_that_takes_nothing_from_the_environment() -> None:
    sandbox = ScriptedSandbox(b"out")
    ctx = fake_context(sandbox=sandbox)
    assert asyncio.run(run_command.backend.run({"command": "ls && ls"}, ctx)) == "out"
    (command,) = sandbox.commands
    assert command.argv[-2:] == ("-c", "ls && ls")
    assert command.cwd == ctx.cwd


def test_words_go_to_no_shell(tmp_path: Path) -> None:
    """I4"""
    program = tmp_path / "show"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    sandbox = ScriptedSandbox(b"")
    ctx = fake_context(sandbox=sandbox, environ={"PATH": f"/nowhere:{tmp_path}"})
    asyncio.run(run_command.backend.run({"argv": ["show", "$(id)", "; rm x", "*"]}, ctx))
    assert sandbox.commands[0].argv == (str(program), "$(id)", "; rm x", "*")


def test_failure_has_the_exit_status_and_both_streams() -> None:
    sandbox = ScriptedSandbox(Completed(3, Captured(b"o", total=1), Captured(b"e", total=1)))
    with pytest.raises(toolcrib.ToolError) as caught:
        asyncio.run(run_command.backend.run({"command": "x"}, fake_context(sandbox=sandbox)))
    assert caught.value.details == {"exit_code": 3, "stdout": "o", "stderr": "e"}


def test_an_answer_that_looks_like_an_error_is_an_answer() -> None:
    sandbox = ScriptedSandbox(b'{"error": "not mine"}')
    answer = asyncio.run(run_command.backend.run({"command": "cat x"}, fake_context(sandbox=sandbox)))
    assert answer == '{"error": "not mine"}'


def test_running_is_asked_about(home: Path, workspace: Path) -> None:
    """G9: the default for what runs something is to ask; a no means that nothing ran."""
    approver = ScriptedApprover(False, True)
    args = {"command": "touch made"}
    assert call(home, workspace, args).error.code == "APPROVAL_REQUIRED"  # type: ignore[union-attr]
    assert call(home, workspace, args, approver).error.code == "APPROVAL_DENIED"  # type: ignore[union-attr]
    assert list(workspace.iterdir()) == []
    assert call(home, workspace, args, approver).success
    assert [each.name for each in workspace.iterdir()] == ["made"]


def test_the_environment_is_the_plain_one(home: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """K33, K50"""
    monkeypatch.setenv("A_TOKEN", "not for you")
    monkeypatch.setenv("BASH_ENV", str(workspace / "evil"))
    (workspace / "evil").write_text("touch canary\n")
    result = call(home, workspace, {"command": "env"}, toolcrib.SaysYes())
    assert "A_TOKEN" not in result.output
    assert os.environ["PATH"] in result.output
    assert not (workspace / "canary").exists()


@pytest.mark.parametrize(
    "args", [{}, {"command": "a", "argv": ["a"]}, {"argv": []}, {"argv": "ls"}, {"command": ""}, {"command": ["ls"]}]
)
def test_either_a_text_or_words(home: Path, workspace: Path, args: dict[str, Any]) -> None:
    result = call(home, workspace, args, toolcrib.SaysYes())
    assert result.error is not None
    assert result.error.code == "VALIDATION_ERROR"


def test_seed_rules_in_the_configuration(home: Path, workspace: Path) -> None:
    """G3, G4: `toolsets.shell.rules`, where a pattern means tokens."""
    (home / "config.yaml").write_text('toolsets: {shell: {rules: [{pattern: "echo ", approval: preApproved}]}}\n')
    assert call(home, workspace, {"command": "echo a && echo b"}).data == "a\nb\n"
    for text in ("echo a; touch canary", "echo a > canary", "echo $(touch canary)", "echox", "touch canary"):
        assert call(home, workspace, {"command": text}).error.code == "APPROVAL_REQUIRED"  # type: ignore[union-attr]
    assert list(workspace.iterdir()) == []
    missing = toolcrib.call_sync("read_file", {"path": "x"}, workspace=workspace, home=home)
    assert missing.error is not None
    assert missing.error.code == "TOOL_NOT_FOUND"  # only the toolsets that are named are there


def test_nobody_can_approve_what_cannot_be_analysed(home: Path, workspace: Path) -> None:
    for text in ("echo a\rtouch canary", "echo 'a", "echo a;" * 65, "echo " + "a" * 40_000):
        result = call(home, workspace, {"command": text}, toolcrib.SaysYes())
        assert result.error is not None
        assert result.error.code == "COMMAND_NOT_ANALYSABLE"
    assert list(workspace.iterdir()) == []


# In another directory


class Remembers:
    """Says yes, and that this very thing need not be asked again in this session."""

    def __init__(self, *, exactly: bool = True) -> None:
        self._exactly = exactly
        self.asked: list[list[tuple[str, ...]]] = []

    async def approve(self, question: Question) -> Answer:
        self.asked.append([each.value for each in question.subjects])
        return Standing(True, "test", "session", self._exactly)


def all_of(home: Path, workspace: Path, approver: Any, *calls: dict[str, Any]) -> list[toolcrib.Result]:
    """The results of some calls in one session."""

    async def one_by_one() -> list[toolcrib.Result]:
        async with toolcrib.open(workspace=workspace, home=home, approver=approver) as crib:
            return [await crib.call("run_command", args) for args in calls]

    return asyncio.run(one_by_one())


def code(result: toolcrib.Result) -> str | None:
    return result.error and result.error.code


@pytest.fixture
def sub(workspace: Path) -> Path:
    (workspace / "sub").mkdir()
    return workspace / "sub"


def real_context(workspace: Path, sandbox: Any) -> Context:
    """Of a call that works on real files."""
    environ = {"PATH": os.environ["PATH"]}
    host = Host(str(workspace), sandbox, lambda report, judged, session: GuardedFiles(str(workspace), report), environ)
    return Context(host, Call("run_command", {}, "x-1", "test"), run_command.limits, FakeHands())


@pytest.mark.parametrize("how", [{"command": "pwd"}, {"argv": ["pwd"]}])
def test_it_runs_in_the_directory_that_is_given(home: Path, workspace: Path, sub: Path, how: dict[str, Any]) -> None:
    where = ("sub", "sub/", "./sub", str(sub), "sub/../sub")
    results = all_of(home, workspace, toolcrib.SaysYes(), *({**how, "cwd": each} for each in where))
    assert [result.data for result in results] == [f"{os.path.realpath(sub)}\n"] * len(where)


def test_a_relative_program_is_the_one_in_that_directory(home: Path, workspace: Path, sub: Path) -> None:
    for place in (workspace, sub):
        (place / "tell").write_text(f"#!/bin/sh\necho {place.name}\n")
        (place / "tell").chmod(0o755)
    here, there = all_of(home, workspace, toolcrib.SaysYes(), {"argv": ["./tell"]}, {"argv": ["./tell"], "cwd": "sub"})
    assert (here.data, there.data) == ("work\n", "sub\n")


@pytest.mark.parametrize(
    ("cwd", "expected"),
    [
        ("/", "PATH_OUTSIDE_WORKSPACE"),
        ("..", "PATH_OUTSIDE_WORKSPACE"),
        ("sub/../..", "PATH_OUTSIDE_WORKSPACE"),
        ("out", "PATH_OUTSIDE_WORKSPACE"),
        ("/proc/self/cwd", "PATH_OUTSIDE_WORKSPACE"),
        ("missing", "FILE_NOT_FOUND"),
        ("file", "FILE_NOT_FOUND"),
        ("pipe", "FILE_NOT_FOUND"),
        ("a\0b", "PATH_OUTSIDE_WORKSPACE"),
    ],
)
def test_nowhere_else(home: Path, workspace: Path, sub: Path, cwd: str, expected: str) -> None:
    """Nothing runs, neither there nor here, though whoever is asked says yes."""
    (workspace / "out").symlink_to(home)
    (workspace / "file").write_text("")
    os.mkfifo(workspace / "pipe")
    canary = home.parent / "canary"
    result = call(home, workspace, {"argv": ["touch", str(canary)], "cwd": cwd}, toolcrib.SaysYes())
    assert (code(result), canary.exists()) == (expected, False)


def test_a_directory_that_leads_elsewhere_by_the_time_of_the_yes_is_refused(
    home: Path, workspace: Path, sub: Path
) -> None:
    (workspace / "other").mkdir()
    (workspace / "link").symlink_to("sub")

    class Swaps:
        async def approve(self, question: Question) -> Answer:
            (workspace / "link").unlink()
            (workspace / "link").symlink_to("other")
            return Answer(allowed=True, by="test")

    result = call(home, workspace, {"command": "touch canary", "cwd": "link"}, Swaps())
    assert code(result) == "APPROVAL_DENIED"
    assert list(sub.iterdir()) == list((workspace / "other").iterdir()) == []


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="there is no /proc here")
def test_a_directory_that_is_swapped_at_the_last_moment_is_still_the_one(workspace: Path, sub: Path) -> None:
    """Between the look at a directory and the start in it, somebody puts a link in its place."""

    class Swaps(ScriptedSandbox):
        async def exec(self, command: Command, *, ended: Ended | None = None) -> Completed:
            sub.rename(workspace / "moved")
            sub.symlink_to("/")
            self.started_in = os.path.realpath(command.cwd)
            return await super().exec(command, ended=ended)

    sandbox = Swaps(b"")
    asyncio.run(run_command.backend.run({"argv": ["true"], "cwd": "sub"}, real_context(workspace, sandbox)))
    assert sandbox.started_in == os.path.realpath(workspace / "moved")


def test_the_directory_is_not_held_after_the_call(workspace: Path, sub: Path) -> None:
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    context = real_context(workspace, ScriptedSandbox(b""))
    asyncio.run(run_command.backend.run({"argv": ["true"], "cwd": "sub"}, context))
    assert (len(os.listdir("/proc/self/fd")) if before else 0) == before


REMOVES: list[dict[str, Any]] = [{"argv": ["rm", "x"]}, {"command": "rm x"}, {"command": "rm x > log"}]


@pytest.mark.parametrize("exactly", [True, False])
@pytest.mark.parametrize("args", REMOVES)
def test_an_answer_for_the_workspace_is_none_for_another_directory(
    home: Path, workspace: Path, sub: Path, args: dict[str, Any], exactly: bool
) -> None:
    for place in (workspace, sub):
        (place / "x").write_text("")
    person = Remembers(exactly=exactly)
    all_of(home, workspace, person, args, args)
    assert len(person.asked) == 1
    assert not (workspace / "x").exists()
    refuses = ScriptedApprover(False)
    again = all_of(home, workspace, refuses, {**args, "cwd": "sub"})
    assert (code(again[0]), len(refuses.asked)) == ("APPROVAL_DENIED", 1)
    assert (sub / "x").exists()


@pytest.mark.parametrize("exactly", [True, False])
@pytest.mark.parametrize("args", REMOVES)
def test_nor_the_other_way_round_nor_for_a_third(
    home: Path, workspace: Path, sub: Path, args: dict[str, Any], exactly: bool
) -> None:
    (workspace / "third").mkdir()
    person = Remembers(exactly=exactly)
    there = {**args, "cwd": "sub"}

    async def story() -> list[int]:
        counts = []
        async with toolcrib.open(workspace=workspace, home=home, approver=person) as crib:
            for each in (there, there, {**args, "cwd": "third"}, args):
                await crib.call("run_command", each)
                counts.append(len(person.asked))
        return counts

    assert asyncio.run(story()) == [1, 1, 2, 3]


def test_a_person_is_shown_where_it_would_run(home: Path, workspace: Path, sub: Path) -> None:
    (workspace / "a b").mkdir()
    person = Remembers()
    calls = ({"argv": ["rm", "x y"], "cwd": "a b"}, {"command": "rm x; rm y", "cwd": str(sub)})
    all_of(home, workspace, person, *calls)
    assert person.asked == [[("cd 'a b' && rm 'x y'",)], [("cd ./sub && rm x; rm y",)]]


def test_where_the_workspace_itself_is_named_nothing_is_different(home: Path, workspace: Path) -> None:
    person = Remembers()
    args = {"argv": ["rm", "-f", "x"]}
    named = ({**args, "cwd": each} for each in (".", "./", str(workspace), f"{workspace}/"))
    all_of(home, workspace, person, args, *named)
    assert person.asked == [[("rm", "-f", "x")]]


def rules(home: Path, *rules: dict[str, Any]) -> None:
    (home / "policy.yaml").write_text(json.dumps({"rules": list(rules)}))


@pytest.mark.parametrize(
    "args",
    [
        {"argv": ["rm", "config"]},
        {"command": "rm config"},
        {"command": "echo evil > config"},
        {"command": "cat <config | tee x"},
        {"argv": ["rm", "../.git/config"]},
        {"command": "cd . && rm config"},
        {"command": "cd hooks && rm ../config"},
        {"command": "rm *"},
        {"command": "eval 'rm config'"},
    ],
)
@pytest.mark.parametrize("cwd", [".git", "./.git/", "link", "sub/../.git"])
def test_rules_for_files_hold_wherever_a_command_runs(
    home: Path, workspace: Path, sub: Path, args: dict[str, Any], cwd: str
) -> None:
    """A command in a directory is no way around a rule for what lies in it."""
    git = workspace / ".git"
    (git / "hooks").mkdir(parents=True)
    (git / "config").write_text("good")
    (workspace / "link").symlink_to(".git")
    rules(home, {"command": ["rm", "echo", "cat", "tee"], "approval": "preApproved"},
          {"paths": [".git/config"], "approval": "blocked"})  # fmt: skip
    result = call(home, workspace, {**args, "cwd": cwd}, toolcrib.SaysYes())
    assert code(result) == "BLOCKED_BY_POLICY"
    assert {each.name for each in git.iterdir()} == {"config", "hooks"}
    assert (git / "config").read_text() == "good"


def test_what_a_shell_of_its_own_would_do_there_is_asked_about(home: Path, workspace: Path) -> None:
    (workspace / ".git").mkdir()
    rules(home, {"command": ["sh", "echo"], "approval": "preApproved"})
    args = {"argv": ["sh", "-c", "echo evil > config"], "cwd": ".git"}
    assert code(call(home, workspace, args)) == "APPROVAL_REQUIRED"
    assert list((workspace / ".git").iterdir()) == []


def test_rules_for_commands_hold_there_too(home: Path, workspace: Path, sub: Path) -> None:
    rules(home, {"command": ["ls", "touch"], "approval": "preApproved"}, {"command": "rm", "approval": "blocked"})
    results = all_of(home, workspace, None, {"argv": ["ls"], "cwd": "sub"}, {"command": "touch a", "cwd": "sub"},
                     {"argv": ["rm", "a"], "cwd": "sub"}, {"command": "ls | xargs rm", "cwd": "sub"})  # fmt: skip
    assert [code(result) for result in results] == [None, None, "BLOCKED_BY_POLICY", "BLOCKED_BY_POLICY"]
    assert [each.name for each in sub.iterdir()] == ["a"]


@pytest.mark.parametrize("args", [{"argv": ["./ls"]}, {"argv": ["git", "status"]}, {"argv": ["A=b/evil", "ls"]}])
def test_what_means_something_else_in_another_place_is_asked_about(
    home: Path, workspace: Path, sub: Path, args: dict[str, Any]
) -> None:
    """Another program, or another configuration; and words are no assignment."""
    for program in (sub / "ls", sub / "A=b" / "evil"):
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\n: > canary\n")
        program.chmod(0o755)
    rules(home, {"command": ["ls", "git status"], "approval": "preApproved"})
    assert code(call(home, workspace, {**args, "cwd": "sub"})) == "APPROVAL_REQUIRED"
    assert not list(workspace.rglob("canary"))


def test_a_tool_that_is_pre_approved_is_so_in_every_directory(home: Path, workspace: Path, sub: Path) -> None:
    (home / "config.yaml").write_text("approval: {tools: {run_command: preApproved}}\n")
    assert call(home, workspace, {"command": "touch made", "cwd": "sub"}).success
    assert (sub / "made").exists()


@pytest.mark.parametrize(
    "name", ["a; touch canary", "$(touch canary)", "`touch canary`", "a && touch canary #", "-", "'"]
)
def test_the_name_of_a_directory_is_never_a_command(home: Path, workspace: Path, name: str) -> None:
    (workspace / name).mkdir()
    person = Remembers()
    results = all_of(home, workspace, person, {"command": "pwd; ls", "cwd": name}, {"argv": ["pwd"], "cwd": name})
    assert [result.data for result in results] == [f"{os.path.realpath(workspace / name)}\n"] * 2
    assert not list(workspace.rglob("canary"))


# How long


def slow(home: Path, workspace: Path, args: dict[str, Any], **options: Any) -> toolcrib.Result:
    return toolcrib.call_sync(
        "run_command", args, workspace=workspace, home=home, approver=toolcrib.SaysYes(), **options
    )


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets after how many silent seconds a command is ended."""
    return lambda seconds: monkeypatch.setattr(module, "IDLE_SECONDS", seconds)


def test_the_time_that_is_given_is_for_all_of_it(home: Path, workspace: Path) -> None:
    """What it printed up to then is in the details, and nothing is left of it."""
    args = {"command": "echo $$; setsid sleep 60 & while :; do echo more; sleep 0.05; done", "timeout": 0.5}
    result = slow(home, workspace, args)
    assert result.error is not None
    assert (result.error.code, result.error.details["seconds"]) == ("TIMEOUT", 0.5)
    pid, *more = result.error.details["stdout"].split()
    assert set(more) == {"more"}
    assert not os.path.exists(f"/proc/{pid}")


def test_who_is_silent_for_long_is_ended(home: Path, workspace: Path, impatient: Callable[[float], None]) -> None:
    impatient(0.3)
    result = slow(home, workspace, {"command": "echo first; sleep 60"})
    assert result.error is not None
    assert (result.error.code, result.error.details["stdout"]) == ("TIMEOUT", "first\n")
    assert "printed nothing for 0.3 s" in result.error.message and "`timeout`" in result.error.message


@pytest.mark.parametrize("stream", ["1", "2"])
def test_what_it_prints_gives_it_more_time(
    home: Path, workspace: Path, impatient: Callable[[float], None], stream: str
) -> None:
    impatient(1.0)
    text = f"for each in 1 2 3 4 5 6 7 8 9; do echo $each >&{stream}; sleep 0.15; done"
    result = slow(home, workspace, {"command": text})
    assert result.success
    assert result.metadata["execution_time_ms"] > 1000


def test_up_to_the_longest_that_any_may_take() -> None:
    assert run_command.limits.seconds == module.LONGEST == 600


@pytest.mark.parametrize("args", [{"timeout": 10}, {}])
def test_silence_counts_only_where_nobody_said_how_long(
    home: Path, workspace: Path, impatient: Callable[[float], None], args: dict[str, Any]
) -> None:
    """Neither the call, nor the configuration, nor the caller."""
    impatient(0.1)
    silent = {"command": "sleep 0.4; echo done", **args}
    if not args:
        assert code(slow(home, workspace, silent)) == "TIMEOUT"
        assert slow(home, workspace, silent, timeout=10).data == "done\n"
        (home / "config.yaml").write_text("tools: {run_command: {timeout: 600s}}\n")
    assert slow(home, workspace, silent).data == "done\n"


def test_nobody_is_given_more_than_the_user_said(home: Path, workspace: Path) -> None:
    (home / "config.yaml").write_text("tools: {run_command: {timeout: 300ms}}\n")
    result = slow(home, workspace, {"command": "while :; do echo more; sleep 0.05; done", "timeout": 60})
    assert result.error is not None
    assert (result.error.code, result.error.details["seconds"]) == ("TIMEOUT", 0.3)
    assert result.error.details["stdout"].startswith("more\n")


@pytest.mark.parametrize(
    "wrong",
    [{"timeout": 0}, {"timeout": -1}, {"timeout": 601}, {"timeout": "5"}, {"timeout": None}, {"cwd": ""}, {"cwd": 1},
     {"background": "yes"}, {"background": 1}, {"shell": True}],
)  # fmt: skip
def test_what_is_wrong_is_refused_before_anything_runs(home: Path, workspace: Path, wrong: dict[str, Any]) -> None:
    result = call(home, workspace, {"command": "touch canary", **wrong}, toolcrib.SaysYes())
    assert (code(result), list(workspace.iterdir())) == ("VALIDATION_ERROR", [])


def test_a_call_that_is_given_up_leaves_nothing(home: Path, workspace: Path) -> None:
    pid = workspace / "pid"

    async def story() -> None:
        async with toolcrib.open(workspace=workspace, home=home, approver=toolcrib.SaysYes()) as crib:
            lines: list[str | None] = []
            told = asyncio.Event()

            def progress(done: float, total: float | None, message: str | None) -> None:
                lines.append(message)
                told.set()

            text = "trap '' TERM; echo $$ > pid; echo up; sleep 60; sleep 60"
            task = asyncio.create_task(crib.call("run_command", {"command": text}, progress=progress))
            await told.wait()
            task.cancel()
            await asyncio.wait((task,))
            assert task.cancelled() and lines == ["up"]

    asyncio.run(story())
    assert not os.path.exists(f"/proc/{pid.read_text().strip()}")


# What it prints while it runs


TOLD = "said=$((said + 1)); until [ -e told-$said ]; do sleep 0.01; done"
"""In a command: go on when the next line has been told."""


def told(home: Path, workspace: Path, text: str) -> list[tuple[float, float | None, str | None]]:
    said: list[tuple[float, float | None, str | None]] = []

    def progress(*each: Any) -> None:
        said.append(each)
        (workspace / f"told-{len(said)}").touch()

    async def story() -> None:
        async with toolcrib.open(workspace=workspace, home=home, approver=toolcrib.SaysYes()) as crib:
            result = await crib.call("run_command", {"command": text}, progress=progress)
            assert result.success, result.error

    asyncio.run(story())
    return said


def test_the_last_line_is_passed_on_while_it_runs(home: Path, workspace: Path) -> None:
    parts = ("echo one", r"printf 'two\nhalf a line'", r"printf '\rten %%\r'", "echo that >&2")
    said = told(home, workspace, "; ".join(f"{part}; {TOLD}" for part in parts))
    assert said == [(4, None, "one"), (19, None, "half a line"), (26, None, "ten %"), (31, None, "that")]


def test_a_flood_is_told_now_and_then_and_in_few_words(home: Path, workspace: Path) -> None:
    (home / "config.yaml").write_text("tools: {run_command: {timeout: 60s}}\n")
    text = "i=0; while [ $i -lt 20 ]; do head -c 1000000 /dev/zero | tr '\\0' x; sleep 0.02; i=$((i+1)); done"
    said = told(home, workspace, text)
    assert 1 <= len(said) < 40
    assert all(len(message or "") <= 400 for _, _, message in said)


def test_what_is_not_text_is_told_as_such(home: Path, workspace: Path) -> None:
    assert told(home, workspace, rf"printf '\377\n'; {TOLD}") == [(2, None, "\\xff")]


def test_a_secret_is_not_told(home: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "a-very-secret-value")
    (home / "config.yaml").write_text("tools: {run_command: {secrets: [API_KEY]}}\n")
    text = f'for i in $(seq 100); do echo "key is $API_KEY."; done; {TOLD}; printf %s "${{API_KEY%lue}}"; echo that >&2; {TOLD}'
    messages = [message or "" for _, _, message in told(home, workspace, text)]
    assert any("key is" in message for message in messages)
    assert not any("secret" in message for message in messages)


def test_what_is_held_back_as_it_may_be_a_secret_came_all_the_same(
    home: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", "a-very-secret-value")
    monkeypatch.setattr(module, "IDLE_SECONDS", 1.0)
    (home / "config.yaml").write_text("tools: {run_command: {secrets: [API_KEY]}}\n")
    text = "for each in a - v e r y - s; do printf $each; sleep 0.15; done"
    assert slow(home, workspace, {"command": text}).data == "a-very-s"
