"""A small process that outlives a killed caller and ends what that left behind.

It waits for a word on a pipe. The caller says `bye` when all is in order; the end of the pipe without it means that the
caller was killed, and then every process that carries the caller's mark is ended and its scratch directory removed.
It is a shell, because that starts in a millisecond and holds a megabyte.
"""

import os

from ..core.errors import ToolError
from .spawn import Start, start

# Constant text; the two values it needs are its arguments. `grep` sees only this user's processes; its exit status says
# nothing, because one process that ended meanwhile makes it an error. It looks until it found nothing three times.
_SCRIPT = """
read -r word && exit 0
rounds=100 quiet=0
while [ $rounds -gt 0 ] && [ $quiet -lt 3 ]; do
  rounds=$((rounds - 1)) quiet=$((quiet + 1))
  for file in $(grep -lsF -e "$1-" /proc/[0-9]*/environ 2>/dev/null); do
    quiet=0 pid=${file#/proc/}
    kill -KILL "${pid%/environ}" 2>/dev/null
  done
done
rm -rf -- "$2" 2>/dev/null || { chmod -R u+rwx -- "$2"; rm -rf -- "$2"; }
"""


class Watcher:
    """Started with the first process of a runtime."""

    def __init__(self, mark: str, scratch: str) -> None:
        self._mark, self._scratch = mark, scratch
        self._pid = 0
        self._pipe = -1

    def ensure(self) -> None:
        if self._pid and not self._died():
            return
        made: list[int] = []
        try:
            made += os.pipe()
            made.append(os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC))
            reads, _, null = made
            argv = ("/bin/sh", "-c", _SCRIPT, "toolcrib-watcher", self._mark, self._scratch)
            self._pid = start(Start(argv, "/", {"PATH": "/usr/bin:/bin"}, streams=(reads, null, null)))
            self._pipe = made.pop(1)
        except OSError as exc:
            message = f"the watcher could not be started: {exc}; try again when less is running"
            raise ToolError(message, code="RESOURCE_EXHAUSTED", before_effect=True) from None
        finally:
            for fd in made:
                os.close(fd)

    def _died(self) -> bool:
        """Somebody killed it; then another takes its place."""
        try:
            if os.waitpid(self._pid, os.WNOHANG)[0] == 0:
                return False
        except ChildProcessError:  # the host program waits for all children, and nobody can tell
            return False
        os.close(self._pipe)
        self._pid, self._pipe = 0, -1
        return True

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
