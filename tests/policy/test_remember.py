"""What a remembered answer covers is never more than the words a person was shown."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.backends.function import tool
from toolcrib.core.call import Call
from toolcrib.core.policy import Question
from toolcrib.core.tool import Subject
from toolcrib.policy.programs import hazards
from toolcrib.policy.remember import covers, exact, project_key, shown, wide

WORKSPACE = "/ws"


@tool
def act(what: str = "") -> str:
    """Act."""
    return what


def question(**args: str) -> Question:
    return Question(Call("act", args, "c-1", "s-1"), act, "why")


Q = question(what="a")


def write(path: str) -> Subject:
    return Subject("write", (path,))


def read(path: str) -> Subject:
    return Subject("read", (path,))


def test_the_call_as_a_whole() -> None:
    any_arguments, these = wide(Subject(), Q, WORKSPACE), exact(Subject(), Q)
    assert any_arguments == {"any": True}
    assert covers(any_arguments, Subject(), question(what="b"))
    assert covers(these, Subject(), question(what="a"))
    assert not covers(these, Subject(), question(what="b"))
    assert not covers(these, Subject(), question())
    assert (shown(any_arguments), shown(these)) == (
        "this tool, with any arguments",
        "this tool, with exactly these arguments",
    )


@pytest.mark.parametrize(
    "subject", [write("/ws/a"), read("/ws/a"), Subject("command", ("ls",)), Subject("host", ("h",))]
)
def test_a_yes_to_the_call_is_no_yes_to_what_a_call_does(subject: Subject) -> None:
    assert not covers({"any": True}, subject, Q)


def test_a_write_in_the_workspace_is_offered_for_the_workspace() -> None:
    pattern = wide(write("/ws/src/a.py"), Q, WORKSPACE)
    assert pattern == {"path": "/ws", "access": "write", "below": True}
    assert shown(pattern) == "writing any file below /ws (protected places aside)"
    assert covers(pattern, write("/ws/b"), Q)


@pytest.mark.parametrize(
    "subject",
    [
        read("/ws/a"),
        write("/ws-evil/a"),
        write("/ws/../etc/passwd"),
        write("/wsx"),
        write("/"),
        write("/w"),
        write("ws/a"),
        write(""),
        write("/ws//a"),
        write("/ws/./a"),
        write("/WS/a"),
        write("//ws/a"),
        Subject("host", ("/ws/a",)),
        Subject("command", ("/ws/a",)),
        Subject("write", ()),
        Subject("write", ("/ws/a", "/etc/passwd")),
    ],
    ids=str,
)
def test_and_covers_nothing_else(subject: Subject) -> None:
    assert not covers({"path": "/ws", "access": "write", "below": True}, subject, Q)


def test_outside_the_workspace_the_files_directory_is_offered(tmp_path: Path) -> None:
    place = "/srv/data/set"
    assert wide(read(f"{place}/one.csv"), Q, WORKSPACE) == {"path": place, "access": "read", "below": True}


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/a", "/srv/x", os.path.join(os.path.realpath(os.path.expanduser("~")), "x")]
)
def test_but_not_where_half_the_machine_lies_below(path: str) -> None:
    assert wide(read(path), Q, WORKSPACE) is None


def test_nor_where_the_workspace_does() -> None:
    assert wide(write("/home/a/notes"), Q, "/home/a/project") is None


def test_exactly_one_file() -> None:
    pattern = exact(write("/ws/a"), Q)
    assert covers(pattern, write("/ws/a"), Q)
    assert not covers(pattern, write("/ws/a/b"), Q)
    assert not covers(pattern, write("/ws/b"), Q)
    assert not covers(pattern, read("/ws/a"), Q)
    assert shown(pattern) == "writing exactly /ws/a"


def test_a_shell_text_is_remembered_as_it_is_or_not_at_all() -> None:
    subject = Subject("shell", ("for f in *; do rm $f; done",))
    assert wide(subject, Q, WORKSPACE) is None
    pattern = exact(subject, Q)
    assert covers(pattern, subject, Q)
    assert not covers(pattern, Subject("shell", (subject.value[0] + " ",)), Q)
    assert not covers(pattern, Subject("command", subject.value), Q)
    assert shown(pattern) == "exactly this shell text: for f in *; do rm $f; done"


@pytest.mark.parametrize("access", ["read", "write"])
def test_a_yes_for_the_workspace_is_none_for_the_tools_in_it(access: str) -> None:
    """Where the workspace is the home directory, and the tools lie in that."""
    source = Subject(access, ("/ws/tools/x/src", "/ws/tools/x"))
    plain = Subject(access, ("/ws/a",))
    whole, folder, file = wide(plain, Q, WORKSPACE), wide(source, Q, WORKSPACE), exact(source, Q)
    assert whole is not None and folder is not None
    assert covers(whole, plain, Q) and not covers(whole, source, Q)
    assert covers(folder, source, Q) and covers(file, source, Q)
    assert not covers(folder, plain, Q)
    other = Subject(access, ("/ws/tools/y/src", "/ws/tools/y"))
    assert not covers(folder, other, Q) and not covers(file, other, Q)
    assert "any file of the tool /ws/tools/x" in shown(folder) and "exactly /ws/tools/x/src" in shown(file)


def test_a_build_is_of_what_lay_in_the_folder() -> None:
    """Whatever the commands are called, they may run any file of it."""
    build = Subject("build", ("/tools/x", "sha256:1", "/bin/make"))
    assert wide(build, Q, WORKSPACE) is None
    kept = exact(build, Q)
    assert shown(kept) == "building /tools/x, as long as nothing in it changes"
    assert covers(kept, build, question(what="b"))
    others = [("/tools/x", "sha256:2", "/bin/make"), ("/tools/y", "sha256:1", "/bin/make"), ("/tools/x",), ()]
    assert not any(covers(kept, Subject("build", other), Q) for other in others)


@pytest.mark.parametrize("kind", ["make", "remove"])
def test_making_or_removing_a_tool_is_remembered_with_these_arguments_alone(kind: str) -> None:
    subject = Subject(kind, ("/tools/x", "words"))
    assert wide(subject, Q, WORKSPACE) is None
    assert set(exact(subject, Q)) == {"arguments"}
    assert not covers({"any": True}, subject, Q)


def test_a_host_is_itself() -> None:
    pattern = wide(Subject("host", ("example.org",)), Q, WORKSPACE)
    assert pattern == exact(Subject("host", ("example.org",)), Q) == {"host": "example.org"}
    assert covers(pattern, Subject("host", ("example.org",)), Q)
    assert not covers(pattern, Subject("host", ("evil.example.org",)), Q)
    assert not covers(pattern, Subject("host", ("example.org.evil",)), Q)


def test_a_command_is_offered_with_its_sub_command() -> None:
    pattern = wide(Subject("command", ("git", "log", "--oneline", "main")), Q, WORKSPACE)
    assert pattern is not None
    assert shown(pattern) == "git log, with any operands and options known to be harmless"
    assert covers(pattern, Subject("command", ("git", "log", "--oneline", "other")), Q)
    for other in (
        ("git", "log", "--output=x"),
        ("git", "push"),
        ("git", "logx"),
        ("git", "-c", "core.pager=x", "log"),
        ("/tmp/git", "log"),
        ("git",),
    ):
        assert not covers(pattern, Subject("command", other), Q), other


def test_an_option_that_is_not_known_to_be_harmless_is_shown_by_its_name() -> None:
    forced = {"command": "git push --force"}
    assert shown(forced) == "git push, with any operands and options known to be harmless, and with --force"
    assert covers(forced, Subject("command", ("git", "push", "--force", "origin")), Q)
    assert not covers({"command": "git push"}, Subject("command", ("git", "push", "--force", "origin")), Q)


@pytest.mark.parametrize(
    "argv", [("python", "-c", "x"), ("bash", "-c", "x"), ("node", "-e", "x"), ("git",), ("sudo", "ls")]
)
def test_what_runs_code_is_never_offered_widely(argv: tuple[str, ...]) -> None:
    assert wide(Subject("command", argv), Q, WORKSPACE) is None


def test_exactly_these_words() -> None:
    subject = Subject("command", ("python", "-c", "print(1)"))
    pattern = exact(subject, Q)
    assert covers(pattern, subject, Q)
    assert not covers(pattern, Subject("command", ("python", "-c", "print(1)", "x")), Q)
    assert not covers(pattern, Subject("command", ("python", "-c", "print(2)")), Q)
    assert not covers(pattern, Subject("shell", ("python -c 'print(1)'",)), Q)
    assert shown(pattern) == "exactly: python -c 'print(1)'"


@pytest.mark.parametrize(
    "pattern",
    [
        {},
        {"any": False},
        {"any": 1},
        {"any": "true"},
        {"any": True, "more": 1},
        {"anything": True},
        {"path": "/", "access": "write"},
        {"path": "/ws", "access": "write", "below": 1},
        {"path": "", "access": "write", "below": True},
        {"path": "/", "access": "write", "below": True},
        {"host": None},
        {"argv": "ls"},
        {"argv": []},
        {"command": ""},
        {"command": "'"},
        {"shell": ["ls"]},
        {"arguments": None},
        {"arguments": ""},
        {"build": []},
        {"build": ["/tools/x"]},
    ],
    ids=str,
)
def test_what_is_not_understood_covers_nothing(pattern: dict[str, object]) -> None:
    subjects = (
        Subject(),
        write("/ws/a"),
        Subject("command", ("ls",)),
        Subject("shell", ("ls",)),
        Subject("host", ("h",)),
    )
    assert not any(covers(pattern, subject, Q) for subject in subjects)


WORDS = st.lists(st.text(max_size=6), min_size=1, max_size=5).map(tuple)
COMMANDS = st.tuples(
    st.sampled_from(["git", "ls", "cat", "grep", "npm", "pytest", "rm", "find", "python", "frob"]),
    st.lists(
        st.sampled_from(
            ["log", "status", "-l", "--oneline", "-n5", "x", "--", "-rf", "test", "run", "--output=x", ".", "-c"]
        ),
        max_size=4,
    ),
).map(lambda drawn: (drawn[0], *drawn[1]))


@given(COMMANDS, COMMANDS)
def test_a_command_pattern_covers_no_other_program_sub_command_or_option(
    asked: tuple[str, ...], other: tuple[str, ...]
) -> None:
    """What was shown is the program, its sub-command, harmless options, and the others by name."""
    pattern = wide(Subject("command", asked), Q, WORKSPACE)
    if pattern is None:
        return
    assert covers(pattern, Subject("command", asked), Q)
    if covers(pattern, Subject("command", other), Q):
        words, _, more = shown(pattern).partition(", with any operands and options known to be harmless")
        named = frozenset(more.removeprefix(", and with ").split(", "))
        assert list(other[: len(words.split())]) == words.split()
        assert hazards(other, named) == ()


@given(WORDS, WORDS)
def test_exact_words_cover_themselves_alone(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    pattern = exact(Subject("command", one), Q)
    assert covers(pattern, Subject("command", one), Q)
    assert covers(pattern, Subject("command", other), Q) == (one == other)


PART = st.sampled_from(["a", "b", "ws", "ws-evil", "..", ".", "", "ws ", "A"])
PATHS = st.lists(PART, min_size=1, max_size=5).map(lambda parts: "/" + "/".join(parts))


@given(PATHS, PATHS, st.sampled_from(["read", "write"]), st.sampled_from(["read", "write"]))
def test_a_path_pattern_covers_what_lies_below_it_for_that_access(path: str, other: str, did: str, does: str) -> None:
    """Against a model: both are what they normalise to, and one begins with all components of the other."""
    pattern = wide(Subject(did, (path,)), Q, WORKSPACE)
    if pattern is not None and covers(pattern, Subject(does, (other,)), Q):
        place = str(pattern["path"])
        assert did == does
        assert os.path.normpath(other) == other
        assert os.path.commonpath([place, other]) == place


@given(PATHS, PATHS)
def test_an_exact_path_covers_itself_alone(path: str, other: str) -> None:
    assert not covers(exact(write(path), Q), write(other), Q) or path == other


def test_a_project_is_the_very_directory(tmp_path: Path) -> None:
    place = tmp_path / "project"
    place.mkdir()
    key = project_key(str(place))
    assert project_key(f"{place}/../project") == key != project_key(str(tmp_path))
    place.rename(tmp_path / "kept")
    assert project_key(str(place)) == ""
    place.mkdir()
    assert project_key(str(place)) != key
