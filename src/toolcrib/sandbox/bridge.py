"""From a network that leads nowhere to a proxy's socket. Run inside the sandbox, by a Python that needs nothing else:

    bridge.py SOCKET PROGRAM [WORD ...]

It listens in the sandbox's own network, leaves a process there that relays each connection to the socket, and becomes
the program, whose environment names that listener as its proxy. The program may ignore it: then it reaches nobody.
"""

import os
import signal
import socket
import sys
import threading

_MOST = 128
_CHUNK = 64 * 1024
_PROXY = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
_NONE = ("ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy")
_LONGEST_NAME = 100

READS = tuple(dict.fromkeys(map(os.path.realpath, (sys.base_prefix, sys.executable, __file__))))
"""What must be readable inside."""


def through(argv: tuple[str, ...] | list[str], socket_path: str) -> tuple[str, ...]:
    """The words that run a program by way of the bridge."""
    return (os.path.realpath(sys.executable), "-I", "-S", os.path.realpath(__file__), socket_path, *argv)


def run(path: str, argv: list[str]) -> None:
    """Does not return but by an error: what called it becomes the program."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=_MOST)
    port = listening.getsockname()[1]
    between = os.fork()
    if between == 0:
        # The relay is no child of the program, which may wait for all its children to end. And it is out of its group
        # before there is a program, whose signals to that group are not for the relay.
        os.setsid()
        if os.fork() == 0:
            _relay(listening, path)
        os._exit(0)
    os.waitpid(between, 0)
    env = {name: value for name, value in _environment().items() if name not in _NONE}
    env |= dict.fromkeys(_PROXY, f"http://127.0.0.1:{port}") | {"NO_PROXY": "", "no_proxy": ""}
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and so would the program
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(argv[0], argv, env)
    except OSError as exc:
        os.write(2, os.fsencode(f"toolcrib: {argv[0]} could not be started: {exc.strerror}\n"))
        os._exit(127 if isinstance(exc, FileNotFoundError) else 126)


def _environment() -> dict[str, str]:
    """As it was given: an interpreter may add to its own."""
    with open("/proc/self/environ", "rb") as file:
        pairs = [os.fsdecode(pair).partition("=") for pair in file.read().split(b"\0") if pair]
    return {name: value for name, _, value in pairs}


def _relay(listening: socket.socket, path: str) -> None:
    """Until all that is inside ends. The program's streams are not for this process."""
    quiet = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(quiet, fd)
    for fd in range(3, 256):  # what the program was handed
        if fd != listening.fileno():
            try:
                os.close(fd)
            except OSError:
                pass
    room = threading.BoundedSemaphore(_MOST)
    while True:
        room.acquire()
        near, _ = listening.accept()
        threading.Thread(target=_joined, args=(near, path, room), daemon=True).start()


def _joined(near: socket.socket, path: str, room: threading.BoundedSemaphore) -> None:
    try:
        with near, _connected(path) as far:
            asking = threading.Thread(target=_hand_on, args=(near, far), daemon=True)
            asking.start()
            _hand_on(far, near)
            asking.join()
    except OSError:  # the proxy is gone, and with it soon everything here
        pass
    finally:
        room.release()


def _connected(path: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    try:
        if len(os.fsencode(path)) <= _LONGEST_NAME:
            made.connect(path)
        else:
            directory = os.open(os.path.dirname(path), os.O_PATH)
            try:
                made.connect(f"/proc/self/fd/{directory}/{os.path.basename(path)}")
            finally:
                os.close(directory)
    except BaseException:
        made.close()
        raise
    return made


def _hand_on(reads: socket.socket, writes: socket.socket) -> None:
    try:
        while chunk := reads.recv(_CHUNK):
            writes.sendall(chunk)
        writes.shutdown(socket.SHUT_WR)
    except OSError:
        for each in (reads, writes):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2:])
