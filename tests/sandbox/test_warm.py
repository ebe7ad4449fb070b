"""A worker runs a script as a new interpreter would, and nothing of one run is there in the next."""

import asyncio
import gc
import os
import signal
import sys
from typing import Any

import pytest
from tests.soak import turns

from toolcrib.core.process import Completed
from toolcrib.sandbox import warm as pool
from toolcrib.sandbox.child import UNKNOWN
from toolcrib.sandbox.warm import Workers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes by way of /proc")

ALIKE = {
    "its words": "import sys, json; print(json.dumps(sys.argv[1:]))",
    "its name": "print(__name__, __file__ == __import__('sys').argv[0], __spec__, __doc__)",
    "a docstring": '"""About."""\nprint(__doc__)',
    "its input": "import sys; print(len(sys.stdin.buffer.read()), sys.stdin.read())",
    "its input as text": "import sys; print(sys.stdin.read().upper(), sys.stdin.encoding)",
    "its environment": "import os; print(sorted((k, v) for k, v in os.environ.items() if k not in ('TMPDIR', 'TOOLCRIB_CALL_ID')))",
    "its mark": "import os; print(bool(os.environ['TOOLCRIB_CALL_ID']))",
    "where it is": "import os; print(os.getcwd())",
    "where it looks": "import sys, os; print(sys.path[0] == os.path.dirname(os.path.abspath(__file__)), len(sys.path))",
    "a group of its own": "import os; print(os.getpgrp() == os.getpid() == os.getsid(0))",
    "its descriptors": "import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd'))[:-1])",
    "its signals": "import signal; print([(s, str(signal.getsignal(s))) for s in (1, 2, 13, 15, 17)], signal.set_wakeup_fd(-1))",
    "a place for its files": "import tempfile, os; print(tempfile.gettempdir() == os.environ['TMPDIR'])",
    "chance": "import random; random.random(); print('drawn')",
    "what waits to be written": "import sys; sys.stdout.write('no line end'); sys.stderr.write('nor here')",
    "both streams": "import sys\nfor n in range(50): print(n); print(-n, file=sys.stderr)",
    "exit": "import sys; print('before'); sys.exit(7)",
    "exit with words": "import sys; sys.exit('that went wrong')",
    "exit with nothing": "import sys; sys.exit(None)",
    "exit with a large number": "import sys; sys.exit(300)",
    "exit with a negative number": "import sys; sys.exit(-1)",
    "exit with something else": "raise SystemExit([1, 2])",
    "exit at once": "import os; print('unwritten', end=''); os._exit(9)",
    "an error": "def f():\n    raise ValueError('no')\nf()",
    "an error from another": "try:\n    1 / 0\nexcept ZeroDivisionError as exc:\n    raise KeyError('k') from exc",
    "an error of its own kind": "class Odd(Exception):\n    def __str__(self):\n        return 'odd'\nraise Odd",
    "a hook for errors": "import sys; sys.excepthook = lambda *about: print('hooked', about[0].__name__); 1 / 0",
    "what is done at exit": "import atexit; atexit.register(print, 'one'); atexit.register(print, 'two'); print('zero')",
    "a thread": "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.05), print('late'))).start(); print('early')",
    "a thread that is no reason to wait": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start(); print('done')",
    "a signal": "import os; os.kill(os.getpid(), 9)",
    "an abort": "import os, resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); os.abort()",
    "a closed output": "import sys; sys.stdout.close(); sys.exit(3)",
    "a closed descriptor": "import os; os.close(1); os.write(2, b'still')",
    "what is beside it": "import beside; print(beside.VALUE)",
    "classes": "import dataclasses, pickle\n@dataclasses.dataclass\nclass P:\n    x: int\nprint(pickle.loads(pickle.dumps(P(1))))",
    "its source": "import inspect\ndef f(): return 1\nprint(inspect.getsource(f))",
    "a program that it starts": "import subprocess, sys; print(subprocess.run([sys.executable, '-c', 'print(5)'], capture_output=True, text=True).stdout)",
    "other processes": "import multiprocessing as m\nif __name__ == '__main__':\n    with m.get_context('fork').Pool(2) as p: print(p.map(abs, [-1, -2]))",
    "an event loop": "import asyncio\nasync def main():\n    await asyncio.sleep(0)\n    print('awaited')\nasyncio.run(main())",
    "a fork": "import os\npid = os.fork()\nif not pid:\n    os._exit(4)\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))",
    "what cannot be imported": "import nowhere_to_be_found",
    "an import that may fail": "try:\n    import nowhere_to_be_found\nexcept ImportError:\n    print('without')",
    "future statements": "from __future__ import annotations\ndef f(x: Nothing): ...\nprint(f.__annotations__)",
    "no globals but its own": "print(sorted(n for n in globals() if n not in ('__annotations__', '__cached__', '__loader__', '__package__')))",
}  # fmt: skip


def ran(yard: Any, script: str, *words: str, warm: bool = True, **about: Any) -> Completed:
    return asyncio.run(called(yard, script, *words, warm=warm, **about))


async def called(yard: Any, script: str, *words: str, warm: bool = True, **about: Any) -> Completed:
    if warm:
        about["warm"] = ((sys.executable,), (script,))
    done: Completed = await yard.exec(script, *words, **about)
    return done


def workers_of(yard: Any) -> list[Any]:
    return list(yard.sandbox._pool()._workers.values())


@pytest.mark.parametrize("text", ALIKE.values(), ids=list(ALIKE))
def test_a_script_cannot_tell(yard, text) -> None:
    (yard.root / "beside.py").write_text("import decimal\nVALUE = str(decimal.Decimal(3))\n")
    script = yard.python(text)
    about = {"stdin": "zwölf".encode(), "env": {"LANG": "C.UTF-8", "X": "ü"}}
    cold = ran(yard, script, "a", "--b=c d", "", "ü", warm=False, **about)
    warm = ran(yard, script, "a", "--b=c d", "", "ü", **about)
    assert (warm.warm, cold.warm) == (True, False)
    assert (warm.code, warm.stdout.text(), warm.stderr.text()) == (cold.code, cold.stdout.text(), cold.stderr.text())


def test_a_script_with_a_mistake_says_the_same(yard) -> None:
    script = yard.python("print('never')\nif True print")
    assert ran(yard, script) == ran(yard, script, warm=False)


def test_nothing_of_a_run_is_there_in_the_next(yard) -> None:
    script = yard.python(
        "import json, os, sys, decimal\n"
        "seen = [getattr(json, 'left', None), os.environ.get('LEFT'), decimal.getcontext().prec, os.getcwd()]\n"
        "print(seen)\n"
        "json.left = 1; os.environ['LEFT'] = '1'; decimal.getcontext().prec = 5; os.chdir('/'); sys.path.clear()\n"
    )

    async def main() -> tuple[list[str], int]:
        said = [(await called(yard, script)).stdout.text() for _ in range(3)]
        return said, len(workers_of(yard))

    said, workers = asyncio.run(main())
    assert set(said) == {f"[None, None, 28, {str(yard.root)!r}]\n"}
    assert workers == 1


def test_what_lies_beside_a_script_runs_anew_and_libraries_do_not(yard) -> None:
    (yard.root / "beside.py").write_text("import os\nSEEN = os.environ.get('X')\nimport decimal\n")
    script = yard.python("import beside, sys\nprint(beside.SEEN, 'decimal' in BEFORE if 'BEFORE' in globals() else '')")

    async def main() -> list[str]:
        return [(await called(yard, script, env={"X": value})).stdout.text().split()[0] for value in ("1", "2")]

    assert asyncio.run(main()) == ["1", "2"]


def test_libraries_are_there_before_a_run_begins(yard) -> None:
    """Also those that only a file beside the script imports."""
    (yard.root / "beside.py").write_text("import fractions\n")
    script = yard.python("import sys\nprint('fractions' in sys.modules, 'beside' in sys.modules)\nimport beside\n")
    assert ran(yard, script).stdout.text() == "True False\n"
    assert ran(yard, script, warm=False).stdout.text() == "False False\n"


def test_packages_that_a_tool_brings_along_are_libraries(yard) -> None:
    (yard.root / "vendor").mkdir()
    (yard.root / "vendor" / "brought.py").write_text("import os\nPID = os.getpid()\n")
    script = yard.python(
        "import os, sys\nhere = os.path.dirname(os.path.abspath(__file__))\nprint(here + '/vendor' in sys.path)\n"
        "sys.path.insert(0, here + '/vendor')\nimport brought\nprint(brought.PID == os.getpid())\n"
    )
    assert ran(yard, script).stdout.text().split() == ["False", "False"]
    assert ran(yard, script, warm=False).stdout.text().split() == ["False", "True"]


def test_a_hundred_at_once(yard) -> None:
    script = yard.python("import sys, time; time.sleep(0.05); print(sys.argv[1], sys.stdin.read())")

    async def main() -> list[str]:
        runs = (called(yard, script, str(n), stdin=str(n).encode() * 1000) for n in range(100))
        return [done.stdout.text() for done in await asyncio.gather(*runs)]

    assert asyncio.run(main()) == [f"{n} {str(n) * 1000}\n" for n in range(100)]


HOSTILE = {
    "exits at once": "import os; os._exit(5)",
    "is killed": "import os; os.kill(os.getpid(), 9)",
    "crashes": "import os, resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); os.kill(os.getpid(), 11)",
    "leaves a process": "import os, time\nif not os.fork():\n    time.sleep(600)",
    "leaves a process elsewhere": (
        "import os, time\nif not os.fork():\n    os.setsid()\n    if not os.fork():\n"
        "        os.closerange(0, 100); time.sleep(600)\n    os._exit(0)\nos.wait()"
    ),
    "leaves a program elsewhere": "import subprocess; subprocess.Popen(['sleep', '600'], start_new_session=True)",
    "floods its output": "import sys\nfor _ in range(64): sys.stdout.write('x' * 1048576)",
    "closes everything": "import os; os.closerange(0, 4096)",
    "writes to every descriptor": "import os\nfor n in range(3, 64):\n    try: os.write(n, b'E' * 17)\n    except OSError: pass",
    "kills its group": "import os; os.killpg(0, 9)",
}  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))
def test_whatever_a_run_does_the_next_one_works(yard, text) -> None:
    script = yard.python("import sys\nif sys.argv[1] == 'well': print('well'); sys.exit()\n" + text)

    async def main() -> tuple[Completed, list[int]]:
        assert (await called(yard, script, "well")).warm
        [worker] = workers_of(yard)
        await called(yard, script, "bad")
        assert not [pid for pid in yard.left() if pid != worker._process.pid]
        return await called(yard, script, "well"), [each._process.pid for each in workers_of(yard)]

    done, workers = asyncio.run(main())
    assert (done.code, done.stdout.text(), done.warm, len(workers)) == (0, "well\n", True, 1)


def test_memory_is_bounded_for_a_run_alone(yard) -> None:
    script = yard.python("import sys\nprint(len(bytearray(int(sys.argv[1]) << 20)))")

    async def main() -> list[int]:
        return [(await called(yard, script, size, memory=400 << 20)).code for size in ("1", "600", "1")]

    assert asyncio.run(main()) == [0, 1, 0]


def test_one_that_hangs_is_ended_and_replaced(yard, until) -> None:
    """A loop in Python, which no cancellation reaches, with a child that does not listen."""
    script = yard.python(
        "import os, signal, sys\nif sys.argv[1] == 'well': print('well'); sys.exit()\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nif not os.fork(): os.setsid()\n"
        "open(sys.argv[1], 'w').close()\nwhile True: pass\n"
    )
    up = yard.root / "up"

    async def main() -> Completed:
        task = asyncio.create_task(called(yard, script, str(up)))
        while not up.exists():
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        [worker] = workers_of(yard)
        assert yard.left() == [worker._process.pid]
        return await called(yard, script, "well")

    assert asyncio.run(main()).stdout.text() == "well\n"


def test_a_worker_that_dies_takes_its_runs_along_and_another_comes(yard) -> None:
    script = yard.python("import sys, time\nif sys.argv[1:]: open(sys.argv[1], 'w').close(); time.sleep(600)\nprint(1)")
    up = yard.root / "up"

    async def main() -> tuple[Completed, Completed, bool]:
        task = asyncio.create_task(called(yard, script, str(up)))
        while not up.exists():
            await asyncio.sleep(0.005)
        [worker] = workers_of(yard)
        os.kill(worker._process.pid, signal.SIGKILL)
        lost = await task
        nothing_left = not yard.left()
        return lost, await called(yard, script), nothing_left

    lost, found, nothing_left = asyncio.run(main())
    assert (lost.code, nothing_left, found.stdout.text(), found.warm) == (UNKNOWN, True, "1\n", True)


def test_secrets_of_a_run_are_not_in_the_worker(yard) -> None:
    script = yard.python("import os; print(os.environ['API_KEY'])")

    async def main() -> tuple[str, bytes]:
        done = await called(yard, script, env={"API_KEY": "hush-hush"})
        [worker] = workers_of(yard)
        with open(f"/proc/{worker._process.pid}/environ", "rb") as file:
            return done.stdout.text(), file.read()

    said, environ = asyncio.run(main())
    assert said == "hush-hush\n"
    assert b"hush-hush" not in environ


COLD = {
    "threads at import": ("import threaded", "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"),
    "an import that ends the interpreter": ("import threaded", "import os\nif not os.environ.get('TOOLCRIB_CALL_ID', '').strip(): os._exit(1)\n"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "library"), COLD.values(), ids=list(COLD))
def test_what_cannot_be_forked_is_started(yard, text, library, tmp_path_factory) -> None:
    elsewhere = tmp_path_factory.mktemp("site")
    (elsewhere / "threaded.py").write_text(library)
    script = yard.python(f"{text}\nprint('ran')")

    async def main() -> list[tuple[str, bool]]:
        runs = [await called(yard, script, env={"PYTHONPATH": str(elsewhere)}) for _ in range(2)]
        return [(done.stdout.text(), done.warm) for done in runs]

    assert asyncio.run(main()) == [("ran\n", False)] * 2


def test_an_interpreter_that_is_not_there(yard) -> None:
    script = yard.script("echo started", interpreter="/bin/sh")
    done = asyncio.run(yard.exec(script, warm=(("no-such-python",), (script,))))
    assert (done.stdout.text(), done.warm) == ("started\n", False)


def test_what_an_import_prints_blocks_nothing(yard, tmp_path_factory) -> None:
    elsewhere = tmp_path_factory.mktemp("site")
    (elsewhere / "loud.py").write_text("print('x' * 1000000)\n")
    script = yard.python("import loud\nprint('ran')")
    done = ran(yard, script, env={"PYTHONPATH": str(elsewhere)})
    assert (done.stdout.text(), done.warm) == ("ran\n", True)


def test_another_environment_of_the_interpreter_is_another_worker(yard) -> None:
    script = yard.python("import sys; print(sys.flags.optimize)")

    async def main() -> list[str]:
        return [(await called(yard, script, env=env)).stdout.text() for env in ({}, {"PYTHONOPTIMIZE": "2"}, {})]

    assert asyncio.run(main()) == ["0\n", "2\n", "0\n"]


def test_a_loop_that_is_over_leaves_no_worker(yard) -> None:
    script = yard.python("print(1)")
    assert ran(yard, script).warm
    assert ran(yard, script).warm
    assert len(yard.left()) == 1


def test_idle_workers_are_ended(yard) -> None:
    yard.sandbox._workers = Workers(yard.id, idle_seconds=0.05)
    script = yard.python("print(1)")

    async def main() -> None:
        assert (await called(yard, script)).warm
        while yard.left():
            await asyncio.sleep(0.005)
        assert (await called(yard, script)).warm

    asyncio.run(main())


def test_there_are_only_so_many(yard, monkeypatch) -> None:
    monkeypatch.setattr(pool, "MOST_WORKERS", 3)

    async def main() -> None:
        for _ in range(6):
            assert (await called(yard, yard.python("print(1)"))).warm
        assert len(yard.left()) == 3

    asyncio.run(main())


def test_a_killed_host_leaves_no_worker(drive, carriers, until, tmp_path) -> None:
    script = tmp_path / "script"
    script.write_text(f"#!{sys.executable}\nimport time\nopen('up', 'w').close()\ntime.sleep(600)\n")
    script.chmod(0o755)
    text = (
        "import asyncio, os, signal, sys\n"
        "from toolcrib.core.process import Command\nfrom toolcrib.sandbox.processes import Processes\n"
        "async def main():\n"
        "    command = Command((sys.argv[1],), os.getcwd(), 'tckilled0-1', {'TOOLCRIB_CALL_ID': 'tckilled0-1'},\n"
        "                      warm=((sys.executable,), (sys.argv[1],)))\n"
        "    task = asyncio.create_task(Processes('tckilled0').exec(command))\n"
        "    while not os.path.exists('up'): await asyncio.sleep(0.005)\n"
        "    print('up', flush=True)\n"
        "    if os.fork(): os._exit(0)\n"
    )
    drive(text.replace("    if os.fork(): os._exit(0)\n", "    os._exit(0)\n") + "asyncio.run(main())\n", str(script))
    until(lambda: not carriers("tckilled0-"), "the watcher ended the worker and its run")


@pytest.mark.parametrize("channel", ["warm", "cold"])
def test_a_descriptor_can_be_handed_over(yard, channel) -> None:
    script = yard.python(
        "import os, socket\nfd = int(os.environ['TOOLCRIB_CHANNEL'])\ns = socket.socket(fileno=fd)\n"
        "s.send(b'hello'); print(s.recv(10).decode(), os.get_inheritable(fd))"
    )
    import socket

    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.send(b"there")
        done = ran(yard, script, warm=channel == "warm", channel=theirs.fileno())
        assert ours.recv(10) == b"hello"
    assert (done.code, done.warm) == (0, channel == "warm")
    assert done.stdout.text().split()[0] == "there"


def test_thousands_of_runs_leave_nothing(yard) -> None:
    """Also when they are cut off, crash or leave something behind now and then."""
    script = yard.python(
        "import json, os, sys\nkind = sys.argv[1]\nif kind == 'crash': os.kill(os.getpid(), 9)\n"
        "if kind == 'fork' and not os.fork(): os.setsid(); os.execvp('sleep', ['sleep', '600'])\n"
        "print(json.dumps([kind] * 10))\n"
    )

    async def some(kinds: list[str]) -> None:
        for kind in kinds:
            done = await called(yard, script, kind)
            assert done.code == (137 if kind == "crash" else 0)

    async def main() -> None:
        kinds = ["well"] * 46 + ["crash", "fork", "crash", "well"]
        await asyncio.gather(*(some(kinds) for _ in range(4)))
        gc.collect()
        [worker] = workers_of(yard)
        before = usage(worker._process.pid)
        await asyncio.gather(*(some(kinds * turns(49, 9)) for _ in range(4)))
        gc.collect()
        after = usage(worker._process.pid)
        assert after["descriptors"] == before["descriptors"]
        assert after["of the worker"] == before["of the worker"]
        assert after["worker's memory"] <= before["worker's memory"] * 1.05
        assert after["memory"] <= before["memory"] * 1.05
        assert yard.left() == [worker._process.pid]

    asyncio.run(main())


def usage(worker: int) -> dict[str, float]:
    return {
        "descriptors": len(os.listdir("/proc/self/fd")),
        "of the worker": len(os.listdir(f"/proc/{worker}/fd")),
        "memory": resident("self"),
        "worker's memory": resident(str(worker)),
    }


def resident(pid: str) -> float:
    with open(f"/proc/{pid}/statm") as file:
        return float(file.read().split()[1])
