"""`toolcrib doctor`: what works here, what does not, and the fix."""

import os

import pytest

from toolcrib.builtins import TOOLS
from toolcrib.core.jsontext import parse
from toolcrib.sandbox import choose


@pytest.fixture
def doctor(cli):
    """The exit status, and the checks by name."""

    def ask(**options) -> tuple[int, dict[str, dict], dict]:
        done = cli("doctor", "--json", **options)
        answer = parse(done.stdout)
        assert answer["ok"] == (done.returncode == 0)
        assert "Traceback" not in done.stderr
        worst = {"ok": 0, "note": 1, "broken": 2}
        checks = sorted(answer["checks"], key=lambda check: worst[check["state"]])
        return done.returncode, {check["name"]: check for check in checks}, answer

    return ask


def test_an_empty_home_is_usable(doctor, home) -> None:
    status, checks, answer = doctor()
    assert status == 0
    known = "python home config profiles policy tools project sandbox audit path git node go"
    assert set(checks) == set(known.split())
    assert checks["python"]["message"].startswith("3.")
    assert "process" in checks["sandbox"]["message"]
    assert answer["next"].startswith("toolcrib serve mcp")
    assert os.listdir(home) == ["cache"]  # asking changes nothing: what the tiers are is remembered there


def test_a_missing_home_will_be_made(doctor, tmp_path) -> None:
    status, checks, _ = doctor(env={"TOOLCRIB_HOME": str(tmp_path / "not" / "yet")})
    assert (status, checks["home"]["state"]) == (0, "ok")
    assert not (tmp_path / "not").exists()


def test_tools_and_problems_are_counted(doctor, repeat, make_tool) -> None:
    make_tool("broken", "#!/bin/sh\nexit 3\n")
    status, checks, _ = doctor()
    assert (status, checks["tools"]["message"]) == (0, f"{len(TOOLS) + 1} on offer, 1 problems")
    assert "toolcrib check" in checks["tools"]["fix"]


def test_a_fault_in_the_configuration_has_path_and_line(doctor, home) -> None:
    (home / "config.yaml").write_text("approval:\n  defualt: ask\n")
    (home / "config.yaml").chmod(0o600)
    status, checks, _ = doctor()
    assert (status, checks["config"]["state"]) == (1, "broken")
    assert f"{home}/config.yaml:2:" in checks["config"]["message"]
    assert checks["config"]["fix"] == f"correct {home}/config.yaml, line 2"


def test_a_trust_file_that_is_none_is_named(doctor, home) -> None:
    (home / "trust.json").write_text("{")
    status, checks, _ = doctor()
    assert status == 1
    assert "trust.json" in checks["config"]["message"]


def test_modes_that_let_others_in_are_named_with_the_fix(doctor, home, repeat) -> None:
    home.chmod(0o755)
    status, checks, _ = doctor()
    assert (status, checks["home"]["state"], checks["home"]["fix"]) == (0, "note", f"chmod 700 {home}")
    home.chmod(0o777)
    assert doctor()[0] == 1
    home.chmod(0o700)
    (home / "tools").chmod(0o777)
    status, checks, _ = doctor()
    assert (status, checks["home"]["fix"]) == (1, f"chmod 700 {home}/tools")


def test_a_project_is_trusted_or_not(doctor, workspace, run_cli) -> None:
    (workspace / ".toolcrib" / "tools").mkdir(parents=True)
    _, checks, _ = doctor()
    assert checks["project"]["state"] == "note"
    assert f"toolcrib trust {workspace}" in checks["project"]["fix"]
    assert run_cli("trust", "--yes").returncode == 0
    assert doctor()[1]["project"]["message"] == f"{workspace} is trusted"
    (workspace / ".toolcrib" / "policy.yaml").write_text("rules: []\n")
    _, checks, _ = doctor()
    assert (checks["project"]["state"], checks["project"]["fix"]) == (
        "note",
        f"look at what changed: toolcrib trust {workspace}",
    )


def test_a_policy_is_counted_or_broken(doctor, home) -> None:
    (home / "policy.yaml").write_text("rules: [{tool: read_file, approval: ask}]\n")
    (home / "policy.yaml").chmod(0o600)
    assert doctor()[1]["policy"]["message"].startswith("1 rules")
    (home / "policy.yaml").write_text("rules: [{tool: read_file, approval: maybe}]\n")
    status, checks, _ = doctor()
    assert (status, checks["policy"]["state"]) == (1, "broken")
    assert f"{home}/policy.yaml:1: approval" in checks["policy"]["message"]


def test_a_protection_that_is_not_built_is_broken(doctor, home) -> None:
    (home / "config.yaml").write_text("sandbox: bubblewrap\n")
    (home / "config.yaml").chmod(0o600)
    status, checks, _ = doctor()
    assert (status, checks["sandbox"]["state"]) == (1, "broken")
    assert "sandbox: auto" in checks["sandbox"]["fix"]


def test_a_sandbox_that_was_put_right_is_found_to_hold(doctor, home, monkeypatch) -> None:
    """Whoever followed the advice asks again, and what was found out before does not count any more."""
    (home / "config.yaml").write_text("sandbox: bubblewrap\n")
    assert doctor()[0] == 1
    monkeypatch.setattr(choose, "_canaries", lambda: {"bubblewrap": lambda: ""})
    status, checks, _ = doctor()
    assert (status, checks["sandbox"]["state"]) == (0, "ok")


def test_a_changed_record_is_broken(doctor, repeat, run_cli, home) -> None:
    run_cli("call", "repeat", "--yes")
    assert doctor()[1]["audit"]["state"] == "ok"
    (file,) = (home / "audit").glob("*.jsonl")
    file.write_bytes(file.read_bytes().replace(b"repeat", b"rep3at"))
    status, checks, _ = doctor()
    assert (status, checks["audit"]["state"]) == (1, "broken")
    assert f"{file}:1: the record was changed" in checks["audit"]["message"]


def test_tools_of_other_systems_are_hinted_at(doctor, workspace, run_cli) -> None:
    (workspace / "kodelet-tools").mkdir()
    assert ["kodelet" in line for line in doctor()[2]["hints"]] == [True]
    assert "hint: " in run_cli("doctor").stderr


def test_a_command_that_is_not_on_the_path_is_noted(doctor, tmp_path) -> None:
    status, checks, _ = doctor(env={"PATH": str(tmp_path)})
    assert (status, checks["path"]["state"], checks["git"]["state"]) == (0, "note", "note")


def test_for_a_person(run_cli) -> None:
    done = run_cli("doctor")
    assert done.returncode == 0
    assert "ok" in done.stdout
    assert "toolcrib serve mcp --print-config claude" in done.stderr
    assert "toolcrib doctor" in run_cli("doctor", "--help").stdout
