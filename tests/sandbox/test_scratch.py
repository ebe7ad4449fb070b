"""The private temporary directory of a call."""

import asyncio
import os
import stat
import sys

import pytest

from toolcrib.core.errors import ToolError
from toolcrib.sandbox.scratch import Scratch, remove_tree

LOCKED = """
import os
at = os.environ['TMPDIR']
for name in ('a', 'a/b', 'a/b/c', 'd'):
    os.mkdir(f'{at}/{name}')
    open(f'{at}/{name}/file', 'w').close()
os.symlink(os.environ['CANARY'], f'{at}/a/link')
os.symlink('/nowhere', f'{at}/dangling')
os.mkfifo(f'{at}/a/fifo')
for name in ('a/b/c', 'a/b', 'a', 'd', ''):
    os.chmod(f'{at}/{name}', 0)
"""


def test_it_is_empty_private_and_gone_afterwards(yard) -> None:
    done = yard.sh('echo "$TMPDIR"; stat -c %a "$TMPDIR"; ls -A "$TMPDIR" | wc -l; : > "$TMPDIR/left behind"')
    path, mode, entries = done.stdout.head.decode().split("\n")[:3]
    assert (mode, entries.strip(), os.path.exists(path)) == ("700", "0", False)


def test_two_calls_never_see_one_another_s(yard) -> None:
    async def many() -> list[str]:
        text = 'ls -A "$TMPDIR"; : > "$TMPDIR/mine"; echo "$TMPDIR"'
        answers = await asyncio.gather(*(yard.exec("/bin/sh", "-c", text) for _ in range(30)))
        return [done.stdout.head.decode() for done in answers]

    said = asyncio.run(many()) + asyncio.run(many())
    assert all("mine" not in each for each in said)
    assert len(set(said)) == 60
    assert not any(os.path.exists(path.strip()) for path in said)


def test_a_directory_that_came_back_empty_is_another_one_for_the_next_call(yard) -> None:
    paths = [yard.sh('echo "$TMPDIR"; stat -c %a "$TMPDIR"').stdout.head for _ in range(3)]
    assert len(set(paths)) == 3
    assert all(path.endswith(b"\n700\n") for path in paths)


def test_rights_taken_away_and_links_do_not_save_it(yard, tmp_path) -> None:
    """Where a link leads to is not touched."""
    canary = tmp_path / "canary"
    canary.write_text("alive")
    canary.chmod(0o640)
    yard.run(yard.python(LOCKED), env={"CANARY": str(canary)})
    assert os.listdir(yard.sandbox.scratch.root) == []
    assert (canary.read_text(), stat.S_IMODE(canary.stat().st_mode)) == ("alive", 0o640)


def test_rights_count_for_a_plain_user(drive) -> None:
    done = drive(
        "import os, tempfile, sys\n"
        "from toolcrib.sandbox.scratch import remove_tree\n"
        "if os.getuid() == 0: os.setgid(65534); os.setuid(65534)\n"
        "at = os.environ['TMPDIR'] = tempfile.mkdtemp(dir='/tmp')\n"
        "os.environ['CANARY'] = '/nowhere'\n" + LOCKED + "remove_tree(at)\nprint(os.path.lexists(at))"
    )
    assert done.stdout == "False\n"


def test_ten_thousand_files_are_removed_without_holding_up_others(yard) -> None:
    program = yard.python(
        "import os\nat = os.environ['TMPDIR']\n"
        "for n in range(10):\n"
        "    os.mkdir(f'{at}/{n}')\n"
        "    for m in range(1000): os.close(os.open(f'{at}/{n}/{m}', os.O_CREAT))\n"
    )
    assert yard.run(program).code == 0
    assert os.listdir(yard.sandbox.scratch.root) == []


def test_a_tree_deeper_than_any_path_may_be_is_removed(yard) -> None:
    """Deeper than Python recurses, with a path longer than the kernel takes."""
    program = yard.python(
        "import os\nos.chdir(os.environ['TMPDIR'])\n"
        "for _ in range(2500):\n    os.mkdir('deeper'); os.chdir('deeper')\n"
        "open('file', 'w').close(); print('made')"
    )
    done = yard.run(program)
    assert (done.code, done.stdout.head) == (0, b"made\n")
    assert os.listdir(yard.sandbox.scratch.root) == []
    assert sys.getrecursionlimit() < 2500


def test_a_tool_that_removes_or_replaces_its_directory_harms_nobody(yard, tmp_path) -> None:
    canary = tmp_path / "canary"
    canary.mkdir()
    (canary / "file").write_text("alive")
    assert yard.sh('rmdir "$TMPDIR"').code == 0
    assert yard.sh(f'rmdir "$TMPDIR"; ln -s {canary} "$TMPDIR"').code == 0
    assert yard.sh('rmdir "$TMPDIR"; echo file > "$TMPDIR"').code == 0
    assert (canary / "file").read_text() == "alive"
    assert os.listdir(yard.sandbox.scratch.root) == []


def test_a_tool_that_removes_the_directories_of_all_does_not_leave_the_next_without(yard) -> None:
    async def at_once() -> None:
        await asyncio.gather(*(yard.exec("/bin/sleep", "0.05") for _ in range(4)))

    asyncio.run(at_once())
    yard.sh('rm -rf "$TMPDIR/.."/* "$TMPDIR/.."')
    done = yard.sh('[ -d "$TMPDIR" ] && echo "$TMPDIR"')
    assert done.code == 0


def test_no_room_for_one_is_said_before_anything_runs(tmp_path) -> None:
    scratch = Scratch("tcnoroom")
    scratch.root = str(tmp_path / "file" / "below")
    (tmp_path / "file").write_text("")
    with pytest.raises(ToolError, match="no temporary directory could be made") as failure:
        scratch.take()
    assert (failure.value.code, failure.value.before_effect) == ("RESOURCE_EXHAUSTED", True)


def test_removing_what_is_not_there_or_is_a_link_or_a_file(tmp_path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (tmp_path / "link").symlink_to(kept)
    (tmp_path / "file").write_text("")
    for name in ("nothing", "link", "file"):
        remove_tree(str(tmp_path / name))
    assert os.listdir(tmp_path) == ["kept"]


def test_a_tool_cannot_pass_a_file_on_by_turning_back_the_clock() -> None:
    """What one call leaves in its directory is never there for the next, whatever times it sets."""
    scratch = Scratch(f"test{os.getpid()}")
    try:
        first = scratch.take()
        assert scratch.give_back(first) is None
        second = scratch.take()
        before = os.stat(second)
        with open(f"{second}/message", "w") as file:
            file.write("for the next")
        os.utime(second, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert scratch.give_back(second) is not None
        assert os.listdir(scratch.take()) == []
    finally:
        scratch.close()
