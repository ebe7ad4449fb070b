"""The pipeline: look up, verify, check, judge, ask, run, record. In that order, for every call, whatever its door."""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from time import perf_counter
from typing import Any

from .call import Call, ErrorInfo, Result, Retry, explain, settle, writable
from .context import Context, Host
from .deadline import Expired, within
from .errors import Refused, ToolError
from .events import Event, Finished, Logged, Observer, Started
from .jsontext import JSON, canonical
from .limits import INPUT_BYTES
from .policy import Approver, Decision, Policy, Question, Verdict
from .process import Sandbox
from .registry import Registry
from .tool import Tool

MAX_DEPTH = 16
"""How many tools may stand one behind the other."""


class _Run:
    """What is known of a call so far."""

    __slots__ = ("approved_by", "attempts", "call", "ctx", "payload", "sandbox", "started", "tool", "verdict")

    def __init__(self, call: Call) -> None:
        self.call = call
        self.tool: Tool | None = None
        self.verdict: Verdict | None = None
        self.approved_by: str | None = None
        self.payload: bytes | None = None
        self.ctx: Context | None = None
        self.sandbox: Sandbox | None = None
        self.attempts = 0
        self.started = perf_counter()


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
        places: asyncio.Semaphore | None = None,
    ) -> None:
        self.registry, self.policy, self.host = registry, policy, host
        self.approver, self.observers = approver, observers
        self.places = places or asyncio.Semaphore(32)

    async def call(self, call: Call) -> Result:
        run = _Run(call)
        try:
            data, failure = await settle(self._pass(run))
        except asyncio.CancelledError:
            if run.ctx is not None:
                run.ctx.over = True
            self._record(run, None, ErrorInfo("CANCELLED", "the caller gave up"))
            raise
        return self._record(run, data, None if failure is None else explain(failure))

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
        payload = run.payload = canonical(call.args)
        _check(call, tool, payload)
        verdict = run.verdict = self.policy.judge(call, tool)
        if tool.backend.starts_process:  # before anybody is asked: what cannot be confined as it must does not run
            run.sandbox = self.host.confine(tool) if self.host.confine else self.host.sandbox
        if verdict.decision:  # anything but pre-approved
            await self._approve(run, tool, verdict)
            if run.sandbox and self.host.confine:  # a yes gives a tool what it declares
                run.sandbox = self.host.confine(tool)
        for observer in self.observers:
            observer.ready()
        if (tool.backend.starts_process or tool.capabilities.accesses_network) and not call.dry_run:
            self._tell(Started(call, tool, run.payload, verdict.decision.wire))
        return await (self._attempt(run, tool) if call.retry is None else self._retrying(run, tool, call.retry))

    def _resolve(self, name: str) -> Tool:
        tool = self.registry.get(name)
        if tool is not None:
            return tool
        if problem := self.registry.held(name):
            raise Refused(problem.message, code=problem.code, details=problem.to_dict())
        nearest = get_close_matches(name, self.registry.names(), n=3) if len(name) <= 100 else []
        raise ToolError(f"Unknown tool: {name}", code="TOOL_NOT_FOUND", details={"nearest": nearest})

    async def _approve(self, run: _Run, tool: Tool, verdict: Verdict) -> None:
        name = tool.name
        if verdict.decision is Decision.BLOCKED:
            raise Refused(f"{name} is blocked: {verdict.reason}", code=verdict.code)
        if self.approver is None:
            message = f"{name} needs approval ({verdict.reason}), and there is nobody to ask"
            raise Refused(message, code="APPROVAL_REQUIRED")
        asked = perf_counter()
        answer = await self.approver.approve(Question(run.call, tool, verdict.reason, subjects=verdict.asked))
        run.started += perf_counter() - asked  # a person's time is not the tool's
        if not answer.allowed:
            raise Refused(f"{name} was not approved ({answer.by})", code="APPROVAL_DENIED")
        run.approved_by = answer.by
        _verify(tool)  # what was approved is what runs, however long the answer took
        if canonical(run.call.args) != run.payload:
            raise Refused("the arguments changed while the call was being approved", code="APPROVAL_DENIED")

    async def _retrying(self, run: _Run, tool: Tool, retry: Retry) -> Any:
        delay = retry.delay_ms / 1000
        while True:
            value, failure = await settle(self._attempt(run, tool))
            if failure is None:
                return value
            if run.attempts >= retry.max_attempts or not _may_repeat(tool, failure):
                raise failure
            await asyncio.sleep(delay)
            delay *= retry.backoff_multiplier

    async def _attempt(self, run: _Run, tool: Tool) -> Any:
        call, backend = run.call, tool.backend
        limits = tool.limits if call.timeout is None else replace(tool.limits, seconds=call.timeout)
        ctx = run.ctx = Context(self.host, call, limits, self, run.verdict)
        ctx.sandbox = run.sandbox or ctx.sandbox
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
            return await self._in_place(run, ctx, work, limits.seconds)
        except Expired:
            ctx.over = True
            message = f"{tool.name} ran longer than {limits.seconds:g} s and was ended"
            raise ToolError(message, code="TIMEOUT", details={"seconds": limits.seconds, **ctx.evidence()}) from None

    async def _in_place(self, run: _Run, ctx: Context, work: Coroutine[Any, Any, Any], seconds: float) -> Any:
        """Run when there is a place for one more process."""
        asked = perf_counter()
        try:
            await self.places.acquire()
        except BaseException:
            work.close()
            raise
        ctx.placed = True
        try:
            run.started += perf_counter() - asked  # waiting in our own queue does not count
            return await within(work, seconds)
        finally:
            if ctx.placed:
                self.places.release()

    def _record(self, run: _Run, data: JSON, error: ErrorInfo | None) -> Result:
        """Make the result and tell the observers, before anybody else hears of it."""
        tool, call, verdict = run.tool, run.call, run.verdict
        metadata: dict[str, JSON] = {
            "tool": call.name,
            "version": tool.version if tool else None,
            "digest": tool.digest if tool else None,
            "call_id": call.id,
            "execution_time_ms": int((perf_counter() - run.started) * 1e6) / 1000,
            "approval": verdict.decision.wire if verdict else None,
            "sandbox": run.sandbox and run.sandbox.name,
            "attempts": run.attempts,
        }
        if run.approved_by:
            metadata["approved_by"] = run.approved_by
        if run.ctx is not None and run.ctx.report:
            metadata.update(run.ctx.report)
        conceal = self.host.conceal
        error = error and ErrorInfo(error.code, conceal(error.message), conceal(error.details))
        result = Result(conceal(data), error, conceal(metadata))
        try:
            self._tell(Finished(call, tool, run.payload, result))
        except ToolError as exc:
            ran = "it ran, its result is in the details, but " if run.attempts else "nothing ran: "
            return Result(None, ErrorInfo(exc.code, f"{ran}{exc}", result.to_dict()), metadata)
        return result

    def _tell(self, event: Event) -> None:
        for observer in self.observers:
            observer.notice(event)

    # What a running tool may ask of us (`core.context.Hands`).

    async def confirm(self, ctx: Context, message: str) -> bool:
        tool = self.registry.get(ctx.request.name)
        if self.approver is None or tool is None:
            return False
        question = Question(ctx.request, tool, "the tool asks", self.host.conceal(message))
        return (await self.approver.approve(question)).allowed

    async def call_from(self, ctx: Context, name: str, args: Mapping[str, JSON], limit: float | None) -> Result:
        outer, depth, asker = ctx.request, ctx.request.depth + 1, f"tool {ctx.request.name}"
        if depth >= MAX_DEPTH:
            raise ToolError(f"more than {MAX_DEPTH} tools call each other", code="RESOURCE_EXHAUSTED")
        inner = self.call(Call(name, args, self.host.next_id(), outer.session, asker, limit, depth=depth))
        if not ctx.placed:
            return await inner
        ctx.placed = False
        self.places.release()  # a tool that waits for another leaves its place: it could be the one that is waited for
        result = await inner
        await self.places.acquire()  # not when it is ended meanwhile: it would wait for a place in order to end
        ctx.placed = True
        return result

    def log(self, ctx: Context, level: str, message: str) -> None:
        self._tell(Logged(ctx.request, level, self.host.conceal(message)))


def _verify(tool: Tool) -> None:
    """What was listed, checked and approved is what runs."""
    if tool.backend.digest() != tool.digest:
        raise Refused(f"{tool.origin} changed since it was listed; list the tools again", code="TOOL_PIN_MISMATCH")


def _check(call: Call, tool: Tool, payload: bytes) -> None:
    if len(payload) > INPUT_BYTES:
        raise ToolError(f"the arguments are longer than {INPUT_BYTES} bytes", code="INPUT_TOO_LARGE")
    if not call.skip_validation and (faults := _faults(tool, call.args)):
        raise ToolError("Invalid parameters", code="VALIDATION_ERROR", details=faults)


def _faults(tool: Tool, args: Mapping[str, JSON]) -> list[Any]:
    if type(args) is not dict:
        message = "the arguments are not an object"
        return [{"pointer": "", "expected": "object", "got": type(args).__name__, "message": message}]
    faults, more = tool.schema.check(args), tool.hooks.validate
    if more is None or (faults and tool.source != "builtin"):  # only ours can be given what does not fit the schema
        return faults
    return [*faults, *more(args)]


def _may_repeat(tool: Tool, failure: BaseException) -> bool:
    """Only what is harmless to do twice, or what provably did not happen the first time."""
    if isinstance(failure, Refused):
        return False
    claims = tool.capabilities
    return claims.idempotent or claims.retryable or (isinstance(failure, ToolError) and failure.before_effect)
