"""What a call is taken apart into, piece by piece, before any rule is read."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

import toolcrib
from toolcrib.core.call import Call
from toolcrib.core.policy import Decision, Verdict
from toolcrib.core.tool import Hooks, Subject, Tool
from toolcrib.policy.subjects import WHOLE, Judged, Mentions, subjects
from toolcrib.sandbox.places import Places

PRE, ASK, BLOCKED = Decision
CALL = Call("it", {}, "1")


@toolcrib.tool
def it() -> str:
    """Do something."""
    return ""


def taken_apart(workspace: Path, *touched: Subject, roots: Mapping[str, str] = MappingProxyType({})) -> list[Judged]:
    what: Tool = it._replace(hooks=Hooks(touches=lambda args: touched))
    return list(subjects(CALL, what, Places(str(workspace), roots=roots)))


def short(judged: Judged) -> tuple[Subject, Decision | None, str | None, str | None]:
    """The piece, what holds for it by default, and what its analysis says: the decision's code, or its reason."""
    own = judged.own and (judged.own.code or judged.own.reason)
    return judged.subject, judged.default and judged.default.decision, own, judged.given or None


def command(*words: str) -> Subject:
    return Subject("command", words)


def test_a_tool_that_says_nothing_or_touches_nothing_is_judged_as_a_whole(workspace: Path) -> None:
    assert subjects(CALL, it, Places(str(workspace))) == WHOLE
    assert taken_apart(workspace) == list(WHOLE)


def test_files_by_where_they_lie_and_what_is_done(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "out").mkdir()
    roots = {str(tmp_path / "data"): "read", str(tmp_path / "out"): "write"}
    touched = [
        Subject(kind, (path,))
        for path in ("a", ".git/config", "/etc/passwd", str(tmp_path / "data/b"), str(tmp_path / "out/c"))
        for kind in ("read", "write")
    ]
    here, data, out = workspace.resolve(), tmp_path.resolve() / "data/b", tmp_path.resolve() / "out/c"
    assert [short(each) for each in taken_apart(workspace, *touched, roots=roots)] == [
        (Subject("read", (f"{here}/a",)), PRE, None, "a"),
        (Subject("write", (f"{here}/a",)), ASK, None, "a"),
        (Subject("read", (f"{here}/.git/config",)), PRE, None, ".git/config"),
        (Subject("write", (f"{here}/.git/config",)), ASK, "PATH_PROTECTED", ".git/config"),
        (Subject("read", ("/etc/passwd",)), PRE, "PATH_OUTSIDE_WORKSPACE", "/etc/passwd"),
        (Subject("write", ("/etc/passwd",)), ASK, "PATH_OUTSIDE_WORKSPACE", "/etc/passwd"),
        (Subject("read", (str(data),)), PRE, None, str(tmp_path / "data/b")),
        (Subject("write", (str(data),)), ASK, "PATH_PROTECTED", str(tmp_path / "data/b")),
        (Subject("read", (str(out),)), PRE, None, str(tmp_path / "out/c")),
        (Subject("write", (str(out),)), ASK, None, str(tmp_path / "out/c")),
    ]


def test_what_is_outside_or_protected_is_blocked_and_not_asked_about(workspace: Path) -> None:
    touched = (Subject("read", ("/etc/passwd",)), Subject("write", (".git/config",)))
    assert [each.own and each.own.decision for each in taken_apart(workspace, *touched)] == [BLOCKED, BLOCKED]


def test_what_a_tool_is_made_of_is_asked_about_also_where_files_are_written_freely(
    workspace: Path, tmp_path: Path
) -> None:
    folder = tmp_path.resolve() / "tools" / "mine"
    folder.mkdir(parents=True)
    (folder / "tool.yaml").write_text("name: mine\n")
    touched = [Subject(kind, (str(folder / "mine.py"),)) for kind in ("read", "write")]
    what: Tool = it._replace(hooks=Hooks(touches=lambda args: touched))
    found = subjects(CALL, what, Places(str(workspace), bench=str(folder.parent)))
    assert [(each.subject.value, each.own and (each.own.decision, each.own.reason)) for each in found] == [
        ((str(folder / "mine.py"), str(folder)), (ASK, "reading what a tool is made of")),
        ((str(folder / "mine.py"), str(folder)), (ASK, "changing a tool")),
    ]


def test_a_host_is_asked_about_and_other_kinds_hold_what_their_tool_holds(workspace: Path) -> None:
    host, query = Subject("host", ("a.example:443",)), Subject("query", ("select 1",))
    found = taken_apart(workspace, host, query)
    assert found == [Judged(host, Verdict(ASK, "reaching another machine")), Judged(query)]


@pytest.mark.parametrize("kind", ["make", "remove"])
def test_what_is_done_to_a_tools_folder(workspace: Path, kind: str) -> None:
    subject = Subject(kind, ("/tools/it", "what it is"))
    (found,) = taken_apart(workspace, subject)
    assert found._replace(default=None) == Judged(subject, None, None, (("", "/tools/it"),), ("/tools/it",))
    assert found.default is not None and found.default.decision is ASK


def test_a_build_is_its_folder_what_lies_there_and_each_of_its_commands(workspace: Path) -> None:
    subject = Subject("build", ("/tools/it", "sha256:1", "cargo build", "cp a b"))
    (found,) = taken_apart(workspace, subject)
    commands = (("", "/tools/it"), ("cargo", "build"), ("cp", "a", "b"))
    assert found._replace(default=None) == Judged(
        subject, None, None, commands, ("/tools/it",), given="/tools/it@sha256:1"
    )


def test_a_build_whose_command_cannot_be_taken_apart_is_blocked(workspace: Path) -> None:
    (found,) = taken_apart(workspace, Subject("build", ("/tools/it", "sha256:1", "''")))
    assert found.own is not None
    assert (found.own.decision, found.own.code) == (BLOCKED, "COMMAND_NOT_ANALYSABLE")


def test_a_line_of_commands_is_each_of_them_where_it_runs(workspace: Path) -> None:
    (workspace / "src").mkdir()
    found = taken_apart(workspace, Subject("shell", ("make a; cd src && rm b; cd .. ; cd /etc && ls",)))
    assert [(each.subject, each.default and each.default.decision, each.bases) for each in found] == [
        (command("make", "a"), ASK, ("",)),
        (command("cd", "src"), PRE, ("",)),
        (command("rm", "b"), ASK, ("src",)),
        (command("cd", ".."), PRE, ("",)),
        (command("cd", "/etc"), ASK, ("",)),
        (command("ls"), ASK, ("/etc",)),
    ]
    assert all(each.own is None and each.asked is None for each in found)
    assert [each.commands for each in found][:3] == [(("make", "a"),), (("cd", "src"),), (("rm", "b"),)]


def test_to_go_where_one_is_already_leaves_nothing_in_doubt(workspace: Path) -> None:
    """Agents like to say where they are."""
    here = str(workspace)
    found = taken_apart(workspace, Subject("shell", (f"cd {here} && ./run",)))
    assert [(short(each), each.bases) for each in found] == [
        ((command("cd", here), PRE, None, None), ("",)),
        ((command("./run"), ASK, None, None), (here,)),
    ]


def test_what_is_moved_elsewhere_is_asked_about_as_a_whole(workspace: Path) -> None:
    """An answer about `make` here would not be one about `make` there."""
    text = ("cd src && make && make install",)
    found = taken_apart(workspace, Subject("moved", text))
    assert [each.subject for each in found] == [command("cd", "src"), command("make"), command("make", "install")]
    assert {each.asked for each in found} == {Subject("shell", text)}


def test_the_words_of_one_program_are_no_text(workspace: Path) -> None:
    """`cd` as a program goes nowhere, and `&&` is a word."""
    found = taken_apart(workspace, command("cd", "src"), command("echo", "&&", "rm"))
    assert [each.subject for each in found] == [command("cd", "src"), command("echo", "&&", "rm")]
    assert {each.default and each.default.decision for each in found} == {ASK}


def test_a_wrapper_is_seen_through(workspace: Path) -> None:
    (found,) = taken_apart(workspace, command("timeout", "5", "make", "a"))
    assert found.subject == command("make", "a")
    assert set(found.commands) == {("timeout", "5", "make", "a"), ("5", "make", "a"), ("make", "a")}


def test_a_doubtful_wrapper_stays_whole_and_is_never_pre_approved(workspace: Path) -> None:
    (found,) = taken_apart(workspace, command("sudo", "make"))
    assert found.subject == command("sudo", "make")
    assert found.own is not None and found.own.decision is ASK
    assert found.own.reason.startswith("never pre-approved: ")
    assert ("make",) in found.commands


def test_a_doubtful_text_stays_whole_with_all_that_it_might_run_and_everywhere_it_might_be(workspace: Path) -> None:
    text = ("cd a && rm $(cat b); cd c && ls",)
    (found,) = taken_apart(workspace, Subject("shell", text))
    assert found.subject == Subject("shell", text)
    assert found.own is not None and found.own.decision is ASK
    assert {"rm", "cat", "ls"} <= {words[0] for words in found.commands}
    assert set(found.bases) == {"", "a", "a/c", "c"}


def test_a_text_that_cannot_be_parsed_is_blocked(workspace: Path) -> None:
    subject = Subject("shell", ("rm x; echo 'open",))
    (found,) = taken_apart(workspace, subject)
    assert found.subject == subject
    assert found.own is not None
    assert (found.own.decision, found.own.code) == (BLOCKED, "COMMAND_NOT_ANALYSABLE")


# What the texts of a call might mean


def mentions(workspace: Path, judged: Judged, **args: object) -> Mentions:
    return Mentions(Call("it", args, "1"), judged, Places(str(workspace)))


def test_of_a_tool_that_says_nothing_each_text_may_be_a_path_or_a_host(workspace: Path) -> None:
    said = mentions(workspace, WHOLE[0], a="b/c", d=["https://e.example/", {"f": "g"}], h=1)
    here = str(workspace.resolve())
    assert {f"{here}/b/c", f"{here}/g"} <= set(said.paths)
    assert said.hosts == ["e.example:443"]
    assert not said.too_many


def test_of_a_command_its_words_and_the_values_of_its_options(workspace: Path) -> None:
    words = ("cc", "main.c", "--output=out/a", "-Iinclude", "-v", "@list", "of=b", "--", "-dash")
    judged = Judged(command(*words), commands=(words,))
    here = str(workspace.resolve())
    named = {path.removeprefix(f"{here}/") for path in mentions(workspace, judged).paths}
    assert {"main.c", "out/a", "include", "list", "b", "-dash"} <= named
    assert not {"cc", "-v", "--output=out/a"} & named


def test_a_word_is_looked_for_in_each_directory_it_might_be_meant_in(workspace: Path) -> None:
    judged = Judged(command("rm", "x"), commands=(("rm", "x"),), bases=("", "a", "a"))
    here = str(workspace.resolve())
    assert mentions(workspace, judged).paths == [f"{here}/x", f"{here}/a/x"]


def test_a_pattern_in_a_text_stands_for_the_files_it_matches(workspace: Path) -> None:
    (workspace / "secret.key").write_text("")
    text = "cat $(true) sec*.key"
    here = str(workspace.resolve())
    assert f"{here}/secret.key" in mentions(workspace, Judged(Subject("shell", (text,)))).paths


def test_a_link_is_followed(workspace: Path) -> None:
    (workspace / "link").symlink_to("/etc")
    judged = Judged(command("cat", "link"), commands=(("cat", "link"),))
    assert mentions(workspace, judged).paths == ["/etc"]


@pytest.mark.parametrize(("count", "too_many"), [(1000, False), (1001, True)])
def test_more_texts_than_are_looked_at_is_said(workspace: Path, count: int, too_many: bool) -> None:
    words = ("rm", *(f"f{n}" for n in range(count)))
    assert mentions(workspace, Judged(command(*words), commands=(words,))).too_many is too_many


@pytest.mark.parametrize(("length", "seen"), [(4096, True), (4097, False)])
def test_a_text_that_is_longer_than_any_path_is_none(workspace: Path, length: int, seen: bool) -> None:
    words = ("rm", "x" * length)
    assert bool(mentions(workspace, Judged(command(*words), commands=(words,))).paths) is seen
