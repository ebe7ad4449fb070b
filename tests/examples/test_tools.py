"""The example tools, started as a person would start them (K57, K58)."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "examples" / "tools"
NAMES = ["error_tool", "git_info", "hello", "json_stats"]
Done = subprocess.CompletedProcess[str]


@pytest.fixture
def run(workspace: Path, tmp_path: Path) -> Callable[..., Done]:
    """`run("hello", {...})` starts a tool with arguments, in the workspace, with a tool's plain environment."""

    def start(name: str, args: object, *, path: str = os.environ["PATH"], verb: str = "run") -> Done:
        if name == "json_stats" and shutil.which("node") is None:
            pytest.skip("node is not installed")
        text = args if isinstance(args, str) else json.dumps(args)
        env = {"PATH": path, "HOME": str(tmp_path), "GIT_CEILING_DIRECTORIES": str(tmp_path)}
        return subprocess.run(
            [TOOLS / name, verb], input=text, capture_output=True, text=True, cwd=workspace, env=env, timeout=30
        )

    return start


def git(*words: str, cwd: Path) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main")
    return subprocess.run(["git", *who, *words], cwd=cwd, check=True, capture_output=True, text=True).stdout.strip()


def test_the_examples_are_there_and_pass_check(run_cli) -> None:
    """K1, K8, K57: in three languages, each executable, and without a single warning."""
    assert sorted(file.name for file in TOOLS.iterdir()) == NAMES
    done = run_cli("check", *(str(TOOLS / name) for name in NAMES), "--json")
    report = json.loads(done.stdout)
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    assert (report["faults"], report["warnings"]) == (0, 0), report


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_word_is_answered_with_usage(run, name: str) -> None:
    """K19."""
    done = run(name, {}, verb="dance")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"usage: {name} description|run\n")


def test_hello(run) -> None:
    """K58, K18: with and without an age; a fault is a structured error on stderr."""
    assert run("hello", {"name": "Bob"}).stdout == "Hello, Bob!\n"
    assert run("hello", {"name": "Bob", "age": 25}).stdout == "Hello, Bob! You are 25 years old.\n"
    assert run("hello", {"name": "Zoë", "age": 0}).stdout == "Hello, Zoë! You are 0 years old.\n"
    for wrong in ({}, [], "not json", 5):
        done = run("hello", wrong)
        assert (done.returncode, done.stdout, set(json.loads(done.stderr))) == (1, "", {"error", "details"})


def test_error_tool(run) -> None:
    """K17, K57."""
    failed = run("error_tool", {"should_fail": True})
    assert (failed.returncode, set(json.loads(failed.stdout))) == (1, {"error", "details"})
    for args in ({}, {"should_fail": False}):
        done = run("error_tool", args)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "name", ["plain", 'q"uo\\te', "new\nline\n", "ü漢😀", "-rf", " spa ce ", "$(touch x)", "tab\t\x01\x7f"]
)
def test_git_info_of_a_repository_with_any_name(run, workspace: Path, name: str) -> None:
    """K57: branch, commit and number of changes, however the JSON spells the path."""
    repository = workspace / name
    repository.mkdir()
    git("init", cwd=repository)
    git("commit", "--allow-empty", "-m", "first", cwd=repository)
    git("checkout", "-b", 'we"ird-ü', cwd=repository)
    (repository / "one").touch()
    (repository / "two\nlines").touch()
    expected = {"branch": 'we"ird-ü', "commit": git("rev-parse", "HEAD", cwd=repository), "uncommitted_changes": 2}
    spellings = [json.dumps({"path": name}), json.dumps({"path": name}, ensure_ascii=False, indent=2)]
    spellings.append('{"path":"' + "".join(f"\\u{unit:04X}" for unit in utf16(name)) + '"}')
    for text in spellings:
        done = run("git_info", text)
        assert (done.returncode, done.stderr) == (0, ""), text
        assert json.loads(done.stdout) == expected
    assert sorted(os.listdir(workspace)) == [name]


def utf16(text: str) -> list[int]:
    raw = text.encode("utf-16-be")
    return [int.from_bytes(raw[at : at + 2], "big") for at in range(0, len(raw), 2)]


def test_git_info_defaults_to_the_current_directory_and_needs_no_jq(run, workspace: Path, tmp_path: Path) -> None:
    """K57, K84: also before the first commit, and on no branch at all."""
    few = tmp_path / "bin"
    few.mkdir()
    for name in ("bash", "env", "cat", "git"):
        (few / name).symlink_to(str(shutil.which(name)))
    git("init", cwd=workspace)
    done = run("git_info", {}, path=str(few))
    assert json.loads(done.stdout) == {"branch": "main", "commit": None, "uncommitted_changes": 0}
    git("commit", "--allow-empty", "-m", "first", cwd=workspace)
    git("checkout", "--detach", cwd=workspace)
    done = run("git_info", "{ }\n", path=str(few))
    commit = git("rev-parse", "HEAD", cwd=workspace)
    assert json.loads(done.stdout) == {"branch": None, "commit": commit, "uncommitted_changes": 0}
    (few / "git").unlink()
    done = run("git_info", {}, path=str(few))
    assert (done.returncode, json.loads(done.stderr)["error"]) == (1, "git is not installed")


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ({}, ". is not in a git repository"),
        ({"path": "nowhere\x1b[2J"}, "there is no directory nowhere\x1b[2J"),
        ({"path": ""}, "there is no directory "),
        ({"other": "x"}, "there is no argument other"),
        ({"path": 5}, "the arguments are not what this tool takes"),
        ({"path": "a\0b"}, "a path holds no NUL"),
        ('{"path": "x"', "the arguments are not what this tool takes"),
        ('{"path": "x', "the arguments are not JSON"),
        ('{"path": "\\ud83d\\u0041"}', "the arguments are not JSON"),
        ('{"path": "\\q"}', "the arguments are not JSON"),
        ("{} {}", "the arguments are not JSON"),
        ("", "the arguments are not what this tool takes"),
    ],
)
def test_git_info_says_what_is_wrong(run, args: object, error: str) -> None:
    done = run("git_info", args)
    assert (done.returncode, done.stdout) == (1, "")
    said = json.loads(done.stderr)
    assert (said["error"], set(said)) == (error, {"error", "details"})


def test_git_info_runs_nothing_that_a_repository_names(run, workspace: Path, tmp_path: Path) -> None:
    git("init", cwd=workspace)
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\n: > {tmp_path}/canary\n")
    hook.chmod(0o755)
    git("config", "core.fsmonitor", str(hook), cwd=workspace)
    assert run("git_info", {}).returncode == 0
    assert not (tmp_path / "canary").exists()


def test_json_stats(run, workspace: Path) -> None:
    document = {"rows": [{"id": 1, "tag": None}, {"id": "two", "tag": "é"}], "__proto__": {"x": True}}
    text = json.dumps(document, ensure_ascii=False)
    expected = {
        "bytes": len(text.encode()),
        "depth": 4,
        "types": {"object": 4, "array": 1, "number": 1, "null": 1, "string": 2, "boolean": 1},
        "paths": {
            "$": "object", "$.rows": "array", "$.rows[]": "object", "$.rows[].id": "number|string",
            "$.rows[].tag": "null|string", "$.__proto__": "object", "$.__proto__.x": "boolean",
        },
        "paths_left_out": 0,
    }  # fmt: skip
    (workspace / "data.json").write_text(text)
    assert json.loads(run("json_stats", {"text": text}).stdout) == expected
    assert json.loads(run("json_stats", {"path": "data.json"}).stdout) == expected
    few = json.loads(run("json_stats", {"text": text, "paths": 2}).stdout)
    assert (list(few["paths"]), few["paths_left_out"]) == (["$", "$.rows"], 5)
    deep = "[" * 5000 + "]" * 5000
    assert json.loads(run("json_stats", {"text": deep}).stdout)["depth"] == 5000
    for wrong in ({}, {"text": "{"}, {"path": "nowhere.json"}, "nonsense", "null"):
        done = run("json_stats", wrong)
        assert (done.returncode, done.stdout, set(json.loads(done.stderr))) == (1, "", {"error", "details"})


def test_the_examples_through_the_gate(run_cli, home: Path, workspace: Path) -> None:
    """K57, K58, K83: installed by copying, called by flags, and an error reaches the person with its details."""
    shutil.copytree(TOOLS, home / "tools")
    assert (
        run_cli("call", "hello", "--name", "Bob", "--age", "25", "--yes").stdout
        == "Hello, Bob! You are 25 years old.\n"
    )
    failed = run_cli("call", "error_tool", "--should-fail", "--yes")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "EXECUTION_ERROR failed, as it was told to\n  call it with" in failed.stderr
    info = json.loads(run_cli("call", "git_info", "--path", str(TOOLS), "--yes", "--json").stdout)
    assert info["success"] is True or "not in a git repository" in info["error"]["message"]
