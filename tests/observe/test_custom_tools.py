"""What became of tools that were made, from the record."""

from typing import Any

from toolcrib.observe.custom_tools import lives

DAY = 86400.0


def call(
    tool: str, code: str | None = None, *, about: str | None = None, session: str = "s", day: int = 1
) -> dict[str, Any]:
    named = {} if about is None else {"custom_tool": about}
    return {"event": "call", "tool": tool, "code": code, "ms": 2.0, "session": session, "time": day * DAY, **named}


def test_an_empty_record_is_all_zero() -> None:
    found = lives([], prefix="custom_tool_")
    assert (found["created"], found["used"], found["success_rate"], found["by_tool"]) == (0, 0, None, {})


def test_made_built_used_and_used_again() -> None:
    """F41."""
    found = lives(
        [
            call("create_custom_tool", about="custom_tool_a"),
            call("build_custom_tool", "EXECUTION_ERROR", about="custom_tool_a"),
            call("build_custom_tool", about="custom_tool_a"),
            call("create_custom_tool", about="custom_tool_b"),
            call("build_custom_tool", about="custom_tool_b"),
            call("create_custom_tool", about="custom_tool_c"),
            call("custom_tool_a"),
            call("custom_tool_a", "EXECUTION_ERROR", session="t"),
            call("custom_tool_b"),
            call("run_custom_tool", about="custom_tool_b"),
            call("delete_custom_tool", about="custom_tool_c"),
        ],
        prefix="custom_tool_",
    )
    a = found["by_tool"].pop("custom_tool_a")
    assert (a["builds"], a["built_at_first_try"], a["calls"], a["success_rate"], a["sessions"]) == (2, False, 2, 0.5, 2)
    del found["by_tool"]
    assert found == {
        "tools": 2,
        "created": 3,
        "creations_refused": 0,
        "built": 2,
        "built_at_first_try": 1,
        "build_success_rate": 1.0,
        "deleted": 1,
        "used": 2,
        "reused": 1,
        "never_used": 1,
        "success_rate": 0.667,
        "not_recorded": ["refresh_overhead", "time_saved", "feedback"],
    }


def test_another_day_is_using_it_again() -> None:
    found = lives([call("custom_tool_a"), call("custom_tool_a", day=2)], prefix="custom_tool_")
    assert (found["used"], found["reused"], found["created"]) == (1, 1, 0)


def test_a_call_that_came_to_nothing_is_no_use() -> None:
    codes = ("APPROVAL_DENIED", "BLOCKED_BY_POLICY", "VALIDATION_ERROR", "TOOL_NOT_FOUND", "TOOL_PIN_MISMATCH")
    found = lives([call("custom_tool_a", code) for code in codes], prefix="custom_tool_")
    assert (found["used"], found["by_tool"]) == (0, {})


def test_a_creation_that_was_refused_is_counted_as_such() -> None:
    """F42."""
    found = lives(
        [call("create_custom_tool", "APPROVAL_DENIED"), call("create_custom_tool", "VALIDATION_ERROR")], prefix="p"
    )
    assert (found["created"], found["creations_refused"]) == (0, 1)


def test_other_tools_are_not_counted() -> None:
    assert lives([call("read_file"), call("mcp__x__y")], prefix="custom_tool_")["by_tool"] == {}


def test_a_tool_with_another_prefix_is_known_by_having_been_made() -> None:
    found = lives([call("create_custom_tool", about="my_a"), call("my_a"), call("my_b")], prefix="custom_tool_")
    assert list(found["by_tool"]) == ["my_a"]


def test_one_that_is_made_again_is_there_again() -> None:
    made, gone = call("create_custom_tool", about="a"), call("delete_custom_tool", about="a")
    assert lives([made, gone], prefix="x")["tools"] == 0
    assert lives([made, gone, made], prefix="x")["tools"] == 1


def test_a_record_that_somebody_changed_is_counted_as_far_as_it_can_be_read() -> None:
    odd = [{"event": "call"}, {"event": "unreadable"}, {}, {"event": "call", "tool": [], "custom_tool": 5, "code": {}},
           {"event": "call", "tool": "custom_tool_a", "ms": "x", "time": None, "code": "X"}]  # fmt: skip
    assert lives(odd, prefix="custom_tool_")["by_tool"]["custom_tool_a"]["days"] == 0
