"""Where the gRPC service listens: a socket that only its user can open, or an address of this machine."""

import errno
import ipaddress
import os
import socket
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ..core.errors import ConfigError, ToolcribError
from ..store.home import PRIVATE_DIR, Home
from ..store.lock import alone_in
from .grpc_token import FOLDER

SOCKET, DRAFT = "socket", ".in."
LONGEST_PATH = 107 if sys.platform == "linux" else 103
"""Of a Unix socket, in bytes: no kernel takes more."""
BACKLOG = 128


class Address(NamedTuple):
    """A place to listen at."""

    path: str = ""
    host: str = ""
    port: int = 0

    @property
    def is_unix(self) -> bool:
        return bool(self.path)

    @property
    def target(self) -> str:
        """As clients write it."""
        if self.path:
            return f"unix:{self.path}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str, *, secure: bool) -> Address:
    """`unix:PATH` or `HOST:PORT`. Beyond this machine only with TLS.

    Raises:
        ToolcribError: it is neither, or is refused.
    """
    if text.startswith("unix:"):
        path = text.removeprefix("unix:")
        if path.startswith("//"):
            path = path[2:]
        if not path or "\0" in path:
            raise ToolcribError("unix: names no path; write unix:/path/to/socket", code="CONFIG_INVALID")
        return Address(path=os.path.abspath(path))
    host, colon, number = text.rpartition(":")
    if not colon or not number.isascii() or not number.isdigit() or int(number) > 65535 or not host:
        raise ToolcribError(f"{text!r} is neither unix:PATH nor HOST:PORT", code="CONFIG_INVALID")
    host = "127.0.0.1" if host == "localhost" else host.strip("[]")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        raise ToolcribError(f"{host!r} is no address; write one such as 127.0.0.1", code="CONFIG_INVALID") from None
    if not secure and not address.is_loopback:
        message = (
            f"{host} can be reached from other machines, and the token would travel in the clear; "
            "use 127.0.0.1, or give --tls-cert and --tls-key"
        )
        raise ToolcribError(message, code="NETWORK_DENIED")
    return Address(host=str(address), port=int(number))


def own_address(home: Home) -> Address:
    """The socket in a home."""
    return Address(path=home.file(FOLDER, SOCKET))


def own_folder(home: Home) -> str:
    """Where the service keeps what is its own, for nobody else to look into.

    Raises:
        ConfigError: it cannot be made.
    """
    try:
        path = home.directory(FOLDER)
        os.chmod(path, PRIVATE_DIR)
    except OSError as exc:
        raise ConfigError(f"the directory cannot be made: {exc.strerror}", path=home.file(FOLDER)) from None
    return path


def listen_tcp(address: Address) -> tuple[socket.socket, Address]:
    """A socket that listens, and where it does: a port 0 becomes the one that was free.

    Raises:
        ToolcribError: it cannot be had.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address.host, address.port))
        listener.listen(BACKLOG)
    except OSError as exc:
        listener.close()
        raise ToolcribError(f"cannot listen at {address.target}: {exc.strerror}", code="CONFIG_INVALID") from None
    return listener, address._replace(port=listener.getsockname()[1])


def listen_unix(path: str) -> socket.socket:
    """A socket that everybody can knock at who can reach it, where the kernel says who that is; else only its user.

    Raises:
        ToolcribError: it cannot be had.
    """
    listener, mask = socket.socket(socket.AF_UNIX), os.umask(0o111 if hasattr(socket, "SO_PEERCRED") else 0o177)
    try:
        listener.bind(path)
        listener.listen(BACKLOG)
    except OSError as exc:
        listener.close()
        raise ToolcribError(f"cannot listen at unix:{path}: {exc.strerror}", code="CONFIG_INVALID") from None
    finally:
        os.umask(mask)
    return listener


@contextmanager
def private_socket(folder: str) -> Iterator[str]:
    """A path for a socket, which is gone afterwards, unless it was published.

    What killed servers left is taken away. Raises: `ConfigError`, where others could put something in its place.
    """
    try:
        seen = os.stat(folder)
        if not stat.S_ISDIR(seen.st_mode) or seen.st_mode & 0o022 or seen.st_uid not in (0, os.geteuid()):
            message = "others may put a socket of theirs here and learn the token; choose a directory of your own"
            raise ConfigError(message, path=folder)
        for name in os.listdir(folder):
            if name.startswith(DRAFT) and not _lives(name.removeprefix(DRAFT).partition(".")[0]):
                os.unlink(os.path.join(folder, name))
    except OSError as exc:
        raise ConfigError(f"there can be no socket: {exc.strerror}; make the directory first", path=folder) from None
    path = os.path.join(folder, f"{DRAFT}{os.getpid()}.{os.urandom(2).hex()}")
    if len(os.fsencode(path)) > LONGEST_PATH:
        message = f"the path of a socket has at most {LONGEST_PATH} bytes; choose a shorter one: --listen unix:PATH"
        raise ConfigError(message, path=path)
    try:
        yield path
    finally:
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass


def publish(draft: str, path: str) -> int:
    """Put a socket that listens where callers look for it. Returns the number by which it is known as ours.

    The library would take away whatever lies at its path when it ends, also what the next server put there: so it
    knows only the draft's.

    Raises:
        ConfigError: another server listens there, or there is something else.
    """
    try:
        with alone_in(os.path.dirname(path)):  # two servers that start at once must not both find nobody there
            _clear(path)
            os.rename(draft, path)
            return os.lstat(path).st_ino
    except OSError as exc:
        raise ConfigError(f"cannot listen here: {exc.strerror}", path=path) from None


def withdraw(path: str, inode: int) -> None:
    """Take our socket away, and none of the next server."""
    try:
        if os.lstat(path).st_ino == inode:
            os.unlink(path)
    except FileNotFoundError:
        pass


def _clear(path: str) -> None:
    """Take away a socket that nobody listens at any more."""
    try:
        seen = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(seen.st_mode):
        raise ConfigError("there is something else here; choose another path", path=path)
    if seen.st_uid != os.geteuid():
        raise ConfigError(f"this socket belongs to another user ({seen.st_uid}); choose another path", path=path)
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)  # one whose queue is full is alive, too
        failed = probe.connect_ex(path)
    if failed != errno.ECONNREFUSED:
        message = "another server listens here; end it, or choose another path: --listen unix:PATH"
        raise ConfigError(message, path=path)
    os.unlink(path)


def _lives(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        pass
    return True
