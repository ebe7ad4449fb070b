"""The public door is exactly what it says."""

import subprocess
import sys

import toolcrib


def test_all_is_the_public_door() -> None:
    assert sorted(toolcrib.__all__) == toolcrib.__all__
    for name in toolcrib.__all__:
        getattr(toolcrib, name)
    public = {name for name in dir(toolcrib) if not name.startswith("_")}
    packages = {
        "backends",
        "builtins",
        "cli",
        "codeindex",
        "core",
        "observe",
        "policy",
        "runtime",
        "sandbox",
        "serve",
        "sources",
        "store",
        "testing",
    }
    assert public - packages - {"TYPE_CHECKING"} == set(toolcrib.__all__) - {"__version__"}


def test_what_is_not_there_says_so() -> None:
    assert not hasattr(toolcrib, "no_such_name")


def test_the_door_is_cheap_to_open() -> None:
    code = "import sys, toolcrib; print([name for name in ('asyncio', 'pydantic', 'orjson', 'yaml') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_script_may_call_without_a_loop(tmp_path) -> None:
    @toolcrib.tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    result = toolcrib.call_sync("add", {"a": 2, "b": 3}, tools=[add], home=tmp_path / "home", workspace=tmp_path)
    assert (result.success, result.data) == (True, 5)
