# Made by `make proto`. Change proto/toolcrib/v1/tool_service.proto instead.
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Decision(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DECISION_UNSPECIFIED: _ClassVar[Decision]
    DECISION_ALLOW: _ClassVar[Decision]
    DECISION_DENY: _ClassVar[Decision]
DECISION_UNSPECIFIED: Decision
DECISION_ALLOW: Decision
DECISION_DENY: Decision

class CreateSessionRequest(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class CreateSessionResponse(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class EndSessionRequest(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class EndSessionResponse(_message.Message):
    __slots__ = ("ended",)
    ENDED_FIELD_NUMBER: _ClassVar[int]
    ended: bool
    def __init__(self, ended: _Optional[bool] = ...) -> None: ...

class UseSkillRequest(_message.Message):
    __slots__ = ("session_id", "skill_name", "skill_content")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    SKILL_NAME_FIELD_NUMBER: _ClassVar[int]
    SKILL_CONTENT_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    skill_name: str
    skill_content: str
    def __init__(self, session_id: _Optional[str] = ..., skill_name: _Optional[str] = ..., skill_content: _Optional[str] = ...) -> None: ...

class UseSkillResponse(_message.Message):
    __slots__ = ("tool_names",)
    TOOL_NAMES_FIELD_NUMBER: _ClassVar[int]
    tool_names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, tool_names: _Optional[_Iterable[str]] = ...) -> None: ...

class RemoveSkillRequest(_message.Message):
    __slots__ = ("session_id", "skill_name")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    SKILL_NAME_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    skill_name: str
    def __init__(self, session_id: _Optional[str] = ..., skill_name: _Optional[str] = ...) -> None: ...

class RemoveSkillResponse(_message.Message):
    __slots__ = ("removed_tools",)
    REMOVED_TOOLS_FIELD_NUMBER: _ClassVar[int]
    removed_tools: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, removed_tools: _Optional[_Iterable[str]] = ...) -> None: ...

class ListActiveSkillsRequest(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class ListActiveSkillsResponse(_message.Message):
    __slots__ = ("skills",)
    SKILLS_FIELD_NUMBER: _ClassVar[int]
    skills: _containers.RepeatedCompositeFieldContainer[ActiveSkill]
    def __init__(self, skills: _Optional[_Iterable[_Union[ActiveSkill, _Mapping]]] = ...) -> None: ...

class ActiveSkill(_message.Message):
    __slots__ = ("name", "version", "digest", "origin", "description", "tool_names", "activated_at")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    TOOL_NAMES_FIELD_NUMBER: _ClassVar[int]
    ACTIVATED_AT_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    digest: str
    origin: str
    description: str
    tool_names: _containers.RepeatedScalarFieldContainer[str]
    activated_at: float
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., digest: _Optional[str] = ..., origin: _Optional[str] = ..., description: _Optional[str] = ..., tool_names: _Optional[_Iterable[str]] = ..., activated_at: _Optional[float] = ...) -> None: ...

class ListToolsRequest(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class ListToolsResponse(_message.Message):
    __slots__ = ("tools", "problems")
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    tools: _containers.RepeatedCompositeFieldContainer[Tool]
    problems: _containers.RepeatedCompositeFieldContainer[Problem]
    def __init__(self, tools: _Optional[_Iterable[_Union[Tool, _Mapping]]] = ..., problems: _Optional[_Iterable[_Union[Problem, _Mapping]]] = ...) -> None: ...

class Tool(_message.Message):
    __slots__ = ("name", "description", "input_schema_json", "output_schema_json", "source", "origin", "version", "approval", "digest")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    INPUT_SCHEMA_JSON_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_SCHEMA_JSON_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    APPROVAL_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    input_schema_json: str
    output_schema_json: str
    source: str
    origin: str
    version: str
    approval: str
    digest: str
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., input_schema_json: _Optional[str] = ..., output_schema_json: _Optional[str] = ..., source: _Optional[str] = ..., origin: _Optional[str] = ..., version: _Optional[str] = ..., approval: _Optional[str] = ..., digest: _Optional[str] = ...) -> None: ...

class Problem(_message.Message):
    __slots__ = ("origin", "code", "message")
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    origin: str
    code: str
    message: str
    def __init__(self, origin: _Optional[str] = ..., code: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class CallToolRequest(_message.Message):
    __slots__ = ("session_id", "tool_name", "arguments_json", "call_id", "timeout_seconds", "dry_run")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_NAME_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_JSON_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    tool_name: str
    arguments_json: str
    call_id: str
    timeout_seconds: float
    dry_run: bool
    def __init__(self, session_id: _Optional[str] = ..., tool_name: _Optional[str] = ..., arguments_json: _Optional[str] = ..., call_id: _Optional[str] = ..., timeout_seconds: _Optional[float] = ..., dry_run: _Optional[bool] = ...) -> None: ...

class ToolResult(_message.Message):
    __slots__ = ("success", "data_json", "error", "metadata_json", "exit_code", "output")
    SUCCESS_FIELD_NUMBER: _ClassVar[int]
    DATA_JSON_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    METADATA_JSON_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    success: bool
    data_json: str
    error: ToolError
    metadata_json: str
    exit_code: int
    output: str
    def __init__(self, success: _Optional[bool] = ..., data_json: _Optional[str] = ..., error: _Optional[_Union[ToolError, _Mapping]] = ..., metadata_json: _Optional[str] = ..., exit_code: _Optional[int] = ..., output: _Optional[str] = ...) -> None: ...

class ToolError(_message.Message):
    __slots__ = ("code", "message", "details_json")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    DETAILS_JSON_FIELD_NUMBER: _ClassVar[int]
    code: str
    message: str
    details_json: str
    def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ..., details_json: _Optional[str] = ...) -> None: ...

class CallToolEvent(_message.Message):
    __slots__ = ("started", "progress", "result")
    STARTED_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    started: Started
    progress: Progress
    result: ToolResult
    def __init__(self, started: _Optional[_Union[Started, _Mapping]] = ..., progress: _Optional[_Union[Progress, _Mapping]] = ..., result: _Optional[_Union[ToolResult, _Mapping]] = ...) -> None: ...

class Started(_message.Message):
    __slots__ = ("call_id",)
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    def __init__(self, call_id: _Optional[str] = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ("done", "total", "message")
    DONE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    done: float
    total: float
    message: str
    def __init__(self, done: _Optional[float] = ..., total: _Optional[float] = ..., message: _Optional[str] = ...) -> None: ...

class CancelCallRequest(_message.Message):
    __slots__ = ("session_id", "call_id")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    call_id: str
    def __init__(self, session_id: _Optional[str] = ..., call_id: _Optional[str] = ...) -> None: ...

class CancelCallResponse(_message.Message):
    __slots__ = ("cancelled",)
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    cancelled: bool
    def __init__(self, cancelled: _Optional[bool] = ...) -> None: ...

class PendingApprovalsRequest(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class PendingApprovalsResponse(_message.Message):
    __slots__ = ("approvals",)
    APPROVALS_FIELD_NUMBER: _ClassVar[int]
    approvals: _containers.RepeatedCompositeFieldContainer[PendingApproval]
    def __init__(self, approvals: _Optional[_Iterable[_Union[PendingApproval, _Mapping]]] = ...) -> None: ...

class PendingApproval(_message.Message):
    __slots__ = ("approval_id", "tool_name", "reason", "request_json", "created_at", "expires_at")
    APPROVAL_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_NAME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_JSON_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    approval_id: str
    tool_name: str
    reason: str
    request_json: str
    created_at: float
    expires_at: float
    def __init__(self, approval_id: _Optional[str] = ..., tool_name: _Optional[str] = ..., reason: _Optional[str] = ..., request_json: _Optional[str] = ..., created_at: _Optional[float] = ..., expires_at: _Optional[float] = ...) -> None: ...

class ApproveRequest(_message.Message):
    __slots__ = ("session_id", "approval_id", "decision", "scope", "exactly")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    APPROVAL_ID_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    EXACTLY_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    approval_id: str
    decision: Decision
    scope: str
    exactly: bool
    def __init__(self, session_id: _Optional[str] = ..., approval_id: _Optional[str] = ..., decision: _Optional[_Union[Decision, str]] = ..., scope: _Optional[str] = ..., exactly: _Optional[bool] = ...) -> None: ...

class ApproveResponse(_message.Message):
    __slots__ = ("approved",)
    APPROVED_FIELD_NUMBER: _ClassVar[int]
    approved: bool
    def __init__(self, approved: _Optional[bool] = ...) -> None: ...
