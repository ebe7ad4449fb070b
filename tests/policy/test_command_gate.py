"""Every command case once more, through the whole gate and with nobody to ask: what is not pre-approved does not run."""

import asyncio
import json
import os
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

import toolcrib
from toolcrib.core.call import Call

from .command_cases import ASK, BLOCKED, CASES, PRE_APPROVED, Case


def args(case: Case) -> dict[str, object]:
    return {"command": case.command} if isinstance(case.command, str) else {"argv": list(case.command)}


def policy(allowed: tuple[str, ...], blocked: tuple[str, ...]) -> str:
    rules = [{"command": list(allowed), "approval": "preApproved"}] if allowed else []
    rules += [{"command": list(blocked), "approval": "blocked"}] if blocked else []
    return json.dumps({"rules": rules})


def by_policy() -> Iterator[tuple[tuple[tuple[str, ...], tuple[str, ...]], list[Case]]]:
    key = lambda case: (case.allowed, case.blocked)  # noqa: E731  # used twice, and nowhere else
    for rules, cases in groupby(sorted(CASES, key=key), key=key):
        yield rules, list(cases)


def snapshot(root: Path) -> list[tuple[str, bytes | None]]:
    return [(str(each.relative_to(root)), each.read_bytes() if each.is_file() else None) for each in root.rglob("*")]


@pytest.fixture
def furnished(workspace: Path) -> Path:
    """A workspace in which a hostile command would find what it needs."""
    for name in ("README.md", "a.txt", "x", "f"):
        (workspace / name).write_text("one\ntwo\n")
    for name in ("x.sh", "evil.sh", "run.sh", "script.sh"):
        (workspace / name).write_text("#!/bin/sh\n: > canary\n")
        (workspace / name).chmod(0o755)
    (workspace / "src").mkdir()
    (workspace / ".git").mkdir()
    return workspace


def test_nothing_runs_but_what_is_pre_approved(home: Path, furnished: Path) -> None:
    """B-class attacks: each of the hostile commands is really sent; nothing is made, changed or removed."""
    before = sorted(snapshot(furnished))
    sent = 0

    async def send(cases: list[Case]) -> int:
        async with toolcrib.open(workspace=furnished, home=home) as crib:
            for case in cases:
                if case.expected == PRE_APPROVED:
                    continue
                result = await crib.call("run_command", args(case))
                assert result.error is not None, case
                assert result.metadata["attempts"] == 0, case
                assert result.error.code in (
                    "APPROVAL_REQUIRED", "BLOCKED_BY_POLICY", "COMMAND_NOT_ANALYSABLE", "VALIDATION_ERROR",
                ), (case, result)  # fmt: skip
        return sum(case.expected != PRE_APPROVED for case in cases)

    for (allowed, blocked), cases in by_policy():
        (home / "policy.yaml").write_text(policy(allowed, blocked))
        sent += asyncio.run(send(cases))
        assert sorted(snapshot(furnished)) == before, cases
    assert sent > 300


def test_the_gate_decides_as_the_patterns_do(home: Path, furnished: Path) -> None:
    wrong = []
    for (allowed, blocked), cases in by_policy():
        (home / "policy.yaml").write_text(policy(allowed, blocked))

        async def judge(cases: list[Case] = cases) -> None:
            async with toolcrib.open(workspace=furnished, home=home) as crib:
                tool = crib.find("run_command")
                assert tool is not None
                for case in cases:
                    decision = crib.policy.judge(Call("run_command", args(case), ""), tool).decision.wire
                    if decision != case.expected and (decision, case.expected) not in STRICTER:
                        wrong.append((decision, case))

        asyncio.run(judge())
    assert wrong == []


STRICTER = {("blocked", "refused"), ("ask", BLOCKED)}
"""What cannot be analysed is refused by the same word; a program nobody can know is asked about instead of blocked."""


def test_nobody_can_approve_what_is_blocked(home: Path, furnished: Path) -> None:
    """G16: with a person who says yes to everything, the blocked ones that can be seen still do not run."""
    before = sorted(snapshot(furnished))
    refused = 0

    async def send(cases: list[Case]) -> int:
        found = 0
        async with toolcrib.open(workspace=furnished, home=home, approver=toolcrib.SaysYes()) as crib:
            tool = crib.find("run_command")
            assert tool is not None
            for case in cases:
                verdict = crib.policy.judge(Call("run_command", args(case), ""), tool)
                if case.expected == BLOCKED and verdict.decision.wire == BLOCKED:
                    result = await crib.call("run_command", args(case))
                    assert result.error is not None
                    assert result.error.code in ("BLOCKED_BY_POLICY", "COMMAND_NOT_ANALYSABLE"), case
                    found += 1
        return found

    for (allowed, blocked), cases in by_policy():
        if blocked:
            (home / "policy.yaml").write_text(policy(allowed, blocked))
            refused += asyncio.run(send(cases))
    assert refused > 40
    assert sorted(snapshot(furnished)) == before


def test_a_path_that_leads_through_the_workspace_spoils_bare_names(
    home: Path, furnished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that a tool could write is not the program of the rule."""
    (home / "policy.yaml").write_text(policy(("ls",), ()))
    (furnished / "bin").mkdir()
    (furnished / "bin/ls").write_text("#!/bin/sh\n: > canary\n")
    (furnished / "bin/ls").chmod(0o755)
    for path in (f"{furnished}/bin:{os.environ['PATH']}", f".:{os.environ['PATH']}", f":{os.environ['PATH']}", "bin"):
        monkeypatch.setenv("PATH", path)
        for call in ({"command": "ls"}, {"argv": ["ls"]}):
            result = toolcrib.call_sync("run_command", call, workspace=furnished, home=home)
            assert result.error is not None
            assert result.error.code == "APPROVAL_REQUIRED"
    assert not (furnished / "canary").exists()
    monkeypatch.setenv("PATH", f"/usr/bin:/bin:{furnished}/bin")
    assert toolcrib.call_sync("run_command", {"argv": ["ls"]}, workspace=furnished, home=home).success


def test_ask_is_never_less_than_ask() -> None:
    """The cases themselves: every expectation is one of the known words."""
    assert {case.expected for case in CASES} == {PRE_APPROVED, ASK, "refused", BLOCKED}
