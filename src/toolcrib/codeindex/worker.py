"""A process that looks at many source files and says what is in them; several of them work side by side.

It is started as a program of its own, with as little as possible imported. Standard input says where and what; the
answer is on standard output. Both are `marshal`, which both sides of one Python understand, behind a sum.
"""

import gc
import marshal
import os
import sys
import zlib
from typing import Any

from .segment import Row

_SUM = 4
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Constant text; where this package lies is its argument. Without `site`, nothing else can be imported at first.
_START = f"import sys; sys.path.append(sys.argv[1]); from {__name__} import main; main()"


def command() -> tuple[str, ...]:
    """How it is started: no variable, no directory and no user's own settings have a say in it."""
    return sys.executable, "-I", "-S", "-c", _START, _ROOT


def question(real: str, root: int, paths: list[str], *, now: int, words: bool = True) -> bytes:
    """What a worker is told: to look at files below the directory at `real`, if that still is the one that is open."""
    about = os.fstat(root)
    return _sealed((_libraries(real), real, (about.st_dev, about.st_ino), paths, now, words))


def answer(said: bytes) -> list[Row] | None:
    """What a worker found; None where it came to no good end."""
    rows: list[Row] | None = _opened(said)
    return rows


def main() -> None:
    """Be such a process."""
    from .examine import examine  # late: whoever only asks does not need it

    gc.disable()  # thousands of lasting objects, and an early end
    libraries, real, identity, paths, now, words = _opened(sys.stdin.buffer.read())
    sys.path += [each for each in libraries if each not in sys.path]
    root = os.open(real, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    about = os.fstat(root)
    if (about.st_dev, about.st_ino) != identity:
        sys.exit("the workspace is another directory by now")
    said = _sealed(examine(root, paths, now=now, words=words))
    sys.stdout.buffer.write(said)
    sys.stdout.buffer.flush()
    os._exit(0)  # there is nothing to tidy up, and it would take its time


def _libraries(real: str) -> list[str]:
    """Where the parsers may lie: where packages are installed, then wherever else we import from, the workspace aside.

    A host that was started in the workspace may have that first in its own path.
    """
    found = [each for each in sys.path if os.path.isabs(each) and os.path.realpath(each) != real]
    return sorted(found, key=lambda each: not each.endswith("-packages"))


def _sealed(value: Any) -> bytes:
    data = marshal.dumps(value)
    return zlib.crc32(data).to_bytes(_SUM) + data


def _opened(sealed: bytes) -> Any:
    data = memoryview(sealed)[_SUM:]
    if len(sealed) <= _SUM or zlib.crc32(data) != int.from_bytes(sealed[:_SUM]):
        return None
    return marshal.loads(data)
