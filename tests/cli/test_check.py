"""`toolcrib check`: every fault, with its place and its fix (K65)."""

import json
from collections.abc import Callable
from pathlib import Path

Tool = Callable[..., Path]
USAGE = "*) exit 1 ;;"


def answering(description: object, otherwise: str = USAGE) -> str:
    text = description if isinstance(description, str) else json.dumps(description)
    return f"#!/bin/sh\ncase $1 in\ndescription) cat <<'END'\n{text}\nEND\n;;\nrun) : > ran ;;\n{otherwise}\nesac\n"


def about(**changed: object) -> dict[str, object]:
    return {"name": "tool", "description": "Works.", "input_schema": {"type": "object"}} | changed


def findings(run_cli, *targets: str, status: int = 1) -> list[tuple[str, str, str]]:
    """Severity, code and pointer of everything found, in the first thing checked."""
    done = run_cli("check", *targets, "--json")
    assert done.returncode == status, done.stderr
    report = json.loads(done.stdout)
    assert all(each["fix"] and each["message"] for checked in report["checked"] for each in checked["findings"])
    return [(each["severity"], each["code"], each.get("pointer", "")) for each in report["checked"][0]["findings"]]


def test_a_good_tool_has_none(run_cli, make_tool: Tool, workspace: Path) -> None:
    path = make_tool("tool", answering(about()))
    done = run_cli("check", "tool")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"ok       {path}  custom_tool_tool\n1 checked, 0 fault(s), 0 warning(s)\n"
    assert not (workspace / "ran").exists() and not (path.parent / "ran").exists()


def test_every_fault_of_a_description_is_reported_at_once(run_cli, make_tool: Tool) -> None:
    schema = {"type": "object", "properties": {"x": {"type": "strin"}}}
    make_tool("tool", answering({"name": "a b/..", "description": " ", "input_schema": schema})).chmod(0o757)
    assert findings(run_cli, "tool") == [
        ("warning", "PATH_PROTECTED", ""),
        ("fault", "TOOL_NAME_INVALID", "/name"),
        ("fault", "VALIDATION_ERROR", "/description"),
        ("fault", "SCHEMA_REJECTED", "/input_schema/properties/x/type"),
    ]


BROKEN = [
    ("#!/bin/sh\nexit 3\n", "EXECUTION_ERROR", "failed with exit status 3"),
    ("#!/bin/sh\necho 'oh no' >&2; exit 3\n", "EXECUTION_ERROR", "oh no"),
    ("#!/bin/sh\nexec sleep 60\n", "TIMEOUT", "longer than 5 s"),
    ("#!/bin/sh\n:\n", "VALIDATION_ERROR", "printed nothing"),
    ("#!/bin/sh\necho '{\"name\": '\n", "VALIDATION_ERROR", "not valid JSON"),
    ("#!/bin/sh\necho '[]'\n", "VALIDATION_ERROR", "one JSON object"),
    (answering({"name": "tool", "description": "x"}), "VALIDATION_ERROR", "`input_schema` is missing"),
    (answering(about(input_schema={"type": "array"})), "SCHEMA_REJECTED", "/type"),
    (answering(about(input_schema={"$ref": "http://127.0.0.1:1/x"})), "SCHEMA_REJECTED", "references outside"),
    (answering(about(name="n" * 60)), "TOOL_NAME_INVALID", "with its prefix"),
    ("#!/bin/sh\r\necho\r\n", "EXECUTION_ERROR", "CR LF"),
    ("#!/nowhere/python3\n", "EXECUTION_ERROR", "/nowhere/python3 is not there"),
    ("#!/usr/bin/env no-such-interpreter -x\n", "EXECUTION_ERROR", "no-such-interpreter is not in the PATH"),
    ("#!python3\n", "EXECUTION_ERROR", "not a full path"),
    ("#!\n", "EXECUTION_ERROR", "names no interpreter"),
    ("echo hello\n", "EXECUTION_ERROR", "no #! line"),
    ("", "EXECUTION_ERROR", "no #! line"),
    ("\ufeff#!/bin/sh\n", "EXECUTION_ERROR", "byte order mark"),
]


def test_each_fault_has_its_code_and_its_words(run_cli, make_tool: Tool, workspace: Path) -> None:
    """K10, K19, K65: one look finds them all; none hides another."""
    paths = [make_tool(f"tool{at}", text, directory=workspace) for at, (text, _, _) in enumerate(BROKEN)]
    done = run_cli("check", *map(str, paths), "--json")
    assert done.returncode == 1
    for checked, path, (_, code, said) in zip(json.loads(done.stdout)["checked"], paths, BROKEN, strict=True):
        faults = [each for each in checked["findings"] if each["severity"] == "fault"]
        assert (checked["origin"], [each["code"] for each in faults]) == (str(path), [code])
        assert said in faults[0]["message"]


def test_other_words_are_only_tried_when_asked_for(run_cli, make_tool: Tool) -> None:
    """K19: a program that takes every word for `run` is not run by being checked."""
    path = make_tool("tool", answering(about(), "*) : > ran ;;"))
    assert run_cli("check", "tool").returncode == 0
    assert not (path.parent / "ran").exists()
    assert "answered with success" in run_cli("check", "tool", "--verbs").stdout


def test_a_file_that_is_not_executable(run_cli, make_tool: Tool) -> None:
    """K11, K46: nothing is started; named, it is a fault, and among all tools a warning."""
    path = make_tool("tool", "#!/bin/sh\n: > started\n")
    path.chmod(0o644)
    assert findings(run_cli, "tool") == [("fault", "EXECUTION_ERROR", "")]
    done = run_cli("check")
    assert done.returncode == 0
    assert f"fix: chmod +x {path}" in done.stdout
    assert not (path.parent / "started").exists()


def test_warnings_are_no_faults(run_cli, make_tool: Tool) -> None:
    schema = {"type": "object", "properties": {"a/b": {"type": "string"}, "c": {"description": "x"}}, "required": ["d"]}
    make_tool("other", answering(about(name="my-tool", input_schema=schema)))
    assert findings(run_cli, "my-tool", status=0) == [
        ("warning", "TOOL_NAME_INVALID", "/name"),
        ("warning", "TOOL_NAME_INVALID", "/name"),
        ("warning", "VALIDATION_ERROR", "/input_schema/properties/a~1b"),
        ("warning", "SCHEMA_REJECTED", "/input_schema/required"),
    ]


def test_two_tools_with_one_name(run_cli, make_tool: Tool) -> None:
    make_tool("one", answering(about(name="same-name")))
    make_tool("two", answering(about(name="same_name")))
    report = json.loads(run_cli("check", "--json").stdout)
    codes = [[each["code"] for each in checked["findings"]] for checked in report["checked"] if checked["name"]]
    assert all("TOOL_NAME_CONFLICT" in found for found in codes) and len(codes) == 2


def test_all_tools_and_the_configuration(run_cli, make_tool: Tool, home: Path, workspace: Path) -> None:
    """An entry for a tool that is not there would be lost without a word."""
    make_tool("tool", answering(about()))
    make_tool("theirs", "#!/bin/sh\n: > started\n", directory=workspace / ".toolcrib" / "tools")
    (home / "config.yaml").write_text("approval: {tools: {custom_tool_tol: blocked}}\n")
    done = run_cli("check")
    assert done.returncode == 0
    assert "it names custom_tool_tol, and no tool here is called that" in done.stdout
    assert "fix: write custom_tool_tool" in done.stdout
    assert "untrusted project" in done.stdout
    assert not (workspace / ".toolcrib" / "tools" / "started").exists()


def test_check_asks_afresh_and_list_follows(run_cli, make_tool: Tool, tmp_path: Path, home: Path) -> None:
    """A failure is kept for `list`; when a check finds it mended, `list` asks again."""
    (home / "config.yaml").write_text("toolsets: {}\n")
    make_tool("tool", f"#!/bin/sh\n[ -e {tmp_path}/helper ] || exit 9\n" + answering(about()))
    assert run_cli("list", "--names").stdout == ""
    (tmp_path / "helper").touch()
    assert run_cli("list", "--names").stdout == ""
    assert run_cli("check", "tool").returncode == 0
    assert run_cli("list", "--names").stdout == "custom_tool_tool\n"


def test_what_cannot_be_checked(run_cli, make_tool: Tool, workspace: Path, tmp_path: Path) -> None:
    make_tool("tool", answering(about()))
    unknown = run_cli("check", "tol")
    assert (unknown.returncode, "did you mean tool?" in unknown.stderr) == (4, True)
    make_tool("bystander", f"#!/bin/sh\n: > {tmp_path}/started\n", directory=workspace)
    assert [run_cli("check", place).returncode for place in (".", "..", "/")] == [2, 2, 2]
    assert not (tmp_path / "started").exists()
    assert "1 checked, 0 fault(s)" in run_cli("check", str(tmp_path / "home" / "tools")).stdout
    away = tmp_path / "away" / ".toolcrib" / "tools"
    evil = make_tool("evil", f"#!/bin/sh\n: > {tmp_path}/canary\n", directory=away)
    (workspace / "link").symlink_to(evil)
    refused = [run_cli("check", "tool", str(evil)), run_cli("check", "link"), run_cli("check", "./link")]
    assert [done.returncode for done in refused] == [3, 4, 3]
    assert not (tmp_path / "canary").exists()


def test_a_link_out_of_a_trusted_project_is_not_followed(
    run_cli, make_tool: Tool, workspace: Path, tmp_path: Path
) -> None:
    """K47."""
    outside = make_tool("outside", f"#!/bin/sh\n: > {tmp_path}/canary\n", directory=tmp_path / "elsewhere")
    tools = workspace / ".toolcrib" / "tools"
    tools.mkdir(parents=True)
    (tools / "inside").symlink_to(outside)
    run_cli("trust", "--yes")
    assert findings(run_cli, str(tools / "inside")) == [("fault", "PATH_OUTSIDE_WORKSPACE", "")]
    assert run_cli("check").returncode == 1
    assert not (tmp_path / "canary").exists()


def test_hostile_words_reach_no_terminal(run_cli, make_tool: Tool) -> None:
    make_tool("t\x1b[31m", answering(about(name="\x1b[2J", description="\x1b")))
    done = run_cli("check")
    assert done.returncode == 1
    assert "\x1b" not in done.stdout + done.stderr
    assert run_cli("check", "--json").stdout.isascii()
