"""The fakes we test with, for everybody who tests tools, approvers and sandboxes of their own."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from .core.call import Call, Result
from .core.context import Context, Host
from .core.errors import ToolError
from .core.events import Event
from .core.jsontext import JSON
from .core.limits import Limits
from .core.policy import Answer, Decision, Question, Verdict
from .core.process import Captured, Command, Completed, Ended
from .core.source import Loaded
from .core.tool import Tool
from .core.workspace import Folder, Workspace

MakeFiles = Callable[[dict[str, JSON], Mapping[str, str], str], Workspace]


class ScriptedApprover:
    """Gives the answers it was given, and remembers what it was asked."""

    def __init__(self, *answers: bool) -> None:
        self.answers = list(answers)
        self.asked: list[Question] = []

    async def approve(self, question: Question) -> Answer:
        self.asked.append(question)
        return Answer(allowed=self.answers.pop(0), by="script")


class FixedPolicy:
    """The same verdict for every call."""

    def __init__(self, decision: Decision, reason: str = "a fixed policy") -> None:
        self._verdict = Verdict(decision, reason)

    def judge(self, call: Call, tool: Tool) -> Verdict:
        return self._verdict


class ScriptedSandbox:
    """Starts nothing. Remembers the commands and gives the answers it was given."""

    name = "scripted"

    def __init__(self, *answers: Completed | bytes) -> None:
        self.answers = list(answers)
        self.commands: list[Command] = []

    async def exec(self, command: Command, *, ended: Ended | None = None) -> Completed:
        self.commands.append(command)
        answer = self.answers.pop(0)
        if isinstance(answer, bytes):
            answer = Completed(0, Captured(answer, total=len(answer)), Captured())
        if ended is not None:
            ended(answer)
        return answer


class Recorder:
    """An observer that keeps everything it is told."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def ready(self) -> None:
        pass

    def notice(self, event: Event) -> None:
        self.events.append(event)


class FixedSource:
    """A source that always offers the same."""

    def __init__(self, *tools: Tool, rank: int = 0) -> None:
        self.rank = rank
        self._loaded = Loaded(tools)

    async def load(self) -> Loaded:
        return self._loaded


class FakeHands:
    """What a context needs from an executor: answers to `confirm`, results for `call`, and a log to read."""

    def __init__(self, *, confirms: bool = False, results: Mapping[str, Result] | None = None) -> None:
        self.confirms, self.results = confirms, dict(results or {})
        self.confirmed: list[str] = []
        self.called: list[tuple[str, dict[str, Any]]] = []
        self.logged: list[tuple[str, str]] = []

    async def confirm(self, ctx: Context, message: str) -> bool:
        self.confirmed.append(message)
        return self.confirms

    async def call_from(self, ctx: Context, name: str, args: Mapping[str, JSON], limit: float | None) -> Result:
        self.called.append((name, dict(args)))
        return self.results[name]

    def log(self, ctx: Context, level: str, message: str) -> None:
        self.logged.append((level, message))


class MemoryFiles:
    """A workspace that lies in a dictionary."""

    def __init__(self, files: Mapping[str, bytes | str], report: dict[str, Any] | None = None) -> None:
        self.files = {path: data.encode() if isinstance(data, str) else data for path, data in files.items()}
        self.report = report if report is not None else {}

    def read(self, path: str) -> bytes:
        if path not in self.files:
            raise ToolError(f"File not found: {path}", code="FILE_NOT_FOUND", details={"path": path})
        self.report["bytes_read"] = self.report.get("bytes_read", 0) + len(self.files[path])
        self.report.setdefault("files_accessed", []).append(path)
        return self.files[path]

    def write(self, path: str, data: bytes | str) -> None:
        self.files[path] = data.encode() if isinstance(data, str) else data
        self.report["bytes_written"] = self.report.get("bytes_written", 0) + len(self.files[path])
        self.report.setdefault("files_accessed", []).append(path)

    @contextmanager
    def open(self, path: str, *, glance: bool = False) -> Iterator[BinaryIO]:
        yield BytesIO(self.read(path))

    def change(self, path: str, make: Callable[[bytes | None], bytes]) -> None:
        self.write(path, make(self.files.get(path)))

    @contextmanager
    def directory(self, path: str = ".") -> Iterator[Folder]:
        """On a disk, for as long as it is looked at: what walks through a directory needs a real one."""
        below = "" if path == "." else path.rstrip("/") + "/"
        with TemporaryDirectory() as place:
            for name, data in self.files.items():
                if name.startswith(below):
                    target = os.path.join(place, name.removeprefix(below))
                    os.makedirs(os.path.dirname(target), exist_ok=True)
                    with open(target, "wb") as file:
                        file.write(data)
            fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
            try:
                yield Folder(fd, place)
            finally:
                os.close(fd)

    def exists(self, path: str) -> bool:
        return path in self.files or any(name.startswith(path.rstrip("/") + "/") for name in self.files)

    def unlink(self, path: str) -> None:
        self.read(path)
        del self.files[path]

    def list(self, path: str = ".") -> list[str]:
        below = "" if path == "." else path.rstrip("/") + "/"
        return sorted({name.removeprefix(below).split("/")[0] for name in self.files if name.startswith(below)})

    def stat(self, path: str) -> os.stat_result:
        return os.stat_result((0o100644, 0, 0, 1, 0, 0, len(self.read(path)), 0, 0, 0))


def fake_context(
    files: Mapping[str, bytes | str] | MakeFiles | None = None,
    *,
    cwd: str = "/work",
    sandbox: ScriptedSandbox | None = None,
    hands: FakeHands | None = None,
    environ: Mapping[str, str] | None = None,
    code: object | None = None,
    limits: Limits | None = None,
) -> Context:
    """A context for running one tool alone: on files in memory, or on those that a function gives."""
    held = MemoryFiles({} if files is None or callable(files) else files)

    def with_report(report: dict[str, JSON], judged: Mapping[str, str], session: str) -> Workspace:
        held.report = report
        return files(report, judged, session) if callable(files) else held

    host = Host(cwd, sandbox or ScriptedSandbox(), with_report, environ or {}, code=code)
    return Context(host, Call("tool", {}, host.next_id(), "test"), limits or Limits(), hands or FakeHands())
