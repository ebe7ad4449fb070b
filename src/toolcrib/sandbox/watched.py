"""A loan of a program that stays running, with a look at the workspace before and after."""

from collections.abc import Callable
from types import TracebackType

from .aftermath import Seen
from .lending import Loan
from .peer import Peer


class Watched(Loan):
    """What the program leaves during one call is that call's."""

    __slots__ = ("_after", "_before", "_seen")

    def __init__(self, loan: Loan, before: Callable[[], Seen | None], after: Callable[[Seen | None], None]) -> None:
        super().__init__(loan._lending, loan._command, loan._key, loan._marks)
        self._before, self._after = before, after

    async def __aenter__(self) -> Peer:
        self._seen = self._before()
        return await super().__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await super().__aexit__(kind, exc, trace)
        finally:
            self._after(self._seen)
