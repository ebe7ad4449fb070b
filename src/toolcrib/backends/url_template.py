"""A URL with placeholders in its path and query. What a value stands for is one part of them, whatever it holds."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from ..core.errors import ToolError
from ..core.jsontext import JSON
from .declared import Unfit
from .template import Missing, Named, Piece, Pieces, SecretOf, as_url_part, filled, names, pieces
from .url import BadUrl, Url, parse_url

_FIRST = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*[/?#]")
_BETWEEN = re.compile(r"[/\\]")
_LONGEST = 64 * 1024


class UrlTemplate(NamedTuple):
    """Scheme, host and port are literal; each segment of the path and each pair of the query is filled by itself."""

    base: Url
    segments: tuple[Pieces, ...]
    pairs: tuple[Pieces, ...]

    @property
    def named(self) -> Named:
        return names(piece for part in (*self.segments, *self.pairs) for piece in part)

    def filled(self, args: Mapping[str, JSON], secret: SecretOf, more: tuple[tuple[str, str], ...] = ()) -> Url:
        """The URL with its values, and `more` pairs of its query. A pair falls away whose argument was not given.

        Raises:
            ToolError: `VALIDATION_ERROR`, for a value that the path cannot hold, or that is missing there.
        """
        path = "/".join(_segment(each, args, secret) for each in self.segments)
        pairs = [filled(each, args, secret, as_url_part) for each in self.pairs if given(each, args)]
        pairs += [f"{as_url_part(name, 'a name')}={as_url_part(value, name)}" for name, value in more]
        url = self.base._replace(path=path, query="&".join(pairs) if pairs else self.base.query)
        if len(url.target) > _LONGEST:
            raise _wrong(f"with these arguments the URL has {len(url.target)} characters, and at most {_LONGEST} go")
        return url


def url_template(text: str, pointer: str = "/url", *, schemes: tuple[str, ...] = ("http", "https")) -> UrlTemplate:
    """A URL taken apart before any value is known.

    Raises:
        Unfit: it is not a URL, or a placeholder stands in what decides where the request goes.
    """
    found = pieces(text, pointer)
    if not found or (len(found) > 1 or found[0].kind != "text") and not _FIRST.match(found[0].text):
        raise Unfit(
            pointer,
            "no placeholder may stand in the scheme, host or port: they say where secrets and arguments are sent; "
            "write them out, as in https://api.example.com/items/${id}",
        )
    path, query, fragment = _split(found)
    if any(piece.kind != "text" for piece in fragment):
        raise Unfit(pointer, "what follows the # of a URL is never sent, so no placeholder may stand there")
    end = _FIRST.match(text)
    head = text[: end.end() - 1] if end else text.partition("?")[0].partition("#")[0]
    # Taken with stand-ins for its values, so that what is wrong with the rest is found now.
    try:
        base = parse_url(head, schemes=schemes)
        segments = tuple(_literal(each) for each in _cut(_after(path, head), "/"))
        pairs = tuple(_literal(each) for each in _cut(query, "&") if each)
    except BadUrl as exc:
        raise Unfit(pointer, str(exc)) from None
    segments = _resolved(segments, pointer)
    return UrlTemplate(base._replace(path="/", query=None), segments if len(segments) > 1 else ((), ()), pairs)


def given(template: Pieces, args: Mapping[str, JSON]) -> bool:
    """Whether all arguments that a template names were given. One that is null was not."""
    return all(args.get(piece.name) is not None for piece in template if piece.kind == "arg")


def _segment(template: Pieces, args: Mapping[str, JSON], secret: SecretOf) -> str:
    for piece in template:
        if piece.kind == "arg":
            if args.get(piece.name) is None:
                raise Missing(piece.name)
            if any(each in (".", "..") for each in _BETWEEN.split(str(args[piece.name]))):
                raise _wrong(f"{piece.name} has a . or .. in it that would change the path of the URL; leave it out")
    text = filled(template, args, secret, as_url_part)
    if template and text in ("", ".", ".."):
        name = next((piece.name for piece in template if piece.kind != "text"), "it")
        raise _wrong(f"{name} would change the path of the URL; there has to be more than {text!r}")
    return text


def _split(found: Pieces) -> tuple[list[Piece], list[Piece], list[Piece]]:
    """Path, query and fragment. Only the `?` and `#` of plain text end a part."""
    parts: tuple[list[Piece], list[Piece], list[Piece]] = ([], [], [])
    at = 0
    for piece in found:
        text = piece.text
        if piece.kind != "text":
            parts[at].append(piece)
            continue
        if at < 2 and "#" in text:
            text, _, rest = text.partition("#")
        else:
            rest = ""
        if at == 0 and "?" in text:
            before, _, text = text.partition("?")
            parts[0].append(Piece(before))
            at = 1
        parts[at].append(Piece(text))
        if rest or "#" in piece.text:
            at = 2
            parts[2].append(Piece(rest))
    return parts


def _after(path: list[Piece], head: str) -> list[Piece]:
    """The path alone, without what stands before it."""
    return [Piece(path[0].text[len(head) :]), *path[1:]]


def _cut(part: list[Piece], at: str) -> list[Pieces]:
    """A part of the URL, cut where its plain text says."""
    found: list[list[Piece]] = [[]]
    for piece in part:
        if piece.kind != "text":
            found[-1].append(piece)
            continue
        first, *rest = piece.text.split(at)
        found[-1] += [Piece(first)] if first else []
        found += [[Piece(each)] if each else [] for each in rest]
    return [tuple(each) for each in found]


def _literal(template: Pieces) -> Pieces:
    """Its plain text as it stands in a URL. Raises: `BadUrl`."""
    shown = []
    for piece in template:
        if piece.kind == "text":
            query = parse_url(f"https://host/?{piece.text}").query
            assert query is not None
            shown.append(Piece(query))
        else:
            shown.append(piece)
    return tuple(shown)


def _resolved(segments: tuple[Pieces, ...], pointer: str) -> tuple[Pieces, ...]:
    """Without the segments that stand for this directory and the one above."""
    kept: list[Pieces] = []
    for at, each in enumerate(segments):
        dots = each[0].text.lower().replace("%2e", ".") if len(each) == 1 and each[0].kind == "text" else ""
        if dots not in (".", ".."):
            kept.append(each)
            continue
        above = kept.pop() if dots == ".." and len(kept) > 1 else ()
        if any(piece.kind != "text" for piece in above):
            raise Unfit(pointer, "a .. takes a placeholder out of the path again; leave both out")
        if at == len(segments) - 1:
            kept.append(())
    return tuple(kept)


def _wrong(message: str) -> ToolError:
    return ToolError(message, code="VALIDATION_ERROR", before_effect=True)
