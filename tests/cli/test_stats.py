"""`toolcrib stats`: every outcome, from the record."""

import pytest

from toolcrib.core.jsontext import parse


@pytest.mark.confined  # nothing is remembered in its home
def test_before_the_first_call_all_is_zero(run_cli, home) -> None:
    """C39."""
    answer = parse(run_cli("stats", "--json").stdout)
    assert answer == {
        "total_executions": 0,
        "success_count": 0,
        "error_count": 0,
        "average_execution_time_ms": 0,
        "executions_by_tool": {},
        "errors_by_code": {},
    }
    assert list(home.iterdir()) == []


def test_every_outcome_counts(run_cli, repeat) -> None:
    """C38: refused, invalid and unknown calls too."""
    run_cli("call", "repeat", "--yes")
    run_cli("call", "repeat")
    run_cli("call", "repeat", "--yes", "--input", '{"age": "old"}')
    run_cli("call", "nobody")
    answer = parse(run_cli("stats", "--json").stdout)
    assert answer.pop("average_execution_time_ms") > 0
    assert answer == {
        "total_executions": 4,
        "success_count": 1,
        "error_count": 3,
        "executions_by_tool": {"custom_tool_repeat": 3, "nobody": 1},
        "errors_by_code": {"APPROVAL_REQUIRED": 1, "TOOL_NOT_FOUND": 1, "VALIDATION_ERROR": 1},
    }
    text = run_cli("stats").stdout
    assert "calls         4" in text
    assert "custom_tool_repeat" in text


def test_a_changed_record_is_counted_as_far_as_it_can_be_read(run_cli, repeat, home) -> None:
    run_cli("call", "repeat", "--yes")
    (file,) = (home / "audit").glob("*.jsonl")
    file.write_bytes(
        b"\xff\n[]\n" + file.read_bytes() + b'{"event":"call"}\n{"event":"call","ms":"x","tool":[],"code":{}}\n'
    )
    done = run_cli("stats", "--json")
    assert done.returncode == 0
    assert parse(done.stdout)["total_executions"] == 3


def test_what_became_of_the_tools_that_were_made(run_cli) -> None:
    """F41, F42."""
    made = '{"name": "shout", "description": "Say it.", "language": "bash"}'
    assert run_cli("call", "create_custom_tool", "--input", made).returncode == 3
    assert run_cli("call", "create_custom_tool", "--input", made, "--yes").returncode == 0
    assert run_cli("call", "shout", "--yes", "--session", "one").returncode == 0
    assert run_cli("call", "shout", "--yes", "--session", "two").returncode == 0
    answer = parse(run_cli("stats", "--tools", "--json").stdout)
    counts = ("created", "creations_refused", "used", "reused", "never_used", "success_rate")
    assert [answer[name] for name in counts] == [1, 1, 1, 1, 0, 1.0]
    assert answer["by_tool"]["custom_tool_shout"]["calls"] == 2
    text = run_cli("stats", "--tools")
    assert "1 by a call, and 1 refused" in text.stdout
    assert "custom_tool_shout" in text.stdout
    assert "not recorded: refresh overhead" in text.stderr
