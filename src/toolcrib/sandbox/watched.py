"""A loan of a program that stays running, with a look at the workspace before and after."""

from types import TracebackType

from .aftermath import Aftermath
from .cage import Cage
from .lending import Loan
from .peer import Peer


class Watched(Loan):
    """What the program leaves during one call is that call's."""

    __slots__ = ("_aftermath", "_cage", "_mark", "_seen")

    def __init__(self, loan: Loan, aftermath: Aftermath, cage: Cage | None, mark: str) -> None:
        super().__init__(loan._lending, loan._command, loan._key, loan._marks)
        self._aftermath, self._cage, self._mark = aftermath, cage, mark

    async def __aenter__(self) -> Peer:
        self._seen = self._aftermath.before(self._cage)
        try:
            return await super().__aenter__()
        except BaseException:
            self._aftermath.forget(self._seen)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await super().__aexit__(kind, exc, trace)
        finally:
            self._aftermath.after(self._seen, self._mark)
