"""A program as a tool: what goes in, what comes out, and what counts as failure."""

import asyncio
import json
import os
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolcrib.backends.process import callers, file_digest
from toolcrib.core.limits import ARTIFACT_BYTES, Limits

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


def test_run_gets_the_arguments_as_one_json_object_on_a_closed_stdin(shop) -> None:
    """K13, K28"""
    result = shop.run('printf "%s|" "$@"; cat', {"name": "Zoë", "list": [1, {"deep": None}]})
    assert result.success
    verb, args = result.data.split("|")
    assert (verb, json.loads(args)) == ("run", {"name": "Zoë", "list": [1, {"deep": None}]})


@pytest.mark.parametrize(
    "text", ["  plain \\n\\n", '{"a": 1}\\n', "[1, 2]", "null", "42", "", '{"error": null}', "\\t{ not json"]
)
def test_stdout_passes_through_unparsed_and_unstripped(shop, text) -> None:
    """K14"""
    result = shop.run(f"printf '{text}'")
    assert (result.success, result.data) == (True, text.encode().decode("unicode_escape"))


def test_stderr_of_a_success_is_not_a_failure_and_is_not_lost(shop) -> None:
    """K15. "stderr treated as failure though the exit code was 0." """
    result = shop.run("echo answer; echo warning >&2")
    assert (result.success, result.data, result.metadata["stderr"]) == (True, "answer\n", "warning\n")


def test_empty_output_with_status_zero_still_shows_stderr(shop) -> None:
    """ "A script that fails to start because its helper is missing can exit 0 with empty output: at least show stderr." """
    result = shop.run("no-such-helper; exit 0")
    assert (result.success, result.data) == (True, "")
    assert "no-such-helper" in result.metadata["stderr"]


def test_a_status_other_than_zero_is_a_failure_with_that_status(shop) -> None:
    """K16, K29. "Exit code 3 reported as 1." """
    result = shop.run("echo partial; echo went wrong >&2; exit 3")
    assert (result.success, result.exit_code, result.error.code) == (False, 3, "EXECUTION_ERROR")
    assert result.error.message == "tool failed with exit status 3: went wrong"
    assert result.error.details == {"exit_code": 3, "stdout": "partial\n", "stderr": "went wrong\n"}


def test_a_crash_is_a_failure_with_its_signal(shop) -> None:
    """K63"""
    result = shop.run("kill -SEGV $$")
    assert (result.error.code, result.exit_code) == ("EXECUTION_ERROR", 139)


def test_a_tool_s_own_error_called_timeout_is_not_a_timeout(shop) -> None:
    """ "A tool that raised an error called "Timeout" reported as a timeout." """
    result = shop.run("echo 'TimeoutError: Timeout' >&2; exit 124")
    assert (result.error.code, result.exit_code) == ("EXECUTION_ERROR", 124)


@pytest.mark.parametrize("status", [0, 1, 7])
def test_a_structured_error_on_stdout_is_a_failure_whatever_the_status(shop, status) -> None:
    """K17"""
    text = """echo '{"error": "no such city", "details": "try Paris"}'; exit """ + str(status)
    result = shop.run(text)
    assert (result.error.code, result.error.message) == ("EXECUTION_ERROR", "no such city")
    assert result.error.details["details"] == "try Paris"
    assert result.exit_code == status


def test_a_structured_error_is_seen_although_something_stands_on_stderr(shop) -> None:
    """ "Structured `{"error": …}` missed as soon as anything stood on stderr." """
    result = shop.run("""echo log line >&2; echo progress; echo '{"error": "full", "details": {"free": 0}}'""")
    assert (result.error.message, result.error.details["details"]) == ("full", {"free": 0})
    assert result.error.details["stderr"] == "log line\n"


def test_a_structured_error_on_stderr_counts_only_with_a_failure(shop) -> None:
    """K18"""
    text = """echo '{"error": "bad input", "details": "age"}' >&2; echo fine; exit """
    failed, went_well = shop.run(text + "1"), shop.run(text + "0")
    assert (failed.error.message, failed.error.details["details"], failed.exit_code) == ("bad input", "age", 1)
    assert (went_well.success, went_well.data) == (True, "fine\n")


@pytest.mark.parametrize(
    "answer",
    [
        '{"error": ""}',
        '{"error": null, "result": 1}',
        '{"error": "x", "rows": [1]}',
        '[{"error": "x"}]',
        '{"nested": {"error": "x"}}',
        'the word "error" in text',
        '{"error": "x"',
    ],
)
def test_an_answer_that_only_mentions_an_error_is_an_answer(shop, answer) -> None:
    result = shop.run(f"cat <<'END'\n{answer}\nEND")
    assert (result.success, result.data) == (True, answer + "\n")


def test_a_program_that_does_not_know_run_says_so_by_its_usage(shop) -> None:
    """K19"""
    result = shop.run('case "$1" in description) echo;; *) echo "usage: tool description" >&2; exit 1;; esac')
    assert (result.success, result.exit_code) == (False, 1)
    assert "usage: tool description" in result.error.message


def test_wrong_arguments_start_nothing(shop, tmp_path) -> None:
    """K26, K48, K63"""
    canary = f": > {tmp_path}/ran"
    wrong = [{}, {"n": "7"}, {"n": 7.5}, {"n": 7, "more": 1}, {"N": 7}, [], "n", None if False else {"n": None}]
    results = [shop.run(canary, args, schema=NUMBER) for args in wrong]
    assert {result.error.code for result in results} == {"VALIDATION_ERROR"}
    assert not (tmp_path / "ran").exists()
    assert shop.run(canary, {"n": 7}, schema=NUMBER).success
    assert (tmp_path / "ran").exists()


def test_a_wrong_argument_is_named_by_its_pointer(shop) -> None:
    """ "say precisely what is wrong with a JSON pointer … never coerce silently" """
    schema = {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"properties": {"b/c": {"type": "integer"}}}}},
    }
    result = shop.run("cat", {"a": [{}, {"b/c": "1"}]}, schema=schema)
    (fault,) = result.error.details
    assert (fault["pointer"], fault["got"]) == ("/a/1/b~1c", '"1"')
    assert "integer" in fault["expected"]


@pytest.mark.parametrize(
    "value", ["007", "1e5", "t", "true", "null", "", " ", "-rf", "--help", "$(id)", "a\nb", "'\"\\", "\u2028"]
)
def test_text_arrives_as_it_was_sent(shop, value) -> None:
    """ "`007` became 7, `1e5` became 100000, `t` became true"; "A value beginning with `-` is an option to the
    program": arguments are on stdin, never in argv."""
    result = shop.run('[ "$#" = 1 ] && cat', {"v": value, "nested": {"v": [value]}})
    assert json.loads(result.data) == {"v": value, "nested": {"v": [value]}}


def test_numbers_arrive_exactly(shop) -> None:
    args = {"big": 2**80, "negative": -(2**63) - 1, "small": 0.1, "one": 1, "float": 1.0, "yes": True}
    assert json.loads(shop.run("cat", args).data) == args
    assert '"one":1,' in shop.run("cat", args).data


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    args=st.dictionaries(
        st.text(max_size=10),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
            max_leaves=10,
        ),
        max_size=5,
    )
)
def test_whatever_json_can_say_goes_in_and_comes_out_the_same(shop, args) -> None:
    """ "nested arguments dropped without a word" """
    assert json.loads(shop.run("cat", args).data) == args


def test_arguments_of_five_mebibytes(shop) -> None:
    """ "An environment variable over 128 KiB is E2BIG" """
    result = shop.run("wc -c", {"text": "x" * 5 * 1024 * 1024})
    assert int(result.data) == 5 * 1024 * 1024 + len('{"text":""}')


def test_arguments_beyond_the_limit_are_refused(shop, tmp_path) -> None:
    result = shop.run(f": > {tmp_path}/ran", {"text": "x" * 8 * 1024 * 1024})
    assert (result.error.code, (tmp_path / "ran").exists()) == ("INPUT_TOO_LARGE", False)


def test_the_environment_is_the_allow_list_and_ours_and_nothing_else(shop) -> None:
    """K27, K33, K34, K42, K50, F22"""
    result = shop.run("env -0; pwd", variables=("PATH", "HOME", "USER", "NOT_SET"))
    *pairs, cwd = result.data.split("\0")
    got = dict(pair.split("=", 1) for pair in pairs)
    shell_s_own = {"PWD", "OLDPWD", "_", "SHLVL"}
    assert set(got) - shell_s_own == {
        "PATH", "HOME", "USER", "TOOLCRIB_WORKSPACE", "TOOLCRIB_SESSION", "TOOLCRIB_CALL_ID", "TOOLCRIB_TOOL_DIR", "TMPDIR",
    }  # fmt: skip
    assert "sesame" not in result.data
    assert (got["HOME"], got["USER"]) == ("/the/home", "someone")
    assert (got["TOOLCRIB_WORKSPACE"], got["TOOLCRIB_TOOL_DIR"]) == (str(shop.root), str(shop.tools))
    assert got["TOOLCRIB_CALL_ID"] == result.metadata["call_id"]
    assert cwd.strip() == str(shop.root)


def test_a_variable_that_is_allowed_is_passed_on(shop) -> None:
    """K42"""
    assert shop.run('echo "$SECRET"', variables=("SECRET",)).data == "sesame\n"


def test_a_tool_starts_in_the_workspace(shop) -> None:
    """K84"""
    assert shop.run("pwd").data == f"{shop.root}\n"


def test_the_defaults_are_thirty_seconds_and_a_mebibyte() -> None:
    """K35, K36"""
    assert Limits() == Limits(seconds=30.0, output_bytes=1048576, memory_bytes=None)


def test_output_beyond_the_limit_is_counted_and_kept_as_an_artifact(shop) -> None:
    """K32, K36, K51. "Output cut at the limit without a word." """
    result = shop.run("head -c 3000000 /dev/zero | tr '\\0' x; echo noise >&2")
    (artifact,) = result.metadata["artifacts"]
    assert (result.metadata["stdout_bytes"], result.metadata["stderr_bytes"], result.metadata["truncated"]) == (
        3000000,
        6,
        True,
    )
    assert (artifact["stream"], artifact["bytes"], os.path.getsize(artifact["path"])) == ("stdout", 3000000, 3000000)
    assert "1951424 of 3000000 bytes left out" in result.data
    assert artifact["id"] in result.data
    assert shop.artifacts.find(artifact["id"]) == artifact["path"]


def test_yes_ends_at_its_limit_with_the_exact_count(shop) -> None:
    result = shop.run("exec yes", limits=Limits(seconds=1.0))
    assert result.error.code == "TIMEOUT"
    (artifact,) = result.metadata["artifacts"]
    assert (
        artifact["bytes"] == min(result.metadata["stdout_bytes"], ARTIFACT_BYTES) == os.path.getsize(artifact["path"])
    )


def test_an_output_that_a_descendant_still_held_is_called_incomplete(shop) -> None:
    result = shop.run("sleep 30 & echo started")
    assert (result.success, result.data, result.metadata["output_incomplete"]) == (True, "started\n", True)
    assert "output_incomplete" not in shop.run("echo started").metadata


def test_a_program_that_changed_since_it_was_listed_does_not_run(shop, tmp_path) -> None:
    tool = shop.offer("echo old")
    with open(tool.origin, "a") as file:
        file.write(f": > {tmp_path}/ran\n")
    result = asyncio.run(shop.call())
    assert (result.error.code, (tmp_path / "ran").exists()) == ("TOOL_PIN_MISMATCH", False)
    os.unlink(tool.origin)
    assert asyncio.run(shop.call()).error.code == "TOOL_PIN_MISMATCH"


def test_the_digest_is_of_the_bytes_and_is_read_again_when_they_change(tmp_path) -> None:
    path = tmp_path / "file"
    path.write_text("one")
    first = file_digest(str(path))
    os.utime(path, ns=(1, 1))
    assert file_digest(str(path)) == first
    path.write_text("two")
    os.utime(path, ns=(1, 1))
    assert file_digest(str(path)) != first
    assert file_digest(str(tmp_path / "gone")) == ""


def test_the_chain_of_callers() -> None:
    assert callers({}) == {}
    assert callers({"TOOLCRIB_CALL_ID": "a-1"}) == {"TOOLCRIB_CALLERS": "a-1"}
    assert callers({"TOOLCRIB_CALLERS": "a-1", "TOOLCRIB_CALL_ID": "b-1"}) == {"TOOLCRIB_CALLERS": "a-1,b-1"}


def test_concurrent_calls_do_not_mix(shop) -> None:
    """K61"""
    shop.offer("cat")

    async def many() -> list[str]:
        return [result.data for result in await asyncio.gather(*(shop.call({"n": n}) for n in range(60)))]

    began = time.monotonic()
    assert asyncio.run(many()) == [f'{{"n":{n}}}' for n in range(60)]
    assert time.monotonic() - began < 10


def test_a_result_says_what_ran_and_how(shop) -> None:
    """K31, C11"""
    tool = shop.offer("echo out; echo err >&2")
    result = asyncio.run(shop.call({"a": 1}))
    took = result.metadata.pop("execution_time_ms")
    call_id = result.metadata.pop("call_id")
    assert 0 < took < 5000 and call_id.startswith(shop.host.id)
    assert result.to_dict() == {
        "success": True,
        "data": "out\n",
        "error": None,
        "metadata": {
            "tool": "tool",
            "version": "0.0.0",
            "digest": tool.digest,
            "approval": "preApproved",
            "sandbox": "process",
            "attempts": 1,
            "exit_code": 0,
            "stderr": "err\n",
            "stdout_bytes": 4,
            "stderr_bytes": 4,
            "truncated": False,
            "artifacts": [],
        },
    }
