"""Runs tests against one changed source file after another, where a change can break nothing.

A mutant of code that kills processes and removes directories may kill and remove the wrong ones. So this program works
as the first process of a process namespace of its own, on a file system it can only read, with a `/tmp` and a copy of
`src` and `tests` in memory: `enclosure` says how it gets there. What it is to do comes as JSON lines on descriptor 3, what
came of it goes as JSON lines to descriptor 4.

A fresh interpreter for each mutant would spend most of its time with importing. So pytest collects all tests once, and
for each mutant this process forks, puts the changed code into the function that has it, and runs the tests it is to
meet: `quick`. What lives through that meets them again in an interpreter of its own, where the change is there from
the first import on: `slow`.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from patching import patch
from tracing import Tracing

ROOT = Path(__file__).resolve().parents[2]
OWN = Path(sys.prefix) / "own"  # memory, too, and not in /tmp: a mutant may empty that
FAILED_BY = OWN / "failed-by"
COPIES = ("src", "tests")
OPTIONS = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-seed=0", "--tb=short"]
TASKS, ANSWERS = 3, 4
SHOWN = 3000
BROKEN = 99  # the tests could not be run at all


def enclosure() -> list[str]:
    """The command that runs the words after it as process 1 of a namespace in which only memory can be written."""
    user = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    copies = "".join(
        f'cp -R --preserve=mode,timestamps "{ROOT}/{name}" "{OWN}/{name}" && mount --bind "{OWN}/{name}" "{ROOT}/{name}" && '
        for name in COPIES
    )
    script = (
        f'mkdir -p "{OWN}" && mount --make-rprivate / && mount -o remount,bind,ro / && mount -t tmpfs tmpfs /tmp && '
        f'mount -t tmpfs tmpfs "{OWN}" && {copies}cd "{ROOT}" && exec "$@"'
    )
    return ["unshare", *user, "--pid", "--mount", "--fork", "--mount-proc", "--kill-child", "sh", "-c", script, "sh"]


class Server:
    """A pytest plugin that does tasks instead of running all tests."""

    def __init__(self) -> None:
        self._failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.append(report.nodeid.partition("[")[0])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        with os.fdopen(TASKS) as tasks, os.fdopen(ANSWERS, "w") as answers:
            items: dict[str, list[pytest.Item]] = {}
            for item in session.items:
                items.setdefault(item.nodeid.partition("[")[0], []).append(item)
            for line in tasks:
                task = json.loads(line)
                answers.write(json.dumps(self._answer(task, items)) + "\n")
                answers.flush()
        return True

    def _answer(self, task: dict[str, Any], items: dict[str, list[pytest.Item]]) -> dict[str, Any]:
        if task["do"] == "trace":
            found = OWN / "trace"
            found.unlink(missing_ok=True)
            tracing = Tracing(str(ROOT / "src"), found)
            words = [*OPTIONS, task["file"], "--maxfail=1000", "-p", "tracing"]
            code, seconds = _run(lambda: _afresh(words, tracing), limit=task["limit"])
            return _said(code, seconds) | {"tests": json.loads(found.read_text()) if found.exists() else {}}
        wanted = [item for name in task.get("tests", ()) for item in items.get(name, ())]
        if task["do"] == "check":
            (OWN / "failed").write_text(json.dumps(task["tests"]))  # until it is known better
            code, seconds = _run(lambda: self._check(wanted), limit=task["limit"])
            return _said(code, seconds) | {"failed": json.loads((OWN / "failed").read_text())}
        with changed(task["path"], task["source"]):
            if task["do"] == "quick":
                return _said(*_run(lambda: self._meet(task, wanted), limit=task["limit"]))
            return _said(*_run(lambda: _afresh([*OPTIONS, *task["tests"]]), limit=task["limit"]))

    def _check(self, items: list[pytest.Item]) -> int:
        """Which tests fail here without any change: those are not asked."""
        for item, after in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        (OWN / "failed").write_text(json.dumps(sorted(set(self._failed))))
        return 0

    def _meet(self, task: dict[str, Any], items: list[pytest.Item]) -> int:
        """Whether one of the collected tests fails when a function has its new code."""
        patch(task["path"], task["source"], task["function"])
        for item, after in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if self._failed:
                FAILED_BY.write_text(self._failed[0])
                return 1
        return 0


def _afresh(words: list[str], tracing: Tracing | None = None) -> int:
    about = {"TRACING": json.dumps([tracing.src, str(tracing.found)])} if tracing else {"PYTHONDONTWRITEBYTECODE": "1"}
    path = f"{ROOT}/tests/mutation"
    return subprocess.run(
        [sys.executable, "-m", "pytest", *words], env=os.environ | about | {"PYTHONPATH": path}
    ).returncode


def _run(do: Callable[[], int], *, limit: float) -> tuple[int, float]:
    """What a child answers that does this (-1: it took too long), and the seconds it took."""
    began = time.monotonic()
    FAILED_BY.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        os.setsid()
        out = os.open(OWN / "out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        for stream in (1, 2):
            os.dup2(out, stream)
        code = BROKEN
        try:
            code = do()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    while (code := _ended(child)) is None and time.monotonic() - began < limit:
        time.sleep(0.005)
    _clear()
    return (-1 if code is None else code), time.monotonic() - began


def _ended(child: int) -> int | None:
    """How the child ended, if it did. Whatever lost its parent is ours now, and is reaped on the way."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if pid == child:
            return abs(os.waitstatus_to_exitcode(status))
        if pid == 0:
            return None


def _clear() -> None:
    """Ends every process of this namespace but this one, and empties /tmp."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    for entry in os.scandir("/tmp"):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            os.unlink(entry.path)


@contextlib.contextmanager
def changed(path: str, source: str) -> Any:
    """The file has this text for a while."""
    file = ROOT / path
    before = file.read_bytes()
    try:
        _write(file, source.encode())
        yield
    finally:
        _write(file, before)


def _write(path: Path, content: bytes) -> None:
    """Two texts of one size in one second would be one for the interpreter's cache, so that is dropped."""
    path.write_bytes(content)
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


def _said(code: int, seconds: float) -> dict[str, Any]:
    """What is answered of a run; `by` is the test that failed first, where one did."""
    output = (OWN / "out").read_text(errors="replace") if (OWN / "out").exists() else ""
    named = re.search(r"^FAILED (\S+?)(?:\[|\s|$)", output, re.MULTILINE)
    by = FAILED_BY.read_text() if FAILED_BY.exists() else named[1] if named else ""
    return {"code": code, "seconds": seconds, "output": output[-SHOWN:], "by": by}


def main() -> None:
    if os.getpid() != 1:
        sys.exit("worker.py ends every process it can see, so it runs only as process 1 of a namespace of its own")
    os.environ |= {"HOME": f"{OWN}/home", "HYPOTHESIS_STORAGE_DIRECTORY": f"{OWN}/examples"}
    (OWN / "home").mkdir()
    sys.exit(int(pytest.main([*OPTIONS, "-s", "--continue-on-collection-errors", *sys.argv[1:]], plugins=[Server()])))


if __name__ == "__main__":
    main()
