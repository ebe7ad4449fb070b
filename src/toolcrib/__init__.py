"""Toolcrib: tools in any form, issued to any agent, through one gate.

    import toolcrib

    @toolcrib.tool
    async def greet(name: str) -> str:
        "Say hello."
        return f"Hello, {name}!"

    async with toolcrib.open(workspace=".", tools=[greet]) as crib:
        result = await crib.call("greet", {"name": "Bob"})

These names are the public door; everything deeper may move. Importing this module imports none of it: each name is
fetched when it is first used.
"""

TYPE_CHECKING = False  # type checkers know the name; importing it would cost more than the rest of this module
if TYPE_CHECKING:
    from .backends.function import tool
    from .builtins.guidance import guidance
    from .core.call import Call, ErrorInfo, Result, Retry
    from .core.context import Context
    from .core.errors import ConfigError, DuplicateTool, ToolcribError, ToolError
    from .core.limits import Limits
    from .core.policy import Answer, Approver, Decision, Question
    from .core.source import Problem
    from .core.tool import Capabilities, Tool
    from .policy.approvers import SaysYes
    from .runtime.build import open
    from .runtime.default_context import create_default_context
    from .runtime.runtime import Crib
    from .runtime.shim import TOOLS, execute_tool
    from .runtime.sync import call_sync

__version__ = "0.1.0"

_HOMES = {
    "Answer": "core.policy",
    "Approver": "core.policy",
    "Call": "core.call",
    "Capabilities": "core.tool",
    "ConfigError": "core.errors",
    "Context": "core.context",
    "Crib": "runtime.runtime",
    "Decision": "core.policy",
    "DuplicateTool": "core.errors",
    "ErrorInfo": "core.call",
    "Limits": "core.limits",
    "Problem": "core.source",
    "Question": "core.policy",
    "Result": "core.call",
    "Retry": "core.call",
    "SaysYes": "policy.approvers",
    "TOOLS": "runtime.shim",
    "Tool": "core.tool",
    "ToolError": "core.errors",
    "ToolcribError": "core.errors",
    "call_sync": "runtime.sync",
    "create_default_context": "runtime.default_context",
    "execute_tool": "runtime.shim",
    "guidance": "builtins.guidance",
    "open": "runtime.build",
    "tool": "backends.function",
}

__all__ = [
    "Answer",
    "Approver",
    "Call",
    "Capabilities",
    "ConfigError",
    "Context",
    "Crib",
    "Decision",
    "DuplicateTool",
    "ErrorInfo",
    "Limits",
    "Problem",
    "Question",
    "Result",
    "Retry",
    "SaysYes",
    "TOOLS",
    "Tool",
    "ToolError",
    "ToolcribError",
    "__version__",
    "call_sync",
    "create_default_context",
    "execute_tool",
    "guidance",
    "open",
    "tool",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'toolcrib' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module("." + _HOMES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
