"""A call ends in bounded time and leaves no process and no descriptor."""

import asyncio
import os
import select
import signal
import time

import pytest
from tests.soak import turns

from toolcrib.sandbox import program

COMET = """
import os, sys, time
os.setsid()
end = time.monotonic() + 30
while time.monotonic() < end:      # a new process every few milliseconds, its parent gone
    if os.fork():
        os._exit(0)
    time.sleep(0.002)
"""


async def timed(work, seconds: float):
    """What the executor does with a limit: cancel, and wait for the clean-up. Returns how long that took."""
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(seconds):
            await work
    return time.monotonic() - began - seconds


def test_a_grandchild_that_holds_the_output_does_not_hold_the_call(yard, holder) -> None:
    """ "A grandchild that keeps the pipe open … Return when the direct child has exited; drain briefly; kill the rest."
    and "`killpg` misses children that called `setsid`"."""
    yard.sh("true")
    began = time.monotonic()
    done = yard.run(holder)
    took = time.monotonic() - began
    assert (done.code, done.stdout.head, done.cut_off) == (0, b"done\n", True)
    assert took < 5  # it sleeps for a minute
    assert yard.left() == []


def test_a_hang_with_such_a_grandchild_ends_within_a_second_of_its_limit(yard, holder) -> None:
    """ "asyncio's `Process.wait()` hangs while a descendant holds stdout." """
    assert asyncio.run(timed(yard.exec(holder, "hang"), 0.3)) < 1
    assert yard.left() == []


def test_waiting_for_it_costs_no_processor_time(yard, holder) -> None:
    """A fifth of a second of waiting, not of spinning."""
    yard.sh("true")
    before = time.process_time()
    assert yard.run(holder).cut_off
    assert time.process_time() - before < 0.1


def test_output_written_by_a_descendant_during_the_drain_is_kept(yard, monkeypatch) -> None:
    monkeypatch.setattr(program, "DRAIN_SECONDS", 20)
    done = yard.sh("(sleep 0.05; echo late) & echo early")
    assert (done.stdout.head, done.cut_off) == (b"early\nlate\n", False)


def test_a_descendant_that_goes_on_holding_the_output_is_cut_off(yard) -> None:
    """ "a third 20 s on `sleep 20 & echo`" """
    began = time.monotonic()
    done = yard.sh("sleep 20 & echo")
    assert (done.stdout.head, done.cut_off) == (b"\n", True)
    assert time.monotonic() - began < 10


def test_a_descendant_without_our_output_is_ended_too(yard, until, tmp_path) -> None:
    """It closed everything, left the session and the call returns at once; then it is gone."""
    text = f"setsid sh -c 'echo $$ > {tmp_path}/pid; exec sleep 60' </dev/null >/dev/null 2>&1 & " + (
        f"while [ ! -s {tmp_path}/pid ]; do sleep 0.01; done; echo started"
    )
    done = yard.sh(text)
    assert (done.stdout.head, done.cut_off) == (b"started\n", False)
    pid = int((tmp_path / "pid").read_text())
    until(lambda: not os.path.exists(f"/proc/{pid}/exe"), "the descendant is gone", seconds=2)


def test_a_daemon_that_forked_twice_is_ended(yard) -> None:
    program = yard.python(
        "import os, time\n"
        "reads, writes = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        os.chdir('/'); os.closerange(0, 3); os.write(writes, b'x'); time.sleep(60)\n"
        "    os._exit(0)\n"
        "os.wait(); os.read(reads, 1); print('up', flush=True)\n"
    )
    assert yard.run(program).stdout.head == b"up\n"
    assert yard.left() == []


def test_a_program_deaf_to_term_is_ended_by_force(yard) -> None:
    """K30"""
    ended = []
    command = yard.command("/bin/sh", "-c", "trap '' TERM HUP INT; echo deaf; while :; do sleep 0.01; done")
    assert asyncio.run(timed(yard.sandbox.exec(command, ended=ended.append), 0.2)) < 1
    assert (ended[0].code, ended[0].stdout.head) == (128 + signal.SIGKILL, b"deaf\n")


def test_a_program_that_cleans_up_on_term_has_the_time_to(yard, tmp_path) -> None:
    ended = []
    text = f"trap 'echo bye; : > {tmp_path}/cleaned; exit 9' TERM; while :; do sleep 0.01; done"
    over = asyncio.run(timed(yard.sandbox.exec(yard.command("/bin/sh", "-c", text), ended=ended.append), 0.2))
    assert (ended[0].code, ended[0].stdout.head, (tmp_path / "cleaned").exists()) == (9, b"bye\n", True)
    assert over < 0.5


def test_a_whole_group_is_asked_to_end_also_who_lost_the_environment(yard, until, tmp_path) -> None:
    inner = f"trap 'echo asked > {tmp_path}/asked; exit' TERM; : > {tmp_path}/up; while :; do sleep 0.01; done"

    async def given_up() -> None:
        task = asyncio.create_task(yard.exec("/bin/sh", "-c", f'env -i /bin/sh -c "{inner}" & wait'))
        await asyncio.to_thread(until, (tmp_path / "up").exists, "both are up")
        task.cancel()
        await asyncio.wait((task,))

    asyncio.run(given_up())
    assert (tmp_path / "asked").exists()


def test_a_stopped_program_is_ended(yard) -> None:
    """One that does not even run cannot hear TERM."""
    assert asyncio.run(timed(yard.exec("/bin/sh", "-c", "kill -STOP $$"), 0.2)) < 1
    assert yard.left() == []


def test_giving_up_twice_ends_it_all_the_same(yard, until, tmp_path) -> None:
    async def twice() -> float:
        text = f"trap '' TERM; (setsid sleep 60 &) ; : > {tmp_path}/up; sleep 60"
        task = asyncio.create_task(yard.exec("/bin/sh", "-c", text))
        await asyncio.to_thread(until, (tmp_path / "up").exists, "it is up")
        task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - began

    assert asyncio.run(twice()) < 0.4  # the grace was cut short
    assert yard.left() == []


def test_giving_up_before_the_first_step_starts_nothing(yard, tmp_path) -> None:
    async def at_once() -> None:
        task = asyncio.create_task(yard.exec("/bin/sh", "-c", f": > {tmp_path}/ran; sleep 60"))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(at_once())
    assert not (tmp_path / "ran").exists()


def test_giving_up_at_any_moment_leaves_nothing(yard, holder) -> None:
    async def after(milliseconds: int) -> None:
        task = asyncio.create_task(yard.exec(holder))
        await asyncio.wait((task,), timeout=milliseconds / 1000)
        task.cancel()
        await asyncio.wait((task,))

    async def at_moments() -> None:
        await asyncio.gather(*(after(milliseconds) for milliseconds in range(0, 60, 2)))

    yard.sh("true")
    before = sorted(os.listdir("/proc/self/fd"))
    asyncio.run(at_moments())
    assert yard.left() == []
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_a_descendant_without_its_environment_is_ended_with_its_group(yard, tmp_path, until) -> None:
    done = yard.sh("env -i sleep 60 & echo $!")
    assert done.cut_off
    until(lambda: not os.path.exists(f"/proc/{int(done.stdout.head)}/exe"), "it is gone", seconds=2)


def test_one_that_hides_from_us_does_not_hold_the_call(yard, tmp_path) -> None:
    """Without our mark and in a session of its own it cannot be found, as the page says; but nobody waits for it."""
    began = time.monotonic()
    done = yard.sh("env -i setsid sh -c 'echo $$; exec sleep 60' & echo up")
    assert (done.code, done.cut_off) == (0, True)
    assert time.monotonic() - began < 10
    hidden = [int(word) for word in done.stdout.head.split() if word != b"up"]
    for pid in hidden:
        os.kill(pid, signal.SIGKILL)


def test_a_storm_of_zombies_costs_nothing(yard) -> None:
    done = yard.python("import os\nfor _ in range(300):\n    if os.fork() == 0: os._exit(0)\nprint('made')")
    began = time.monotonic()
    assert yard.run(done).stdout.head == b"made\n"
    assert time.monotonic() - began < 5
    assert yard.left() == []


def test_a_small_fork_bomb_is_put_out(yard) -> None:
    """64 processes in sessions of their own, of which each comes back when it is told to end."""
    program = yard.python(
        "import os, signal, time\n"
        "def bear(*_):\n"
        "    if os.fork() == 0: os.setsid()\n"
        "signal.signal(signal.SIGTERM, bear)\n"
        "for _ in range(6):\n"
        "    if os.fork() == 0: os.setsid()\n"
        "while True: time.sleep(1)\n"
    )
    assert asyncio.run(timed(yard.exec(program), 0.5)) < 3
    assert yard.left() == []


def test_a_process_that_flees_by_forking_is_caught(yard, tmp_path) -> None:
    """Each look may find only its dead parent; so long as new processes come, the search goes on."""
    fifo = tmp_path / "alive"
    os.mkfifo(fifo)
    alive = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    text = "import os\nalive = os.open('alive', os.O_WRONLY)\nif os.fork(): os._exit(0)\nos.closerange(0, 3)\n"
    done = yard.run(yard.python(text + COMET))
    assert (done.code, done.cut_off) == (0, False)
    over, _, _ = select.select([alive], [], [], 5)  # the end of the pipe: nobody holds it any more
    assert over and os.read(alive, 1) == b""
    os.close(alive)


def test_no_descriptor_and_no_process_is_left_after_hundreds_of_calls(yard, holder) -> None:
    """Each of them drains, and kills a `setsid` grandchild."""

    async def hundreds() -> None:
        at_once = asyncio.Semaphore(32)

        async def one() -> None:
            async with at_once:
                done = await yard.exec(holder)
                assert (done.code, done.stdout.head) == (0, b"done\n")

        await asyncio.gather(*(one() for _ in range(turns(1000, 300))))

    yard.sh("true")
    before = sorted(os.listdir("/proc/self/fd"))
    asyncio.run(hundreds())
    assert sorted(os.listdir("/proc/self/fd")) == before
    assert yard.left() == []
