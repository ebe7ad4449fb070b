"""A module."""
import os, sys as system
import os.path
from . import sibling
from ..pkg.mod import (one, two as deux,
                       three)
from star import *

__all__ = ["Point", "helper"]
LIMIT = 10
count: int = 0
first, second = 1, 2
left = right = 3
type Alias[T] = list[T]


@decorator
class Point(Base, metaclass=Meta):
    """A point."""

    kind = "point"
    x: int
    LIMIT = 3

    def __init__(self, x: int) -> None:
        """Make one."""
        self.x = x
        local = 1

    @property
    def size(self) -> int:
        return 1

    async def load(self):
        import late

        def inner(): ...

    class Deep:
        pass


def helper(a, /, *, b=1) -> str:
    text = "def fake(): pass"
    return text


if True:
    conditional = 1

    def branch(): ...
try:
    import maybe
except ImportError:
    maybe = None
lam = lambda x: x
