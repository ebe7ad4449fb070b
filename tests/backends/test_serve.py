"""Programs that stay running: what they are asked, what they answer, and how they fail."""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from toolcrib.backends.process import ProcessBackend
from toolcrib.backends.serve import ServeBackend
from toolcrib.core.call import Result, Retry
from toolcrib.core.events import Logged
from toolcrib.core.limits import Limits
from toolcrib.core.schema import Schema
from toolcrib.core.tool import NO_CAPABILITIES, Capabilities, Tool
from toolcrib.policy.redact import Redactor

START = r"""
case $1 in run) echo run >> verbs; exec cat;; serve) echo serve >> verbs;; esac
answer() { printf '{"id":"%s","output":%s}\n' "$id" "$1"; }
say() { printf '{"id":"%s",%s}\n' "$id" "$1"; }
"""
LOOP = r"""
echo '{"serve": 1}'
while IFS= read -r line; do
  id=${line#*\"id\":\"} id=${id%%\"*}
  BODY
done
"""
ECHO = """
import json, os, sys
print('{"serve": 1}', flush=True)
for line in sys.stdin:
    request = json.loads(line)
    answer = {"id": request["id"], "output": request["input"]}
    BODY
    print(json.dumps(answer), flush=True)
"""


class Servers:
    """Offers programs that serve, and calls them."""

    def __init__(self, shop: Any) -> None:
        self.shop, self.root = shop, shop.root
        self.declined: dict[str, str] = {}

    def offer(self, body: str, *, whole: bool = False, python: bool = False, **about: Any) -> str:
        """A server that does this for each request, in shell or in Python; `whole`: this is all of it."""
        text = body if whole else (ECHO if python else LOOP).replace("BODY", body)
        path = self.shop.program(text if python else START + text, interpreter=sys.executable if python else "/bin/sh")
        self.offer_file(path, **about)
        return path

    def offer_file(
        self,
        path: str,
        *,
        limits: Limits | None = None,
        capabilities: Capabilities = NO_CAPABILITIES,
        name: str = "tool",
    ) -> None:
        inner = ProcessBackend(path)
        backend = ServeBackend(inner._replace(pinned=inner.digest()), self.declined)
        self.shop.executor.registry.unregister(name)
        self.shop.executor.registry.register(
            Tool(
                name, "A tool.", Schema({"type": "object"}), backend, "executable", path,
                digest=backend.digest(), limits=limits or Limits(), capabilities=capabilities,
            )
        )  # fmt: skip

    def host(self, **about: Any) -> None:
        """A host that differs in this."""
        self.shop.host = self.shop.executor.host = replace(self.shop.host, **about)

    async def call(self, args: Any = None, **about: Any) -> Result:
        return await self.shop.call(args, **about)

    def calls(self, *several: Any, **about: Any) -> list[Result]:
        """One after the other, in one loop."""

        async def all_of_them() -> list[Result]:
            return [await self.call(args, **about) for args in several]

        return asyncio.run(all_of_them())

    def one(self, args: Any = None, **about: Any) -> Result:
        return self.calls(args, **about)[0]

    def verbs(self) -> list[str]:
        """With what the program was started, each time."""
        return (self.root / "verbs").read_text().split()

    def running(self) -> list[int]:
        """Processes that carry a mark of this runtime."""
        found = []
        for name in os.listdir("/proc"):
            try:
                if name.isdigit() and self.shop.host.id.encode() + b"-" in Path(f"/proc/{name}/environ").read_bytes():
                    found.append(int(name))
            except OSError:
                pass
        return found


@pytest.fixture
def servers(shop: Any) -> Servers:
    return Servers(shop)


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.002)


# What is asked and answered


def test_one_process_answers_call_after_call(servers) -> None:
    servers.offer("answer $$")
    first, second, third = servers.calls({}, {}, {})
    assert isinstance(first.data, int) and first.data == second.data == third.data
    assert [each.metadata["serve"] for each in (first, second, third)] == ["started", "running", "running"]
    assert servers.verbs() == ["serve"]


@pytest.mark.parametrize(
    "args",
    [{}, {"text": 'a "quoted"\nline\u2028\x00\t', "漢": [1, 2.5, None, True, {"a": {}}]}, {"long": "x" * 3_000_000}],
)
def test_the_arguments_come_as_they_are(servers, args) -> None:
    servers.offer("", python=True, limits=Limits(output_bytes=4_000_000))
    assert servers.one(args).data == args


@pytest.mark.parametrize("output", ["", "text\n", 0, 1.5, None, True, [], [1, "two"], {"a": {"b": None}}, 10**30])
def test_an_answer_is_any_json(servers, output) -> None:
    servers.offer(f"answer['output'] = json.loads({json.dumps(output)!r})", python=True)
    result = servers.one()
    assert (result.error, result.data, type(result.data)) == (None, output, type(output))


def test_the_metadata_is_that_of_a_program_but_for_the_exit_status(servers) -> None:
    servers.offer("echo working >&2; answer '\"done\"'")
    about = servers.one().metadata
    kept = {key: about[key] for key in ("stderr", "stdout_bytes", "stderr_bytes", "truncated", "artifacts")}
    assert kept == {"stderr": "working\n", "stdout_bytes": 4, "stderr_bytes": 8, "truncated": False, "artifacts": []}
    assert "exit_code" not in about and about["sandbox"] == "process"


def test_stderr_belongs_to_the_call_it_came_in(servers) -> None:
    servers.offer('echo "about $id" >&2; answer 1')
    results = servers.calls({}, {}, {})
    assert [each.metadata["stderr"] for each in results] == [f"about {each.metadata['call_id']}\n" for each in results]


def test_progress_reaches_whoever_asked(servers) -> None:
    """K74"""
    servers.offer(
        """say '"progress": {"done": 1, "total": 4, "message": "one"}'; say '"progress": {"message": "half"}'
        say '"progress": 2.5'; say '"progress": "nearly"'; say '"progress": {"done": 4, "total": null}'; answer 4"""
    )
    told: list[Any] = []
    result = servers.one(progress=lambda *about: told.append(about))
    assert result.data == 4
    assert told == [(1, 4, "one"), (1, None, "half"), (2.5, None, None), (2.5, None, "nearly"), (4, None, None)]


@pytest.mark.parametrize(
    ("error", "message", "details"),
    [
        ('"too loud"', "too loud", {"error": "too loud"}),
        (
            '{"message": "too loud", "code": "LOUD", "details": {"db": 90}}',
            "too loud",
            {"error": "too loud", "code": "LOUD", "details": {"db": 90}},
        ),
        ("null", "tool failed and did not say why", {"error": "tool failed and did not say why"}),
        ("{}", "tool failed and did not say why", {"error": "tool failed and did not say why"}),
    ],
)
def test_an_error_is_the_tool_s_answer_and_the_server_goes_on(servers, error, message, details) -> None:
    servers.offer(f"echo $$ >> pids; echo why >&2; say '\"error\": {error}'")
    for result in servers.calls({}, {}):
        assert (result.error.code, result.error.message) == ("EXECUTION_ERROR", message)
        assert result.error.details == {**details, "stdout": "", "stderr": "why\n"}
    assert len(set((servers.root / "pids").read_text().split())) == 1


def test_its_environment_is_that_of_a_program_with_a_mark_of_its_own(servers, shop) -> None:
    """K50, K52: the variables that are named, and no others."""
    path = servers.offer("answer['output'] = dict(os.environ)", python=True)
    one, two = servers.calls({}, {})
    env = one.data
    assert two.data == env
    mark, tmp = env.pop("TOOLCRIB_CALL_ID"), env.pop("TMPDIR")
    assert mark.startswith(shop.host.id + "-") and mark not in (one.metadata["call_id"], two.metadata["call_id"])
    assert tmp.startswith(shop.sandbox.scratch.root)
    env.pop("LC_CTYPE", None)  # Python's own
    assert env == {
        **{name: shop.environ[name] for name in ("PATH", "HOME", "USER")},
        "TOOLCRIB_WORKSPACE": str(servers.root),
        "TOOLCRIB_SESSION": "session",
        "TOOLCRIB_TOOL_DIR": os.path.dirname(path),
    }


def test_it_has_one_temporary_directory_for_its_life(servers, shop) -> None:
    servers.offer('echo x >> "$TMPDIR/kept"; answer "\\"$TMPDIR\\""; cp "$TMPDIR/kept" .')
    one, two = servers.calls({}, {})
    assert one.data == two.data
    shop.sandbox.close()
    assert not os.path.exists(one.data)
    assert (servers.root / "kept").read_text() == "x\nx\n"


# When it does not serve


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("echo no such word >&2; exit 2", "it ended with exit status 2 and had not printed {\"serve\": 1}; on stderr: no"),
        ("exit 0", "it ended with exit status 0"),
        ("kill -9 $$", "it ended with exit status 137"),
        ("echo usage; cat > heard; exit", "its first line is 'usage', and should be"),
        ("echo '{\"serve\": 2}'; cat > heard; exit", "its first line is"),
        ("echo '{\"serve\": true}'; cat > heard; exit", "its first line is"),
        ("echo '[]'; cat > heard; exit", "its first line is '[]'"),
        ("printf '{\"serve\": 1}'; cat > heard; exit", "within"),
        ("cat > heard; exit", "it did not print {\"serve\": 1} within 0.5 s"),
        ("exec 1>&-; cat > heard; exit", "it ended with exit status 143"),
        ("exec 0<&-; echo '{\"serve\": 1}'; exec sleep 60", "it does not read its input"),
        ("head -c 9000000 /dev/zero; cat > heard; exit", "a line of more than"),
    ],
)  # fmt: skip
def test_one_that_is_not_ready_is_run_instead_and_was_asked_nothing(servers, text, why) -> None:
    servers.offer(text, whole=True, limits=Limits(seconds=1 if "within" in why else 20))
    first, second = servers.calls({"n": 1}, {"n": 2}, timeout=1.0 if "within" in why else None)
    assert (first.data, second.data) == ('{"n":1}', '{"n":2}')
    assert first.metadata["serve"].startswith("declined: ") and why in first.metadata["serve"]
    assert "serve" not in second.metadata
    assert servers.verbs() == ["serve", "run", "run"]
    heard = servers.root / "heard"
    assert not heard.exists() or heard.read_bytes() == b""
    assert servers.running() == []


def test_that_it_is_run_instead_is_said_once_in_the_log(servers, shop) -> None:
    servers.offer("exit 2", whole=True)
    servers.calls({}, {}, {})
    lines = [each for each in shop.recorder.events if isinstance(each, Logged)]
    assert [each.level for each in lines] == ["warn"]
    assert "tool offers `serve`, but it ended with exit status 2" in lines[0].message


def test_another_program_in_its_place_is_given_another_chance(servers) -> None:
    servers.offer("exit 2", whole=True)
    servers.one()
    servers.offer("answer 1")
    assert servers.one().data == 1


# When it fails


DEATHS = [
    ("echo because >&2; exit 3", 3, "tool ended with exit status 3 before it answered: because"),
    ("exit 0", 0, "tool ended with exit status 0 before it answered"),
    ("kill -9 $$", 137, "tool ended with exit status 137 before it answered"),
    ('printf \'{"id":"%s","outp\' $id; exit 4', 4, "exit status 4 before it answered"),
    ("sleep 60 & exit 5", 5, "exit status 5 before it answered"),
    ("exec 1>&-; exec sleep 60", 143, "exit status 143 before it answered"),
]


@pytest.mark.parametrize(("text", "code", "message"), DEATHS)
def test_death_in_the_middle_of_a_call_is_its_failure_and_the_next_call_has_another(
    servers, text, code, message
) -> None:
    servers.offer(f"[ -e died ] || {{ : > died; {text}; }}; answer $$")
    dead, alive = servers.calls({}, {})
    assert (dead.error.code, dead.metadata["exit_code"]) == ("EXECUTION_ERROR", code)
    assert message in dead.error.message
    assert dead.error.details["exit_code"] == code
    assert (alive.metadata["serve"], servers.verbs()) == ("started", ["serve", "serve"])
    assert servers.running() == [alive.data]


def test_what_it_said_last_is_in_the_details(servers) -> None:
    servers.offer('printf \'{"id":"%s","outp\' half; echo because >&2; exit 4')
    assert servers.one().error.details == {"exit_code": 4, "stdout": '{"id":"half","outp', "stderr": "because\n"}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("hello", "not valid JSON"),
        ("", "not valid JSON"),
        ("[]", "no object with"),
        ('{"output": 1}', "no object with"),
        ('{"id": "ID"}', "no object with"),
        ('{"id": "ID", "output": 1, "error": "both"}', "no object with"),
        ('{"id": "ID", "output": 1, "more": 2}', "no object with"),
        ('{"id": "ID", "output": NaN}', "not valid JSON"),
        ('{"id": "another", "output": 1}', "has another `id`"),
        ('{"id": 1, "output": 1}', "has another `id`"),
        ('{"id": "ID", "progress": []}', "has a `progress`"),
        ('{"id": "ID", "progress": true}', "has a `progress`"),
        ('{"id": "ID", "progress": {"done": "much"}}', "has a `progress`"),
        ('{"id": "ID", "progress": {"done": 1, "of": 2}}', "has a `progress`"),
        ('{"id": "ID", "progress": {"done": 1, "message": 5}}', "`message` that is no text"),
    ],
)
def test_a_line_that_is_none_of_the_protocol_ends_it(servers, line, why) -> None:
    body = f"printf '%s\\n' '{line}' | sed \"s/ID/$id/\""
    servers.offer(f"[ -e ok ] && answer 1 || {{ : > ok; {body}; }}")
    broken, fine = servers.calls({}, {})
    assert broken.error.code == "EXECUTION_ERROR" and why in broken.error.message
    assert broken.error.details["line"] == line.replace("ID", broken.metadata["call_id"])
    assert (fine.data, fine.metadata["serve"]) == (1, "started")


def test_a_long_line_of_nonsense_is_shown_in_part_and_no_secret_in_half(servers) -> None:
    secret = "s3cret" * 10
    servers.host(conceal=lambda value: value.replace(secret, "[gone]") if isinstance(value, str) else value)
    servers.offer(f"printf '%0170d%s%0170d\\n' 0 {secret} 0")
    details = servers.one().error.details
    assert len(details["line"]) == 200 and "s3cret" not in details["line"] and "[gone]" in details["line"]


def test_the_limit_ends_a_hang_with_all_it_started_and_the_next_call_has_another(servers) -> None:
    """K30, K63: a server that answers half a line and stops, with a grandchild in a session of its own."""
    servers.offer(
        """[ -e hung ] && { answer $$; continue; }; : > hung; echo noise >&2
        setsid sh -c 'trap "" TERM; while :; do sleep 60; done' </dev/null >/dev/null 2>&1 &
        printf '{"id": "%s", "outp' $id; sleep 60""",
        limits=Limits(seconds=0.4),
    )
    began = time.monotonic()
    hung = servers.one()
    assert time.monotonic() - began < 1.6
    assert (hung.error.code, hung.error.details["stderr"]) == ("TIMEOUT", "noise\n")
    assert servers.running() == []
    fine = servers.one(timeout=20.0)
    assert (fine.error, servers.running()) == (None, [fine.data])


def test_giving_up_reaches_it_within_a_second(servers, there) -> None:
    """C17"""
    servers.offer(": > up; sleep 60")

    async def given_up() -> float:
        task = asyncio.create_task(servers.call())
        await there(servers.root / "up")
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - began

    assert asyncio.run(given_up()) < 1
    assert servers.running() == []


def test_it_is_asked_to_end_before_it_is_ended(servers, there) -> None:
    servers.offer("trap 'echo bye > bye; exit' TERM; : > up; while :; do sleep 0.01; done", limits=Limits(seconds=5))

    async def given_up() -> None:
        task = asyncio.create_task(servers.call())
        await there(servers.root / "up")
        task.cancel()
        await asyncio.wait((task,))

    asyncio.run(given_up())
    assert (servers.root / "bye").read_text() == "bye\n"


def test_what_may_have_had_an_effect_is_not_tried_again(servers) -> None:
    """C32: only what claims that it is harmless to repeat."""
    twice = Retry(max_attempts=3, delay_ms=1)
    body = "echo x >> runs; [ $(wc -l < runs) -lt 3 ] && exit 1; answer 1"
    servers.offer(body)
    assert servers.one(retry=twice).metadata["attempts"] == 1
    (servers.root / "runs").unlink()
    servers.offer(body, capabilities=Capabilities(idempotent=True))
    result = servers.one(retry=twice)
    assert (result.data, result.metadata["attempts"]) == (1, 3)


def test_killed_from_outside_in_the_middle_of_a_call(servers, there) -> None:
    servers.offer("echo $$ > pid.new; mv pid.new pid; sleep 60")

    async def killed() -> Result:
        task = asyncio.create_task(servers.call())
        await there(servers.root / "pid")
        os.kill(int((servers.root / "pid").read_text()), signal.SIGKILL)
        return await task

    assert asyncio.run(killed()).error.details["exit_code"] == 137
    assert servers.running() == []


# Limits


def test_a_long_answer_is_kept_head_and_tail_and_whole_in_an_artifact(servers) -> None:
    """K51"""
    servers.offer("answer['output'] = 'a' * 3000 + 'b' * 3000", python=True, limits=Limits(output_bytes=1000))
    result = servers.one()
    (artifact,) = result.metadata["artifacts"]
    assert (artifact["stream"], artifact["bytes"], result.metadata["truncated"]) == ("stdout", 6000, True)
    assert Path(artifact["path"]).read_text() == "a" * 3000 + "b" * 3000
    head, tail = "a" * 500, "b" * 500
    assert result.data == f"{head}\n[… 5000 of 6000 bytes left out; the whole is artifact {artifact['id']} …]\n{tail}"


def test_a_long_document_is_cut_as_its_text(servers) -> None:
    servers.offer("answer['output'] = list(range(1000))", python=True, limits=Limits(output_bytes=100))
    result = servers.one()
    assert result.data.startswith("[0,1,2,") and result.data.endswith("998,999]")
    assert result.metadata["stdout_bytes"] == len(",".join(map(str, range(1000)))) + 2


def test_what_a_model_cannot_be_shown_whole_is_in_an_artifact_and_the_answer_is_whole(servers) -> None:
    servers.offer("answer['output'] = 'a' * 70_000", python=True)
    result = servers.one()
    assert (result.data, len(result.metadata["artifacts"])) == ("a" * 70_000, 1)
    assert not result.metadata["truncated"]


def test_a_line_without_end_ends_it_and_is_never_held_whole(servers) -> None:
    servers.offer("head -c 1000000000 /dev/zero; sleep 60")
    before = _peak(reset=True)
    result = servers.one()
    assert (result.error.code, "more than 8388608 bytes" in result.error.message) == ("RESOURCE_EXHAUSTED", True)
    assert _peak() - before < 64 * 1024
    assert servers.running() == []


def test_a_flood_of_errors_is_drained_and_counted(servers) -> None:
    servers.offer("head -c 1073741824 /dev/zero >&2; answer 1", limits=Limits(output_bytes=1000))
    before = _peak(reset=True)
    result = servers.one()
    assert (result.data, result.metadata["stderr_bytes"], result.metadata["truncated"]) == (1, 1024**3, True)
    assert _peak() - before < 32 * 1024


def _peak(*, reset: bool = False) -> int:
    """The most that this process held, in KiB; from now on, with `reset`."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])


def test_a_memory_limit_is_in_force(servers) -> None:
    """K49"""
    servers.offer("x = bytearray(600 * 1024 * 1024)", python=True, limits=Limits(memory_bytes=300 * 1024 * 1024))
    result = servers.one()
    assert result.error.code == "EXECUTION_ERROR" and "MemoryError" in result.error.message


def test_secrets_are_taken_out_of_the_artifact(servers) -> None:
    known = Redactor({"TOKEN": "the-value-of-it"})
    servers.host(filters=known.stream)
    servers.offer(
        "answer['output'] = 'x' * 490 + 'the-value-of-it' + 'x' * 70_000; print('the-value-of-it', file=sys.stderr)",
        python=True,
        limits=Limits(output_bytes=1000),
    )
    result = servers.one()
    assert "the-value" not in Path(result.metadata["artifacts"][0]["path"]).read_text()
    assert "the-valu" not in result.data and result.metadata["stderr"] == "[redacted:TOKEN]\n"


# Who gets which server


def test_calls_at_the_same_time_have_servers_of_their_own(servers) -> None:
    """None waits for another, and those that come later find them."""
    servers.offer("echo >> begun; while [ $(wc -l < begun) -lt 6 ]; do sleep 0.01; done; answer $$")

    async def at_once() -> list[Result]:
        together = await asyncio.gather(*(servers.call() for _ in range(6)))
        return [*together, await servers.call()]

    results = asyncio.run(at_once())
    assert [each.error for each in results] == [None] * 7
    assert len({each.data for each in results}) == 6
    assert servers.verbs() == ["serve"] * 6


def test_other_secrets_another_session_or_another_program_mean_another_server(servers) -> None:
    servers.offer("answer $$")
    given = {"TOKEN": "one"}
    servers.host(secrets=lambda name: dict(given))

    async def several() -> list[int]:
        found = [(await servers.call()).data]
        given["TOKEN"] = "two"
        found.append((await servers.call()).data)
        servers.offer("answer $$; :")
        found.append((await servers.call()).data)
        return found

    assert len(set(asyncio.run(several()))) == 3


def test_a_resting_one_that_died_is_replaced_and_no_call_suffers(servers) -> None:
    servers.offer("answer $$")

    async def several() -> list[Result]:
        results = [await servers.call()]
        os.kill(results[0].data, signal.SIGKILL)
        os.waitid(os.P_PID, results[0].data, os.WEXITED | os.WNOWAIT)  # the loop had no time to notice
        results.append(await servers.call())
        os.kill(results[1].data, signal.SIGKILL)
        await until(lambda: not servers.running())
        results.append(await servers.call())
        return results

    results = asyncio.run(several())
    assert [each.error for each in results] == [None] * 3
    assert len({each.data for each in results}) == 3


@pytest.mark.parametrize("twice", ["answer $$; answer 2", "answer $$; sleep 0.05; answer 2", "answer $$; echo noise"])
def test_one_that_says_more_than_its_answer_is_not_asked_again(servers, twice) -> None:
    servers.offer(twice)

    async def two() -> list[Result]:
        first = await servers.call()
        await until(lambda: not servers.running())
        return [first, await servers.call()]

    first, second = asyncio.run(two())
    assert (first.error, second.error) == (None, None)
    assert first.data != second.data and 2 not in (first.data, second.data)


def test_a_server_does_not_outlive_its_loop_for_long(servers) -> None:
    servers.offer("answer $$")
    first, second = servers.one(), servers.one()
    assert first.data != second.data
    assert servers.running() == [second.data]


def test_a_thousand_calls_leave_no_descriptor_and_no_second_process(servers) -> None:
    servers.offer("answer 1")

    async def many() -> tuple[int, int]:
        await servers.call()
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(1000):
            assert (await servers.call()).data == 1
        return before, len(os.listdir("/proc/self/fd"))

    before, after = asyncio.run(many())
    assert (after, len(servers.running())) == (before, 1)


def test_failures_leave_no_descriptor_either(servers) -> None:
    servers.offer("case $line in *die*) exit 1;; *hang*) sleep 60;; *noise*) echo noise;; *) answer 1;; esac")

    async def many() -> tuple[int, int]:
        await servers.call()
        before = len(os.listdir("/proc/self/fd"))
        for kind in ["die", "noise"] * 10:
            assert (await servers.call({"do": kind})).error.code == "EXECUTION_ERROR"
        assert (await servers.call({"do": "hang"}, timeout=0.2)).error.code == "TIMEOUT"
        await servers.call()
        return before, len(os.listdir("/proc/self/fd"))

    before, after = asyncio.run(many())
    assert (after, len(servers.running())) == (before, 1)
