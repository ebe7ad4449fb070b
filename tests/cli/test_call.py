"""`toolcrib call`, without a terminal."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., object]


def test_arguments_arrive_typed_and_whole(run_cli, repeat: Path, workspace: Path) -> None:
    """K13, K14: flags become one JSON object on stdin, and the answer comes back as it is. Our own flags win."""
    done = run_cli(
        "call", "repeat", "--name", "O'Brien \"$(x)\" \x1b[2J", "--age", "-5", "--no-loud", "--tags", "a", "--tags=b",
        "--where", '{"at": [1, null]}', "--max-depth", "null", "--yes",
    )  # fmt: skip
    expected = {
        "name": "O'Brien \"$(x)\" \x1b[2J", "age": -5, "loud": False, "tags": ["a", "b"], "where": {"at": [1, None]},
        "max_depth": None,
    }  # fmt: skip
    assert (done.returncode, json.loads(done.stdout), done.stderr) == (0, expected, "")


def test_arguments_as_one_json_object(run_cli, repeat: Path) -> None:
    """K13: `--input JSON` and `--input -`; an argument that is called like one of our flags goes this way."""
    given = run_cli("call", "--yes", "repeat", "--input", '{"json": "x"}')
    assert (given.returncode, given.stdout) == (0, '{"json":"x"}')
    piped = run_cli("call", "custom_tool_repeat", "--input", "-", "--yes", input='{"name": "Zoë 😀"}')
    assert (piped.returncode, piped.stdout) == (0, '{"name":"Zoë 😀"}')


@pytest.mark.parametrize(
    ("words", "stdin", "said"),
    [
        (["--input", '{"name": "x",}'], None, "--input is not valid JSON"),
        (["--input", "-"], "", "--input is not valid JSON"),
        (["--input", "[1, 2]"], None, "the arguments are not an object"),
        (["--input", "null"], None, "--input is null"),
        (["--input", '{"name": "x"}', "--age", "5"], None, "either as --input or as flags"),
        (["--input", '{"nmae": "x"}'], None, "no property 'nmae'"),
        (["--age", "many"], None, "--age is integer"),
        (["--nmae", "x"], None, "did you mean --name?"),
        (["stray"], None, "'stray' belongs to no flag"),
        (["--timeout", "0"], None, "not a duration above zero"),
        (["--session", "a b"], None, "--session: use"),
        (["--input", "-"], '{"name": "' + "x" * 9 * 2**20 + '"}', "longer than 8388608 bytes"),
    ],
    ids=lambda value: " ".join(value)[:30] if isinstance(value, list) else "",
)
def test_what_is_wrong_is_said_and_nothing_runs(
    run_cli, repeat: Path, workspace: Path, words: list[str], stdin: str | None, said: str
) -> None:
    """K26, K48: exit status 2, the words that help, and no start of the program."""
    done = run_cli("call", "repeat", "--yes", *words, input=stdin)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert not (workspace / "ran").exists()


def test_without_a_terminal_approval_is_required(run_cli, repeat: Path, workspace: Path) -> None:
    """G10: nothing is configured, so it is `ask`; nobody is there to ask, so it is no."""
    done = run_cli("call", "repeat", "--name", "x")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("APPROVAL_REQUIRED custom_tool_repeat needs approval")
    assert "--yes" in done.stderr
    assert not (workspace / "ran").exists()


def test_blocked_is_absolute(run_cli, repeat: Path, home: Path, workspace: Path) -> None:
    """G11, G13, G16: `blocked` prevents the call, and `--yes` does not touch it."""
    (home / "config.yaml").write_text("approval: {tools: {custom_tool_repeat: blocked}}\n")
    done = run_cli("call", "repeat", "--yes", "--json")
    assert done.returncode == 3
    assert json.loads(done.stdout)["error"]["code"] == "BLOCKED_BY_POLICY"
    assert not (workspace / "ran").exists()


@pytest.mark.parametrize(
    ("approval", "status"),
    [
        ("{default: preApproved}", 0),
        ("{default: blocked, tools: {custom_tool_repeat: preApproved}}", 3),
        ("{default: blocked}", 3),
        ("{default: ask, tools: {custom_tool_repeat: preApproved}}", 0),
        ("{default: preApproved, tools: {custom_tool_repeat: ask}}", 3),
        ("{tools: {custom_tool_other: preApproved}}", 3),
        ("{default: true}", 2),
        ("{default: Ask}", 2),
    ],
)
def test_what_the_configuration_says_of_approval(
    run_cli, repeat: Path, home: Path, workspace: Path, approval: str, status: int
) -> None:
    """G10 to G14: exactly three values, an entry before the default, and a default of `blocked` stands."""
    (home / "config.yaml").write_text(f"approval: {approval}\n")
    assert run_cli("call", "repeat").returncode == status
    assert (workspace / "ran").exists() is (status == 0)


def test_an_unknown_tool(run_cli, repeat: Path) -> None:
    done = run_cli("call", "--json", "repaet")
    assert done.returncode == 4
    assert json.loads(done.stdout)["error"]["code"] == "TOOL_NOT_FOUND"
    hostile = run_cli("call", "re\x1b[2Jpeat\n")
    assert hostile.returncode == 4
    assert "\x1b" not in hostile.stderr
    assert run_cli("call", "").returncode == run_cli("call").returncode == 2


def test_a_failure_is_told_with_its_details(run_cli, make_tool) -> None:
    """K15 to K17: status 1, the tool's own error, and its details; with nothing in them that a terminal obeys."""
    make_tool(
        "broken",
        """#!/bin/sh
case $1 in
  description) echo '{"name": "broken", "description": "Fails.", "input_schema": {"type": "object"}}' ;;
  run) echo '{"error": "it broke \\u001b[2J", "details": "mend it"}'; exit 7 ;;
  *) exit 1 ;;
esac
""",
    )
    done = run_cli("call", "broken", "--yes")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "EXECUTION_ERROR it broke \\x1b[2J\n  mend it\n"
    result = json.loads(run_cli("call", "broken", "--yes", "--json").stdout)
    assert (result["success"], result["metadata"]["exit_code"]) == (False, 7)


def test_what_a_tool_says_on_stderr_is_shown_and_a_timeout_has_its_status(run_cli, make_tool) -> None:
    """K15, K30: stderr is shown also when all went well, apart from the answer."""
    make_tool(
        "talks",
        """#!/bin/sh
case $1 in
  description) echo '{"name": "talks", "description": "Talks.", "input_schema": {"type": "object"}}' ;;
  run) echo answer; echo "warning: helper is missing" >&2; read line; case $line in *slow*) sleep 30 ;; esac ;;
  *) exit 1 ;;
esac
""",
    )
    done = run_cli("call", "talks", "--yes")
    assert (done.returncode, done.stdout, done.stderr) == (0, "answer\n", "warning: helper is missing\n")
    slow = run_cli("call", "talks", "--yes", "--timeout", "300ms", "--input", '{"how": "slow"}')
    assert slow.returncode == 124
    assert slow.stderr.startswith("TIMEOUT custom_tool_talks ran longer than 0.3 s")


@pytest.mark.parametrize(
    "words", [["repeat", "--age", "x"], ["repeat", "--input", "{"], [], ["repeat", "stray"], ["--nme", "x", "repeat"]]
)
def test_json_is_one_document_also_when_the_command_line_is_wrong(run_cli, repeat: Path, words: list[str]) -> None:
    done = run_cli("call", "--json", *words, "--json") if words else run_cli("call", "--json")
    assert done.returncode == 2
    result = json.loads(done.stdout)
    assert (result["success"], result["error"]["code"]) == (False, "VALIDATION_ERROR")


def test_a_dry_run_checks_everything_and_runs_nothing(run_cli, repeat: Path, home: Path, workspace: Path) -> None:
    """Nothing runs, so nobody is asked and nothing is remembered; what is wrong or blocked is still said."""
    done = run_cli("call", "repeat", "--name", "x", "--dry-run")
    assert done.returncode == 0
    assert json.loads(done.stdout)["would_run"] == str(repeat)
    assert run_cli("call", "repeat", "--age", "x", "--dry-run").returncode == 2
    assert run_cli("call", "repeat", "--name", "x").returncode == 3
    (home / "config.yaml").write_text("approval: {default: blocked}\n")
    assert run_cli("call", "repeat", "--dry-run").returncode == 3
    assert not (workspace / "ran").exists()


def test_help_of_a_tool_shows_its_flags(run_cli, repeat: Path, workspace: Path) -> None:
    done = run_cli("call", "repeat", "--help")
    assert done.returncode == 0
    assert "  --name STRING  a name" in done.stdout
    assert "toolcrib call hello --name Bob --age 25" in done.stdout
    assert not (workspace / "ran").exists()
