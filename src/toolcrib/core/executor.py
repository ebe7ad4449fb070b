"""The pipeline: look up, verify, check, judge, ask, run, record. In that order, for every call, whatever its door."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from .call import Call, ErrorInfo, Outcome, Result, explain, settle, writable
from .context import Context, Host
from .deadline import Expired, within
from .errors import Refused, ToolError
from .events import Event, Finished, Logged, Observer, Started
from .jsontext import JSON, dump
from .limits import INPUT_BYTES, Limits, Places
from .policy import Approver, Decision, Policy, Question, Verdict
from .registry import Registry
from .tool import Tool

MAX_DEPTH = 16
"""How many tools may stand one behind the other."""


class _Run:
    """What is known of a call so far."""

    __slots__ = ("approved_by", "attempts", "call", "ctx", "started", "tool", "verdict")

    def __init__(self, call: Call) -> None:
        self.call = call
        self.started = time.perf_counter()
        self.attempts = 0
        self.tool: Tool | None = None
        self.verdict: Verdict | None = None
        self.approved_by: str | None = None
        self.ctx: Context | None = None


class Executor:
    """Turns a `Call` into a `Result`. Raises only for a programmer's error, and when it is cancelled."""

    def __init__(
        self,
        registry: Registry,
        policy: Policy,
        host: Host,
        *,
        approver: Approver | None = None,
        observers: Sequence[Observer] = (),
        places: Places | None = None,
    ) -> None:
        self.registry, self.policy, self.host = registry, policy, host
        self.approver, self.observers = approver, observers
        self.places = places or Places(32)

    async def call(self, call: Call) -> Result:
        run = _Run(call)
        try:
            outcome = await settle(self._pass(run))
        except asyncio.CancelledError:
            if run.ctx is not None:
                run.ctx.cancelled = True
            self._record(run, Result(error=ErrorInfo("CANCELLED", "the caller gave up")), cancelled=True)
            raise
        return self._record(run, _result(outcome))

    def validate(self, name: str, args: Mapping[str, JSON]) -> list[str]:
        """What is wrong with these arguments; nothing runs."""
        tool = self.registry.get(name)
        if tool is None:
            return [f"Unknown tool: {name}"]
        return [fault if isinstance(fault, str) else fault["message"] for fault in _faults(tool, args)]

    async def _pass(self, run: _Run) -> Any:
        """One call's way through the gate, to its answer."""
        call = run.call
        tool = run.tool = self._resolve(call.name)
        _verify(tool)
        _check(call, tool)
        verdict = run.verdict = self.policy.judge(call, tool)
        if verdict.decision is not Decision.PRE_APPROVED:
            await self._approve(run, tool, verdict)
        for observer in self.observers:
            observer.ready()
        if tool.backend.starts_process:
            self._tell(Started(call, tool, verdict))
        return await self._run(run, tool)

    def _resolve(self, name: str) -> Tool:
        tool = self.registry.get(name)
        if tool is not None:
            return tool
        if problem := self.registry.held(name):
            raise Refused(problem.message, code=problem.code, details=problem.to_dict())
        nearest = get_close_matches(name, self.registry.names(), n=3)
        raise ToolError(f"Unknown tool: {name}", code="TOOL_NOT_FOUND", details={"nearest": nearest})

    async def _approve(self, run: _Run, tool: Tool, verdict: Verdict) -> None:
        name = tool.name
        if verdict.decision is Decision.BLOCKED:
            raise Refused(f"{name} is blocked: {verdict.reason}", code="BLOCKED_BY_POLICY")
        if self.approver is None:
            raise Refused(
                f"{name} needs approval ({verdict.reason}), and there is nobody to ask", code="APPROVAL_REQUIRED"
            )
        asked = time.perf_counter()
        answer = await self.approver.approve(Question(run.call, tool, verdict.reason))
        run.started += time.perf_counter() - asked  # a person's time is not the tool's
        if not answer.allowed:
            raise Refused(f"{name} was not approved ({answer.by})", code="APPROVAL_DENIED")
        run.approved_by = answer.by
        _verify(tool)  # what was approved is what runs, however long the answer took

    async def _run(self, run: _Run, tool: Tool) -> Any:
        retry = run.call.retry
        if retry is None:
            return await self._attempt(run, tool)
        delay = retry.delay_ms / 1000
        while True:
            outcome = await settle(self._attempt(run, tool))
            if outcome.failure is None:
                return outcome.value
            if run.attempts >= retry.max_attempts or not _may_repeat(tool, outcome.failure):
                raise outcome.failure
            await asyncio.sleep(delay)
            delay *= retry.backoff_multiplier

    async def _attempt(self, run: _Run, tool: Tool) -> Any:
        call, backend = run.call, tool.backend
        limits = tool.limits
        if call.timeout is not None:
            limits = Limits(call.timeout, limits.output_bytes, limits.memory_bytes)
        ctx = run.ctx = Context(self.host, call, limits, self)
        run.attempts += 1
        if call.dry_run:
            if tool.hooks.dry_run is None:
                return {"dry_run": True, "tool": tool.name, "would_run": tool.origin, "arguments": dict(call.args)}
            work = tool.hooks.dry_run(call.args, ctx)
        else:
            work = backend.run(call.args, ctx)
        try:
            if not backend.starts_process:
                return writable(await within(work, limits.seconds))
            return await self._in_place(run, work, limits.seconds)
        except Expired:
            ctx.cancelled = True
            message = f"{tool.name} ran longer than {limits.seconds:g} s and was ended"
            raise ToolError(message, code="TIMEOUT", details={"seconds": limits.seconds, **ctx.evidence}) from None

    async def _in_place(self, run: _Run, work: Any, seconds: float) -> Any:
        waited = time.perf_counter()
        try:
            await self.places.__aenter__()
        except BaseException:
            work.close()
            raise
        try:
            run.started += time.perf_counter() - waited  # waiting in our own queue does not count
            return await within(work, seconds)
        finally:
            await self.places.__aexit__()

    def _record(self, run: _Run, result: Result, *, cancelled: bool = False) -> Result:
        """Complete the result and tell the observers, before anybody else hears of it."""
        tool, call, verdict = run.tool, run.call, run.verdict
        metadata: dict[str, JSON] = {
            "tool": call.name,
            "version": tool.version if tool else None,
            "digest": tool.digest if tool else None,
            "call_id": call.id,
            "execution_time_ms": round((time.perf_counter() - run.started) * 1000, 3),
            "approval": verdict.decision.wire if verdict else None,
            "sandbox": self.host.sandbox.name if tool and tool.backend.starts_process else None,
            "attempts": run.attempts,
        }
        if run.approved_by:
            metadata["approved_by"] = run.approved_by
        if run.ctx is not None and run.ctx.report:
            metadata.update(run.ctx.report)
        result = Result(result.data, result.error, metadata)
        try:
            self._tell(Finished(call, tool, verdict, result, cancelled))
        except ToolError as exc:
            message = f"the call ended, but that could not be recorded: {exc}; its result is in the details"
            return Result(error=ErrorInfo(exc.code, message, result.to_dict()), metadata=metadata)
        return result

    def _tell(self, event: Event) -> None:
        for observer in self.observers:
            observer.notice(event)

    # What a running tool may ask of us (`core.context.Hands`).

    async def confirm(self, ctx: Context, message: str) -> bool:
        tool = self.registry.get(ctx.call_.name)
        if self.approver is None or tool is None:
            return False
        return (await self.approver.approve(Question(ctx.call_, tool, "the tool asks", message))).allowed

    async def call_from(self, ctx: Context, name: str, args: Mapping[str, JSON]) -> Result:
        outer = ctx.call_
        if outer.depth + 1 >= MAX_DEPTH:
            raise ToolError(f"more than {MAX_DEPTH} tools call each other", code="RESOURCE_EXHAUSTED")
        inner = Call(name, args, self.host.next_id(), outer.session, f"tool {outer.name}", depth=outer.depth + 1)
        return await self.call(inner)

    def log(self, ctx: Context, level: str, message: str) -> None:
        self._tell(Logged(ctx.call_, level, message))


def _result(outcome: Outcome) -> Result:
    return Result(outcome.value) if outcome.failure is None else Result(error=explain(outcome.failure))


def _verify(tool: Tool) -> None:
    """What was listed, checked and approved is what runs."""
    if tool.backend.digest() != tool.digest:
        raise Refused(f"{tool.origin} changed since it was listed; list the tools again", code="TOOL_PIN_MISMATCH")


def _check(call: Call, tool: Tool) -> None:
    args = call.args
    if len(dump(args)) > INPUT_BYTES:
        raise ToolError(f"the arguments are longer than {INPUT_BYTES} bytes", code="INPUT_TOO_LARGE")
    if not call.skip_validation and (faults := _faults(tool, args)):
        raise ToolError("Invalid parameters", code="VALIDATION_ERROR", details=faults)


def _faults(tool: Tool, args: Mapping[str, JSON]) -> list[Any]:
    if type(args) is not dict:
        return [
            {
                "pointer": "",
                "expected": "object",
                "got": type(args).__name__,
                "message": "the arguments are not an object",
            }
        ]
    return tool.schema.check(args) or (list(tool.hooks.validate(args)) if tool.hooks.validate else [])


def _may_repeat(tool: Tool, failure: BaseException) -> bool:
    """Only what is harmless to do twice, or what provably did not happen the first time."""
    if isinstance(failure, Refused):
        return False
    claims = tool.capabilities
    return claims.idempotent or claims.retryable or (isinstance(failure, ToolError) and failure.before_effect)
