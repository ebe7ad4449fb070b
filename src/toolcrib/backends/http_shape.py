"""A declared HTTP request, checked when the tool is made, so that no call can discover what is wrong with it."""

from collections.abc import Mapping
from typing import NamedTuple

from ..core.jsontext import JSON
from .declared import Unfit, only, text_of
from .header_template import Headers, header_templates, named_in
from .http_body import BodyTemplate, body_template
from .template import Named, Pieces, names, pieces
from .url_template import UrlTemplate, url_template

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
FIELDS = (
    "url", "method", "headers", "query", "body_template", "files", "timeout_ms", "max_output", "redirects", "stream",
)  # fmt: skip
_WITHOUT_BODY = ("GET", "HEAD", "DELETE")
_MOST_REDIRECTS = 5
_MOST_FILES = 16
_MOST_PAIRS = 256
_OPEN_ENDED = ("patternProperties", "$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas")


class Shape(NamedTuple):
    """A request before its values are known."""

    method: str
    url: UrlTemplate
    query: tuple[tuple[str, Pieces], ...]
    headers: Headers
    body: BodyTemplate | None
    """None: nothing is sent after the headers."""
    files: tuple[tuple[str, Pieces], ...]
    redirects: int
    stream: bool

    @property
    def named(self) -> Named:
        parts = [self.url.named, named_in(self.headers), *(names(each) for _, each in (*self.query, *self.files))]
        parts += [self.body.named] if self.body is not None else []
        both = ((name for part in parts for name in part[at]) for at in (0, 1))
        return Named(*(tuple(dict.fromkeys(each)) for each in both))


def shape_of(fields: Mapping[str, JSON], parameters: Mapping[str, JSON]) -> Shape:
    """What the fields of a declaration say.

    Raises:
        Unfit: with the field that is wrong, and what to write instead.
    """
    only(fields, *FIELDS)
    method = text_of(fields, "method", "GET").upper()
    if method not in METHODS:
        raise Unfit("/method", f"{method!r} is not a method of an HTTP tool; there are {', '.join(METHODS)}")
    headers = header_templates(_given(fields, "headers"))
    files = _files(_given(fields, "files"), method)
    shape = Shape(
        method,
        url_template(text_of(fields, "url")),
        _query(_given(fields, "query")),
        headers,
        _body(fields, method, headers, files=bool(files)),
        files,
        whole_number(fields, "redirects", _MOST_REDIRECTS, least=0, most=_MOST_REDIRECTS),
        _flag(fields, "stream"),
    )
    _known(shape.named.args, parameters)
    return shape


def whole_number(fields: Mapping[str, JSON], name: str, default: int, *, least: int, most: int) -> int:
    """A field that is a number. Raises: `Unfit`."""
    value = fields.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise Unfit(f"/{name}", f"{name} is a whole number from {least} to {most}, not {value!r}")
    return value


def _given(fields: Mapping[str, JSON], name: str) -> JSON:
    """A mapping, empty where nothing follows its name."""
    return {} if fields.get(name) is None else fields[name]


def _flag(fields: Mapping[str, JSON], name: str) -> bool:
    value = fields.get(name, False)
    if not isinstance(value, bool):
        raise Unfit(f"/{name}", f"{name} is true or false, not {value!r}")
    return value


def _body(fields: Mapping[str, JSON], method: str, headers: Headers, *, files: bool) -> BodyTemplate | None:
    said = next((header.value for header in headers if header.name.lower() == "content-type"), ())
    if any(piece.kind != "text" for piece in said):
        raise Unfit("/headers/Content-Type", "no placeholder may stand in the content type: it says how values are put")
    field = fields.get("body_template")
    if field is None and method in _WITHOUT_BODY:
        return None
    if field is not None and method in ("GET", "HEAD"):
        raise Unfit("/body_template", f"a {method} has no body; use query, or another method")
    content_type = "".join(piece.text for piece in said)
    if files and content_type:
        raise Unfit(
            "/headers/Content-Type", "what holds files is multipart/form-data, and says so itself; leave it out"
        )
    return body_template(field, content_type, files=files)


def _query(field: JSON) -> tuple[tuple[str, Pieces], ...]:
    if not isinstance(field, dict) or len(field) > _MOST_PAIRS:
        raise Unfit("/query", f"query is a mapping of at most {_MOST_PAIRS} names to values")
    found = []
    for name, value in field.items():
        at = f"/query/{name}"
        if "${" in name:
            raise Unfit(at, "a name holds no placeholder; put the placeholder into a value")
        if isinstance(value, dict | list) or value is None:
            raise Unfit(at, "a value of the query is text, a number, true or false")
        text = value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
        found.append((name, pieces(text, at)))
    return tuple(found)


def _files(field: JSON, method: str) -> tuple[tuple[str, Pieces], ...]:
    if not isinstance(field, dict) or len(field) > _MOST_FILES:
        raise Unfit("/files", f"files is a mapping of at most {_MOST_FILES} names to paths of the workspace")
    if field and method in _WITHOUT_BODY:
        raise Unfit("/files", f"a {method} sends no files; use POST, PUT or PATCH")
    found = []
    for name, value in field.items():
        if not isinstance(value, str) or not value or "${" in name:
            raise Unfit(f"/files/{name}", 'a file is a name and a path of the workspace, such as {file: "${path}"}')
        template = pieces(value, f"/files/{name}")
        if names(template).envs:
            raise Unfit(f"/files/{name}", "a secret is not part of a path")
        found.append((name, template))
    return tuple(found)


def _known(args: tuple[str, ...], parameters: Mapping[str, JSON]) -> None:
    """A placeholder that no argument can fill is a slip of the pen."""
    properties = parameters.get("properties")
    known = properties if isinstance(properties, dict) else {}
    if parameters.get("additionalProperties") or any(key in parameters for key in _OPEN_ENDED):
        return
    for name in args:
        if name not in known:
            there = f"there are {', '.join(known)}" if known else "there are none"
            raise Unfit("", f"${{{name}}} is not one of the parameters; {there}")
