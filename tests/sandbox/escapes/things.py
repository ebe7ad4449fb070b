"""More things that are put outside for the escapes, of kinds that only they need."""

import ctypes
import os
import pty
import re
import shutil
import signal
import socket
import struct
from collections.abc import Callable
from typing import Any

from toolcrib.sandbox._syscalls import machine, numbers
from toolcrib.sandbox.canary import Found, Ground, Listening, Told, secret, text_of, written

from .yard import DOMAIN, LIBC, Witness, Yard

AT_FDCWD, MNT_DETACH, IPC_RMID, USER_KEYRING = -100, 2, 0, -4


def left_open(yard: Ground, name: str) -> Told:
    """A secret in a descriptor that we forgot to close at an exec."""
    found = secret(yard, name)
    fd = os.open(found.about["path"], os.O_RDONLY)
    os.set_inheritable(fd, True)
    found.clear = lambda: os.close(fd)  # type: ignore[method-assign]
    found.about = {}
    return found


def left_open_by_number(yard: Ground, name: str) -> Told:
    found = secret(yard, name)
    fd = os.open(found.about["path"], os.O_RDONLY)
    os.set_inheritable(fd, True)
    found.clear = lambda: os.close(fd)  # type: ignore[method-assign]
    found.about = {"number": fd}
    return found


def socket_left_open(yard: Ground, name: str) -> Found:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    os.set_inheritable(theirs.fileno(), True)

    def came() -> bool:
        try:
            return bool(ours.recv(1, socket.MSG_PEEK))
        except OSError:
            return False

    return Closing(came, lambda: (ours.close(), theirs.close()))


class Closing(Found):
    """Undone whatever happened."""

    def clear(self) -> None:
        self._undo()


def by_handle(yard: Ground, name: str) -> Told:
    found = secret(yard, name)
    room = ctypes.create_string_buffer(struct.pack("Ii", 128, 0), 8 + 128)
    mount = ctypes.c_int()
    if LIBC.name_to_handle_at(AT_FDCWD, os.fsencode(found.about["path"]), room, ctypes.byref(mount), 0) != 0:
        raise OSError(ctypes.get_errno(), "this file system knows no handles")
    handle = room.raw[: 8 + struct.unpack_from("I", room.raw)[0]]
    found.about = {"directory": yard.workspace, "handle": handle.hex()}
    return found


def program(yard: Ground, name: str) -> Told:
    word = os.urandom(16).hex()
    path = written(f"{yard.near}/{name}/program", f"#!/bin/sh\necho {word}\n")
    os.chmod(path, 0o755)
    return Told(word, path=path)


def link_with_target(yard: Ground, name: str) -> Told:
    word = os.urandom(16).hex()
    path = f"{yard.near}/{name}-link"
    os.symlink(word, path)
    return Told(word, path=path)


def with_attribute(yard: Ground, name: str) -> Told:
    word = os.urandom(16).hex()
    path = written(f"{yard.near}/{name}/file", "")
    os.setxattr(path, "user.secret", word.encode())
    return Told(word, path=path)


def named(yard: Ground, name: str) -> Told:
    """A directory in which a name is the secret."""
    word = os.urandom(16).hex()
    return Told(word, path=os.path.dirname(written(f"{yard.near}/{name}/{word}", "")))


def watched(yard: Yard, name: str) -> Witness:
    path = f"{yard.near}/{name}"
    os.mkdir(path)
    number = f"ino:{os.stat(path).st_ino:x} "
    return Witness(yard, lambda seen: number in seen.watched, path=path)


def mounted(source: str = "") -> Callable[[Ground, str], Found]:
    """A directory of the workspace on which nothing may come to be mounted."""

    def lay(yard: Ground, name: str) -> Found:
        target = f"{yard.workspace}/{name}"
        os.mkdir(target)
        about = {"target": target, **({"path": yard.near} if source else {})}
        return Found(
            lambda: f" {target} " in text_of("/proc/self/mountinfo"),
            lambda: LIBC.umount2(os.fsencode(target), MNT_DETACH),
            **about,
        )

    return lay


def own_file(is_bad: Callable[[str], bool]) -> Callable[[Ground, str], Found]:
    """A file of the program's own that must not become something."""

    def lay(yard: Ground, name: str) -> Found:
        path = written(f"{yard.workspace}/{name}-own", "#!/bin/sh\n")
        return Found(lambda: os.path.lexists(path) and is_bad(path), path=path)

    return lay


def no_device(yard: Ground, name: str) -> Found:
    path = f"{yard.workspace}/{name}-device"
    return Found(lambda: os.path.lexists(path), lambda: os.unlink(path), path=path, number=os.makedev(1, 3))


def our_key(yard: Ground, name: str) -> Told:
    """A key of the user's with a secret in it."""
    word, description = os.urandom(16).hex(), f"toolcrib-{os.urandom(8).hex()}"
    call = numbers(machine())
    made = LIBC.syscall(
        ctypes.c_long(call["add_key"]),
        b"user",
        description.encode(),
        word.encode(),
        ctypes.c_long(32),
        ctypes.c_long(USER_KEYRING),
    )
    found = Told(word, description=description)
    unlink = 9
    found.clear = lambda: LIBC.syscall(  # type: ignore[method-assign]
        ctypes.c_long(call["keyctl"]), ctypes.c_long(unlink), ctypes.c_long(made), ctypes.c_long(USER_KEYRING)
    )
    return found


def shared_memory(yard: Ground, name: str) -> Found:
    key = int.from_bytes(os.urandom(3), "big") | 1 << 28
    there = lambda: any(line.split()[0] == str(key) for line in text_of("/proc/sysvipc/shm").splitlines())  # noqa: E731
    return Found(there, lambda: LIBC.shmctl(LIBC.shmget(key, 0, 0), IPC_RMID, None), key=key)


def message_queue(yard: Ground, name: str) -> Found:
    queue = f"/toolcrib-{os.urandom(8).hex()}"

    def there() -> bool:
        fd = LIBC.mq_open(queue.encode(), os.O_RDONLY)
        if fd >= 0:
            os.close(fd)
        return fd >= 0

    return Found(there, lambda: LIBC.mq_unlink(queue.encode()), name=queue)


def kernel_log(yard: Ground, name: str) -> Told:
    room = ctypes.create_string_buffer(1 << 12)
    size = LIBC.klogctl(3, room, len(room))  # what was logged last
    plain = re.compile(r"[\w.:()=/-]+", re.ASCII)  # as it stands in JSON
    words = [word for word in room.raw[: max(size, 0)].decode("latin-1").split() if plain.fullmatch(word)]
    return Told(max(words, key=len, default="the kernel said nothing"))


def domain(ground: Ground, name: str) -> Found:
    """A name of the whole system."""
    before, word = text_of(DOMAIN), f"toolcrib-{os.urandom(4).hex()}"

    def put_back() -> None:
        with open(DOMAIN, "w", encoding="utf-8") as file:
            file.write(before)

    return Found(lambda: word in text_of(DOMAIN), put_back, name=word)


def domain_file(yard: Ground, name: str) -> Found:
    found = domain(yard, name)
    found.about = {"path": DOMAIN, "text": found.about["name"]}
    return found


def typed(high: int) -> Callable[[Yard, str], Found]:
    """The terminal's input. What is typed for the user is his word, to his shell."""

    def lay(yard: Yard, name: str) -> Found:
        text = f"rm {os.urandom(4).hex()}\n"
        return Found(lambda: text.encode() in yard.read_typed(), text=text, high=high)

    return lay


def terminal(yard: Ground, name: str) -> Found:
    """Another terminal of the user's."""
    master, slave = pty.openpty()
    os.set_blocking(master, False)

    def came() -> bool:
        try:
            return bool(os.read(master, 100))
        except OSError:
            return False

    return Closing(came, lambda: (os.close(master), os.close(slave)), path=os.ttyname(slave))


def listening_inside(yard: Yard, name: str) -> Closing:
    """A port on which nobody may be reached from here."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return _reached(yard, socket.AF_INET, ("127.0.0.1", port), port=port)


def listening_abstract(yard: Yard, name: str) -> Closing:
    address = f"@toolcrib-{os.urandom(8).hex()}"
    return _reached(yard, socket.AF_UNIX, "\0" + address[1:], address=address)


def _reached(yard: Yard, family: int, at: Any, **about: Any) -> Closing:
    reached: list[bool] = []

    def look() -> None:
        with socket.socket(family) as client:
            client.settimeout(5)
            if client.connect_ex(at) == 0:
                reached.append(True)

    yard.looks.append(look)
    stay = Witness(yard, lambda seen: False)
    return Closing(lambda: bool(reached), lambda: None, comm=stay.about["comm"], **about)


def signalled(yard: Ground, name: str) -> Closing:
    """This process itself hears a signal that is otherwise ignored."""
    heard: list[int] = []
    before = signal.signal(signal.SIGURG, lambda number, frame: heard.append(number))
    return Closing(lambda: bool(heard), lambda: signal.signal(signal.SIGURG, before), number=int(signal.SIGURG))


def datagrams(yard: Ground, name: str) -> Listening:
    found = Listening(socket.AF_UNIX, socket.SOCK_DGRAM, f"{yard.far}/{name}.sock")
    found.about = {"address": f"{yard.far}/{name}.sock"}
    return found


def removed(lay: Callable[..., Any], directory: str) -> Callable[[Ground, str], Any]:
    """The same, in a place that everybody uses, which is left as it was."""

    def laid(yard: Ground, name: str) -> Any:
        top = f"{directory}/toolcrib-{os.urandom(8).hex()}"
        found = lay(yard, name, place=f"{top}/it" if lay is secret else top)
        found.clear = lambda: shutil.rmtree(top) if os.path.isdir(top) else os.path.lexists(top) and os.unlink(top)
        return found

    return laid
