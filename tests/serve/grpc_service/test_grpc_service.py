"""What a client of the gRPC service can do: sessions, skills, tools, calls, streams."""

import asyncio
import json
from typing import Any

import pytest

from toolcrib import ToolcribError
from toolcrib.core.call import Result
from toolcrib.serve.client import Began, Progress
from toolcrib.serve.v1 import tool_service_pb2 as pb


def test_the_messages_of_the_skills_have_the_agreed_numbers() -> None:
    """A31, A32: other people's clients were made with these."""

    def numbers(message: Any) -> dict[str, tuple[int, bool]]:
        return {field.name: (field.number, field.is_repeated) for field in message.DESCRIPTOR.fields}

    assert numbers(pb.UseSkillRequest) == {
        "session_id": (1, False),
        "skill_name": (2, False),
        "skill_content": (3, False),
    }
    assert numbers(pb.UseSkillResponse) == {"tool_names": (1, True)}
    assert numbers(pb.RemoveSkillRequest) == {"session_id": (1, False), "skill_name": (2, False)}
    assert numbers(pb.RemoveSkillResponse) == {"removed_tools": (1, True)}
    assert pb.DESCRIPTOR.package == "toolcrib.v1"


async def test_a_skill_comes_and_goes_with_its_tools(serving: Any, skill: str) -> None:
    """A31, A32, A34: what is listed follows what is active."""
    async with serving() as rig, rig.client() as client:
        session = await client.create_session()
        assert "shout" not in {tool.name for tool in await client.tools(session)}
        assert await client.use_skill(session, "shout", skill) == ["shout"]
        assert "shout" in {tool.name for tool in await client.tools(session)}
        (active,) = await client.active_skills(session)
        assert (active.name, active.version, list(active.tool_names)) == ("shout", "1.2.0", ["shout"])
        assert (await client.call(session, "shout", {"text": "hello"})).data == "HELLO"
        assert await client.remove_skill(session, "shout") == ["shout"]
        assert "shout" not in {tool.name for tool in await client.tools(session)}
        result = await client.call(session, "shout", {"text": "hello"})
        assert result.error is not None and result.error.code == "TOOL_NOT_FOUND"


async def test_a_skill_is_active_in_one_session_only(serving: Any, skill: str) -> None:
    """A33."""
    async with serving() as rig, rig.client() as client:
        one, other = await client.create_session(), await client.create_session()
        await client.use_skill(one, "shout", skill)
        assert "shout" not in {tool.name for tool in await client.tools(other)}
        assert await client.active_skills(other) == []


async def test_a_skill_of_the_catalogue_is_named(serving: Any, skill: str, home: Any) -> None:
    folder = home / "skills" / "shout"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(skill)
    async with serving() as rig, rig.client() as client:
        session = await client.create_session()
        assert await client.use_skill(session, "shout") == ["shout"]


@pytest.mark.parametrize("name", ["/tmp/x", "../x", "./x", "~/x", "a/b", ""])
async def test_a_skill_is_not_pointed_to(serving: Any, name: str) -> None:
    async with serving() as rig, rig.client() as client:
        session = await client.create_session()
        with pytest.raises(ToolcribError) as caught:
            await client.use_skill(session, name)
        assert caught.value.code == "VALIDATION_ERROR"
        assert await client.active_skills(session) == []


async def test_a_session_of_the_home_can_be_used_here(serving: Any, run_cli: Any, environment: Any, home: Any) -> None:
    async with serving() as rig, rig.client() as client:
        made = await asyncio.to_thread(run_cli, "session", "new", "--json", env={"TOOLCRIB_HOME": str(home)})
        assert made.returncode == 0, made.stderr
        session = json.loads(made.stdout)["session_id"]
        assert (await client.call(session, "repeat", {"text": "x"})).data == "x"
        assert await client.end_session(session) is True
        assert await client.end_session(session) is False


async def test_an_unknown_session_is_not_found(serving: Any) -> None:
    async with serving() as rig, rig.client() as client:
        for session in ("nobody", ""):
            with pytest.raises(ToolcribError) as caught:
                await client.call(session, "count", {"upto": 1})
            assert caught.value.code == "SESSION_NOT_FOUND"
        assert rig.ran == []


async def test_tools_are_listed_with_all_that_a_model_needs(serving: Any) -> None:
    async with serving() as rig, rig.client() as client:
        session = await client.create_session()
        (tool,) = [tool for tool in await client.tools(session) if tool.name == "count"]
        assert tool.description.startswith("Count to a number")
        assert '"upto"' in tool.input_schema_json
        assert (tool.source, tool.approval) == ("function", "preApproved")


async def test_integers_stay_exact(serving: Any) -> None:
    async with serving() as rig, rig.client() as client:
        session = await client.create_session()
        assert (await client.call(session, "count", {"upto": 2**53 + 1})).data == 2**53 + 1


async def test_a_tools_failure_is_a_result(serving: Any) -> None:
    """A41: exit_code is not 0, and output holds the error's text."""
    async with serving() as rig, rig.client() as client, rig.channel() as channel:
        session = await client.create_session()
        result = await client.call(session, "count", {"upto": "x"})
        assert result.error is not None and result.error.code == "VALIDATION_ERROR"
        ask = channel.unary_unary(
            "/toolcrib.v1.ToolService/CallTool",
            request_serializer=pb.CallToolRequest.SerializeToString,
            response_deserializer=pb.ToolResult.FromString,
        )
        metadata = (("authorization", f"Bearer {rig.token}"),)
        raw = await ask(
            pb.CallToolRequest(session_id=session, tool_name="count", arguments_json="{}"), metadata=metadata
        )
        assert (raw.success, raw.exit_code, raw.output, raw.data_json) == (False, 1, "Invalid parameters", "null")
        raw = await ask(
            pb.CallToolRequest(session_id=session, tool_name="repeat", arguments_json='{"text": "hi"}'),
            metadata=metadata,
        )
        assert (raw.success, raw.exit_code, raw.output, raw.data_json) == (True, 0, "hi", '"hi"')
        assert not raw.HasField("error")


@pytest.mark.parametrize("text", ["{", '{"upto": NaN}', "nothing", '{"a": "\\ud800"}'])
async def test_what_is_not_json_is_refused_before_the_gate(serving: Any, text: str) -> None:
    async with serving() as rig, rig.client() as client:
        session = await client.create_session()
        request = pb.CallToolRequest(session_id=session, tool_name="count", arguments_json=text)
        with pytest.raises(ToolcribError) as caught:
            await client._ask("CallTool", request)
        assert (caught.value.code, rig.ran) == ("VALIDATION_ERROR", [])


async def test_arguments_that_are_no_object_are_the_gates_business(serving: Any) -> None:
    async with serving() as rig, rig.client() as client:
        session = await client.create_session()
        request = pb.CallToolRequest(session_id=session, tool_name="count", arguments_json="[1]")
        answer = await client._ask("CallTool", request)
        assert (answer.error.code, rig.ran) == ("VALIDATION_ERROR", [])


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
async def test_a_timeout_that_is_none_is_refused(serving: Any, seconds: float) -> None:
    async with serving() as rig, rig.client() as client:
        session = await client.create_session()
        with pytest.raises(ToolcribError) as caught:
            await client.call(session, "count", {"upto": 1}, timeout=seconds)
        assert (caught.value.code, rig.ran) == ("VALIDATION_ERROR", [])


async def test_a_timeout_ends_the_tool(serving: Any) -> None:
    async with serving() as rig, rig.client() as client:
        session = await client.create_session()
        result = await client.call(session, "wait_forever", timeout=0.05)
        assert result.error is not None and result.error.code == "TIMEOUT"
        assert rig.ended.is_set()


async def test_a_dry_run_runs_nothing(serving: Any) -> None:
    async with serving() as rig, rig.client() as client:
        session = await client.create_session()
        result = await client.call(session, "count", {"upto": 1}, dry_run=True)
        assert (result.data["dry_run"], rig.ran) == (True, [])


async def test_a_stream_tells_its_id_then_how_far_then_the_result(serving: Any) -> None:
    async with serving() as rig, rig.client() as client:
        session = await client.create_session()
        events = [event async for event in client.stream(session, "count", {"upto": 3}, call_id="mine")]
        assert events[:-1] == [
            Began("mine"),
            Progress(1.0, 3.0, "step 1"),
            Progress(2.0, 3.0, "step 2"),
            Progress(3.0, 3.0, "step 3"),
        ]
        assert isinstance(events[-1], Result) and events[-1].data == 3


async def test_a_stream_that_nobody_named_is_given_a_name(serving: Any) -> None:
    async with serving() as rig, rig.client() as client:
        session = await client.create_session()
        events = client.stream(session, "wait_forever")
        began = await anext(events)
        assert isinstance(began, Began) and began.call_id
        await rig.entered.wait()
        assert await client.cancel(session, began.call_id) is True
        last = await anext(events)
        assert isinstance(last, Result) and last.error is not None and last.error.code == "CANCELLED"
        assert rig.ended.is_set()


async def test_a_stream_of_an_unknown_session_is_not_found(serving: Any) -> None:
    async with serving() as rig, rig.client() as client:
        with pytest.raises(ToolcribError) as caught:
            async for _ in client.stream("nobody", "count", {"upto": 1}):
                pass
        assert caught.value.code == "SESSION_NOT_FOUND"


async def test_cancel_call_ends_a_unary_call(serving: Any) -> None:
    async with serving() as rig, rig.client() as client:
        session = await client.create_session()
        other = await client.create_session()
        waiting = asyncio.create_task(client.call(session, "wait_forever", call_id="a"))
        await rig.entered.wait()
        assert await client.cancel(other, "a") is False, "another session's call"
        assert await client.cancel(session, "b") is False
        assert await client.cancel(session, "a") is True
        result = await waiting
        assert result.error is not None and result.error.code == "CANCELLED"
        assert rig.ended.is_set()
        (record,) = rig.records("call")
        assert record["code"] == "CANCELLED"


async def test_two_calls_under_way_have_two_names(serving: Any) -> None:
    async with serving() as rig, rig.client() as client:
        session = await client.create_session()
        waiting = asyncio.create_task(client.call(session, "wait_forever", call_id="a"))
        await rig.entered.wait()
        with pytest.raises(ToolcribError) as caught:
            await client.call(session, "count", {"upto": 1}, call_id="a")
        assert (caught.value.code, rig.ran) == ("VALIDATION_ERROR", ["wait_forever"])
        rig.release.set()
        assert (await waiting).data == "released"
        assert (await client.call(session, "count", {"upto": 1}, call_id="b")).data == 1


async def test_what_is_too_long_for_a_message_is_kept_as_an_artifact(serving: Any) -> None:
    async with serving() as rig, rig.client() as client:
        session = await client.create_session()
        whole = await client.call(session, "repeat", {"text": "x", "times": 2_000_000})
        assert whole.data == "x" * 2_000_000
        cut = await client.call(session, "repeat", {"text": "x", "times": 20_000_000})
        assert (cut.success, cut.data) == (True, None)
        (artifact,) = cut.metadata["artifacts"]
        assert artifact["bytes"] == 20_000_000


async def test_half_a_character_does_not_break_the_wire(serving: Any) -> None:
    async with serving() as rig, rig.client() as client:
        session = await client.create_session()
        result = await client.call(session, "repeat", {"text": "é\N{GRINNING FACE}", "times": 2})
        assert result.data == "é\N{GRINNING FACE}" * 2


async def test_a_changed_tool_is_read_again(serving: Any, make_tool: Any) -> None:
    script = '#!/bin/sh\n[ "$1" = description ] && echo \'{"name":"v","description":"V.","input_schema":{"type":"object"}}\' || printf WORD\n'
    async with serving() as rig, rig.client() as client:
        session = await client.create_session()
        make_tool("v", script.replace("WORD", "one"))
        assert (await client.call(session, "custom_tool_v")).data == "one"
        make_tool("v", script.replace("WORD", "second"))
        assert (await client.call(session, "custom_tool_v")).data == "second"
