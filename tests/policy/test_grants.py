"""What single tools may see beyond the rest, for as long as they do not change."""

import fcntl
import json
import subprocess
import sys
from pathlib import Path

import pytest

from toolcrib.core.errors import ConfigError
from toolcrib.policy import _alone
from toolcrib.policy.grants import Grants


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "home" / "grants.json"


@pytest.fixture
def grants(file: Path) -> Grants:
    return Grants(str(file), file.write_bytes)


def test_a_grant_counts_for_this_version_of_this_tool(grants: Grants) -> None:
    grants.add("t:a", "sha256:1", ["LANG", "REGION"])
    assert grants.grants_for("t:a", "sha256:1") == ("LANG", "REGION")
    assert grants.grants_for("t:a", "sha256:2") == ()
    assert grants.grants_for("t:b", "sha256:1") == ()


def test_the_same_again_changes_nothing(grants: Grants) -> None:
    first = grants.add("t:a", "1", ["LANG"])
    assert grants.add("t:a", "1", ["LANG", "LANG"]) == first == grants.all()


def test_what_an_older_version_had_goes_when_the_new_one_is_granted_something(grants: Grants) -> None:
    grants.add("t:a", "1", ["LANG"])
    grants.add("t:b", "1", ["LANG"])
    grants.add("t:a", "2", ["REGION"])
    assert grants.grants_for("t:a", "1") == ()
    assert [(each.tool, each.value) for each in grants.all()] == [("t:b", "LANG"), ("t:a", "REGION")]


def test_grants_are_taken_back_by_id_by_tool_by_name_and_all(grants: Grants) -> None:
    one, _, _ = grants.add("t:a", "1", ["A", "B", "C"])
    grants.add("t:b", "1", ["A"])
    assert grants.remove(id="nothing") == 0
    assert grants.remove(id=one.id) == 1
    assert grants.remove(tool="t:a", values=["B", "Z"]) == 1
    assert grants.grants_for("t:a", "1") == ("C",)
    assert grants.remove(tool="t:a") == 1
    assert grants.grants_for("t:b", "1") == ("A",)
    assert grants.remove() == 1
    assert grants.all() == ()


def test_a_lock_that_is_not_let_go_of_is_an_error(grants: Grants, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (one,) = grants.add("t:a", "1", ["LANG"])
    monkeypatch.setattr(_alone, "LOCK_SECONDS", 0.1)
    with open(f"{file}.lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for change in (lambda: grants.add("t:a", "1", ["REGION"]), grants.remove):
            with pytest.raises(BlockingIOError, match="another process has held the lock") as caught:
                change()
            assert caught.value.filename == f"{file}.lock"
    assert grants.all() == (one,)


def test_looking_makes_no_file(grants: Grants, file: Path) -> None:
    assert grants.all() == () and grants.remove() == 0
    assert not file.parent.exists()


def test_grants_of_several_kinds_stand_beside_each_other(grants: Grants) -> None:
    grants.add("t:a", "1", ["LANG"])
    grants.add("t:a", "1", ["*"], kind="network")
    grants.add("t:a", "1", ["/data"], kind="ro")
    assert [grants.grants_for("t:a", "1", kind) for kind in ("env", "network", "ro", "rw")] == [
        ("LANG",), ("*",), ("/data",), (),
    ]  # fmt: skip
    assert grants.remove(tool="t:a", kinds=("ro", "rw")) == 1
    assert [(each.kind, each.value) for each in grants.all()] == [("env", "LANG"), ("network", "*")]


def test_what_was_granted_before_there_were_kinds_is_a_variable(grants: Grants, file: Path) -> None:
    file.parent.mkdir()
    file.write_text(json.dumps({"version": 1, "grants": [GOOD, {**GOOD, "id": "b", "version": "1.0"}]}))
    assert [(each.kind, each.value, each.version) for each in grants.all()] == [
        ("env", "LANG", None), ("env", "LANG", "1.0"),
    ]  # fmt: skip
    grants.add("t:a", "1", ["*"], kind="network")
    assert grants.grants_for("t:a", "1") == ("LANG", "LANG")


GOOD = {"id": "a", "tool": "t:a", "digest": "1", "variable": "LANG", "at": 1.0}
OTHER = {"id": "a", "tool": "t:a", "digest": "1", "kind": "rw", "value": "/data", "at": 1.0}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"version": 1}',
        json.dumps({"version": 2, "grants": []}),
        json.dumps({"version": 1, "grants": {}}),
        json.dumps({"version": 1, "grants": [], "more": 1}),
        json.dumps({"version": 1, "grants": [{**GOOD, "more": 1}]}),
        json.dumps({"version": 1, "grants": [{**GOOD, "variable": "A=B"}]}),
        json.dumps({"version": 1, "grants": [{**GOOD, "variable": None}]}),
        json.dumps({"version": 1, "grants": ["LANG"]}),
        json.dumps({"version": 1, "grants": [{**GOOD, "kind": "env"}]}),
        json.dumps({"version": 1, "grants": [{**OTHER, "kind": "everything"}]}),
        json.dumps({"version": 1, "grants": [{**OTHER, "value": ""}]}),
        json.dumps({"version": 1, "grants": [{**OTHER, "value": "/a\0b"}]}),
        json.dumps({"version": 1, "grants": [{**OTHER, "value": ["/a"]}]}),
    ],
)
def test_a_file_that_is_not_ours_grants_nothing_and_says_what_to_do(grants: Grants, file: Path, text: str) -> None:
    file.parent.mkdir()
    file.write_text(text)
    for use in (lambda: grants.grants_for("t:a", "1"), lambda: grants.add("t:a", "1", ["X"]), grants.remove):
        with pytest.raises(ConfigError, match=r"grants\.json: .*grant anew"):
            use()
    assert file.read_text() == text


WRITER = """
import sys
from toolcrib.policy.grants import Grants
from toolcrib.store.home import Home

home = Home(sys.argv[1])
grants = Grants(home.file("grants.json"), lambda data: home.replace(data, "grants.json"))
sys.stdin.readline()
for number in range(20):
    grants.add(f"t:{sys.argv[2]}", "1", [f"V{number}"])
"""


def test_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", WRITER, str(tmp_path)]
    started = [subprocess.Popen([*argv, str(number)], stdin=subprocess.PIPE, text=True) for number in range(4)]
    for each in started:
        assert each.stdin
        each.stdin.write("go\n")
        each.stdin.flush()
    assert [each.communicate(timeout=60) and each.returncode for each in started] == [0] * 4
    assert len(Grants(str(tmp_path / "grants.json"), lambda data: None).all()) == 80
