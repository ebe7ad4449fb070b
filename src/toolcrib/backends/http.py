"""An HTTP request as a tool: `url`, `method`, `headers`, `query`, `body_template`, `files`.

Arguments stand where a placeholder names them. Those that none names go into the query of a GET, HEAD or DELETE, and
into the body of the others, as JSON.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, NamedTuple
from urllib.parse import quote

from ..core.context import Context
from ..core.errors import InvalidJson, ToolError
from ..core.jsontext import JSON
from ..core.limits import Limits
from ..core.tool import Capabilities, Hooks, Subject
from .arguments import spelled
from .declared import SKILL_OUTPUT_BYTES, Declared, Place, SecretFor, Surroundings, Unfit
from .header_template import filled_headers
from .http_body import form_fields
from .http_message import Body, Request
from .http_shape import Shape, shape_of, whole_number
from .inflate import ACCEPTED
from .network import Network
from .template import SecretOf, as_text, filled
from .url import Url
from .url_template import given

_SAFE = frozenset({"GET", "HEAD"})
_TIMEOUT_MS = 30_000
_LONGEST_TIMEOUT_MS = 24 * 3600 * 1000
_MOST_OUTPUT = 8 * 1024 * 1024
_ALWAYS = (("User-Agent", "toolcrib"), ("Accept", "*/*"))
"""Unless the tool says otherwise."""


class Filled(NamedTuple):
    """A request with its values, before files are opened."""

    url: Url
    headers: tuple[tuple[str, str], ...]
    abroad: tuple[tuple[str, str], ...]
    """Those that may go to another origin."""
    body: JSON
    files: tuple[tuple[str, str], ...]


def make(fields: Mapping[str, JSON], parameters: Mapping[str, JSON], place: Place, around: Surroundings) -> Declared:
    """An HTTP tool, from its declaration.

    Raises:
        Unfit: with the field that is wrong, and what to write instead.
    """
    shape = shape_of(fields, parameters)
    timeout = whole_number(fields, "timeout_ms", _TIMEOUT_MS, least=1, most=_LONGEST_TIMEOUT_MS)
    output = whole_number(fields, "max_output", SKILL_OUTPUT_BYTES, least=1, most=_MOST_OUTPUT)
    try:
        network = Network(around.allow)
    except ValueError as exc:
        raise Unfit("/url", f"`network: allow` in the configuration: {exc}") from None
    backend = HttpBackend(shape, frozenset(shape.named.args), _defaults(parameters), network, around.secret, place.mark)
    return Declared(
        backend,
        Limits(timeout / 1000, output),
        Capabilities(accesses_network=True, idempotent=shape.method in _SAFE),
        Hooks(validate=backend.validate, dry_run=backend.dry_run, touches=backend.touches),
    )


class HttpBackend(NamedTuple):
    """Sends one request, and gives its answer."""

    shape: Shape
    used: frozenset[str]
    """The arguments that a placeholder names."""
    defaults: Mapping[str, JSON]
    """Of arguments that are not given."""
    network: Network
    secret: SecretFor
    mark: str

    @property
    def starts_process(self) -> bool:
        return False

    def digest(self) -> str:
        return self.mark

    async def run(self, args: Mapping[str, JSON], ctx: Context) -> Any:
        try:
            from .http_client import Unanswered, exchange  # late: it is an extra
        except ImportError:
            raise ToolError(
                "HTTP tools need a library that is not installed; run `pip install 'toolcrib[http]'`",
                code="ENGINE_NOT_AVAILABLE",
                before_effect=True,
            ) from None
        from .http_answer import received

        shape, host = self.shape, self._host()
        ctx.report.update(method=shape.method, url=self._shown_url(args))
        made = self.filled(args, lambda name: self.secret(ctx.tool_name, name, host=host, own=host))
        with ExitStack() as opened:
            request = Request(shape.method, made.url, made.headers, self._body(made, ctx, opened), made.abroad)
            try:
                async with exchange(request, self.network, redirects=shape.redirects) as response:
                    return await received(response, ctx, method=shape.method, stream=shape.stream)
            except Unanswered as exc:
                if shape.method in _SAFE:
                    raise
                message = f"{exc}; whether the request was carried out is not known"
                raise ToolError(message, code="OUTCOME_UNKNOWN") from None

    def filled(self, args: Mapping[str, JSON], secret: SecretOf) -> Filled:
        """The request for these arguments.

        Raises:
            ToolError: `VALIDATION_ERROR`, for a value that cannot stand where it should.
            Refused: a secret that this tool may not have.
        """
        shape, args = self.shape, {**self.defaults, **args}
        rest = {name: value for name, value in args.items() if name not in self.used}
        more = [(name, filled(value, args, secret, as_text)) for name, value in shape.query if given(value, args)]
        if shape.body is None:
            more += [(name, _text(name, value)) for name, value in rest.items() if value is not None]
        url = shape.url.filled(args, secret, tuple(more))
        headers = tuple(filled_headers(shape.headers, args, secret))
        body = shape.body.filled(args, rest, secret) if shape.body is not None else None
        files = tuple((name, filled(value, args, secret, as_text)) for name, value in shape.files if given(value, args))
        said = {name.lower() for name, _ in headers}
        ours = (*(each for each in _ALWAYS if each[0].lower() not in said), ("Accept-Encoding", ACCEPTED))
        harmless = {header.name for header in shape.headers if header.harmless}
        abroad = (*(each for each in headers if each[0] in harmless), *ours)
        return Filled(url, (*headers, *ours), abroad, body, files)

    def validate(self, args: Mapping[str, JSON]) -> list[str]:
        """What is wrong with arguments beyond their schema, before anybody is asked."""
        try:
            self.filled(args, lambda name: "secret")
        except ToolError as exc:
            return [str(exc)]
        return []

    def touches(self, args: Mapping[str, JSON]) -> list[Subject]:
        """The host, and the files that are sent there."""
        args = {**self.defaults, **args}
        paths = [filled(value, args, _named, as_text) for _, value in self.shape.files if given(value, args)]
        return [Subject("host", (self.shape.url.base.subject,)), *(Subject("read", (path,)) for path in paths)]

    async def dry_run(self, args: Mapping[str, JSON], ctx: Context) -> JSON:
        """The request that would be sent, with the names of secrets in their places."""
        made = self.filled(args, _named)
        self.network.admits(made.url)
        about: dict[str, JSON] = {
            "dry_run": True,
            "tool": ctx.tool_name,
            "method": self.shape.method,
            "url": self._shown_url(args),
            "headers": dict(made.headers),
        }
        if self.shape.body is not None:
            about["body"] = made.body
        return {**about, "files": dict(made.files)} if made.files else about

    def _host(self) -> str:
        """As secrets are bound to it."""
        host = self.shape.url.base.host
        return f"[{host}]" if ":" in host else host

    def _shown_url(self, args: Mapping[str, JSON]) -> str:
        """The URL, with the names of secrets in their places."""
        shown = str(self.filled(args, _named).url)
        for name in self.shape.named.envs:
            shown = shown.replace(quote(_named(name), safe=""), _named(name))
        return shown

    def _body(self, made: Filled, ctx: Context, opened: ExitStack) -> Body | None:
        if self.shape.body is None:
            return None
        if not self.shape.files:
            return self.shape.body.body(made.body)
        from .multipart import multipart

        try:
            return multipart(form_fields(made.body), made.files, ctx.workspace, opened)
        except (InvalidJson, UnicodeEncodeError) as exc:
            raise _wrong(f"the arguments cannot be sent: {exc}") from None


def _defaults(parameters: Mapping[str, JSON]) -> dict[str, JSON]:
    """What the schema says an argument is when nobody says it."""
    properties = parameters.get("properties")
    known = properties.items() if isinstance(properties, dict) else ()
    return {name: about["default"] for name, about in known if isinstance(about, dict) and "default" in about}


def _text(name: str, value: JSON) -> str:
    try:
        return spelled(value)
    except InvalidJson as exc:
        raise _wrong(f"{name} cannot be written down: {exc}") from None


def _named(name: str) -> str:
    """A secret, where only its name is shown."""
    return f"${{env:{name}}}"


def _wrong(message: str) -> ToolError:
    return ToolError(message, code="VALIDATION_ERROR", before_effect=True)
