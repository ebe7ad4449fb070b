"""Every error this package raises, and the code each one puts on the wire.

    ToolcribError
    ├── ConfigError      a file the user wrote is wrong; carries path and line
    ├── DuplicateTool    a name is taken
    ├── InvalidJson      text that is not JSON, or not within our bounds
    └── ToolError        the model, or the person behind it, should read this and adapt
        └── Refused      the gate said no; nothing ran

The question that decides the branch: *who can act on it?* Anything else is our bug and is not listed.
"""

from typing import Any

CODES = frozenset(
    """
    TOOL_NOT_FOUND VALIDATION_ERROR TIMEOUT EXECUTION_ERROR FILE_NOT_FOUND READ_ERROR ENGINE_NOT_AVAILABLE SEARCH_ERROR
    WORKSPACE_UNTRUSTED TOOL_PIN_MISMATCH TOOL_NAME_CONFLICT TOOL_NAME_INVALID BLOCKED_BY_POLICY APPROVAL_REQUIRED
    APPROVAL_DENIED COMMAND_NOT_ANALYSABLE PATH_OUTSIDE_WORKSPACE PATH_NOT_REGULAR PATH_PROTECTED ENV_NOT_ALLOWED
    NETWORK_DENIED DOWNLOAD_UNVERIFIED DIGEST_MISMATCH ARCHIVE_UNSAFE SANDBOX_UNAVAILABLE SCHEMA_REJECTED
    INPUT_TOO_LARGE RESOURCE_EXHAUSTED CANCELLED OUTCOME_UNKNOWN CONFIG_INVALID SESSION_NOT_FOUND
    """.split()  # noqa: SIM905
)
"""One namespace for library, CLI, MCP, gRPC and HTTP."""

REFUSALS = frozenset(
    """
    WORKSPACE_UNTRUSTED TOOL_PIN_MISMATCH BLOCKED_BY_POLICY APPROVAL_REQUIRED APPROVAL_DENIED COMMAND_NOT_ANALYSABLE
    PATH_PROTECTED ENV_NOT_ALLOWED NETWORK_DENIED DOWNLOAD_UNVERIFIED DIGEST_MISMATCH SANDBOX_UNAVAILABLE
    """.split()  # noqa: SIM905
)
"""The codes that mean: the gate said no, and nothing ran."""


class ToolcribError(Exception):
    """Base class. `code` is stable and is what every door shows."""

    code = "EXECUTION_ERROR"

    def __init__(self, message: str, *, code: str | None = None, details: Any = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code
        self.details = details


class ConfigError(ToolcribError):
    """A configuration file is wrong. The message begins with where."""

    code = "CONFIG_INVALID"

    def __init__(self, message: str, *, path: str, line: int | None = None) -> None:
        super().__init__(f"{path}:{line}: {message}" if line else f"{path}: {message}")
        self.path, self.line = path, line


class DuplicateTool(ToolcribError):
    """A name that is already taken was registered."""

    code = "TOOL_NAME_CONFLICT"


class InvalidJson(ToolcribError, ValueError):
    """Text that is not JSON."""

    code = "VALIDATION_ERROR"


class ToolError(ToolcribError):
    """What a tool raises for the model to read.

    `before_effect` says that the failure provably came before anything happened, so that trying again is safe.
    """

    def __init__(
        self, message: str, *, code: str | None = None, details: Any = None, before_effect: bool = False
    ) -> None:
        super().__init__(message, code=code, details=details)
        self.before_effect = before_effect


class Refused(ToolError):
    """The gate said no. Nothing ran."""

    code = "BLOCKED_BY_POLICY"
