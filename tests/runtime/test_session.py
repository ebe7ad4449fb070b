"""Sessions: skills are active for one of them, at once or not at all, and still after a crash."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from tests.skill_texts import skill_text

import toolcrib
from toolcrib.core.errors import ToolcribError
from toolcrib.policy.approvers import SaysYes
from toolcrib.store.home import Home
from toolcrib.store.sessions import KeptSessions


def in_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """The same test, as a plain function."""

    @wraps(test)
    def run(**given: Any) -> None:
        asyncio.run(test(**given))

    return run


def opened(home: Path, workspace: Path, **more: Any) -> Any:
    return toolcrib.open(home=home, workspace=workspace, approver=SaysYes(), **more)


def put_skill(home: Path, name: str, text: str) -> Path:
    folder = home / "skills" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(text)
    return folder


def names(view: Any) -> set[str]:
    return {tool.name for tool in view.tools()}


@in_a_loop
async def test_a_skill_is_active_in_one_session_and_nowhere_else(home: Path, workspace: Path) -> None:
    """A28, A30, A33, A34."""
    async with opened(home, workspace) as crib:
        one, other = await crib.sessions.create(), await crib.sessions.create("other")
        before = names(other)
        brought = await crib.sessions.use_skill(one.id, "sayer", skill_text("sayer", say_hi="hi", say_ho="ho"))
        assert brought == ["say_hi", "say_ho"]
        assert names(one) == before | {"say_hi", "say_ho"}
        assert names(other) == names(crib) == before
        result = await one.call("say_hi")
        assert (result.output, result.metadata["version"]) == ("hi\n", "1.0.0")
        refused = await other.call("say_hi")
        assert refused.error.code == "TOOL_NOT_FOUND"
        (active,) = await crib.sessions.list_active_skills(one.id)
        assert (active.name, active.version, active.tool_names) == ("sayer", "1.0.0", ("say_hi", "say_ho"))
        assert await crib.sessions.list_active_skills("other") == []


@in_a_loop
async def test_removing_a_skill_brings_back_what_it_covered(home: Path, workspace: Path) -> None:
    """A29, A34."""
    program = home / "tools" / "greet"
    program.parent.mkdir(parents=True)
    program.write_text(
        '#!/bin/sh\n[ "$1" = description ] && echo \'{"name":"greet","description":"Mine","input_schema":'
        '{"type":"object"}}\' || echo mine\n'
    )
    program.chmod(0o755)
    async with opened(home, workspace) as crib:
        session = await crib.sessions.create()
        assert (await session.call("custom_tool_greet")).output == "mine\n"
        await session.use_skill("cover", skill_text("cover", custom_tool_greet="covered"))
        assert (await session.call("custom_tool_greet")).output == "covered\n"
        assert (await crib.call("custom_tool_greet")).output == "mine\n"
        assert await session.remove_skill("cover") == ["custom_tool_greet"]
        assert (await session.call("custom_tool_greet")).output == "mine\n"
        assert await session.remove_skill("cover") == []


@in_a_loop
async def test_tools_of_a_text_come_and_go(home: Path, workspace: Path) -> None:
    """A24, A25, A26, A27."""
    async with opened(home, workspace) as crib:
        before = crib.definitions()
        assert await crib.register_skill_tools(skill_text("sayer", say_hi="hi", say_ho="ho")) == ["say_hi", "say_ho"]
        told = {each["name"]: each for each in crib.definitions()}
        assert told["say_hi"]["description"] == "Says hi."
        assert told["say_hi"]["parameters"]["type"] == "object"
        result = await crib.execute("say_ho", {})
        assert (result.output, result.exit_code) == ("ho\n", 0)
        assert await crib.unregister_tools(["say_hi", "never_there"]) == ["say_hi"]
        assert {"say_ho"} == names(crib) - {each["name"] for each in before}
        assert await crib.unregister_tools(["say_ho", "say_hi"]) == ["say_ho"]
        assert crib.definitions() == before


@pytest.mark.parametrize("taken", ["read_file", "read-file", "run_command"])
@in_a_loop
async def test_no_skill_takes_the_name_of_a_built_in_tool(taken: str, home: Path, workspace: Path) -> None:
    """A42: and none of its other tools comes in halfway."""
    async with opened(home, workspace) as crib:
        session = await crib.sessions.create()
        before = names(session)
        with pytest.raises(ToolcribError) as caught:
            await session.use_skill("sly", skill_text("sly", say_hi="hi", **{taken: "evil"}))
        assert caught.value.code == "TOOL_NAME_CONFLICT"
        assert names(session) == before
        assert session.active_skills() == []


@in_a_loop
async def test_two_skills_that_bring_one_name_are_not_both_active(home: Path, workspace: Path) -> None:
    async with opened(home, workspace) as crib:
        session = await crib.sessions.create()
        await session.use_skill("one", skill_text("one", say="one"))
        with pytest.raises(ToolcribError) as caught:
            await session.use_skill("two", skill_text("two", say="two", more="more"))
        assert caught.value.code == "TOOL_NAME_CONFLICT"
        assert "one" in str(caught.value)
        assert (await session.call("say")).output == "one\n"
        assert "more" not in names(session)


@in_a_loop
async def test_a_skill_that_is_used_again_is_replaced_whole(home: Path, workspace: Path) -> None:
    async with opened(home, workspace) as crib:
        session = await crib.sessions.create()
        await session.use_skill("s", skill_text("s", old="old", both="1"))
        assert await session.use_skill("s", skill_text("s", "2.0.0", both="2", new="new")) == ["both", "new"]
        assert "old" not in names(session)
        assert (await session.call("both")).metadata["version"] == "2.0.0"
        assert [each.version for each in session.active_skills()] == ["2.0.0"]


@in_a_loop
async def test_skills_are_still_active_after_a_restart(home: Path, workspace: Path) -> None:
    folder = put_skill(home, "filed", skill_text("filed", from_file="file"))
    async with opened(home, workspace) as crib:
        session = await crib.sessions.create("lasting")
        await session.use_skill("filed")
        await session.use_skill("handed", skill_text("handed", from_text="text"))
    async with opened(home, workspace) as crib:
        session = await crib.sessions.get("lasting")
        assert (await session.call("from_file")).output == "file\n"
        assert (await session.call("from_text")).output == "text\n"
        assert [each.name for each in session.active_skills()] == ["filed", "handed"]
        assert await session.remove_skill(str(folder)) == ["from_file"]
    async with opened(home, workspace, session="lasting") as crib:
        assert {"from_text"} == names(crib) & {"from_file", "from_text"}


@in_a_loop
async def test_a_skill_that_changed_on_disk_is_not_what_was_activated(home: Path, workspace: Path) -> None:
    """A52: until it is used again, its names answer with that, and nothing runs."""
    canary = workspace / "ran"
    put_skill(home, "filed", skill_text("filed", say="before"))
    async with opened(home, workspace) as crib:
        await (await crib.sessions.create("lasting")).use_skill("filed")
    put_skill(home, "filed", skill_text("filed", "2.0.0", say=f"x; touch {canary}"))
    async with opened(home, workspace) as crib:
        session = await crib.sessions.get("lasting")
        result = await session.call("say")
        assert result.error.code == "TOOL_PIN_MISMATCH"
        assert "toolcrib skill use filed --session lasting" in result.error.message
        assert not canary.exists()
        await session.use_skill("filed")
        assert (await session.call("say")).metadata["version"] == "2.0.0"


@in_a_loop
async def test_every_record_names_the_skill_and_what_it_was(home: Path, workspace: Path) -> None:
    """A52."""
    async with opened(home, workspace) as crib:
        session = await crib.sessions.create()
        await session.use_skill("s", skill_text("s", "3.2.1", say="hi"))
        await session.call("say")
        await session.call("todo_read")
        (skill,) = session.active_skills()
    records = [json.loads(line) for file in (home / "audit").glob("*.jsonl") for line in file.read_text().splitlines()]
    named = [(each["event"], each["tool"], each.get("skill")) for each in records]
    about = {"name": "s", "version": "3.2.1", "digest": skill.digest}
    assert named == [("start", "say", about), ("call", "say", about), ("call", "todo_read", None)]


@in_a_loop
async def test_what_another_process_changed_is_seen_at_the_next_look(home: Path, workspace: Path) -> None:
    async with opened(home, workspace) as ours, opened(home, workspace) as theirs:
        await ours.sessions.create("shared")
        await theirs.sessions.use_skill("shared", "s", skill_text("s", say="hi"))
        assert (await (await ours.sessions.get("shared")).call("say")).output == "hi\n"
        await theirs.sessions.remove_skill("shared", "s")
        assert "say" not in names(await ours.sessions.get("shared"))
        assert await theirs.sessions.end("shared")
        with pytest.raises(ToolcribError) as caught:
            await ours.sessions.get("shared")
        assert caught.value.code == "SESSION_NOT_FOUND"


@in_a_loop
async def test_a_crib_of_a_session_follows_it(home: Path, workspace: Path) -> None:
    """Also one that is served to a client: the next refresh has what another process activated."""
    async with opened(home, workspace) as other:
        await other.sessions.create("shared")
        async with opened(home, workspace, session="shared") as crib:
            assert not await crib.refresh()
            await other.sessions.use_skill("shared", "s", skill_text("s", say="hi"))
            assert await crib.refresh()
            assert (await crib.call("say")).output == "hi\n"
            await other.sessions.end("shared")
            assert await crib.refresh()
            assert (await crib.call("say")).error.code == "TOOL_NOT_FOUND"


@in_a_loop
async def test_the_end_of_a_session_takes_what_was_kept_for_it_alone(home: Path, workspace: Path) -> None:
    async with opened(home, workspace) as crib:
        session, other = await crib.sessions.create("ends"), await crib.sessions.create("stays")
        for each in (session, other):
            await each.use_skill("s", skill_text("s", say="hi"))
            await each.call("todo_write", {"todos": [{"content": "more", "status": "pending"}]})
        assert await crib.sessions.end("ends")
        assert not await crib.sessions.end("ends")
        again = await crib.sessions.create("ends")
        assert again.active_skills() == []
        assert "say" not in names(again)
        assert (await again.call("todo_read")).data["todos"] == []
        assert len((await other.call("todo_read")).data["todos"]) == 1


@in_a_loop
async def test_no_session_can_guess_the_calls_of_another(home: Path, workspace: Path) -> None:
    """Artifacts are named by calls, and who knows a name may read it."""
    async with opened(home, workspace) as crib:
        one, other = await crib.sessions.create(), await crib.sessions.create()
        ids = [(await each.call("todo_read")).metadata["call_id"] for each in (one, other)]
        starts = {ident.rpartition("-")[0] for ident in ids}
        assert len(starts) == 2
        assert all(start.startswith(f"{crib._host.id}-tc") for start in starts)


@in_a_loop
async def test_counters_belong_to_a_session(home: Path, workspace: Path) -> None:
    async with opened(home, workspace) as crib:
        one, other = await crib.sessions.create(), await crib.sessions.create()
        await one.call("todo_read")
        assert (one.stats()["total_executions"], other.stats()["total_executions"]) == (1, 0)


@pytest.mark.parametrize("bad", ["", "a b", "../x", "x" * 129, "a\n", "é"])
@in_a_loop
async def test_a_session_has_a_plain_name(bad: str, home: Path, workspace: Path) -> None:
    async with opened(home, workspace) as crib:
        if not bad:
            assert (await crib.sessions.create(bad or None)).id
            return
        with pytest.raises(ToolcribError) as caught:
            await crib.sessions.create(bad)
        assert caught.value.code == "VALIDATION_ERROR"
        assert await crib.sessions.all() == []


@in_a_loop
async def test_a_hundred_sessions_change_their_skills_at_once(home: Path, workspace: Path) -> None:
    """No tool is lost and none leaks: each session ends with exactly what it was left with."""
    chance = random.Random(6)

    async def live(crib: Any, number: int) -> tuple[str, set[str]]:
        session = await crib.sessions.create(f"s{number}")
        kept = set()
        for skill in range(20):
            tool = f"t{skill}_of_{number}"
            await crib.sessions.use_skill(session.id, f"k{skill}", skill_text(f"k{skill}", **{tool: str(number)}))
            kept.add(tool)
            if chance.random() < 0.4:
                assert await crib.sessions.remove_skill(session.id, f"k{skill}") == [tool]
                kept.discard(tool)
        return session.id, kept

    async with opened(home, workspace) as crib:
        common = names(crib)
        lived = await asyncio.gather(*(live(crib, number) for number in range(100)))
        for ident, kept in lived:
            assert names(await crib.sessions.get(ident)) == common | kept
        assert names(crib) == common
    async with opened(home, workspace) as crib:
        for ident, kept in lived[:10]:
            assert names(await crib.sessions.get(ident)) == common | kept


_BUSY = """
import asyncio, sys, toolcrib
from tests.skill_texts import skill_text

async def main():
    async with toolcrib.open(home=sys.argv[1], workspace=sys.argv[2]) as crib:
        for number in range(1000):
            session = await crib.sessions.create(f"s{number}")
            print("made", session.id, flush=True)
            for skill in ("a", "b"):
                await session.use_skill(skill, skill_text(skill, **{f"t_{skill}": skill}))
                print("used", session.id, skill, flush=True)
            await session.remove_skill("a")
            print("gone", session.id, "a", flush=True)

asyncio.run(main())
"""


def test_what_was_acknowledged_survives_a_kill(home: Path, workspace: Path) -> None:
    """kill -9 at any moment: what was told is there, and beyond it at most what was being done."""
    root = Path(__file__).resolve().parents[2]
    for after in (3, 10, 17, 26):
        place = home / str(after)
        env = {**os.environ, "PYTHONPATH": str(root)}
        command = [sys.executable, "-c", _BUSY, str(place), str(workspace)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as busy:
            assert busy.stdout is not None
            told = [busy.stdout.readline().split() for _ in range(after)]
            busy.send_signal(signal.SIGKILL)
            told += [line.split() for line in busy.stdout if line.endswith("\n")]
        expected: dict[str, set[str]] = {}
        for what, session, *skill in told:
            expected.setdefault(session, set())
            if what != "made":
                (set.add if what == "used" else set.discard)(expected[session], skill[0])
        found = {each.id: {skill.name for skill in each.skills} for each in KeptSessions(Home(place)).all()}
        last = told[-1][1]
        following = f"s{int(last[1:]) + 1}"
        assert {key: found[key] for key in expected if key != last} == {
            key: skills for key, skills in expected.items() if key != last
        }
        assert len(found[last] ^ expected[last]) <= 1
        assert set(found) - set(expected) <= {following}
