"""A pytest plugin that notes which functions of the product each test comes through."""

import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest


class Tracing:
    """Writes `{test: {"seconds", "passed", "functions": ["path:name", …]}}` to `found` when the session ends.

    A test is a function of a test file; its cases count together. A fixture's work counts for the test that is first to
    ask for it. Only what runs in the test's own process is seen.
    """

    def __init__(self, src: str, found: Path) -> None:
        self.src, self.found = src, found
        self._seen: set[CodeType] = set()
        self._tests: dict[str, dict[str, Any]] = {}

    def _note(self, frame: FrameType, event: str, arg: object) -> None:
        if event == "call":
            self._seen.add(frame.f_code)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        self._seen.clear()
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        try:
            return (yield)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]  # None is how it is taken away
            functions = {
                f"{code.co_filename.removeprefix(self.src + '/')}:{code.co_qualname.partition('.<locals>')[0]}"
                for code in self._seen
                if code.co_filename.startswith(self.src)
            }
            test = self._test(item.nodeid)
            test["functions"] = sorted({*test["functions"], *functions})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = self._test(report.nodeid)
        test["seconds"] += report.duration
        test["passed"] = test["passed"] and report.outcome != "failed"

    def pytest_sessionfinish(self) -> None:
        self.found.write_text(json.dumps(self._tests))

    def _test(self, nodeid: str) -> dict[str, Any]:
        name = nodeid.partition("[")[0]
        return self._tests.setdefault(name, {"seconds": 0.0, "passed": True, "functions": []})


def pytest_configure(config: pytest.Config) -> None:
    """Loaded with `-p tracing`: where to look and where to write is in the environment."""
    src, found = json.loads(os.environ.pop("TRACING"))
    config.pluginmanager.register(Tracing(src, Path(found)))
