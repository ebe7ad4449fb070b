"""Wrappers: which are taken off exactly, which are doubted, and what is seen through them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.policy.argv import MAX_DEPTH, UNKNOWN, seen_through, unwrap
from toolcrib.policy.programs import INTERPRETERS, hazards, is_interpreter, usage

TAKEN_OFF = [
    "time git log",
    "time -p git log",
    "nice git log",
    "nice -n 10 git log",
    "nice -n10 git log",
    "nice -19 git log",
    "nice --adjustment=5 git log",
    "nohup git log",
    "nohup -- git log",
    "timeout 5 git log",
    "timeout 2.5m git log",
    "timeout -k 5 -s KILL 10s git log",
    "timeout --preserve-status --kill-after=5 10 git log",
    "stdbuf -oL git log",
    "stdbuf -o L -e 0 git log",
    "ionice -c 3 git log",
    "ionice -c2 -n7 git log",
    "setsid -w git log",
    "chrt -b 0 git log",
    "taskset 0x3 git log",
    "taskset -c 0,1 git log",
    "command git log",
    "env git log",
    "nice timeout 5 nohup git log",
]


@pytest.mark.parametrize("line", TAKEN_OFF)
def test_a_harmless_wrapper_is_taken_off(line: str) -> None:
    seen = unwrap(line.split())
    assert (seen.leaves, seen.doubts) == ((("git", "log"),), ())


DOUBTED = [
    "time -o canary git log",
    "time -f x git log",
    "nice -n x git log",
    "nohup --help git log",
    "timeout git log",
    "timeout 5",
    "timeout --bogus 5 git log",
    "timeout 5 -x git log",
    "stdbuf -o canary git log",
    "ionice -p 1 git log",
    "setsid -f git log",
    "setsid --fork git log",
    "chrt git log",
    "taskset -p 1",
    "command -p git log",
    "env -i git log",
    "env A=b git log",
    "env -u A git log",
    "env -S git log",
    "env - git log",
    "env --chdir=x git log",
    "/usr/bin/env git log",
    "/usr/bin/time git log",
    "./timeout 5 git log",
    "xargs git log",
    "sudo git log",
    "sudo -u x git log",
    "doas git log",
    "busybox ls",
    "parallel git log",
    "watch git log",
    "script -c ls",
    "flock x git log",
    "strace git log",
    "su -c ls",
    "eval git log",
    "exec git log",
    "ld.so /bin/ls",
    "/lib64/ld-linux-x86-64.so.2 /bin/ls",
    "zsh -c ls",
    "ksh -c ls",
    "/bin/sh -c ls",
    "bash -lc ls",
    "bash -ic ls",
    "bash --norc -c ls",
    "bash -O extglob -c ls",
    "bash -c ls x",
    "bash -ce",
    "sh -cp ls",
    "chroot / ls",
    "unshare ls",
]


@pytest.mark.parametrize("line", DOUBTED)
def test_a_wrapper_used_otherwise_is_doubted(line: str) -> None:
    seen = unwrap(line.split())
    assert seen.doubts
    assert seen.leaves == (tuple(line.split()),)


@pytest.mark.parametrize(
    "options", [["-c"], ["-ec"], ["-euxc"], ["-e", "-c"], ["-eu", "-o", "pipefail", "-c"], ["-euo", "pipefail", "-c"]]
)
@pytest.mark.parametrize("shell", ["sh", "bash", "dash"])
def test_the_text_of_a_shell_is_taken_apart(shell: str, options: list[str]) -> None:
    seen = unwrap([shell, *options, "git status && rm 'a b'"])
    assert (seen.leaves, seen.doubts) == ((("git", "status"), ("rm", "a b")), ())


def test_all_that_a_text_runs_must_be_allowed_not_only_its_last_command() -> None:
    assert unwrap(["bash", "-c", "rm a; git status"]).leaves == (("rm", "a"), ("git", "status"))
    assert unwrap(["bash", "-c", "timeout 5 bash -c 'rm a'; ls"]).leaves == (("rm", "a"), ("ls",))


@pytest.mark.parametrize("text", ["$(rm a)", "rm a > b", "rm a\r", "a 'b", "A=b c", "source a"])
def test_a_doubt_of_the_text_is_a_doubt_of_the_whole(text: str) -> None:
    assert unwrap(["bash", "-c", text]).doubts


def test_nesting_has_a_limit() -> None:
    assert unwrap(["nohup"] * MAX_DEPTH + ["ls"]).doubts == ()
    assert unwrap(["nohup"] * (MAX_DEPTH + 1) + ["ls"]).doubts


def test_what_is_nested_deeper_than_is_seen_through_might_be_anything() -> None:
    assert seen_through(("sudo",) * MAX_DEPTH + ("ls",))[-1] == ("ls",)
    assert ("ls",) not in seen_through(("sudo",) * (MAX_DEPTH + 2) + ("ls",))
    assert UNKNOWN in seen_through(("sudo",) * (MAX_DEPTH + 2) + ("ls",))


SEEN = [
    "sudo rm a",
    "sudo -u root rm a",
    "sudo -- rm a",
    "sudo -E A=b rm a",
    "doas rm a",
    "env A=b rm a",
    "env -i rm a",
    "env -u A B=c rm a",
    "/usr/bin/env rm a",
    "xargs rm a",
    "xargs -0 -n 1 rm a",
    "xargs -I {} rm a",
    "find . -exec rm a",
    "find . -name x -execdir rm a",
    "find . -ok rm a",
    "fd -x rm a",
    "fd . --exec rm a",
    "fd --exec=rm a",
    "busybox rm a",
    "timeout --bogus 5 rm a",
    "nice -n 5 rm a",
    "nohup rm a",
    "flock x rm a",
    "chroot / rm a",
    "strace -f rm a",
    "watch rm a",
    "parallel rm a",
    "ssh host rm a",
    "ssh -p 22 host rm a",
    "eval rm a",
    "exec rm a",
    "exec -a x rm a",
    "builtin rm a",
    "command rm a",
    "coproc rm a",
    "/lib64/ld-linux-x86-64.so.2 rm a",
    "docker exec -it box rm a",
    "docker compose exec box rm a",
    "docker run --rm image rm a",
    "kubectl exec pod -- rm a",
    "uv run rm a",
    "uv tool run rm a",
    "poetry run rm a",
    "npx rm a",
    "npm exec -- rm a",
    "bundle exec rm a",
    "sudo nice xargs rm a",
    "env -S rm a",
    "env -iS rm a",
    "systemd-run --user rm a",
]


@pytest.mark.parametrize("line", SEEN)
def test_what_a_wrapper_runs_is_seen(line: str) -> None:
    assert ("rm", "a") in unwrap(line.split()).chain


TEXTS = [
    ["sh", "-c", "ls; rm a"],
    ["bash", "-lc", "rm a"],
    ["/bin/bash", "-x", "-c", "rm a", "x"],
    ["zsh", "-ic", "rm a"],
    ["fish", "-c", "rm a"],
    ["busybox", "sh", "-c", "rm a"],
    ["su", "-c", "rm a"],
    ["su", "root", "--command=rm a"],
    ["script", "-qc", "rm a", "/dev/null"],
    ["flock", "x", "-c", "rm a"],
    ["eval", "ls;", "rm", "a"],
    ["ssh", "host", "cd x && rm a"],
    ["watch", "-n", "1", "rm a"],
    ["env", "--split-string=rm a"],
    ["xargs", "sh", "-c", "rm a"],
    ["find", ".", "-exec", "sh", "-c", "rm a", ";"],
    ["sh", "-c", "sh -c 'rm a'"],
    ["sh", "-c", "echo $(rm a)"],
    ["git", "-c", "alias.x=!rm a", "x"],
]


@pytest.mark.parametrize("argv", TEXTS, ids=" ".join)
def test_what_a_text_runs_is_seen(argv: list[str]) -> None:
    assert ("rm", "a") in unwrap(argv).chain


def test_what_cannot_be_known_might_be_anything() -> None:
    assert (None,) in seen_through(("sh", "-c", None))
    assert (None,) in seen_through(("sudo", None, "a"))
    assert (None,) in seen_through(("sh", "-c", "a 'b"))
    assert (None,) in seen_through(("sudo",) * 40)
    assert (None,) not in seen_through(("ls", None))


@pytest.mark.parametrize("line", ["ls rm a", "git log rm", "docker rm a", "echo rm a", "find . -name rm"])
def test_an_operand_is_no_command(line: str) -> None:
    assert seen_through(tuple(line.split())) == (tuple(line.split()),)


WORDS = st.text(max_size=12) | st.sampled_from(
    [
        "sudo",
        "xargs",
        "env",
        "bash",
        "-c",
        "-n",
        "find",
        "-exec",
        "git",
        "-x",
        "--y=z",
        "--",
        ";",
        "rm",
        "timeout",
        "5",
        "A=b",
        "+",
        "sed",
        "tar",
        "npm",
        "run",
        "uv",
        "python",
        "-m",
    ]
)


@given(st.lists(WORDS, max_size=9))
def test_any_argv_gets_an_answer(argv: list[str]) -> None:
    """Not an exception, and the argv itself is always part of it."""
    assert not argv or tuple(argv) in unwrap(argv).chain
    assert set(hazards(argv, frozenset("*"))) <= set(hazards(argv))
    assert 0 <= usage(argv).depth <= max(len(argv), 1)


@pytest.mark.parametrize(
    "name", ["python", "python3", "python3.11", "pypy3", "perl5.36", "node", "bash", "awk", "lua5.4"]
)
def test_interpreters_are_known_in_every_version(name: str) -> None:
    assert is_interpreter(name)


def test_other_programs_are_no_interpreters() -> None:
    assert not any(map(is_interpreter, ["git", "ls", "pythonx", "make", "7z", ""]))
    assert "git" not in INTERPRETERS


@pytest.mark.parametrize(
    "line",
    [
        ["fd", "--exec-batch=rm", "x"],
        ["fd", "--exec=rm", "x"],
        ["fd", "-xrm", "x"],
        ["fd", "-Xrm", "x"],
        ["flock", "lock", "-c", "rm x"],
        ["su", "-c", "rm x"],
        ["script", "-c", "rm x"],
        ["runuser", "-c", "rm x"],
        ["env", "-S", "rm x"],
        ["env", "-iSrm x"],
        ["env", "--split-string=rm x"],
        ["timeout", "-k", "5", "9", "rm", "x"],
    ],
)
def test_what_is_run_is_seen_wherever_it_stands(line: list[str]) -> None:
    assert ("rm", "x") in seen_through(tuple(line))
