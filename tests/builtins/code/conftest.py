"""One small project, and its tools: alone with a context made by hand, and through the gate."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.builtins.build_dependency_graph import build_dependency_graph
from toolcrib.builtins.find_references import find_references
from toolcrib.builtins.get_codebase_map import get_codebase_map
from toolcrib.builtins.get_imports_exports import get_imports_exports
from toolcrib.builtins.get_symbol_info import get_symbol_info
from toolcrib.builtins.resolve_symbol import resolve_symbol
from toolcrib.builtins.search_code import search_code
from toolcrib.codeindex.index import CodeIndex
from toolcrib.core.tool import Tool
from toolcrib.sandbox.guard import GuardedFiles
from toolcrib.sandbox.processes import Processes
from toolcrib.testing import fake_context

TOOLS = (
    build_dependency_graph,
    find_references,
    get_codebase_map,
    get_imports_exports,
    get_symbol_info,
    resolve_symbol,
    search_code,
)
FILES = {
    "shop/__init__.py": "from .cart import Cart\n",
    "shop/cart.py": '"""Carts."""\n\nfrom .price import total\n\n\nclass Cart:\n    """What somebody wants to buy."""\n\n    def add(self, item: str, count: int = 1) -> None:\n        """Put something into it."""\n\n    def sum(self) -> int:\n        return total([])\n',
    "shop/price.py": "from . import cart\n\n\ndef total(prices: list[int]) -> int:\n    return sum(prices)\n",
    "main.py": 'from shop import Cart\n\ncart = Cart()\ncart.add("apple")\nprint("Cart", cart.sum())\n',
}


@pytest.fixture
def code_tools() -> tuple[Tool, ...]:
    return TOOLS


@pytest.fixture
def project(workspace: Path) -> Path:
    for name, text in FILES.items():
        path = workspace / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return workspace


@pytest.fixture
def alone(project: Path) -> Callable[..., Any]:
    """`alone(tool, **args)` runs a tool with a context that has the real index, and no gate before it."""

    def run(tool: Tool, **args: Any) -> Any:
        async def once() -> Any:
            sandbox = Processes("tctest")
            ctx = fake_context(
                lambda report, judged, session: GuardedFiles(project, report),
                cwd=str(project),
                sandbox=sandbox,  # type: ignore[arg-type]  # the real one, for the program that asks jedi
                code=CodeIndex(cache=None, run=None),
            )
            try:
                return await tool.backend.run(args, ctx)
            finally:
                sandbox.close()

        return asyncio.run(once())

    return run


@pytest.fixture
def through(home: Path, project: Path) -> Callable[..., toolcrib.Result]:
    """`through(name, **args)` calls one of the built-in tools by the front door."""

    def call(name: str, **args: Any) -> toolcrib.Result:
        return toolcrib.call_sync(name, args, workspace=project, home=home)

    return call
