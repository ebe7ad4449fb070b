"""What a client is shown of a tool and of a result."""

from typing import Any

import pytest

from toolcrib.core.call import ErrorInfo, Result
from toolcrib.core.limits import VIEW_BYTES
from toolcrib.core.schema import Schema
from toolcrib.core.tool import Capabilities, Tool
from toolcrib.serve.content import annotations, answer, declaration
from toolcrib.serve.revision import REVISIONS, Revision

REVISION = {revision.date: revision for revision in REVISIONS}
NEW = REVISION["2026-07-28"]


def tool(**more: Any) -> Tool:
    schema = more.pop("schema", {"type": "object"})
    return Tool("t", "Does t.", Schema(schema), None, **more)  # type: ignore[arg-type]


def text(result: Result) -> str:
    (block,) = answer(result, None, NEW)["content"]
    return str(block["text"])


CAUTIOUS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}


def test_a_declaration() -> None:
    assert declaration(tool(schema={"properties": {"a": {}}}), NEW) == {
        "name": "t",
        "description": "Does t.",
        "inputSchema": {"properties": {"a": {}}, "type": "object"},
        "annotations": CAUTIOUS,
    }


@pytest.mark.parametrize("schema", [{}, {"type": ["object", "null"]}, {"$ref": "#/$defs/a", "$defs": {"a": {}}}])
def test_the_root_of_the_arguments_is_an_object(schema: Any) -> None:
    assert declaration(tool(schema=schema), NEW)["inputSchema"] == {**schema, "type": "object"}


def test_hints_are_not_for_the_first_revision() -> None:
    assert "annotations" not in declaration(tool(), REVISION["2024-11-05"])
    assert "annotations" in declaration(tool(), REVISION["2025-03-26"])


def test_silence_is_not_a_claim_to_be_harmless() -> None:
    assert annotations(tool()) == CAUTIOUS
    assert annotations(tool(capabilities=Capabilities(idempotent=True))) == {**CAUTIOUS, "idempotentHint": True}


def test_a_built_in_is_what_it_says() -> None:
    assert annotations(tool(source="builtin")) == {
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": False,
        "openWorldHint": False,
    }
    writing = Capabilities(writes_files=True, accesses_network=True)
    assert annotations(tool(source="builtin", capabilities=writing)) == CAUTIOUS


OBJECT = {"type": "object", "properties": {"n": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("date", "schema", "structured"),
    [
        ("2026-07-28", OBJECT, True),
        ("2026-07-28", {"type": "array"}, True),
        ("2026-07-28", None, False),
        ("2025-11-25", OBJECT, True),
        ("2025-11-25", {"type": "array"}, False),
        ("2025-06-18", OBJECT, True),
        ("2025-03-26", OBJECT, False),
        ("2024-11-05", OBJECT, False),
    ],
)
def test_structured_content_as_far_as_the_revision_has_it(date: str, schema: Any, structured: bool) -> None:
    made, revision = tool(output_schema=schema), REVISION[date]
    data: Any = {"n": 1} if schema == OBJECT else [1]
    shown = answer(Result(data=data), made, revision)
    assert ("outputSchema" in declaration(made, revision)) is structured
    assert shown.get("structuredContent", "absent") == (data if structured else "absent")


def test_a_failure_has_no_structured_content() -> None:
    failed = Result(error=ErrorInfo("TIMEOUT", "too slow"))
    assert "structuredContent" not in answer(failed, tool(output_schema=OBJECT), NEW)


@pytest.mark.parametrize(
    ("data", "shown"), [("as is\n", "as is\n"), ({"a": "é"}, '{"a":"é"}'), ([], "[]"), (0, "0"), (None, "null")]
)
def test_text_of_a_success(data: Any, shown: str) -> None:
    assert text(Result(data=data)) == shown


def test_no_output_is_no_content() -> None:
    assert answer(Result(data=""), None, NEW)["content"] == []


def test_what_stands_on_stderr_is_shown_when_stdout_is_empty() -> None:
    assert "helper: not found" in text(Result(data="", metadata={"stderr": "helper: not found\n", "exit_code": 0}))
    assert text(Result(data="fine", metadata={"stderr": "a warning"})) == "fine"


def test_a_failure_has_its_code_its_message_and_its_streams() -> None:
    details = {"exit_code": 3, "stdout": "half\n", "stderr": "no disk\n"}
    failed = Result(error=ErrorInfo("EXECUTION_ERROR", "it failed", details), metadata={"exit_code": 3, "call_id": "c"})
    assert answer(failed, None, NEW) == {
        "content": [
            {
                "type": "text",
                "text": "EXECUTION_ERROR: it failed\nexit_code: 3\nstdout:\nhalf\n\nstderr:\nno disk\n",
            }
        ],
        "isError": True,
        "_meta": {"toolcrib/call": {"call_id": "c", "exit_code": 3, "code": "EXECUTION_ERROR"}},
    }


def test_a_stream_that_the_message_repeats_is_said_once() -> None:
    assert text(Result(error=ErrorInfo("E", "it said: no disk", {"stderr": "no disk\n"}))) == "E: it said: no disk"


def test_the_faults_of_arguments_are_a_list_to_read() -> None:
    faults = [{"pointer": "/a", "message": "/a: expected a string, got 1"}, "and this", {"pointer": "/b"}]
    assert text(Result(error=ErrorInfo("VALIDATION_ERROR", "Invalid parameters", faults))) == (
        'VALIDATION_ERROR: Invalid parameters\n- /a: expected a string, got 1\n- and this\n- {"pointer":"/b"}'
    )


@pytest.mark.parametrize("details", [[{"pointer": "/a"}], "plain", 3, {"a": [1]}, {"stdout": None}])
def test_details_of_any_shape(details: Any) -> None:
    assert text(Result(error=ErrorInfo("VALIDATION_ERROR", "bad", details))).startswith("VALIDATION_ERROR: bad")


@pytest.mark.parametrize("long", ["x" * (VIEW_BYTES * 3), ["y" * 100] * 5000])
def test_a_long_text_is_cut_and_says_where_the_whole_is(long: Any) -> None:
    artifact = {"id": "a1b2", "stream": "stdout", "path": "/somewhere", "bytes": 500_000}
    shown = text(Result(data=long, metadata={"artifacts": [artifact], "truncated": True}))
    assert len(shown) < VIEW_BYTES + 500
    assert "bytes left out" in shown
    assert shown.endswith("[all 500000 bytes of stdout: read_artifact a1b2]")


def test_a_long_failure_keeps_its_code() -> None:
    shown = text(Result(error=ErrorInfo("EXECUTION_ERROR", "it failed", {"stderr": "z" * (VIEW_BYTES * 2)})))
    assert shown.startswith("EXECUTION_ERROR: it failed")
    assert len(shown) < VIEW_BYTES + 200


def test_the_meta_of_a_call_is_compact() -> None:
    metadata = {
        "tool": "t",
        "call_id": "c1",
        "execution_time_ms": 4,
        "stderr": "long",
        "artifacts": [{"id": "a", "stream": "stdout", "path": "/p", "bytes": 1}],
    }
    assert answer(Result(data="x", metadata=metadata), None, Revision("2025-11-25"))["_meta"] == {
        "toolcrib/call": {"call_id": "c1", "execution_time_ms": 4, "artifacts": ["a"]}
    }
