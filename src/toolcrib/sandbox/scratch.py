"""A private temporary directory for each call, gone after it."""

import os
import shutil
import stat
import tempfile


class Scratch:
    """Hands out empty directories below one root.

    Making and removing a directory costs more than starting a small program's pipes, so one that comes back empty is
    given a new name for the next call; to every tool it is a fresh directory, and its own path is gone afterwards.
    """

    def __init__(self, owner: str) -> None:
        self.root = os.path.join(tempfile.gettempdir(), f"toolcrib-{owner}")
        self._spare: list[str] = []
        self._made = 0

    def take(self) -> str:
        if self._spare:
            return self._spare.pop()
        path = self._next()
        try:
            os.mkdir(path, 0o700)
        except FileNotFoundError:
            os.mkdir(self.root, 0o700)
            os.mkdir(path, 0o700)
        return path

    def give_back(self, path: str) -> bool:
        """Done with it. False when something was left in it, and it must be removed."""
        try:
            if stat.S_IMODE(os.lstat(path).st_mode) == 0o700 and not os.listdir(path):
                fresh = self._next()
                os.rename(path, fresh)
                self._spare.append(fresh)
                return True
        except OSError:
            pass
        return False

    def close(self) -> None:
        self._spare.clear()
        remove_tree(self.root)

    def _next(self) -> str:
        self._made += 1
        return f"{self.root}/{self._made}"


def remove_tree(path: str) -> None:
    """Remove a directory and all in it, following no link, also where a tool took its own rights away."""

    def unlock(_function: object, at: str, _info: object) -> None:
        parent = os.path.dirname(at)
        try:
            os.chmod(parent, 0o700)
            if os.path.isdir(at) and not os.path.islink(at):
                os.chmod(at, 0o700)
                shutil.rmtree(at, ignore_errors=True)
            else:
                os.unlink(at)
        except OSError:
            pass

    if os.path.islink(path):
        os.unlink(path)
    elif os.path.lexists(path):
        shutil.rmtree(path, onerror=unlock)
        if os.path.lexists(path):
            shutil.rmtree(path, ignore_errors=True)
