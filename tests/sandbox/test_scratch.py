"""The private temporary directory of a call."""

import asyncio
import errno
import os
import stat
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

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


# What is handed out, and what comes back


@pytest.fixture
def scratch(tmp_path, monkeypatch) -> Scratch:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return Scratch("owner", "below")


def test_a_tool_cannot_pass_a_file_on_by_turning_back_the_clock(scratch) -> None:
    """What one call leaves in its directory is never there for the next, whatever times it sets."""
    first = scratch.take()
    assert scratch.give_back(first) is None
    second = scratch.take()
    before = os.stat(second)
    with open(f"{second}/message", "w") as file:
        file.write("for the next")
    os.utime(second, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert scratch.give_back(second) is not None
    assert os.listdir(scratch.take()) == []


def test_a_tool_cannot_pass_a_file_on_where_times_are_counted_in_large_steps(scratch, monkeypatch) -> None:
    """What changes within one step bears the same time."""
    step, lstat = 4_000_000, os.lstat

    def coarse(path: str) -> SimpleNamespace:
        seen = lstat(path)
        changed = seen.st_ctime_ns // step * step
        return SimpleNamespace(st_mode=seen.st_mode, st_uid=seen.st_uid, st_ctime_ns=changed)

    monkeypatch.setattr(os, "lstat", coarse)
    for _ in range(50):
        path = scratch.take()
        assert os.listdir(path) == []
        if scratch.give_back(path) is None:
            path = scratch.take()
            open(f"{path}/message", "w").close()
            scratch.give_back(path)


def test_a_spare_one_into_which_something_was_put_is_not_handed_out(scratch) -> None:
    path = scratch.take()
    scratch.give_back(path)
    [spare] = os.listdir(scratch.root)
    open(f"{scratch.root}/{spare}/message", "w").close()
    assert os.listdir(scratch.take()) == []


def test_it_lies_in_the_directory_for_temporary_files(tmp_path, monkeypatch, scratch) -> None:
    assert (scratch.root, Scratch("owner").root) == (f"{tmp_path}/toolcrib-owner/below", f"{tmp_path}/toolcrib-owner")
    before = os.umask(0)
    try:
        path = scratch.take()
    finally:
        os.umask(before)
    for directory in (path, scratch.root, os.path.dirname(scratch.root)):
        assert stat.S_IMODE(os.lstat(directory).st_mode) == 0o700
    assert (os.path.dirname(path), os.listdir(path)) == (scratch.root, [])
    os.rmdir(path)
    os.rmdir(scratch.root)  # what is above it is there still
    assert os.path.isdir(scratch.take())


def test_one_that_comes_back_empty_is_the_next_under_another_name(scratch) -> None:
    first = scratch.take()
    number = os.stat(first).st_ino
    for _ in range(3):  # also when it was clean before
        assert scratch.give_back(first) is None
        second = scratch.take()
        assert (second != first, os.stat(second).st_ino, os.path.exists(first)) == (True, number, False)
        first = second
    assert os.stat(scratch.take()).st_ino != number


def test_what_was_left_is_told_and_is_nobody_else_s(scratch) -> None:
    path = scratch.take()
    with open(f"{path}/file", "w") as file:
        file.write("left")
    leftover = scratch.give_back(path)
    assert leftover is not None and leftover != path and not os.path.exists(path)
    assert (os.path.dirname(leftover), os.listdir(leftover)) == (os.path.dirname(scratch.root), ["file"])
    assert os.listdir(scratch.root) == []
    assert scratch.take() not in (path, leftover)


def test_what_was_left_in_several_places_is_kept_apart(scratch) -> None:
    places = [scratch, Scratch("owner", "above"), Scratch("owner")]
    left = set()
    for each in places:
        path = each.take()
        open(f"{path}/file", "w").close()
        left.add(each.give_back(path))
    assert len(left) == 3 and all(os.listdir(path or "") == ["file"] for path in left)


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o1700])
def test_one_of_other_rights_is_not_handed_out_again(scratch, mode: int) -> None:
    path = scratch.take()
    os.chmod(path, mode)
    leftover = scratch.give_back(path)
    assert leftover is not None
    assert stat.S_IMODE(os.stat(scratch.take()).st_mode) == 0o700


@pytest.mark.parametrize("other", ["link", "file", "nothing"])
def test_one_that_is_no_directory_any_more_is_not_handed_out_again(scratch, tmp_path, other: str) -> None:
    path = scratch.take()
    os.rmdir(path)
    if other == "link":
        os.symlink(tmp_path, path)
    elif other == "file":
        open(path, "w").close()
    leftover = scratch.give_back(path)
    assert (leftover is None) is (other == "nothing")
    assert not os.path.lexists(path)
    fresh = scratch.take()
    assert stat.S_ISDIR(os.lstat(fresh).st_mode) and os.listdir(fresh) == []


def test_a_spare_one_that_somebody_removed_is_not_handed_out(scratch) -> None:
    spare, other = scratch.take(), scratch.take()
    scratch.keep(other)
    scratch.keep(spare)
    os.rmdir(spare)
    assert scratch.take() == other
    scratch.keep(other)
    os.rmdir(other)
    fresh = scratch.take()
    assert fresh not in (spare, other) and os.path.isdir(fresh)


@pytest.mark.parametrize("other", ["link", "file", "other rights"])
def test_a_spare_one_that_was_replaced_is_not_handed_out(scratch, tmp_path, other: str) -> None:
    spare = scratch.take()
    scratch.keep(spare)
    os.rmdir(spare)
    if other == "link":
        os.symlink(tmp_path, spare)
    elif other == "file":
        open(spare, "w").close()
    else:
        os.mkdir(spare, 0o755)
    fresh = scratch.take()
    assert fresh != spare and stat.S_ISDIR(os.lstat(fresh).st_mode)


def test_a_spare_one_of_somebody_else_is_not_handed_out(scratch) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory away")
    spare = scratch.take()
    scratch.keep(spare)
    os.chown(spare, 65534, 65534)
    assert scratch.take() != spare


def test_it_is_named_without_the_links_that_lead_to_temporary_files(tmp_path, monkeypatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "linked").symlink_to("real")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "linked"))
    assert Scratch("owner").root == f"{tmp_path}/real/toolcrib-owner"


def test_at_the_end_nothing_is_left_and_it_can_begin_anew(scratch) -> None:
    paths = [scratch.take() for _ in range(3)]
    open(f"{paths[0]}/file", "w").close()
    assert scratch.give_back(paths[1]) is None
    scratch.keep(paths[2])
    scratch.close()
    assert not os.path.exists(scratch.root)
    fresh = scratch.take()
    assert os.path.isdir(fresh) and fresh not in paths


def test_a_full_disk_is_said_with_what_helps(scratch, monkeypatch) -> None:
    scratch.take()

    def full(path: str, mode: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "mkdir", full)
    with pytest.raises(ToolError, match="TMPDIR") as failure:
        scratch.take()
    assert (failure.value.code, failure.value.before_effect) == ("RESOURCE_EXHAUSTED", True)
    assert os.strerror(errno.ENOSPC) in str(failure.value)


# Removing


def test_a_tree_is_removed_with_all_that_can_be_in_one(tmp_path) -> None:
    kept, tree = tmp_path / "kept", tmp_path / "tree"
    for path in (kept, tree / "a" / "b" / "c", tree / "d", tree / "a" / "e"):
        path.mkdir(parents=True)
    for path in (kept / "file", tree / "file", tree / "a" / "file", tree / "a" / "b" / "c" / "file"):
        path.write_text("x")
    for path in (tree / "link", tree / "a" / "b" / "link"):
        path.symlink_to(kept)
    os.mkfifo(tree / "a" / "fifo")
    before = stat.S_IMODE(kept.stat().st_mode)
    remove_tree(str(tree))
    assert (os.listdir(tmp_path), os.listdir(kept)) == (["kept"], ["file"])
    assert stat.S_IMODE(kept.stat().st_mode) == before


def test_what_cannot_be_removed_does_not_keep_the_rest(tmp_path, monkeypatch) -> None:
    """Nor does it keep anybody waiting."""
    tree = tmp_path / "tree"
    for name in ("a", "b/stuck", "b/x", "c"):
        (tree / name).mkdir(parents=True)
        (tree / name / "file").write_text("x")
    rename, rmdir = os.rename, os.rmdir
    busy = OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    def renames(source: str, target: str, **where: int) -> None:
        if source == "stuck":
            raise busy
        rename(source, target, **where)

    def removes(path: str, **where: int) -> None:
        if path == "b":
            raise busy
        rmdir(path, **where)

    monkeypatch.setattr(os, "rename", renames)
    remove_tree(str(tree))
    assert sorted(str(path.relative_to(tree)) for path in tree.rglob("*")) == ["b", "b/stuck", "b/stuck/file"]
    monkeypatch.setattr(os, "rename", rename)
    monkeypatch.setattr(os, "rmdir", removes)
    remove_tree(str(tree))
    assert list(tree.rglob("*")) == [tree / "b"]


class Meddler:
    """Puts a link to a directory outside in the place of a directory, just before that is opened or moved."""

    def __init__(self, tree: Path, outside: Path) -> None:
        self.tree, self.outside, self.done = tree, outside, False

    def __call__(self) -> None:
        if not self.done:
            self.done = True
            self.tree.rename(self.tree.parent / "moved away")
            self.tree.symlink_to(self.outside)


@pytest.mark.parametrize("moment", ["unlink", "open", "listdir", "fchmod", "rename", "rmdir"])
@pytest.mark.parametrize("swapped", ["tree", "tree/Documents", "tree/Documents/deep"])
def test_who_swaps_directories_for_links_meanwhile_has_nothing_removed_outside(
    tmp_path, monkeypatch, moment: str, swapped: str
) -> None:
    outside, tree = tmp_path / "outside", tmp_path / "tree"
    for root in (outside, outside / "Documents", outside / "Documents" / "deep"):
        root.mkdir()
        (root / "file").write_text("alive")
    (tree / "Documents" / "deep" / "deeper").mkdir(parents=True)
    (tree / "Documents" / "deep" / "file").write_text("x")
    canary = outside / Path(*Path(swapped).parts[1:])
    meddler = Meddler(tmp_path / swapped, canary)
    real = getattr(os, moment)

    def meddled(*args: Any, **about: Any) -> Any:
        if args[0] == meddler.tree.name:
            meddler()
        return real(*args, **about)

    def meddled_at_any(*args: Any, **about: Any) -> Any:
        meddler()
        return real(*args, **about)

    by_name = moment in ("unlink", "open", "rename", "rmdir")
    before = sorted((path, path.lstat().st_mode) for path in outside.rglob("*"))
    monkeypatch.setattr(os, moment, meddled if by_name else meddled_at_any)
    remove_tree(str(tree))
    assert sorted((path, path.lstat().st_mode) for path in outside.rglob("*")) == before


def test_few_descriptors_are_open_however_many_directories_there_are(tmp_path, monkeypatch) -> None:
    tree = tmp_path / "tree"
    for number in range(200):
        (tree / str(number) / "a" / "b").mkdir(parents=True)
    before, most, unlink = len(os.listdir("/dev/fd")), 0, os.unlink

    def counts(name: str, **where: int) -> None:
        nonlocal most
        most = max(most, len(os.listdir("/dev/fd")) - before)
        unlink(name, **where)

    monkeypatch.setattr(os, "unlink", counts)
    remove_tree(str(tree))
    assert (most <= 3, len(os.listdir("/dev/fd")), os.listdir(tmp_path)) == (True, before, [])
