"""The pipeline: every step, every way out of it, and that it never raises for what a tool or a model did."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

import toolcrib
from toolcrib.core.call import Call, ErrorInfo, Result, Retry
from toolcrib.core.context import Context
from toolcrib.core.errors import CODES, Refused, ToolError
from toolcrib.core.events import Finished, Logged
from toolcrib.core.policy import Decision
from toolcrib.core.tool import Capabilities, Tool
from toolcrib.testing import ScriptedApprover


@toolcrib.tool
async def greet(name: str, age: int | None = None) -> str:
    """Say hello to a person."""
    return f"Hello, {name}!"


@toolcrib.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@toolcrib.tool
async def fail() -> str:
    """Fail as a tool should."""
    raise ToolError("there is no such user; call list_users first", code="FILE_NOT_FOUND", details={"user": 7})


@toolcrib.tool
async def crash() -> str:
    """Fail as a tool should not."""
    return {}["missing"]


@toolcrib.tool
async def own_timeout() -> str:
    """Raise an error that only sounds like our timeout."""
    raise TimeoutError("Timeout")


@toolcrib.tool(timeout=0.05)
async def hang(ctx: Context) -> str:
    """Never answer."""
    try:
        await asyncio.Event().wait()
    finally:
        ctx.log.info(f"cancelled: {ctx.cancelled}")
    return ""


def test_a_call_has_one_shape_of_result(bench) -> None:
    """C8, C9, C11, C29, K31: success, data, and metadata with the execution time."""
    result = bench(greet).call("greet", {"name": "Bob"})
    metadata = result.metadata
    assert (result.success, result.data, result.error) == (True, "Hello, Bob!", None)
    assert (metadata["tool"], metadata["version"], metadata["approval"], metadata["attempts"]) == (
        "greet",
        "0.0.0",
        "preApproved",
        1,
    )
    assert metadata["digest"].startswith("sha256:") and metadata["call_id"] and metadata["execution_time_ms"] >= 0
    assert (result.output, result.exit_code) == ("Hello, Bob!", 0)
    assert set(result.to_dict()) == {"success", "data", "error", "metadata"}


def test_sync_functions_work_too(bench) -> None:
    """G28"""
    assert bench(add).call("add", {"a": 2, "b": 3}).data == 5


def test_an_unknown_tool_is_a_result(bench) -> None:
    """C33, C37"""
    result = bench(greet).call("gret")
    assert result.error == ErrorInfo("TOOL_NOT_FOUND", "Unknown tool: gret", {"nearest": ["greet"]})
    assert result.metadata["execution_time_ms"] >= 0 and result.exit_code == 1


def test_invalid_arguments_name_place_expected_and_got(bench) -> None:
    """C34, K26"""
    result = bench(greet).call("greet", {"name": 7, "extra": True})
    assert (result.error.code, result.error.message) == ("VALIDATION_ERROR", "Invalid parameters")
    assert result.error.details[0] == {
        "pointer": "/name",
        "expected": "string",
        "got": "7",
        "message": "/name: expected string, got 7",
    }
    assert "'extra'" in result.error.details[1]["expected"]


@pytest.mark.parametrize("args", [[], "text", 3, [{"name": "Bob"}]])
def test_arguments_are_an_object(bench, args: Any) -> None:
    assert bench(greet).call("greet", args).error.code == "VALIDATION_ERROR"


def test_at_most_eight_faults_are_told(bench) -> None:
    @toolcrib.tool
    def many(items: list[int]) -> str:
        """Take numbers."""
        return ""

    assert len(bench(many).call("many", {"items": ["x"] * 50}).error.details) == 8


def test_arguments_that_are_too_long_are_refused_before_anything_else(bench) -> None:
    assert bench(greet).call("greet", {"name": "x" * 9_000_000}).error.code == "INPUT_TOO_LARGE"


def test_arguments_that_json_cannot_say_are_refused(bench) -> None:
    cycle: dict[str, Any] = {}
    cycle["name"] = cycle
    for args in ({"name": {1, 2}}, cycle, {"name": "\ud800"}):
        assert bench(greet).call("greet", args).error.code == "VALIDATION_ERROR"


def test_a_tool_error_keeps_its_code_and_details(bench) -> None:
    """C10"""
    assert bench(fail).call("fail").error == ErrorInfo(
        "FILE_NOT_FOUND", "there is no such user; call list_users first", {"user": 7}
    )


def test_a_crash_is_an_execution_error(bench) -> None:
    """C36, C37"""
    error = bench(crash).call("crash").error
    assert (error.code, error.message, error.details) == ("EXECUTION_ERROR", "'missing'", {"exception": "KeyError"})


def test_a_tool_that_cries_timeout_is_not_a_timeout(bench) -> None:
    """a tool that raised an error called "Timeout" reported as a timeout."""
    assert bench(own_timeout).call("own_timeout").error.code == "EXECUTION_ERROR"


@pytest.mark.parametrize("failure", [SystemExit(3), asyncio.CancelledError("not really"), StopAsyncIteration()])
def test_no_way_of_failing_gets_past_the_gate(bench, failure: Any) -> None:
    """A tool that calls sys.exit, or pretends to have been cancelled, ends its own call and nothing else."""

    @toolcrib.tool
    async def leave() -> str:
        """Leave."""
        raise failure

    @toolcrib.tool
    def leave_now() -> str:
        """Leave."""
        raise failure

    crib = bench(leave, leave_now)
    assert [crib.call(name).error.code for name in ("leave", "leave_now")] == ["EXECUTION_ERROR", "EXECUTION_ERROR"]


def test_arguments_that_change_while_a_person_thinks_are_not_run(bench) -> None:
    """I3"""
    args = {"name": "Bob"}

    class Changer:
        async def approve(self, question: Any) -> Any:
            args["name"] = "Eve"
            return toolcrib.Answer(allowed=True, by="test")

    result = bench(greet, decision=Decision.ASK, approver=Changer()).call("greet", args)
    assert result.error.code == "APPROVAL_DENIED"


def test_a_huge_name_costs_nothing(bench) -> None:
    assert bench(greet).call("g" * 5_000_000).error.details == {"nearest": []}


def test_a_timeout_stops_the_tool(bench) -> None:
    """C30, C35: and the tool sees that it was cancelled."""
    crib = bench(hang)
    result = crib.call("hang")
    assert (result.error.code, result.error.details) == ("TIMEOUT", {"seconds": 0.05})
    assert [event.message for event in crib.recorder.events if isinstance(event, Logged)] == ["cancelled: True"]


def test_the_callers_timeout_wins(bench) -> None:
    """C30; `timeout: 0.5` became 0."""
    assert bench(hang).call("hang", timeout=0.02).error.details["seconds"] == 0.02


def test_cancellation_passes_and_is_recorded(bench) -> None:
    """C17"""
    crib = bench(hang)

    async def cancelled() -> None:
        started = asyncio.Event()

        @toolcrib.tool
        async def wait() -> str:
            """Wait."""
            started.set()
            await asyncio.Event().wait()
            return ""

        crib.registry.register(wait)
        task = asyncio.create_task(crib.acall("wait"))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    (event,) = crib.recorder.events
    assert event.result.error.code == "CANCELLED"


def test_what_cannot_cross_a_wire_is_the_tools_fault(bench) -> None:
    @toolcrib.tool
    def odd() -> Any:
        """Return what JSON has no word for."""
        return {1, 2}

    error = bench(odd).call("odd").error
    assert error.code == "EXECUTION_ERROR" and "set" in error.message


def test_skip_validation_is_for_python_callers(bench) -> None:
    """C31"""
    assert bench(greet).call("greet", {"name": 7}, skip_validation=True).data == "Hello, 7!"


def test_a_tools_own_validation_adds_to_the_schema(bench) -> None:
    """C21"""

    @toolcrib.tool(validate=lambda args: ["name must not be empty"] if not args["name"] else [])
    def shout(name: str) -> str:
        """Shout."""
        return name.upper()

    crib = bench(shout)
    assert crib.call("shout", {"name": ""}).error.details == ["name must not be empty"]
    assert crib.executor.validate("shout", {"name": ""}) == ["name must not be empty"]
    assert crib.executor.validate("shout", {"name": "x"}) == []


def test_validate_alone_runs_nothing(bench) -> None:
    """C40"""
    crib = bench(crash)
    assert crib.executor.validate("nothing", {}) == ["Unknown tool: nothing"]
    assert crib.executor.validate("crash", {}) == []
    assert crib.recorder.events == []


@pytest.mark.parametrize("decision", [Decision.ASK, Decision.BLOCKED])
def test_nothing_runs_without_approval(bench, decision: Decision) -> None:
    """G10, G16: nobody to ask means no."""
    ran = []

    @toolcrib.tool
    def effect() -> str:
        """Leave a trace."""
        ran.append(1)
        return ""

    code = {Decision.ASK: "APPROVAL_REQUIRED", Decision.BLOCKED: "BLOCKED_BY_POLICY"}[decision]
    assert bench(effect, decision=decision).call("effect").error.code == code
    assert ran == []


def test_blocked_cannot_be_approved(bench) -> None:
    """G16: the approver is not even asked."""
    approver = ScriptedApprover(True)
    result = bench(greet, decision=Decision.BLOCKED, approver=approver).call("greet", {"name": "Bob"})
    assert (result.error.code, approver.asked) == ("BLOCKED_BY_POLICY", [])


def test_an_ask_is_asked(bench) -> None:
    approver = ScriptedApprover(True, False)
    crib = bench(greet, decision=Decision.ASK, approver=approver)
    allowed, denied = (crib.call("greet", {"name": "Bob"}) for _ in range(2))
    assert (allowed.data, allowed.metadata["approval"], allowed.metadata["approved_by"]) == (
        "Hello, Bob!",
        "ask",
        "script",
    )
    assert denied.error.code == "APPROVAL_DENIED"
    assert [question.tool.name for question in approver.asked] == ["greet", "greet"]


def test_invalid_calls_are_not_asked_about(bench) -> None:
    approver = ScriptedApprover()
    assert bench(greet, decision=Decision.ASK, approver=approver).call("greet", {}).error.code == "VALIDATION_ERROR"
    assert approver.asked == []


def flaky(failures: list[Exception], **about: Any) -> Tool:
    @toolcrib.tool(name="flaky", **about)
    def once() -> str:
        """Fail as often as told."""
        if failures:
            raise failures.pop()
        return "done"

    return once


RETRY = Retry(max_attempts=3, delay_ms=0, backoff_multiplier=2)


@pytest.mark.parametrize("claim", ["idempotent", "retryable"])
def test_retries_what_is_safe_to_repeat(bench, claim: str) -> None:
    """C32; retry declared and never made."""
    result = bench(flaky([ValueError("1"), ValueError("2")], capabilities=Capabilities(**{claim: True}))).call(
        "flaky", retry=RETRY
    )
    assert (result.data, result.metadata["attempts"]) == ("done", 3)


def test_does_not_retry_what_may_have_happened(bench) -> None:
    """retry of what is not idempotent."""
    result = bench(flaky([ValueError("1")])).call("flaky", retry=RETRY)
    assert (result.error.message, result.metadata["attempts"]) == ("1", 1)


def test_retries_what_provably_did_not_happen(bench) -> None:
    result = bench(flaky([ToolError("no descriptor left", before_effect=True)])).call("flaky", retry=RETRY)
    assert (result.data, result.metadata["attempts"]) == ("done", 2)


def test_retries_end(bench) -> None:
    failures: list[Exception] = [ValueError(str(number)) for number in range(9)]
    result = bench(flaky(failures, capabilities=Capabilities(idempotent=True))).call("flaky", retry=RETRY)
    assert (result.error.code, result.metadata["attempts"], len(failures)) == ("EXECUTION_ERROR", 3, 6)


def test_without_retry_there_is_one_attempt(bench) -> None:
    result = bench(flaky([ValueError("1")], capabilities=Capabilities(idempotent=True))).call("flaky")
    assert result.metadata["attempts"] == 1


def test_dry_run_has_no_effect(bench) -> None:
    """C24"""
    ran = []

    async def preview(args: Mapping[str, Any], ctx: Context) -> str:
        return f"would delete {args['path']}"

    @toolcrib.tool(dry_run=preview)
    def delete(path: str) -> str:
        """Delete a file."""
        ran.append(path)
        return ""

    @toolcrib.tool
    def plain(path: str) -> str:
        """Have no preview."""
        ran.append(path)
        return ""

    crib = bench(delete, plain)
    assert crib.call("delete", {"path": "x"}, dry_run=True).data == "would delete x"
    assert crib.call("plain", {"path": "x"}, dry_run=True).data["dry_run"] is True
    assert crib.call("delete", {}, dry_run=True).error.code == "VALIDATION_ERROR"
    assert ran == []


def test_a_tool_has_its_context(bench) -> None:
    """C2, C12, C14, C15, C16: files, directory, confirmation, log, progress; and nothing ambient."""
    seen: dict[str, Any] = {}

    @toolcrib.tool
    async def look(ctx: Context, path: str) -> str:
        """Use everything."""
        seen.update(
            cwd=ctx.cwd,
            session=ctx.session,
            confirmed=await ctx.confirm("Really?"),
            exists=ctx.workspace.exists("nope"),
        )
        ctx.log.warn("careful")
        ctx.progress(1, 2, "half")
        ctx.workspace.write("b.txt", "new")
        return ctx.workspace.read(path).decode()

    approver = ScriptedApprover(True)
    progress: list[Any] = []
    crib = bench(look, approver=approver)
    result = crib.call("look", {"path": "a.txt"}, progress=lambda *step: progress.append(step))
    assert result.data == "one\ntwo\n"
    assert seen == {"cwd": "/work", "session": "session-1", "confirmed": True, "exists": False}
    assert approver.asked[0].message == "Really?"
    assert progress == [(1, 2, "half")]
    assert (result.metadata["bytes_read"], result.metadata["bytes_written"], result.metadata["files_accessed"]) == (
        8,
        3,
        ["b.txt", "a.txt"],
    )
    assert Logged in {type(event) for event in crib.recorder.events}
    assert "ctx" not in look.input_schema["properties"]


def test_confirm_without_anybody_is_no(bench) -> None:
    @toolcrib.tool
    async def risky(ctx: Context) -> bool:
        """Ask first."""
        return await ctx.confirm("Really?")

    assert bench(risky).call("risky").data is False


def test_a_tool_calls_a_tool_through_the_same_gate(bench) -> None:
    """The inner call is judged and recorded as itself."""

    @toolcrib.tool
    async def outer(ctx: Context) -> Any:
        """Use another tool."""
        good, bad = await ctx.call("greet", {"name": "Bob"}), await ctx.call("greet", {})
        return [good.data, bad.error.code]

    crib = bench(outer, greet)
    assert crib.call("outer").data == ["Hello, Bob!", "VALIDATION_ERROR"]
    finished = [event.call for event in crib.recorder.events if isinstance(event, Finished)]
    assert [(call.name, call.asker) for call in finished] == [
        ("greet", "tool outer"),
        ("greet", "tool outer"),
        ("outer", "python"),
    ]


def test_tools_that_call_each_other_for_ever_are_stopped(bench) -> None:
    @toolcrib.tool
    async def again(ctx: Context) -> Any:
        """Call myself."""
        result = await ctx.call("again", {})
        return result.error.code if result.error else result.data

    crib = bench(again)
    assert crib.call("again").data == "RESOURCE_EXHAUSTED"
    assert len(crib.recorder.events) == 16


def in_a_place(made: Tool) -> Tool:
    """As one that starts a process."""
    return made._replace(backend=replace(made.backend, starts_process=True))


def test_a_tool_that_is_ended_while_it_waits_for_another_needs_no_place_for_that(bench) -> None:
    """Its time is over when it is over, however long others keep the places."""
    begun, until = asyncio.Event(), asyncio.Event()

    @toolcrib.tool
    async def keep() -> str:
        """Keep the place."""
        begun.set()
        await until.wait()
        return "kept"

    @toolcrib.tool
    async def outer(ctx: Context) -> Any:
        """Use another tool for too long."""
        return (await ctx.call("hang", {}, timeout=60)).data

    async def run() -> tuple[Result, Result, Result]:
        crib = bench(*map(in_a_place, (outer, keep)), hang, places=asyncio.Semaphore(1))
        waiting = asyncio.create_task(crib.acall("outer", timeout=0.2))
        keeping = asyncio.create_task(crib.acall("keep"))
        await begun.wait()
        ended = await waiting
        until.set()
        return ended, await keeping, await crib.acall("keep", timeout=0.2)

    ended, kept, after = asyncio.run(asyncio.wait_for(run(), 10))
    assert ended.error.code == "TIMEOUT"
    assert (kept.data, after.data) == ("kept", "kept"), "no place came or went"


def test_every_outcome_is_told(bench) -> None:
    """C38; stats that miss unknown and invalid calls."""
    crib = bench(greet, fail)
    for name, args in (("greet", {"name": "Bob"}), ("greet", {}), ("nope", {}), ("fail", {})):
        crib.call(name, args)
    codes = [event.result.error and event.result.error.code for event in crib.recorder.events]
    assert codes == [None, "VALIDATION_ERROR", "TOOL_NOT_FOUND", "FILE_NOT_FOUND"]
    assert set(filter(None, codes)) <= CODES


class Full:
    """An observer with no room left."""

    def __init__(self, *, when: str) -> None:
        self._when = when

    def ready(self) -> None:
        if self._when == "ready":
            raise ToolError("no room", code="RESOURCE_EXHAUSTED")

    def notice(self, event: Any) -> None:
        if self._when == "notice":
            raise ToolError("no room", code="RESOURCE_EXHAUSTED")


def test_what_cannot_be_recorded_does_not_run(bench) -> None:
    ran = []

    @toolcrib.tool
    def effect() -> str:
        """Leave a trace."""
        ran.append(1)
        return ""

    assert bench(effect, observers=[Full(when="ready")]).call("effect").error.code == "RESOURCE_EXHAUSTED"
    assert ran == []


def test_a_result_whose_end_could_not_be_recorded_is_not_lost(bench) -> None:
    error = bench(greet, observers=[Full(when="notice")]).call("greet", {"name": "Bob"}).error
    assert (error.code, error.details["data"]) == ("RESOURCE_EXHAUSTED", "Hello, Bob!")


def test_a_tool_that_changed_after_it_was_listed_does_not_run(bench) -> None:
    changed = greet._replace(digest="sha256:other")
    assert bench(changed).call("greet", {"name": "Bob"}).error.code == "TOOL_PIN_MISMATCH"


def test_a_tool_that_changes_while_a_person_thinks_does_not_run(bench) -> None:
    """I3: what was approved is what runs."""

    class Swapped:
        starts_process = False
        now = greet.digest

        def digest(self) -> str:
            return self.now

        def run(self, args: Any, ctx: Context) -> Any:
            raise AssertionError("ran")

    backend = Swapped()

    class Swapper:
        async def approve(self, question: Any) -> Any:
            backend.now = "sha256:other"
            return toolcrib.Answer(allowed=True, by="test")

    result = bench(greet._replace(backend=backend), decision=Decision.ASK, approver=Swapper()).call(
        "greet", {"name": "Bob"}
    )
    assert result.error.code == "TOOL_PIN_MISMATCH"


def test_a_refusal_is_never_retried(bench) -> None:
    attempts = []

    @toolcrib.tool(capabilities=Capabilities(idempotent=True))
    def refused() -> str:
        """Refuse."""
        attempts.append(1)
        raise Refused("no")

    bench(refused).call("refused", retry=RETRY)
    assert attempts == [1]


def test_a_thousand_calls_at_once(bench) -> None:
    """K61, C55"""

    async def many() -> list[Result]:
        crib = bench(greet)
        return await asyncio.gather(*(crib.acall("greet", {"name": str(number)}) for number in range(1000)))

    results = asyncio.run(many())
    assert [result.data for result in results] == [f"Hello, {number}!" for number in range(1000)]
    assert len({result.metadata["call_id"] for result in results}) == 1000


def test_call_is_plain_data() -> None:
    assert Call("a", {}, "1") == Call("a", {}, "1")


def test_the_lack_of_threads_is_a_lack_of_resources(bench) -> None:
    """The interpreter says it with an error that has no type of its own."""

    @toolcrib.tool
    async def threaded() -> str:
        """Use a thread."""
        raise RuntimeError("can't start new thread")

    error = bench(threaded).call("threaded").error
    assert (error.code, error.details) == ("RESOURCE_EXHAUSTED", {"exception": "RuntimeError"})
