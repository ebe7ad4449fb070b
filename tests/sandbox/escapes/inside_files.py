"""More ways to files that are none of a program's business. Runs inside the sandbox."""

import ctypes
import mmap
import os
import struct
import subprocess

from attempts import LIBC, attempt, checked, kernel, read, write

AT_FDCWD, AT_EMPTY_PATH = -100, 0x1000
MS_BIND, O_TMPFILE = 4096, 0o20200000


def own(name: str) -> str:
    return os.path.abspath(f"{name}-{os.urandom(6).hex()}")


@attempt
def read_through_cwd(path: str) -> bytes:
    return read("/proc/self/cwd/" + os.path.relpath(path))


@attempt
def read_after_chdir(path: str) -> bytes:
    os.chdir(os.path.dirname(path))
    return read(os.path.basename(path))


@attempt
def read_upwards(path: str) -> bytes:
    """Far more `..` than there are directories: the root is its own parent."""
    return read("../" * 60 + path.lstrip("/"))


@attempt
def read_by_shell(path: str) -> bytes:
    return subprocess.run(["/bin/sh", "-c", 'cat "$1"', "sh", path], stdout=subprocess.PIPE, timeout=8).stdout


@attempt
def read_through_thread_self(path: str) -> bytes:
    return read(f"/proc/thread-self/root{path}")


@attempt
def read_through_parent(path: str) -> bytes:
    """By the root of whoever started us."""
    return read(f"/proc/{os.getppid()}/root{path}") or read(f"/proc/1/root{path}")


@attempt
def read_through_first(path: str) -> bytes:
    return read(f"/proc/1/root{path}")


@attempt
def read_memory_file(pid: int, at: int, size: int) -> bytes:
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as file:
        file.seek(at)
        return file.read(size)


@attempt
def read_descriptors() -> bytes:
    """Whatever was left open for us."""
    got = b""
    for fd in range(3, 1024):
        try:
            got += os.pread(fd, 4096, 0)
        except OSError:
            pass
    return got


@attempt
def read_device_descriptors(number: int) -> bytes:
    return read(f"/dev/fd/{number}")


@attempt
def read_handle(directory: str, handle: str) -> bytes:
    """By the number under which the file system keeps it."""
    mount = os.open(directory, os.O_RDONLY)
    data = ctypes.create_string_buffer(bytes.fromhex(handle))
    return os.read(kernel("open_by_handle_at", mount, data, os.O_RDONLY), 4096)


@attempt
def read_linked_in(path: str) -> bytes:
    mine = own("linked")
    os.link(path, mine)
    return read(mine)


@attempt
def read_mapped(path: str) -> bytes:
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as view:
        return bytes(view)


@attempt
def read_copied(path: str) -> bytes:
    """By a descriptor of the place alone, linked into our own files."""
    fd = os.open(path, os.O_PATH)
    mine = own("copied")
    checked(LIBC.linkat(fd, b"", AT_FDCWD, mine.encode(), AT_EMPTY_PATH))
    return read(mine)


@attempt
def read_reopened(path: str) -> bytes:
    return read(f"/proc/self/fd/{os.open(path, os.O_PATH)}")


@attempt
def read_after_chroot(path: str) -> bytes:
    os.chroot(os.path.dirname(path))
    return read("/" + os.path.basename(path))


@attempt
def read_cloned_tree(path: str) -> bytes:
    tree = kernel("open_tree", AT_FDCWD, os.path.dirname(path).encode(), 1)
    return os.read(os.open(os.path.basename(path), os.O_RDONLY, dir_fd=tree), 4096)


@attempt
def execute(path: str) -> bytes:
    return subprocess.run([path], stdout=subprocess.PIPE, timeout=8).stdout


@attempt
def execute_by_shell(path: str) -> bytes:
    return subprocess.run(["/bin/sh", path], stdout=subprocess.PIPE, timeout=8).stdout


@attempt
def link_target(path: str) -> str:
    return os.readlink(path)


@attempt
def getxattr(path: str) -> bytes:
    return os.getxattr(path, "user.secret")


@attempt
def watch(path: str) -> None:
    """Be told of what others do in a directory."""
    fd = checked(LIBC.inotify_init1(0))
    checked(LIBC.inotify_add_watch(fd, path.encode(), 0xFFF))


@attempt
def write_relative(path: str) -> None:
    write(os.path.relpath(path))


@attempt
def write_through_root(path: str) -> None:
    write(f"/proc/self/root{path}")


@attempt
def append(path: str) -> None:
    with open(path, "ab", buffering=0) as file:
        file.write(b"appended by a tool")


@attempt
def open_truncating(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_TRUNC))


@attempt
def open_emptying(path: str, flags: int) -> None:
    """Without asking to write."""
    os.close(os.open(path, flags | os.O_TRUNC))


@attempt
def write_mapped(path: str) -> None:
    fd = os.open(path, os.O_RDWR)
    with mmap.mmap(fd, 0) as view:
        view[0:4] = b"evil"


@attempt
def symlink_out(path: str) -> None:
    os.symlink("/etc/passwd", path)


@attempt
def fifo_out(path: str) -> None:
    os.mkfifo(path)


@attempt
def link_out(path: str) -> None:
    mine = own("to-link")
    os.close(os.open(mine, os.O_CREAT | os.O_WRONLY, 0o600))
    os.link(mine, path)


@attempt
def nameless_out(path: str) -> None:
    """A file without a name, which is given one outside."""
    fd = os.open(os.path.dirname(path), O_TMPFILE | os.O_RDWR, 0o600)
    checked(LIBC.linkat(AT_FDCWD, f"/proc/self/fd/{fd}".encode(), AT_FDCWD, path.encode(), 0x400))


@attempt
def remove_directory(path: str) -> None:
    os.rmdir(path)


@attempt
def rename_directory_out(path: str) -> None:
    mine = own("directory")
    os.mkdir(mine)
    os.rename(mine, path)


@attempt
def rename_outside(path: str) -> None:
    os.rename(path, path + "-moved")


@attempt
def bind_mount(path: str, target: str) -> None:
    checked(LIBC.mount(path.encode(), target.encode(), None, MS_BIND, None))


@attempt
def mount_memory(target: str) -> None:
    checked(LIBC.mount(b"tmpfs", target.encode(), b"tmpfs", 0, None))


@attempt
def mount_overlay(path: str, target: str) -> None:
    for name in ("upper", "work"):
        os.mkdir(f"{target}-{name}")
    options = f"lowerdir={path},upperdir={target}-upper,workdir={target}-work"
    checked(LIBC.mount(b"overlay", target.encode(), b"overlay", 0, options.encode()))


@attempt
def mount_by_steps(target: str) -> None:
    """As newer programs do it."""
    fs = kernel("fsopen", b"tmpfs", 0)
    kernel("fsconfig", fs, 6, None, None, 0)
    mounted = kernel("fsmount", fs, 0, 0)
    kernel("move_mount", mounted, b"", AT_FDCWD, target.encode(), 4)


@attempt
def hold(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


@attempt
def hold_writable(root: str) -> int:
    """Open for writing whatever below a directory lets itself be opened; nothing is written."""
    count = 0
    for place, directories, files in os.walk(root):
        if place == "/proc":
            directories[:] = [
                name for name in directories if not name.isdigit() and name not in ("self", "thread-self")
            ]
        for name in files:
            try:
                if count < 200:
                    os.open(os.path.join(place, name), os.O_WRONLY | os.O_NONBLOCK)
                    count += 1
            except OSError:
                pass
    if not count:
        raise OSError(13, "nothing there can be written to")
    return count


# In the workspace itself


@attempt
def replace_file(path: str) -> None:
    """Another file under its name."""
    mine = own("replacement")
    with open(mine, "w") as file:
        file.write("put in its place by a tool")
    os.rename(mine, path)


@attempt
def replace_directory(path: str) -> None:
    """Move a directory away, and make one anew under its name."""
    os.rename(path, own("moved-away"))
    os.mkdir(path)
    with open(f"{path}/config", "w") as file:
        file.write("[core]\n\tfsmonitor = evil\n")


@attempt
def replace_above(path: str, above: str) -> None:
    """Move away what a protected place lies in, and build it anew."""
    os.rename(above, own("moved-away"))
    os.makedirs(os.path.dirname(path))
    with open(path, "w") as file:
        file.write("[core]\n\tfsmonitor = evil\n")


@attempt
def swap_in(path: str) -> None:
    """Build it somewhere else, and move it to its protected name."""
    mine = own("built")
    os.mkdir(mine)
    with open(f"{mine}/config", "w") as file:
        file.write("[core]\n\tfsmonitor = evil\n")
    os.rename(mine, path)


@attempt
def unmount_and_write(path: str) -> None:
    LIBC.umount2(path.encode(), 2)
    with open(path, "w") as file:
        file.write("written by a tool")


@attempt
def remount_and_write(path: str) -> None:
    LIBC.mount(None, path.encode(), None, 32, None)  # MS_REMOUNT, without MS_RDONLY
    with open(path, "w") as file:
        file.write("written by a tool")


@attempt
def link_elsewhere(path: str) -> None:
    """Give a protected name to something that we can write to."""
    os.symlink(own("ours"), path)


# Owner's rights


@attempt
def setuid_by_descriptor(path: str) -> None:
    os.fchmod(os.open(path, os.O_RDONLY), 0o4755)


@attempt
def setuid_by_number(path: str) -> None:
    kernel("fchmodat2", AT_FDCWD, path.encode(), 0o4755, 0)


@attempt
def setgid_bit(path: str) -> None:
    os.chmod(path, 0o2755)


@attempt
def setuid_at_birth(path: str) -> None:
    os.unlink(path)
    os.umask(0)
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o4755))


@attempt
def setuid_at_birth_by_structure(path: str) -> None:
    os.unlink(path)
    os.umask(0)
    kernel("openat2", AT_FDCWD, path.encode(), struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, 0o4755, 0), 24)


@attempt
def setuid_as_node(path: str) -> None:
    os.unlink(path)
    os.umask(0)
    os.mknod(path, 0o104755)


@attempt
def file_capability(path: str) -> None:
    os.setxattr(path, "security.capability", struct.pack("<IIIII", 0x02000001, 0x200000, 0, 0, 0))


@attempt
def device(path: str, number: int) -> None:
    os.mknod(path, 0o020666, number)
