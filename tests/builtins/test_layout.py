"""What holds for every built-in tool: one file each, described by a schema, usable without the rest of the package."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import toolcrib
from toolcrib import builtins
from toolcrib.builtins import TOOLS
from toolcrib.core.tool import Tool
from toolcrib.runtime.toolsets import TOOLSETS

ROOT = Path(toolcrib.__file__).parent
WANTED = {
    "files": "read_file write_file edit_file delete_file",
    "search": "glob grep list_directory",
    "code": "search_code get_codebase_map get_symbol_info get_imports_exports build_dependency_graph resolve_symbol "
    "find_references",
    "project": "detect_project_type extract_conventions get_project_overview",
    "commands": "run_command",
    "todos": "todo_write",
}
by_name = pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)


def module_of(tool: Tool) -> ModuleType:
    return import_module(f"toolcrib.builtins.{tool.name}")


def test_all_that_were_asked_for_are_there() -> None:
    """C46, G2"""
    names = {tool.name for tool in TOOLS}
    assert {name for group in WANTED.values() for name in group.split()} - names == set()
    golem = {"read_file", "write_file", "list_files", "delete_file", "file_exists", "file_info", "run_command"}
    assert golem - names == set()
    assert names == {name for group in TOOLSETS.values() for name in group}, "each is in a toolset, and can be chosen"


@by_name
def test_one_tool_is_one_file(tool: Tool) -> None:
    """C1, C47: named as the tool is, with that tool and no other in it, and a line that says what it is for."""
    module = module_of(tool)
    own = [name for name, value in vars(module).items() if isinstance(value, Tool) and not name.startswith("_")]
    assert own == [tool.name] and getattr(module, tool.name) is tool
    assert module.__doc__ and module.__doc__.startswith(f"`{tool.name}`")


def test_the_index_of_tools_holds_nothing_else() -> None:
    """C47: the tools in the order of their names, each imported from its file."""
    assert [tool.name for tool in TOOLS] == sorted(tool.name for tool in TOOLS)
    lines = (ROOT / "builtins" / "__init__.py").read_text().splitlines()
    imports = [line for line in lines if line.startswith("from .") and not line.startswith("from ..")]
    assert imports == [f"from .{tool.name} import {tool.name}" for tool in TOOLS]
    assert {name for name in vars(builtins) if not name.startswith("_")} >= {"TOOLS"}


def test_registry_executor_context_and_shim_have_files_of_their_own() -> None:
    """C47, C6: what a tool is, how one is found, how it is called, what it is handed; and the old way in above them."""
    for path in ("core/tool.py", "core/registry.py", "core/executor.py", "core/context.py", "runtime/shim.py"):
        assert (ROOT / path).is_file()


@by_name
def test_a_tool_says_what_it_is_what_it_takes_and_what_it_may_do(tool: Tool) -> None:
    """C3, C18, C19: a schema that can be checked and read; a version; claims that are true of a tool that only reads."""
    schema = tool.input_schema
    assert schema["type"] == "object" and schema["additionalProperties"] is False
    assert set(schema.get("required", ())) <= set(schema["properties"])
    assert tool.schema.check({"no such parameter": 1})
    assert all("description" in each or "type" in each or "enum" in each for each in schema["properties"].values())
    assert re.fullmatch(r"\d+\.\d+\.\d+", tool.version) and len(tool.description) >= 40
    assert tool.digest == tool.backend.digest() and tool.source == "builtin"


def test_tools_need_nothing_of_the_agent_or_the_runtime() -> None:
    """C4, C56: imported by themselves, they bring no runtime, no command line and no server with them."""
    code = (
        "import sys, toolcrib.builtins\n"
        "above = ('runtime', 'cli', 'serve', 'agent')\n"
        "print([name for name in sys.modules if name.split('.')[:2] in [['toolcrib', each] for each in above]])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
