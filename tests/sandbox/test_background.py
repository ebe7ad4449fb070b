"""Programs that go on when their call is over."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from toolcrib.core.process import Captured, Completed
from toolcrib.sandbox.background import KEPT_BYTES, Background, News, Unread
from toolcrib.sandbox.overheard import overheard
from toolcrib.store.artifacts import ArtifactFiles
from toolcrib.store.home import Home


def begin(yard: Any, text: str, **about: Any) -> Background:
    return yard.sandbox.begin(yard.command("/bin/sh", "-c", text, keep=KEPT_BYTES, **about))


async def heard(job: Background, wanted: str) -> str:
    """What it prints until that holds `wanted`."""
    said = ""
    while wanted not in said and job.completed is None:
        await job.wait(10)
        said += job.look()[0].text
    assert wanted in said
    return said


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def in_a_loop(work: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(work(), 30))


# What nobody has looked at


def test_what_was_looked_at_is_not_given_again() -> None:
    unread = Unread()
    unread.take(b"one\n")
    unread.take(b"two\n")
    assert unread.look(last=False) == News("one\ntwo\n", 0)
    assert unread.look(last=False) == News("", 0)


def test_half_a_character_waits_for_the_other_half() -> None:
    unread = Unread()
    unread.take("ä".encode()[:1])
    assert unread.look(last=False) == News("", 0)
    unread.take("ä".encode()[1:])
    assert unread.look(last=False) == News("ä", 0)


def test_at_the_end_half_a_character_is_shown_as_its_byte() -> None:
    unread = Unread()
    unread.take(b"a\xff" + "ä".encode()[:1])
    assert unread.look(last=True) == News("a\\xff\\xc3", 0)


@pytest.mark.parametrize("chunk", [1, 7, 4096, KEPT_BYTES, KEPT_BYTES + 1, 5 * KEPT_BYTES])
def test_of_too_much_the_end_is_kept_and_the_rest_is_counted(chunk: int) -> None:
    whole = os.urandom(3 * KEPT_BYTES + 5).hex().encode()
    unread = Unread()
    for at in range(0, len(whole), chunk):
        unread.take(whole[at : at + chunk])
    assert len(unread) == len(whole)
    assert unread.look(last=True) == News(whole[-KEPT_BYTES:].decode(), len(whole) - KEPT_BYTES)


def test_a_cut_never_falls_into_a_character() -> None:
    unread = Unread()
    unread.take(("ä" * KEPT_BYTES + "x").encode())
    news = unread.look(last=True)
    assert set(news.text) == {"ä", "x"}
    assert news.omitted + len(news.text.encode()) == 2 * KEPT_BYTES + 1


def test_what_begins_with_no_character_at_all_is_shown_from_its_beginning() -> None:
    unread = Unread()
    unread.take(b"\x80" * (KEPT_BYTES + 10))
    assert unread.look(last=True) == News("\\x80" * KEPT_BYTES, 10)


def test_half_a_character_before_what_was_left_out_is_left_out_with_it() -> None:
    unread = Unread()
    unread.take("ä".encode()[:1])
    assert unread.look(last=False) == News("", 0)
    unread.take(b"x" * (KEPT_BYTES + 5))
    assert unread.look(last=False) == News("x" * KEPT_BYTES, 5)


def test_only_so_much_of_a_cut_character_is_left_out_as_belongs_to_it() -> None:
    """At most three bytes follow the first of a character: a fourth belongs to none."""
    unread = Unread()
    unread.take(b"x" * 7 + "😀".encode()[1:] + b"y" * (KEPT_BYTES - 3))
    assert unread.look(last=True) == News("y" * (KEPT_BYTES - 3), 10)
    unread.take(b"x" * 7 + b"\x80" * 4 + b"y" * (KEPT_BYTES - 4))
    assert unread.look(last=True) == News("\\x80" * 4 + "y" * (KEPT_BYTES - 4), 7)


def test_how_much_nobody_has_looked_at_is_counted_anew_after_each_look() -> None:
    unread = Unread()
    assert len(unread) == 0
    unread.take(b"x" * (KEPT_BYTES + 5))
    assert len(unread) == KEPT_BYTES + 5
    unread.look(last=False)
    unread.take(b"ab")
    assert (len(unread), unread.look(last=False)) == (2, News("ab", 0))


def test_a_listener_hears_what_the_filter_let_through() -> None:
    class Conceals:
        def feed(self, chunk: bytes, /) -> bytes:
            return chunk.replace(b"secret", b"***")

        def end(self) -> bytes:
            return b"last"

    out: list[bytes] = []
    err: list[bytes] = []
    filters = overheard(Conceals, out.append, err.append)
    first, second = filters(), filters()
    assert (first.feed(b"a secret"), second.feed(b""), first.end()) == (b"a ***", b"", b"last")
    assert (out, err) == ([b"a ***", b"last"], [b""])


# Running


def test_it_goes_on_and_is_heard_meanwhile(yard: Any) -> None:
    """K75"""

    async def story() -> None:
        os.mkfifo(yard.root / "ready")
        job = begin(yard, "echo one; echo wrong >&2; read line < ready; echo two; exit 3")
        assert await heard(job, "one") == "one\n"
        assert job.completed is None and job.pid in yard.left()
        (yard.root / "ready").write_text("go\n")
        assert await heard(job, "two") == "two\n"
        await job.ended()
        assert job.completed is not None and job.completed.code == 3
        out, err = job.so_far()
        assert (out.head, err.head) == (b"one\ntwo\n", b"wrong\n")

    in_a_loop(story)


def test_ended_it_is_gone_with_all_it_started(yard: Any, holder: str) -> None:
    async def story() -> None:
        job = begin(yard, f"{holder} hang")
        await heard(job, "done")
        assert len(yard.left()) >= 2
        job.end()
        job.end()  # again is not harder
        await job.ended()
        assert yard.left() == []
        assert job.completed is not None and job.completed.code in (128 + 15, 128 + 9)

    in_a_loop(story)


def test_one_that_ignores_term_is_killed(yard: Any) -> None:
    async def story() -> None:
        job = begin(yard, "trap '' TERM; echo up; while :; do sleep 60; done")
        await heard(job, "up")
        job.end()
        await job.ended()
        assert job.completed is not None and job.completed.code == 128 + 9
        assert yard.left() == []

    in_a_loop(story)


def test_one_that_is_ended_before_it_is_first_looked_after_is_gone_too(yard: Any) -> None:
    """A task that is cancelled before its first step never begins."""

    async def story() -> None:
        job = begin(yard, "sleep 60")
        job.end()
        await job.ended()
        await asyncio.sleep(0)
        assert yard.left() == []
        assert job.completed is not None and job.completed.code == 128 + 9

    yard.sh("true")  # what the first call of all opens stays open
    yard.sandbox.close()
    before = descriptors()
    in_a_loop(story)
    yard.sandbox.close()
    assert descriptors() == before


def test_with_the_loop_it_ends(yard: Any) -> None:
    """Whoever forgets to end it: nothing is left, and nobody hears of a task that was destroyed."""

    async def story() -> None:
        await heard(begin(yard, "echo up; sleep 60"), "up")

    in_a_loop(story)
    assert yard.left() == []


def test_its_temporary_directory_lives_as_long_as_it_does(yard: Any) -> None:
    async def story() -> None:
        job = begin(yard, 'echo "$TMPDIR"; : > "$TMPDIR/file"; echo made; sleep 60')
        tmp = (await heard(job, "made")).split()[0]
        assert os.listdir(tmp) == ["file"]
        await yard.sandbox.exec(yard.command("/bin/true"))
        assert os.listdir(tmp) == ["file"]
        job.end()
        await job.ended()
        assert not os.path.exists(tmp)

    in_a_loop(story)


def test_waiting_ends_with_the_time_the_output_or_the_program(yard: Any) -> None:
    async def story() -> None:
        for name in ("speak", "end"):  # two, because whoever opens one again too early finds the end of the first word
            os.mkfifo(yard.root / name)
        job = begin(yard, "read line < speak; echo said; read line < end")
        await job.wait(0.01)
        assert (job.look()[0].text, job.completed) == ("", None)
        waits = asyncio.create_task(job.wait(30))
        (yard.root / "speak").write_text("\n")
        await waits
        assert job.look()[0].text == "said\n"
        (yard.root / "end").write_text("\n")
        await job.wait(30)
        assert job.completed is not None
        await job.wait(30)  # there will be no news, and nobody waits for any

    in_a_loop(story)


def test_a_flood_is_bounded_and_counted(yard: Any, tmp_path: Any) -> None:
    """1 GiB: memory holds a few KiB of it, and 64 MiB are in an artifact."""

    async def story() -> None:
        command = yard.command("/bin/sh", "-c", "head -c 1073741824 /dev/zero", keep=KEPT_BYTES)
        job = yard.sandbox.begin(command._replace(artifacts=ArtifactFiles(Home(tmp_path / "home"))))
        await job.ended()
        out, _ = job.so_far()
        assert out.total == 1024**3
        assert len(out.head) + len(out.tail) <= 2 * KEPT_BYTES
        assert out.artifact is not None and os.path.getsize(out.artifact[1]) == 64 * 1024**2
        news = job.look()[0]
        assert (len(news.text), news.omitted) == (KEPT_BYTES, 1024**3 - KEPT_BYTES)

    in_a_loop(story)


def test_so_far_is_what_came_so_far(yard: Any, tmp_path: Any) -> None:
    """Also of one that still runs and has more than memory holds: then its artifact has it all."""

    async def story() -> None:
        command = yard.command("/bin/sh", "-c", "head -c 100000 /dev/zero; echo end; sleep 60", keep=KEPT_BYTES)
        job = yard.sandbox.begin(command._replace(artifacts=ArtifactFiles(Home(tmp_path / "home"))))
        await heard(job, "end")
        out, _ = job.so_far()
        assert (job.completed, out.total, out.omitted > 0) == (None, 100004, True)
        assert out.artifact is not None and os.path.getsize(out.artifact[1]) == 100004
        job.end()
        await job.ended()

    in_a_loop(story)


def test_many_leave_nothing_behind(yard: Any) -> None:
    async def story() -> None:
        for _ in range(10):
            jobs = [begin(yard, "echo x; sleep 60 & exit 0") for _ in range(5)]
            for job in jobs:
                await job.ended()

    yard.sh("true")
    before = descriptors()
    in_a_loop(story)
    yard.sh("true")
    assert descriptors() == before
    assert yard.left() == []


# What follows its end


class Ran:
    """A program that can be ended without having been run."""

    pid = 12345

    def __init__(self) -> None:
        self.finished = 0

    def finish(self) -> Completed:
        self.finished += 1
        return DONE

    def so_far(self) -> tuple[Captured, Captured]:
        return Captured(b"so far", total=6), Captured()


DONE = Completed(5, Captured(b"out", total=3), Captured(b"err", total=3))


def test_before_it_was_started_there_is_nothing_to_end_or_to_wait_for() -> None:
    async def story() -> None:
        job = Background()
        job.end()
        await job.ended()
        assert job.completed is None

    in_a_loop(story)


def test_how_it_ended_is_known_and_for_how_long_it_ran() -> None:
    async def story() -> None:
        job, program = Background(), Ran()
        last = asyncio.Event()

        async def work() -> Completed:
            await last.wait()
            job.on_end(DONE)
            return DONE

        job.follow(program, work())  # type: ignore[arg-type]  # of a program it needs no more than this
        assert (job.pid, job.completed, job.so_far()[0].head) == (12345, None, b"so far")
        assert 0 <= job.seconds <= time.monotonic() - job.began
        job.began -= 100
        assert 100 <= job.seconds < 130
        last.set()
        await job.ended()
        assert (job.completed, job.so_far(), program.finished) == (DONE, (DONE.stdout, DONE.stderr), 0)
        lasted = job.seconds
        job.began -= 100
        assert job.seconds == lasted and 100 <= lasted < 130
        await job.wait(30)  # nobody waits for news of what is over
        await job.ended()

    in_a_loop(story)


def test_a_mistake_of_ours_is_not_hidden_and_the_program_is_ended() -> None:
    async def story() -> None:
        told: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, about: told.append(about))
        job, program, wrong = Background(), Ran(), ZeroDivisionError()

        async def work() -> Completed:
            raise wrong

        job.follow(program, work())  # type: ignore[arg-type]  # of a program it needs no more than this
        await job.ended()
        await asyncio.sleep(0)
        assert (job.completed, program.finished) == (DONE, 1)
        assert [(about["exception"], about["task"], bool(about["message"])) for about in told] == [
            (wrong, job._task, True)
        ]

    in_a_loop(story)


def test_one_that_is_given_up_is_nobody_s_mistake() -> None:
    async def story() -> None:
        told: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, about: told.append(about))
        job, program = Background(), Ran()
        job.follow(program, asyncio.sleep(60, DONE))  # type: ignore[arg-type]  # of a program it needs no more than this
        await asyncio.sleep(0)
        job.end()
        await job.ended()
        await asyncio.sleep(0)
        assert (job.completed, program.finished, told) == (DONE, 1, [])

    in_a_loop(story)


def test_each_stream_is_heard_by_itself_and_wakes_who_waits(yard: Any) -> None:
    async def story() -> None:
        job = begin(yard, "echo wrong >&2; exec sleep 60")
        while not len(job.stderr):
            await job.wait(10)
        assert job.look() == (News("", 0), News("wrong\n", 0))
        began = time.monotonic()
        await job.wait(0.02)  # what was looked at is no news
        assert time.monotonic() - began >= 0.02
        job.end()
        await job.ended()

    in_a_loop(story)
