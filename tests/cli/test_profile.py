"""`--profile NAME`, on every verb."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcrib.cli import VERBS

NEEDED = {
    "show": ["read_file"],
    "call": ["read_file"],
    "new": ["executable", "fresh"],
    "build": ["something"],
    "policy": ["check"],
    "grant": ["read_file", "env", "LANG"],
    "session": ["list"],
    "skill": ["list"],
    "serve": ["mcp"],
    "artifact": ["list"],
    "audit": ["show"],
    "completion": ["bash"],
}
"""What must stand beside a verb."""
HEAVY = {"asyncio", "argparse", "json", "yaml", "orjson", "dataclasses", "typing", "jsonschema_rs", "pydantic", "re"}


@pytest.fixture
def profiles(home: Path) -> Callable[..., None]:
    def write(**texts: str) -> None:
        (home / "profiles").mkdir(exist_ok=True)
        for name, text in texts.items():
            (home / "profiles" / f"{name}.yaml").write_text(text)

    return write


def names(done: Any) -> set[str]:
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("verb", VERBS)
def test_a_profile_that_is_nowhere_stops_every_verb(cli, profiles, home: Path, workspace: Path, verb: str) -> None:
    """Before anything is done."""
    profiles(reader="")
    before = sorted(home.rglob("*"))
    done = cli(verb, *NEEDED.get(verb, []), "--profile", "nowhere")
    assert done.returncode == 2
    assert "CONFIG_INVALID" in done.stderr and "there is no profile 'nowhere'; there are reader" in done.stderr
    assert done.stdout == ""
    assert sorted(home.rglob("*")) == before and list(workspace.iterdir()) == []


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in ("call", "build", "test", "grant", "serve")])
def test_every_verb_takes_one_that_is_there(cli, profiles, verb: str) -> None:
    profiles(reader="toolsets: {filesystem: {}}")
    more = {"trust": ["--yes"]}.get(verb, [])
    assert cli(verb, *NEEDED.get(verb, []), *more, "--profile", "reader").returncode == 0


@pytest.mark.parametrize("verb", ["show", "check", "stats", "approve", "audit", "doctor", "trust"])
def test_with_json_the_fault_is_one_document(cli, verb: str) -> None:
    done = cli(verb, *NEEDED.get(verb, []), "--json", "--profile", "nowhere")
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["code"] == "CONFIG_INVALID"


def test_help_names_it(cli) -> None:
    for verb in VERBS:
        assert "--profile NAME" in cli(verb, "--help").stdout, verb


def test_list_is_kept_for_each_profile_by_itself(run_cli, profiles, repeat: Path, home: Path) -> None:
    """K80: and a change of the profile is seen at once."""
    profiles(one="toolsets: {}", two="toolsets: {search: {}}\nsources: {without: ['custom_tool_*']}")
    for _ in range(2):
        assert names(run_cli("list", "--names", "--profile", "one")) == {"custom_tool_repeat"}
        assert names(run_cli("list", "--names", "--profile=two")) == {"glob", "grep"}
        assert {"custom_tool_repeat", "run_command", "read_file"} <= names(run_cli("list", "--names"))
    profiles(one="toolsets: {}\nsources: {rename: {custom_tool_repeat: again}}")
    assert names(run_cli("list", "--names", "--profile", "one")) == {"again"}
    listed = json.loads(run_cli("list", "--json", "--profile", "one").stdout)
    assert set(listed) == {"tools", "problems"} and listed["tools"][0]["name"] == "again"
    (home / "profiles" / "one.yaml").unlink()
    done = run_cli("list", "--names", "--profile", "one")
    assert (done.returncode, done.stdout) == (2, "")


def test_the_quick_way_is_quick_under_a_profile(run_cli, profiles, repeat: Path, workspace: Path, environment) -> None:
    profiles(p="toolsets: {}")
    run_cli("list", "--profile", "p")
    code = "import sys\nfrom toolcrib.cli import main\nmain(sys.argv[1:])\nsys.stderr.write(' '.join(sys.modules))"
    argv = [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}", "list", "--profile", "p"]
    done = subprocess.run(argv, cwd=workspace, env=environment, capture_output=True, text=True, check=True)
    assert "custom_tool_repeat" in done.stdout and HEAVY & set(done.stderr.split()) == set()


@pytest.mark.parametrize("words", [["--profile"], ["--profile", "p", "--profile", "p"], ["p"]])
def test_list_without_a_name_or_with_two(cli, profiles, words: list[str]) -> None:
    profiles(p="")
    done = cli("list", *words)
    assert (done.returncode, done.stdout) == (2, "") and "toolcrib list: unknown" in done.stderr


def test_the_profiles_there_are(cli, profiles, workspace: Path) -> None:
    assert cli("list", "--profiles").stderr.startswith("no profiles yet")
    profiles(reader="description: Only reads.\ntoolsets: {filesystem: {}}", broken="toolset: {}", plain="")
    done = cli("list", "--profiles")
    assert done.returncode == 0
    assert done.stdout.splitlines() == ["broken", "plain", "reader  Only reads."]
    assert "did you mean toolsets?" in done.stderr
    assert cli("list", "--profiles", "--names").stdout == "broken\nplain\nreader\n"
    report = json.loads(cli("list", "--profiles", "--json").stdout)
    rows = [{"name": "plain", "description": ""}, {"name": "reader", "description": "Only reads."}]
    assert report["profiles"] == rows
    assert [problem["code"] for problem in report["problems"]] == ["CONFIG_INVALID"]


@pytest.mark.parametrize(
    "words",
    [
        ["--profile", "p", "again", "--name", "Bob"],
        ["--profile=p", "again", "--name", "Bob"],
        ["again", "--name", "Bob", "--profile", "p"],
        ["again", "--profile=p", "--name", "Bob"],
        ["repeat", "--profile=p", "--name", "Bob"],
    ],
)
def test_a_call_takes_it_before_or_after_the_name(run_cli, profiles, repeat: Path, words: list[str]) -> None:
    profiles(p="sources: {rename: {custom_tool_repeat: again}}")
    done = run_cli("call", *words, "--yes")
    assert (done.returncode, json.loads(done.stdout)) == (0, {"name": "Bob"}), done.stderr


def test_the_value_of_another_flag_is_no_profile(run_cli, profiles, repeat: Path, workspace: Path) -> None:
    """The word after a flag is its value, whatever it looks like."""
    profiles(p="toolsets: {}")
    done = run_cli("call", "repeat", "--yes", "--name", "--profile")
    assert json.loads(done.stdout) == {"name": "--profile"}
    (workspace / "ran").unlink()
    for words in (
        ["repeat", "--name", "--profile", "p"],
        ["--profile", "p", "repeat", "--profile", "q"],
        ["repeat", "--profile", "p", "--profile", "p"],
    ):
        done = run_cli("call", *words, "--yes")
        assert (done.returncode, done.stdout) == (2, ""), words
    assert not (workspace / "ran").exists()


def test_what_a_refusal_says_to_write_is_true(run_cli, profiles, repeat: Path, home: Path) -> None:
    profiles(p="sources: {rename: {custom_tool_repeat: again}}")
    done = run_cli("call", "again", "--profile", "p")
    assert (done.returncode, "{tools: {custom_tool_repeat: preApproved}}" in done.stderr) == (3, True)
    (home / "config.yaml").write_text("approval: {tools: {custom_tool_repeat: preApproved}}")
    assert run_cli("call", "again", "--profile", "p").returncode == 0


def test_show_check_and_explain_speak_of_it(run_cli, profiles, repeat: Path) -> None:
    profiles(
        p="sources: {rename: {custom_tool_repeat: again}}\n"
        "approval: {tools: {custom_tool_repeat: blocked, custom_tool_nobody: ask}}"
    )
    about = json.loads(run_cli("show", "again", "--profile", "p", "--json").stdout)
    assert (about["name"], about["id"], about["approval"]) == ("again", "executable:again", "blocked")
    explained = json.loads(run_cli("policy", "explain", "again", "--profile", "p", "--json").stdout)
    assert explained["decision"] == "blocked" and "profiles/p.yaml:2" in explained["reason"]
    checked = run_cli("check", "--profile", "p").stdout
    assert "it names custom_tool_nobody" in checked and "it names custom_tool_repeat" not in checked


def test_a_rule_for_a_renamed_tool_is_not_dead(run_cli, profiles, repeat: Path, home: Path) -> None:
    profiles(p="sources: {rename: {custom_tool_repeat: again}}")
    (home / "policy.yaml").write_text(
        "rules: [{tool: custom_tool_repeat, approval: ask}, {tool: again, approval: ask}, {tool: nobody, approval: ask}]"
    )
    found = json.loads(run_cli("policy", "check", "--profile", "p", "--json").stdout)["findings"]
    assert [(each["kind"], each["line"]) for each in found] == [("dead", 1)]


def test_a_client_is_connected_under_it(cli, profiles) -> None:
    profiles(reviewer="")
    for client in ("claude", "codex"):
        assert cli("serve", "mcp", "--print-config", client, "--profile", "reviewer").stdout.endswith(
            "serve mcp --ask client --profile reviewer\n"
        )
    told = json.loads(cli("serve", "mcp", "--print-config", "gemini", "--profile", "reviewer").stdout)
    assert told["mcpServers"]["toolcrib"]["args"][-2:] == ["--profile", "reviewer"]
    assert "--profile" not in cli("serve", "mcp", "--print-config", "claude").stdout


def test_an_agent_sees_what_the_profile_offers(run_cli, profiles, repeat: Path) -> None:
    profiles(reviewer="toolsets: {}\nsources: {rename: {custom_tool_repeat: again}}")
    about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    sent = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    lines = "".join(json.dumps(each) + "\n" for each in sent)
    done = run_cli("serve", "mcp", "--profile", "reviewer", input=lines)
    answers = {each["id"]: each for each in map(json.loads, done.stdout.splitlines()) if "id" in each}
    assert [tool["name"] for tool in answers[2]["result"]["tools"]] == ["again"]


def test_the_profile_of_the_workspace_that_is_served(run_cli, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / ".toolcrib" / "profiles").mkdir(parents=True)
    (other / ".toolcrib" / "profiles" / "theirs.yaml").write_text("toolsets: {}")
    assert run_cli("trust", str(other), "--yes").returncode == 0
    words = ["serve", "mcp", "--print-config", "claude", "--profile", "theirs"]
    assert run_cli(*words).returncode == 2
    assert run_cli(*words, "--workspace", str(other)).returncode == 0


def test_doctor_shows_profiles_and_their_faults(cli, profiles, workspace: Path) -> None:
    def said(*words: str) -> list[dict[str, str]]:
        report = json.loads(cli("doctor", "--json", *words).stdout)
        return [check for check in report["checks"] if check["name"] == "profiles"]

    assert [check["state"] for check in said()] == ["ok"]
    profiles(reader="toolsets: {filesystem: {}}")
    assert [check["message"] for check in said("--profile", "reader")] == ["reader (chosen)"]
    profiles(broken="name: other")
    first, second = said()
    assert first["state"] == "note" and "broken cannot be chosen" in first["message"]
    assert "profiles/broken.yaml:1" in first["message"]
    assert second["message"] == "there are broken, reader"
    assert json.loads(cli("doctor", "--json", "--profile", "reader").stdout)["next"].endswith("--profile reader")


def test_doctor_says_what_a_projects_profile_says_in_vain(run_cli, workspace: Path) -> None:
    (workspace / ".toolcrib" / "profiles").mkdir(parents=True)
    (workspace / ".toolcrib" / "profiles" / "p.yaml").write_text("sandbox: off")
    run_cli("trust", "--yes")
    checks = json.loads(run_cli("doctor", "--json").stdout)["checks"]
    said = [check["message"] for check in checks if check["name"] == "profiles"]
    assert "p says in vain: line 1: sandbox would loosen" in said[0]
