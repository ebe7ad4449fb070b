"""Modules that run in processes of their own: what they may touch, and what is left of them."""

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.unconfined import unconfined

import toolcrib
from toolcrib.testing import ScriptedApprover

pytestmark = pytest.mark.parametrize("modules", ["process"], indirect=True)

CHANNEL = "import os, socket\ndef channel():\n  import gc\n  return [s for s in gc.get_objects() if isinstance(s, socket.socket)][0]\n"


def marked(word: str) -> list[str]:
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if name.isdigit() and word.encode() in file.read():
                    found.append(name)
        except OSError:
            pass
    return found


def test_none_of_its_code_runs_in_this_process(modules, tmp_path: Path) -> None:
    """Not while it is listed, not while it is called, and not while a call is tried out."""
    log = tmp_path / "pids"
    note = f"import os\ndef note(what):\n  with open({str(log)!r}, 'a') as file: print(os.getpid(), what, file=file)\n"
    modules.write(
        note + "note('import')\ndef run(i): note('run')\ndef ask(i): note('claim'); return False\n"
        "def check(i): note('validate'); return []\nasync def preview(i, ctx): note('preview')\n"
        "f = {'name': 'f', 'input_schema': {}, 'execute': run, 'needs_approval': ask, 'validate': check,"
        " 'dry_run': preview, 'initialize': lambda ctx: note('begin'), 'shutdown': lambda: note('end')}\n",
        "f",
    )

    async def work(crib: toolcrib.Crib) -> None:
        assert (await crib.call("f", dry_run=True)).error is None
        assert (await crib.call("f")).error is None

    modules.opened(work)
    pids, words = zip(*(line.split() for line in log.read_text().splitlines()), strict=True)
    assert set(words) == {"import", "run", "claim", "validate", "preview", "begin", "end"}
    assert str(os.getpid()) not in pids


def test_what_it_is_is_asked_once_for_each_content(modules, tmp_path: Path) -> None:
    log = tmp_path / "imports"
    text = f"open({str(log)!r}, 'a').write('x')\ndef f() -> int:\n  return 1\n"
    modules.write(text, "f")
    assert [modules.names() for _ in range(3)] == [["f"]] * 3
    assert log.read_text() == "x"
    modules.write(text + "# another\n")
    assert [modules.names() for _ in range(2)] == [["f"]] * 2
    assert log.read_text() == "xx"


def test_state_is_not_kept_between_calls(modules) -> None:
    modules.write("seen = []\ndef f() -> int:\n  seen.append(1)\n  return len(seen)\n", "f")

    async def work(crib: toolcrib.Crib) -> list[int]:
        return [(await crib.call("f")).data for _ in range(3)]

    assert modules.opened(work) == [1, 1, 1]


def test_its_context_works_through_the_guard_and_the_gate(modules, workspace, tmp_path) -> None:
    """G32"""
    (tmp_path / "secret").write_text("hush")
    modules.write(
        "from toolcrib import Context, ToolError\n"
        "async def f(ctx: Context) -> dict:\n"
        "  ctx.workspace.write('a/b.txt', 'text'); ctx.workspace.write('c', b'\\xff')\n"
        "  said = {}\n"
        "  for path in ('../secret', '/etc/passwd', '.toolcrib/x'):\n"
        "    try: said[path] = ctx.workspace.write(path, 'x')\n"
        "    except ToolError as exc: said[path] = exc.code\n"
        "  try: said['read'] = str(ctx.workspace.read('../secret'))\n"
        "  except ToolError as exc: said['read'] = exc.code\n"
        "  said['bytes'] = list(ctx.workspace.read('c')); ctx.workspace.unlink('c')\n"
        "  said['list'] = ctx.workspace.list(); said['size'] = ctx.workspace.stat('a/b.txt').st_size\n"
        "  said['there'] = [ctx.workspace.exists('a/b.txt'), ctx.workspace.exists('c')]\n"
        "  said['call'] = (await ctx.call('g', {'n': 2})).data\n"
        "  said['blocked'] = (await ctx.call('run_command', {'command': 'true'})).error.code\n"
        "  said['unknown'] = (await ctx.call('nothing', {})).error.code\n"
        "  said['asked'] = await ctx.confirm('really?')\n"
        "  return said\n"
        "def g(n: int) -> int:\n  return n * 2\n",
        "f", "g",
        more="approval: {tools: {run_command: blocked}}\n",
    )  # fmt: skip
    config = (modules.home / "config.yaml").read_text().replace("toolsets: {", "toolsets: {shell: {}, ")
    (modules.home / "config.yaml").write_text(config)
    approver = ScriptedApprover(True, True, True)
    result = modules.call("f", approver=approver)
    assert result.error is None
    assert result.data == {
        "../secret": "PATH_OUTSIDE_WORKSPACE",
        "/etc/passwd": "PATH_OUTSIDE_WORKSPACE",
        ".toolcrib/x": "PATH_PROTECTED",
        "read": "PATH_OUTSIDE_WORKSPACE",
        "bytes": [255],
        "list": ["a"],
        "size": 4,
        "there": [True, False],
        "call": 4,
        "blocked": "BLOCKED_BY_POLICY",
        "unknown": "TOOL_NOT_FOUND",
        "asked": True,
    }
    assert (tmp_path / "secret").read_text() == "hush"
    assert sorted(os.listdir(workspace)) == ["a"]
    assert result.metadata["bytes_written"] == 5
    assert [question.call.name for question in approver.asked] == ["f", "g", "f"]


def test_what_it_prints_is_no_answer(modules) -> None:
    modules.write("print('loud')\ndef f() -> int:\n  print('noise'); return 3\n", "f")
    result = modules.call("f")
    assert (result.data, result.metadata["stdout"]) == (3, "noise\n")


HOSTILE = {
    "exits": ("import os\ndef f(): os._exit(3)", "EXECUTION_ERROR"),
    "exits well": ("import os\ndef f(): os._exit(0)", "EXECUTION_ERROR"),
    "raises what ends an interpreter": ("def f(): raise SystemExit(0)", "EXECUTION_ERROR"),
    "is killed": ("import os\ndef f(): os.kill(os.getpid(), 9)", "EXECUTION_ERROR"),
    "hangs": ("def f():\n  while True: pass", "TIMEOUT"),
    "hangs and does not listen": ("import signal\ndef f():\n  signal.signal(15, signal.SIG_IGN)\n  while True: pass", "TIMEOUT"),
    "hangs in a thread": ("import threading\ndef f():\n  threading.Thread(target=threading.Event().wait).start()", "TIMEOUT"),
    "leaves a process": ("import subprocess\ndef f(): subprocess.Popen(['sleep', '600'], start_new_session=True); return 1", None),
    "leaves a fork": ("import os, time\ndef f():\n  if not os.fork(): os.setsid(); time.sleep(600)\n  return 1", None),
    "floods": ("import sys\ndef f():\n  for _ in range(64): sys.stdout.write('x' * 1048576)\n  return 1", None),
    "answers more than there is room for": ("def f(): return 'x' * (20 << 20)", "EXECUTION_ERROR"),
    "answers what is no JSON": ("def f(): return {1, 2}", "EXECUTION_ERROR"),
    "speaks out of turn": (CHANNEL + "def f():\n  channel().send(b'[1]\\n'); return 1", "EXECUTION_ERROR"),
    "speaks nonsense": (CHANNEL + "def f():\n  channel().send(b'nonsense\\n'); return 1", "EXECUTION_ERROR"),
    "asks for what there is not": (CHANNEL + "def f():\n  channel().send(b'{\"eval\": [\"1\"]}\\n'); return 1", "EXECUTION_ERROR"),
    "asks wrongly": (CHANNEL + "def f():\n  channel().send(b'{\"read\": 3}\\n'); return 1", "EXECUTION_ERROR"),
    "answers twice": (CHANNEL + "def f():\n  channel().send(b'{\"result\": 1}\\n'); return 2", None),
    "hangs up": (CHANNEL + "def f():\n  channel().shutdown(2); return 1", "EXECUTION_ERROR"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "code"), HOSTILE.values(), ids=list(HOSTILE))
def test_whatever_a_call_does_the_next_one_works(modules, text: str, code: str | None) -> None:
    modules.write(text + "\ndef well() -> int:\n  return 7\n", "f", "well")

    async def work(crib: toolcrib.Crib) -> tuple[toolcrib.Result, toolcrib.Result, list[str]]:
        await crib.call("well")
        [worker] = marked(f"{crib._host.id}-w")
        bad = await crib.call("f", timeout=1.0 if code == "TIMEOUT" else 30.0)
        left = [pid for pid in marked(f"{crib._host.id}-") if pid != worker]
        return bad, await crib.call("well"), left

    bad, well, left = modules.opened(work)
    assert ((bad.error and bad.error.code), left) == (code, [])
    assert (well.data, well.metadata["warm"]) == (7, True)


def test_a_function_that_never_waits_is_ended_in_time(modules) -> None:
    modules.write("def f():\n  while True: pass\n", "f", more="tools: {f: {timeout: 200ms}}")
    started = time.monotonic()
    result = modules.call("f")
    assert result.error.code == "TIMEOUT"
    assert time.monotonic() - started < 10


def test_what_cannot_be_forked_runs_in_a_process_for_each_call(modules) -> None:
    modules.write(
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "def f(n: int) -> int:\n  return n + 1\n",
        "f",
    )
    result = modules.call("f", {"n": 1})
    assert (result.data, "warm" in result.metadata) == (2, False)


def test_a_changed_file_does_not_run_before_it_is_looked_at_again(modules, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    modules.write("def f() -> str:\n  return 'old'\n", "f")
    approver = ScriptedApprover(True, True)

    async def work(crib: toolcrib.Crib) -> list[object]:
        before = await crib.call("f")
        modules.write(f"open({str(ran)!r}, 'w').close()\ndef f() -> str:\n  return 'new'\n")
        stale = await crib.call("f")
        assert not ran.exists()
        await crib.refresh()
        after = await crib.call("f")
        return [before.data, stale.error.code, after.data, before.metadata["digest"] != after.metadata["digest"]]

    assert modules.opened(work, approver=approver) == ["old", "TOOL_PIN_MISMATCH", "new", True]
    assert len(approver.asked) == 2


@pytest.mark.parametrize(
    ("claim", "code"),
    [("lambda i: False", None), ("lambda i: True", None), ("lambda i: 'blocked'", "BLOCKED_BY_POLICY"),
     ("lambda i: 'blocked' if i else 'ask'", None), ("lambda i: 1 / 0", "EXECUTION_ERROR")],
)  # fmt: skip
def test_a_claim_that_is_a_function_asks_and_may_still_refuse(modules, tmp_path, claim: str, code: str | None) -> None:
    """G7: it is code, so it is not asked before a person was."""
    ran = tmp_path / "ran"
    execute = f"lambda i: open({str(ran)!r}, 'w').close()"
    modules.write(f"f = {{'name': 'f', 'input_schema': {{}}, 'execute': {execute}, 'needs_approval': {claim}}}\n", "f")
    assert modules.approvals() == {"f": "ask"}
    result = modules.call("f")
    assert ((result.error and result.error.code), ran.exists()) == (code, code is None)


def test_tools_that_wait_for_each_other_do_not_wait_for_a_place(modules, monkeypatch) -> None:
    """As many callers as there are places for processes, each of which calls another process."""
    monkeypatch.setattr("toolcrib.runtime.runtime.places_at_once", lambda: 2)
    modules.write(
        "from toolcrib import Context\n"
        "async def f(ctx: Context) -> int:\n  return (await ctx.call('g', {})).data + 1\n"
        "async def g(ctx: Context) -> int:\n  return (await ctx.call('h', {})).data + 1\n"
        "def h() -> int:\n  return 1\n",
        "f", "g", "h",
    )  # fmt: skip

    async def work(crib: toolcrib.Crib) -> tuple[list[object], int]:
        async with asyncio.timeout(60):
            results = await asyncio.gather(*(crib.call("f") for _ in range(8)))
        return [each.data for each in results], crib._view._executor.places._value

    assert modules.opened(work) == ([3] * 8, 2)


def test_a_secret_reaches_the_tool_it_is_for_and_nobody_else(modules, monkeypatch) -> None:
    monkeypatch.setenv("API_KEY", "hush-hush-hush")
    modules.write(
        "import os\nat_import = os.environ.get('API_KEY')\n"
        "def f() -> list:\n  return [len(os.environ.get('API_KEY', '')), at_import, os.environ.get('API_KEY')]\n"
        "def g() -> list:\n  return [len(os.environ.get('API_KEY', ''))]\n",
        "f", "g", more="tools: {f: {secrets: [API_KEY]}}\n",
    )  # fmt: skip
    mine, others = modules.call("f"), modules.call("g")
    assert (mine.data[:2], others.data) == ([14, None], [0])
    assert "hush" not in str(mine.data)


A_THOUSAND = """
import asyncio, json, os, sys
import toolcrib

def opened():
    found = {}
    for name in os.listdir('/proc/self/fd'):
        try:
            found[name] = os.readlink(f'/proc/self/fd/{name}')
        except OSError:  # the one that was listed with
            pass
    return found

async def some(crib, count):
    results = await asyncio.gather(*(crib.call('f', {'n': n}) for n in range(count)))
    wrong = [(n, str(each.error)) for n, each in enumerate(results) if each.data != n]
    assert not wrong, wrong[:3]

async def main(home, work):
    async with toolcrib.open(workspace=work, home=home, approver=toolcrib.SaysYes()) as crib:
        await some(crib, 100)
        before = opened()
        await some(crib, 1000)
        told = {'runtime': crib._host.id, 'before': before, 'after': opened()}
        print(json.dumps(told), flush=True)
        sys.stdin.read()

asyncio.run(main(*sys.argv[1:]))
"""


def test_a_thousand_calls_leave_nothing(modules) -> None:
    """In a process of its own: in this one, what other tests used may close its descriptors meanwhile."""
    modules.write("def f(n: int) -> int:\n  return n\n", "f")
    unconfined(modules.home)
    words = [sys.executable, "-c", A_THOUSAND, str(modules.home), str(modules.workspace)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as caller:
        told = json.loads(caller.stdout.readline() or "null")
        left = told and marked(f"{told['runtime']}-")
        caller.communicate(timeout=60)
    assert (caller.returncode, told["after"]) == (0, told["before"])
    assert len(left) == 1, "nobody but the worker"
    assert marked(f"{told['runtime']}-") == []
