"""What an HTTP tool answers: JSON as data, text as text, anything else as an artifact; bounded while it comes."""

import asyncio
import codecs
from contextlib import aclosing
from http import HTTPStatus
from typing import NamedTuple

from ..core.context import Context
from ..core.errors import InvalidJson, ToolError
from ..core.jsontext import JSON, parse
from ..core.process import Captured
from .charset import Transcoder, charset_of
from .http_message import Response
from .http_stream import Events, Lines
from .inflate import Inflate
from .kept import Kept
from .view import view

_TEXTS = frozenset(
    """
    application/graphql application/javascript application/ndjson application/sql application/toml application/x-ndjson
    application/x-sh application/x-www-form-urlencoded application/x-yaml application/xml application/yaml
    image/svg+xml
    """.split()  # noqa: SIM905
)
_AT_ONCE = 16
"""Pieces that are taken before somebody else has a turn."""
_ERROR_BYTES = 16 * 1024
_EXCERPT = 500
_MOST_HEADERS = 100
_LONGEST_HEADER = 1000
_UNTOLD = frozenset({"set-cookie", "set-cookie2"})


class Kind(NamedTuple):
    """What a body is, by what its sender says."""

    kind: str
    """`json`, `text` or `binary`; `unsaid` where nothing is said."""
    charset: str
    """A codec for what is not UTF-8; else empty."""
    content_type: str


def kind_of(content_type: str) -> Kind:
    """What a `Content-Type` means."""
    essence = content_type.partition(";")[0].strip().lower()
    if not essence:
        return Kind("unsaid", "", "")
    if essence == "application/json" or essence.endswith("+json"):
        return Kind("json", charset_of(content_type), essence)
    if essence.startswith("text/") or essence in _TEXTS or essence.endswith(("+xml", "+yaml")):
        return Kind("text", charset_of(content_type), essence)
    return Kind("binary", "", essence)


async def received(response: Response, ctx: Context, *, method: str, stream: bool) -> JSON:
    """Read an answer to its end, or to the end of what is kept of one, and say what it is.

    With `stream`, each event or line is told as progress when it comes.

    Raises:
        ToolError: it is a failure by its status, or is not what it says it is.
    """
    status, kind = response.status, kind_of(response.header("content-type"))
    failed = not 200 <= status < 300
    kept = Kept(
        keep=ctx.limits.output_bytes,
        name=f"{ctx.call_id}.body",
        artifacts=ctx.host.artifacts,
        all_to_file=kind.kind == "binary" and not failed,
    )
    ctx.evidence = lambda: {"status": status, "body": _shown(kept.captured())}
    try:
        cut = await _read(response, ctx, kept, kind, stream=stream and not failed)
        if kind.kind == "unsaid" and not _is_text(kept.captured().head):
            kind = Kind("binary", "", "application/octet-stream")
            kept.to_file()
    except ToolError as exc:
        exc.details = exc.details or ctx.evidence()
        raise
    finally:
        kept.close()
        body = kept.captured()
        _report(ctx, response, kind, body)
    if cut:
        ctx.report["cut_off"] = True
    if failed:
        raise _failure(method, response, kind, body)
    if method == "HEAD":
        return {"status": status, "headers": _headers(response)}
    return _answer(kind, body)


async def _read(response: Response, ctx: Context, kept: Kept, kind: Kind, *, stream: bool) -> bool:
    """Take the body in. True: there would be more of it than is kept anywhere."""
    encoding = response.header("content-encoding").strip().lower()
    inflate = Inflate(encoding) if encoding not in ("", "identity") else None
    transcoder = Transcoder(kind.charset) if kind.charset else None
    conceal = ctx.host.filters() if ctx.host.filters is not None else None
    teller = _Teller(ctx, kind) if stream else None
    pieces = 0

    def take(piece: bytes, *, last: bool = False) -> None:
        if transcoder is not None:
            piece = transcoder.feed(piece, end=last)
        if conceal is not None:
            piece = conceal.feed(piece) + (conceal.end() if last else b"")
        kept.feed(piece)
        if teller is not None:
            teller.tell(piece, kept.total, last=last)

    async with aclosing(response.chunks) as chunks:  # type: ignore[type-var]  # it is a generator
        async for chunk in chunks:
            for piece in inflate.feed(chunk) if inflate is not None else (chunk,):
                take(piece)
                if kept.full:
                    return True
                pieces += 1
                if pieces % _AT_ONCE == 0:
                    await asyncio.sleep(0)
    if inflate is not None:
        inflate.end()
    take(b"", last=True)
    return False


class _Teller:
    """Tells what comes, as progress."""

    def __init__(self, ctx: Context, kind: Kind) -> None:
        self._ctx = ctx
        self._told = 0
        self._cutter: Lines | Events | None = None
        if kind.kind != "binary":
            self._cutter = Events() if kind.content_type == "text/event-stream" else Lines()

    def tell(self, piece: bytes, total: int, *, last: bool) -> None:
        if self._cutter is None:
            self._ctx.progress(total, None, f"{total} bytes")
            return
        for message in self._cutter.feed(piece, end=last):
            self._told += 1
            self._ctx.progress(self._told, None, message)


def _answer(kind: Kind, body: Captured) -> JSON:
    if kind.kind == "binary":
        about: dict[str, JSON] = {"content_type": kind.content_type, "bytes": body.total}
        return {**about, "artifact": body.artifact[0]} if body.artifact else about
    if kind.kind == "json" and not body.omitted and body.total:
        try:
            return parse(body.head.removeprefix(codecs.BOM_UTF8))
        except InvalidJson:  # it is shown as it is: whoever reads it sees more in it than we do
            pass
    return _shown(body)


def _failure(method: str, response: Response, kind: Kind, body: Captured) -> ToolError:
    status, url = response.status, response.url._replace(query=None)
    shown: JSON = _shown(body) if kind.kind != "binary" else ""
    excerpt = shown.strip()[:_EXCERPT]
    if kind.kind == "json" and body.total <= _ERROR_BYTES:
        shown = _answer(kind, body)
    elif isinstance(shown, str):
        shown = view(shown, _ERROR_BYTES)
    details: dict[str, JSON] = {"status": status, "body": shown}
    if location := response.header("location"):
        details["location"] = location[:_LONGEST_HEADER]
        excerpt = f"it leads to {details['location']}, where this tool does not follow"
    if after := response.header("retry-after"):
        details["retry_after"] = after[:100]
    return ToolError(f"{method} {url} answered {status}{_phrase(status)}" + (f": {excerpt}" if excerpt else ""),
                     details=details)  # fmt: skip


def _report(ctx: Context, response: Response, kind: Kind, body: Captured) -> None:
    ctx.report.update(status=response.status, bytes=body.total, truncated=bool(body.omitted))
    if kind.content_type:
        ctx.report["content_type"] = kind.content_type[:200]
    if response.hops:
        ctx.report["redirects"] = list(response.hops)
    if body.artifact:
        ident, path, size = body.artifact
        ctx.report["artifacts"] = [{"id": ident, "stream": "body", "path": path, "bytes": size}]


def _headers(response: Response) -> dict[str, JSON]:
    """Without cookies, which nobody here keeps."""
    found = response.headers[:_MOST_HEADERS]
    return {name.lower(): value[:_LONGEST_HEADER] for name, value in found if name.lower() not in _UNTOLD}


def _shown(body: Captured) -> str:
    return body._replace(head=body.head.removeprefix(codecs.BOM_UTF8), total=_without_bom(body)).text()


def _without_bom(body: Captured) -> int:
    return body.total - (3 if body.head.startswith(codecs.BOM_UTF8) else 0)


def _is_text(data: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)  # which may end inside a character
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


def _phrase(status: int) -> str:
    try:
        return f" {HTTPStatus(status).phrase}"
    except ValueError:
        return ""
