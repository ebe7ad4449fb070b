"""What a tool in this process answers with, bounded as a program's output is, with secrets taken out as it passes."""

from ..core.context import Context
from ..core.process import Captured
from .kept import Kept


class Spill:
    """Takes an answer in pieces; the whole goes to an artifact when it is longer than what a model is shown."""

    def __init__(self, ctx: Context, stream: str) -> None:
        self._ctx, self._stream = ctx, stream
        self._filter = ctx.host.filters() if ctx.host.filters is not None else None
        name = f"{ctx.call_id}.{stream}"
        self._kept = Kept(keep=ctx.limits.output_bytes, name=name, artifacts=ctx.host.artifacts)

    @property
    def total(self) -> int:
        return self._kept.total

    def add(self, chunk: bytes) -> None:
        self._kept.feed(chunk if self._filter is None else self._filter.feed(chunk))

    def so_far(self) -> Captured:
        return self._kept.captured()

    def end(self) -> Captured:
        """What came, once no more will. The call's metadata says where the whole is."""
        if self._filter is not None:
            held, self._filter = self._filter.end(), None
            self._kept.feed(held)
        self._kept.close()
        kept = self._kept.captured()
        self._ctx.report["truncated"] = bool(kept.omitted)
        if kept.artifact:
            ident, path, count = kept.artifact
            self._ctx.report["artifacts"] = [{"id": ident, "stream": self._stream, "path": path, "bytes": count}]
        return kept

    def close(self) -> None:
        """Also when nobody asks for the end."""
        self._kept.close()
