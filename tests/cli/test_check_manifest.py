"""`toolcrib check` on folders with a `tool.yaml`: every fault with its line and fix, and nothing started."""

import json
from pathlib import Path

import pytest

GOOD = """name: one
description: Is one.
version: "1.0.0"
entrypoint: run.sh
"""


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    return tmp_path / "canary"


@pytest.fixture
def folder(canary: Path):
    """`folder(place, text)` writes one whose program would touch the canary."""

    def write(place: Path, text: str = GOOD, *, shebang: str = "#!/bin/sh") -> Path:
        place.mkdir(parents=True)
        (place / "tool.yaml").write_text(text)
        (place / "run.sh").write_text(f"{shebang}\n: > {canary}\n")
        (place / "run.sh").chmod(0o755)
        return place

    return write


def found(done) -> dict[str, list]:
    said = json.loads(done.stdout)
    return {each["origin"]: each["findings"] for each in said["checked"]}


@pytest.mark.parametrize("how", ["one", "custom_tool_one", "{folder}", "{folder}/tool.yaml", "{folder}/"])
def test_a_good_folder_by_name_and_by_path(home, folder, canary, run_cli, how) -> None:
    place = folder(home / "tools" / "one")
    done = run_cli("check", how.replace("{folder}", str(place)), "--json")
    assert (done.returncode, found(done)) == (0, {str(place / "tool.yaml"): []})
    assert not canary.exists()


def test_a_folder_that_is_not_installed(tmp_path, folder, run_cli) -> None:
    place = folder(tmp_path / "elsewhere" / "one")
    assert run_cli("check", str(place)).returncode == 0
    assert run_cli("check", "./one", cwd=place.parent).returncode == 0


def test_every_fault_is_listed_with_its_line_and_fix(home, folder, canary, run_cli) -> None:
    text = "name: two\nversion: 1.0\nentrypoint: ../run.sh\nparamters: []\nlimits: {timeout: soon}\n"
    place = folder(home / "tools" / "one", text)
    done = run_cli("check", "one", "--json")
    findings = found(done)[str(place / "tool.yaml")]
    places = [(each["line"], each["column"]) for each in findings]
    assert done.returncode == 1
    assert places == [(1, 1), (1, 1), (2, 1), (3, 1), (4, 1), (5, 10)]
    assert [each["message"].split(": ")[0] for each in findings] == [f"line {y}, column {x}" for y, x in places]
    assert all(each["fix"] and each["severity"] == "fault" for each in findings)
    assert "did you mean parameters?" in [each["fix"] for each in findings]
    drawn = run_cli("check", "one").stdout
    assert drawn.count("FAULT") == 6 and drawn.count("fix: ") == 6
    assert not canary.exists()


def test_secrets_that_stand_in_the_manifest(home, folder, run_cli) -> None:
    token = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hL3nR6"
    place = folder(home / "tools" / "one", GOOD + f"usage: |\n  Use {token} for it.\n")
    done = run_cli("check", "one", "--json")
    (finding,) = found(done)[str(place / "tool.yaml")]
    assert (finding["severity"], finding["code"]) == ("warning", "ENV_NOT_ALLOWED")
    assert "line 6" in finding["message"] and token not in done.stdout


@pytest.mark.parametrize(
    ("more", "shebang", "severity", "words"),
    [
        ("", "echo hi", "fault", "no #! line"),
        ("", "#!/no/such/thing", "fault", "/no/such/thing is not there"),
        ("requires: [no-such-program]\n", "#!/bin/sh", "fault", "no-such-program"),
        ("parameters: [{name: a, type: string}]\n", "#!/bin/sh", "warning", "a is not described"),
    ],
)
def test_what_is_beyond_the_manifest(home, folder, run_cli, more, shebang, severity, words) -> None:
    place = folder(home / "tools" / "one", GOOD + more, shebang=shebang)
    (finding,) = found(run_cli("check", str(place), "--json"))[str(place / "tool.yaml")]
    assert finding["severity"] == severity and words in finding["message"]


def test_all_tools_are_checked(home, folder, make_tool, repeat_script, run_cli) -> None:
    good = folder(home / "tools" / "one")
    bad = folder(home / "tools" / "two")
    make_tool("repeat", repeat_script)
    checked = found(run_cli("check", "--json"))
    assert {str(good / "tool.yaml"), str(bad / "tool.yaml"), str(home / "tools" / "repeat")} <= checked.keys()
    assert [each["code"] for each in checked[str(bad / "tool.yaml")]] == ["TOOL_NAME_INVALID"]
    assert str(bad / "tool.yaml") in found(run_cli("check", str(home / "tools"), "--json"))


def test_a_name_that_a_program_claims_too(home, folder, make_tool, repeat_script, run_cli) -> None:
    place = folder(home / "tools" / "one")
    make_tool("other", repeat_script.replace('"name": "repeat"', '"name": "one"'))
    checked = found(run_cli("check", str(place), "--json"))
    assert "TOOL_NAME_CONFLICT" in [each["code"] for each in checked[str(place / "tool.yaml")]]


def test_nothing_of_an_untrusted_project_is_read(workspace, folder, canary, run_cli) -> None:
    place = folder(workspace / ".toolcrib" / "tools" / "one", "name: [\n")
    done = run_cli("check", str(place))
    assert (done.returncode, "WORKSPACE_UNTRUSTED" in done.stderr, "line" in done.stdout) == (3, True, False)
    assert str(place) not in run_cli("check").stdout
    assert not canary.exists()


@pytest.mark.parametrize("change", ["tool.yaml", "run.sh", "new"])
def test_a_project_s_folder_that_changed_since_it_was_trusted(workspace, folder, canary, run_cli, change) -> None:
    place = folder(workspace / ".toolcrib" / "tools" / "one")
    assert run_cli("trust", "--yes").returncode == 0
    assert run_cli("check", "one").returncode == 0
    (place / change).write_text("changed: [\n")
    done = run_cli("check", str(place))
    assert (done.returncode, "WORKSPACE_UNTRUSTED" in done.stderr) == (3, True)
    assert not canary.exists()


def test_a_directory_that_is_no_tool_is_not_checked(tmp_path, run_cli) -> None:
    (tmp_path / "plain").mkdir()
    assert run_cli("check", str(tmp_path / "plain")).returncode == 2
