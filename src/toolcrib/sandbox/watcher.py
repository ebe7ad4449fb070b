"""A small process that outlives a killed caller and ends what that left behind.

It waits for a word on a pipe. The caller says `bye` when all is in order; the end of the pipe without it means that the
caller was killed, and then every process that carries the caller's mark is ended and its scratch directory removed.
It is a shell, because that starts in a millisecond and holds a megabyte.
"""

import os
import signal

from ..core.errors import ToolError
from .spawn import start

# Constant text; the two values it needs are its arguments. `grep` sees only this user's processes.
_SCRIPT = """
read -r word && exit 0
for round in 1 2 3 4 5 6 7 8 9 10; do
  found=$(grep -laF -e "$1-" /proc/[0-9]*/environ 2>/dev/null) || break
  for file in $found; do pid=${file#/proc/}; kill -KILL "${pid%/environ}" 2>/dev/null; done
done
rm -rf -- "$2"
"""


class Watcher:
    """Started with the first process of a runtime."""

    def __init__(self, mark: str, scratch: str) -> None:
        self._mark, self._scratch = mark, scratch
        self._pid = 0
        self._pipe = -1

    def ensure(self) -> None:
        if self._pid:
            return
        reads, self._pipe = os.pipe()
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            argv = ("/bin/sh", "-c", _SCRIPT, "toolcrib-watcher", self._mark, self._scratch)
            self._pid = start(argv, cwd="/", env={"PATH": "/usr/bin:/bin"}, stdin=reads, stdout=null, stderr=null)
        except ToolError:
            os.close(self._pipe)
            self._pipe = -1
            raise
        finally:
            os.close(reads)
            os.close(null)

    def close(self) -> None:
        if not self._pid:
            return
        try:
            os.write(self._pipe, b"bye\n")
        except OSError:  # it was killed; there is nothing to say goodbye to
            pass
        os.close(self._pipe)
        try:
            os.waitpid(self._pid, 0)
        except ChildProcessError:
            pass
        self._pid = 0

    def kill(self) -> None:
        """For tests of what happens without it."""
        os.kill(self._pid, signal.SIGKILL)
