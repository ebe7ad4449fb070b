"""The code index of a runtime, with its real home and its real way to start processes."""

import asyncio
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolcrib.runtime import code
from toolcrib.runtime.code import code_engine
from toolcrib.sandbox.guard import GuardedFiles
from toolcrib.sandbox.processes import Processes
from toolcrib.store.home import Home

IDENTITY = "tc0123456789abcdef"


def test_without_the_extra_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C45: whoever asks for it is told which command installs it."""
    monkeypatch.setattr(code, "NEEDED", ("a_module_that_nobody_has",))
    assert code_engine(Home(tmp_path), Processes(IDENTITY), identity=IDENTITY, environ={}) is None


def test_the_extra_is_looked_for_and_not_loaded() -> None:
    program = (
        "import sys; from toolcrib.runtime.code import code_engine\n"
        "from toolcrib.store.home import Home\n"
        "code_engine(Home('/nowhere'), None, identity='', environ={})\n"
        "print(*(name for name in sys.modules if 'tree_sitter' in name or 'ast_grep' in name or 'codeindex' in name))"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == ""


@pytest.mark.skipif(importlib.util.find_spec("ast_grep_py") is None, reason="the extra `code` is not installed")
def test_a_tree_is_indexed_by_processes_and_kept_at_home(home: Path, workspace: Path) -> None:
    for number in range(120):
        (workspace / f"f{number}.py").write_text(f"def f{number}(): pass\n")

    async def ask() -> int:
        sandbox = Processes(IDENTITY)
        started = []
        real = sandbox.exec

        async def noting(command, **more):  # type: ignore[no-untyped-def]
            done = await real(command, **more)
            started.append((command.argv, done.code))
            return done

        sandbox.exec = noting  # type: ignore[method-assign]
        engine = code_engine(Home(home), sandbox, identity=IDENTITY, environ={})
        assert engine is not None
        view = await engine.settled(GuardedFiles(workspace))
        sandbox.close()
        assert len(view.names()) == 120
        assert [status for _, status in started] == [0]
        return len(started)

    assert asyncio.run(ask()) == 1
    assert os.listdir(home / "cache" / "code") != []
    assert oct((home / "cache" / "code").stat().st_mode & 0o777) == "0o700"
