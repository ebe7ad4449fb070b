"""Calls over gRPC that wait for a person: who asks for them does not answer them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from toolcrib import ToolcribError
from toolcrib.serve.v1 import tool_service_pb2 as pb

APPROVER = "the-approvers-own-token-0123456789"
MARK = """#!/bin/sh
if [ "$1" = description ]; then
    echo '{"name": "mark", "description": "Leave a mark.", "input_schema": {"type": "object"}}'
    exit
fi
cat > "$TOOLCRIB_WORKSPACE/marked"; echo done
"""


@pytest.fixture(autouse=True)
def mark(make_tool: Any) -> Path:
    return Path(make_tool("mark", MARK))


async def waiting(client: Any, session: str) -> dict[str, Any]:
    """The one call of a session that waits, as soon as there is one."""
    async with asyncio.timeout(20):
        while not (found := await client.pending(session)):
            await asyncio.sleep(0.01)
    (call,) = found
    return dict(call)


async def refusal(asked: Any) -> ToolcribError:
    with pytest.raises(ToolcribError) as caught:
        await asked
    return caught.value


async def test_an_approver_answers_and_the_call_goes_on(serving: Any, workspace: Path) -> None:
    async with serving(config="", approver_token=APPROVER) as rig, rig.client(approver_token=APPROVER) as client:
        session, other = await client.create_session(), await client.create_session()
        asking = asyncio.create_task(client.call(session, "custom_tool_mark", {"a": 1}))
        call = await waiting(client, session)
        assert (call["tool"], call["arguments"], call["asker"]) == ("custom_tool_mark", {"a": 1}, "grpc")
        assert await client.pending(other) == []
        assert not (workspace / "marked").exists()
        assert (await refusal(client.approve(other, call["id"], allowed=True))).code == "APPROVAL_REQUIRED"
        assert await client.approve(session, call["id"], allowed=True) is True
        assert (await asking).data == "done\n"
        assert (workspace / "marked").exists()
        assert (await refusal(client.approve(session, call["id"], allowed=True))).code == "APPROVAL_REQUIRED"


async def test_an_approver_says_no(serving: Any, workspace: Path) -> None:
    async with serving(config="", approver_token=APPROVER) as rig, rig.client(approver_token=APPROVER) as client:
        session = await client.create_session()
        asking = asyncio.create_task(client.call(session, "custom_tool_mark"))
        call = await waiting(client, session)
        assert await client.approve(session, call["id"], allowed=False) is False
        result = await asking
        assert result.error is not None and result.error.code == "APPROVAL_DENIED"
        assert not (workspace / "marked").exists()


async def test_a_yes_for_the_session_lasts(serving: Any) -> None:
    async with serving(config="", approver_token=APPROVER) as rig, rig.client(approver_token=APPROVER) as client:
        session = await client.create_session()
        asking = asyncio.create_task(client.call(session, "custom_tool_mark"))
        call = await waiting(client, session)
        await client.approve(session, call["id"], allowed=True, scope="session")
        assert (await asking).success
        assert (await client.call(session, "custom_tool_mark")).success


@pytest.mark.parametrize(
    ("configured", "sent"),
    [(APPROVER, None), (APPROVER, "x" * 34), (None, APPROVER), (APPROVER, "TOKEN")],
    ids=["none sent", "a wrong one", "the server has none", "the caller's own"],
)
async def test_the_agent_does_not_approve_its_own_calls(
    serving: Any, workspace: Path, configured: str | None, sent: str | None
) -> None:
    async with serving(config="", approver_token=configured) as rig:
        word = rig.token if sent == "TOKEN" else sent
        async with rig.client(approver_token=word) as client:
            session = await client.create_session()
            asking = asyncio.create_task(client.call(session, "custom_tool_mark", deadline=20))
            call = await waiting(client, session)
            failure = await refusal(client.approve(session, call["id"], allowed=True))
            assert failure.code == "BLOCKED_BY_POLICY"
            assert f"toolcrib approve {call['id']}" in str(failure)
            assert [each["id"] for each in await client.pending(session)] == [call["id"]]
            asking.cancel()
        assert not (workspace / "marked").exists()
        assert [each["why"] for each in rig.records("refused")] == ["an approval without the approver's token"]


async def test_the_callers_token_is_needed_besides(serving: Any) -> None:
    async with serving(config="", approver_token=APPROVER) as rig:
        async with rig.client(token=APPROVER, approver_token=APPROVER) as client:
            assert (await refusal(client.approve("s", "x", allowed=True))).code == "BLOCKED_BY_POLICY"


async def test_an_answer_that_is_none_is_refused(serving: Any) -> None:
    async with serving(approver_token=APPROVER) as rig, rig.client(approver_token=APPROVER) as client:
        session = await client.create_session()
        request = pb.ApproveRequest(session_id=session, approval_id="x")
        assert (await refusal(client._ask("Approve", request, more=client._approver))).code == "VALIDATION_ERROR"
        failure = await refusal(client.approve(session, "x", allowed=True, scope="forever"))
        assert failure.code == "VALIDATION_ERROR"


async def test_a_program_that_changed_since_is_not_approved(serving: Any, mark: Path, workspace: Path) -> None:
    async with serving(config="", approver_token=APPROVER) as rig, rig.client(approver_token=APPROVER) as client:
        session = await client.create_session()
        asking = asyncio.create_task(client.call(session, "custom_tool_mark", deadline=20))
        call = await waiting(client, session)
        mark.write_text(MARK + "# changed\n")
        assert (await refusal(client.approve(session, call["id"], allowed=True))).code == "TOOL_PIN_MISMATCH"
        asking.cancel()
        assert not (workspace / "marked").exists()


async def test_a_person_answers_in_a_terminal(serving: Any, run_cli: Any, home: Path) -> None:
    async with serving(config="") as rig, rig.client() as client:
        session = await client.create_session()
        asking = asyncio.create_task(client.call(session, "custom_tool_mark"))
        call = await waiting(client, session)
        done = await asyncio.to_thread(run_cli, "approve", call["id"], "--yes", env={"TOOLCRIB_HOME": str(home)})
        assert done.returncode == 0, done.stderr
        assert (await asking).data == "done\n"


async def test_a_call_that_is_not_answered_says_how(serving: Any) -> None:
    async with serving(config="", wait=0.0) as rig, rig.client() as client:
        session = await client.create_session()
        result = await client.call(session, "custom_tool_mark")
        assert result.error is not None and result.error.code == "APPROVAL_REQUIRED"
        assert f"toolcrib approve {result.error.details['approval_id']}" in result.error.message
