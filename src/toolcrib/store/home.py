"""The user's directory: where everything of ours lies, for nobody else to read."""

import os

PRIVATE_DIR, PRIVATE_FILE = 0o700, 0o600


class Home:
    """`~/.toolcrib`, or what `$TOOLCRIB_HOME` names. Made when something is first written to it."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        given = os.fspath(path) if path is not None else os.environ.get("TOOLCRIB_HOME") or "~/.toolcrib"
        self.path = os.path.abspath(os.path.expanduser(given))
        self.stalled: set[str] = set()
        """Files whose locks were waited for in vain: until one is to be had again, nobody waits for it once more."""

    def file(self, *names: str) -> str:
        return os.path.join(self.path, *names)

    def directory(self, *names: str) -> str:
        """A directory below this one, made where it is missing.

        Raises:
            OSError: it cannot be made; the file system is full or read-only.
        """
        path = self.path
        os.makedirs(path, PRIVATE_DIR, exist_ok=True)
        for name in names:
            path = os.path.join(path, name)
            try:
                os.mkdir(path, PRIVATE_DIR)
            except FileExistsError:
                pass
        return path

    def replace(self, data: bytes, *names: str) -> None:
        """Write a file whole or not at all."""
        self.directory(*names[:-1])
        target = self.file(*names)
        draft = f"{target}.{os.getpid()}.{os.urandom(4).hex()}"
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
        try:
            with open(fd, "wb") as file:
                file.write(data)
            os.rename(draft, target)
        except BaseException:
            os.unlink(draft)
            raise
