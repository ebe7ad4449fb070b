"""What an HTTP tool sends after the headers: JSON, a form, plain text, or files. Built from parts, never by pasting."""

import re
from collections.abc import AsyncIterator, Mapping
from typing import NamedTuple
from urllib.parse import quote_plus

from ..core.errors import InvalidJson, ToolError
from ..core.jsontext import JSON, dump, parse
from .arguments import spelled
from .declared import Unfit
from .http_message import Body
from .template import Missing, Named, Pieces, SecretOf, as_text, document_names, filled, filled_json, names, pieces

_FORM = "application/x-www-form-urlencoded"
_PLACEHOLDER = re.compile(r"\$\{[^{}\"\s]{1,200}\}")
_MOST_TEXT = 8 * 1024 * 1024


class BodyTemplate(NamedTuple):
    """A body with placeholders."""

    kind: str
    """`json`, `form` or `text`; `form` also for the fields beside files."""
    document: JSON = None
    """Of `json` and `form`: parsed before any value is known. None: all arguments that are not used elsewhere."""
    text: Pieces = ()
    content_type: str = ""
    """Empty where the tool's own headers say it."""

    @property
    def named(self) -> Named:
        return names(self.text) if self.kind == "text" else document_names(self.document)

    def filled(self, args: Mapping[str, JSON], rest: Mapping[str, JSON], secret: SecretOf) -> JSON:
        """The document or text with its values. `rest` are the arguments that nothing names.

        Raises:
            ToolError: `VALIDATION_ERROR`, for a value that is missing.
        """
        if self.kind == "text":
            for name in names(self.text).args:
                if args.get(name) is None:
                    raise Missing(name)
            return filled(self.text, args, secret, as_text)
        return dict(rest) if self.document is None else filled_json(self.document, args, secret)

    def body(self, value: JSON) -> Body:
        """What `filled` gave, as it is sent."""
        try:
            if self.kind == "text":
                data = str(value).encode()
            elif self.kind == "form":
                data = "&".join(f"{quote_plus(k)}={quote_plus(v)}" for k, v in form_fields(value)).encode()
            else:
                data = dump(value)
        except (InvalidJson, UnicodeEncodeError) as exc:
            raise _wrong(f"the arguments cannot be sent: {exc}") from None
        if len(data) > _MOST_TEXT:
            raise _wrong(f"the request has {len(data)} bytes, and at most {_MOST_TEXT} go; send less")
        return Body(self.content_type, len(data), lambda: _whole(data))


def body_template(field: JSON, content_type: str, *, files: bool) -> BodyTemplate:
    """The `body_template` of a tool, if it has one. `content_type` is what its headers say; empty: nothing.

    Raises:
        Unfit: it cannot be filled without pasting text together.
    """
    at = "/body_template"
    said = content_type.partition(";")[0].strip().lower()
    ours = "" if said else "application/json"
    if files or said == _FORM:
        document = field if field is None or isinstance(field, dict) else _parsed(field, at)
        if document is not None and not isinstance(document, dict):
            raise Unfit(at, "what goes into a form is a mapping of names to values")
        document_names(document, at)
        return BodyTemplate("form", document)
    if said == "text/plain" and (field is None or isinstance(field, str)):
        if field is None:
            raise Unfit(at, "a tool that sends text/plain says in body_template what it sends")
        return BodyTemplate("text", text=pieces(field, at))
    if said and said != "application/json" and not said.endswith("+json"):
        raise Unfit(
            "/headers",
            f"a body of {said} cannot be filled safely; there are application/json, {_FORM}, text/plain, and files",
        )
    document = _parsed(field, at) if isinstance(field, str) else field
    document_names(document, at)
    return BodyTemplate("json", document, content_type=ours)


def form_fields(value: JSON) -> list[tuple[str, str]]:
    """The members of a document as the fields of a form; one that is null is none."""
    return [(str(name), spelled(each)) for name, each in value.items() if each is not None]


def _parsed(text: str, at: str) -> JSON:
    """JSON with placeholders. One outside of quotes is a value by itself, and is taken as if it had them."""
    try:
        return parse(_quoted(text))
    except InvalidJson as exc:
        raise Unfit(
            at,
            f'this is {exc}; write JSON with placeholders as values, such as {{"city": "${{city}}"}}, '
            "or a mapping in YAML",
        ) from None


def _quoted(text: str) -> str:
    out, at, inside = [], 0, False
    while at < len(text):
        char = text[at]
        if inside and char == "\\":
            out.append(text[at : at + 2])
            at += 2
            continue
        if not inside and char == "$" and (found := _PLACEHOLDER.match(text, at)):
            out.append(f'"{found[0]}"')
            at = found.end()
            continue
        inside ^= char == '"'
        out.append(char)
        at += 1
    return "".join(out)


async def _whole(data: bytes) -> AsyncIterator[bytes]:
    yield data


def _wrong(message: str) -> ToolError:
    return ToolError(message, code="VALIDATION_ERROR", before_effect=True)
