"""The words by which a caller of the gRPC service is known: read from files that nobody else can read."""

import errno
import hmac
import os
import secrets
import stat
from collections.abc import Sequence

from ..core.errors import ConfigError
from ..store.home import Home

FOLDER, TOKEN_FILE = "grpc", "token"
SHORTEST, LONGEST = 20, 1024
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
Metadata = Sequence[tuple[str, str | bytes]]


def own_token(home: Home) -> str:
    """The token of a home, made when it is first asked for.

    Raises:
        ConfigError: it cannot be read or written, or others can.
    """
    path = home.file(FOLDER, TOKEN_FILE)
    try:
        home.directory(FOLDER)
        try:
            _make(path)
        except FileExistsError:
            pass
    except OSError as exc:
        raise ConfigError(f"no token can be kept here: {exc.strerror}", path=path) from None
    return read_token(path)


def _make(path: str) -> None:
    """Whole or not at all: another server may be starting, too."""
    draft = f"{path}.{os.getpid()}.{secrets.token_hex(4)}"
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
        os.link(draft, path)
    finally:
        os.unlink(draft)


def read_token(path: str) -> str:
    """The one word in a file that belongs to us and to nobody else.

    Raises:
        ConfigError: there is none, or others can read or change it.
    """
    try:
        file = open(path, "rb", opener=lambda path, _: os.open(path, _READ))  # noqa: SIM115  # just below
    except OSError as exc:
        link = "is a link; name the file itself" if exc.errno == errno.ELOOP else exc.strerror
        made = f"; to make one: (umask 077; head -c 32 /dev/urandom | base64 > {path})"
        raise ConfigError(f"the token cannot be read: {link}{made}", path=path) from None
    with file:
        seen = os.fstat(file.fileno())
        if not stat.S_ISREG(seen.st_mode):
            raise ConfigError("a token stands in a file, and this is none", path=path)
        if seen.st_uid != os.geteuid():
            raise ConfigError(f"the token belongs to another user ({seen.st_uid}), who knows it", path=path)
        if seen.st_mode & 0o077:
            mode = f"{stat.S_IMODE(seen.st_mode):04o}"
            raise ConfigError(f"others may read or change the token (mode {mode}); type: chmod 600 {path}", path=path)
        word = file.read(LONGEST + 2).strip()
    if not SHORTEST <= len(word) <= LONGEST or not word.isascii() or len(word.split()) != 1:
        raise ConfigError(f"a token is one word of {SHORTEST} to {LONGEST} letters, digits and signs", path=path)
    return word.decode("ascii")


def bears(metadata: Metadata, key: str, token: str) -> bool:
    """Whether exactly this token is there, once. Takes as long for a wrong one as for the right one."""
    given = [value for name, value in metadata if name == key]
    if len(given) != 1:
        return False
    said = given[0] if isinstance(given[0], bytes) else given[0].encode("utf-8", "surrogateescape")
    scheme, _, word = said.partition(b" ")
    return hmac.compare_digest(word, token.encode("ascii")) and scheme.lower() == b"bearer"
