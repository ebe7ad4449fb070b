"""The user's directory: where everything of ours lies, for nobody else to read."""

import errno
import os
import re
from contextlib import suppress

from ..core.errors import ConfigError

PRIVATE_DIR, PRIVATE_FILE = 0o700, 0o600
_DRAFT = re.compile(r".+\.([1-9][0-9]{0,9})\.[0-9a-f]{8}")


class Home:
    """`~/.toolcrib`, or what `$TOOLCRIB_HOME` names. Made when something is first written to it."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        """
        Raises:
            ConfigError: nobody knows where it is.
        """
        given = os.fspath(path) if path is not None else os.environ.get("TOOLCRIB_HOME") or "~/.toolcrib"
        self.path = os.path.abspath(_expanded(given))
        self.stalled: set[str] = set()
        """Files whose locks were waited for in vain: until one is to be had again, nobody waits for it once more."""

    def file(self, *names: str) -> str:
        return os.path.join(self.path, *names)

    def directory(self, *names: str) -> str:
        """A directory below this one, made where it is missing.

        Raises:
            OSError: it cannot be made; the file system is full or read-only, or something else has its name.
        """
        path = self.path
        os.makedirs(path, PRIVATE_DIR, exist_ok=True)
        for name in names:
            path = os.path.join(path, name)
            try:
                os.mkdir(path, PRIVATE_DIR)
            except FileExistsError:
                if not os.path.isdir(path):
                    message = "there is something else in the place of a directory; remove it"
                    raise NotADirectoryError(errno.ENOTDIR, message, path) from None
        return path

    def abandoned(self) -> list[str]:
        """Drafts whose writer was killed before they were put in their place."""
        found = []
        for directory in (self.path, self.file("cache")):
            with suppress(OSError):
                for name in sorted(os.listdir(directory)):
                    draft = _DRAFT.fullmatch(name)
                    path = os.path.join(directory, name)
                    if draft and os.path.isfile(path) and not _is_alive(int(draft[1])):
                        found.append(path)
        return found

    def draft_of(self, path: str) -> str:
        """A name beside a file for what is to take its place."""
        return f"{path}.{os.getpid()}.{os.urandom(4).hex()}"

    def replace(self, data: bytes, *names: str) -> None:
        """Write a file whole or not at all."""
        self.directory(*names[:-1])
        target = self.file(*names)
        draft = self.draft_of(target)
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
        try:
            with open(fd, "wb") as file:
                file.write(data)
            os.rename(draft, target)
        except BaseException:
            os.unlink(draft)
            raise


def _expanded(path: str) -> str:
    """With the user's own directory for `~`. Where there is none, the home would be made where one happens to stand."""
    if not path.startswith("~"):
        return path
    is_own = path.partition("/")[0] == "~"
    found = os.path.expanduser(path)
    if not os.path.isabs(found) or (is_own and os.environ.get("HOME") == ""):
        why = "HOME names no directory" if is_own else "there is no such user"
        raise ConfigError(f"{why}; name the home in TOOLCRIB_HOME, with its whole path", path=path)
    return found


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):  # another user's; or no number of a process, and so no draft of ours
        pass
    return True
