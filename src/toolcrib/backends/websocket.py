"""A WebSocket as a tool: connect, send what is declared, and collect what comes until there is enough of it."""

import asyncio
from collections.abc import Mapping
from importlib import import_module
from typing import NamedTuple, Protocol, cast

from ..core.context import Context
from ..core.errors import InvalidJson, ToolError
from ..core.jsontext import JSON, dump, parse
from ..core.limits import Limits
from ..core.tool import Capabilities, Hooks, Subject
from .declared import SKILL_OUTPUT_BYTES, Declared, Place, Surroundings, Unfit, only, text_of
from .field import defaults, number
from .header_template import Headers, filled_headers, header_templates, named_in
from .network import Network
from .template import Named, SecretOf, as_text, document_names, filled, filled_json, names, pieces
from .url import Url
from .url_template import UrlTemplate, url_template
from .websocket_collect import Collect, Until, collect

_LONGEST_MS = 3_600_000
_MOST_SENT = 64
_OURS = frozenset(
    ("sec-websocket-key", "sec-websocket-version", "sec-websocket-extensions", "sec-websocket-accept",
     "sec-websocket-protocol")
)  # fmt: skip


class Message(NamedTuple):
    """One message to send, before its values are known: text, or a JSON document that is filled by its structure."""

    template: JSON
    is_json: bool

    @property
    def named(self) -> Named:
        return document_names(self.template) if self.is_json else names(pieces(self.template))

    def filled(self, args: Mapping[str, JSON], secret: SecretOf) -> str:
        """Raises: `ToolError`."""
        if not self.is_json:
            return filled(pieces(self.template), args, secret, as_text)
        return dump(filled_json(self.template, args, secret)).decode()


class Talk(NamedTuple):
    """What is said and waited for, with its values."""

    url: Url
    headers: list[tuple[str, str]]
    send: list[str]
    until: Until
    collect: Collect


class Client(Protocol):
    """What `websocket_client` gives; written down here because that file is imported late."""

    async def talk(self, talk: Talk, network: Network, ctx: Context) -> JSON: ...


class WebSocket(NamedTuple):
    """One connection per call."""

    url: UrlTemplate
    headers: Headers
    send: tuple[Message, ...]
    collect: Collect
    defaults: Mapping[str, JSON]
    """Of arguments that are not given."""
    mark: str
    around: Surroundings
    network: Network

    @property
    def starts_process(self) -> bool:
        return False

    def digest(self) -> str:
        return self.mark

    async def run(self, args: Mapping[str, JSON], ctx: Context) -> JSON:
        client = await _client()
        return await client.talk(self._talk(args, self._secrets(ctx)), self.network, ctx)

    async def preview(self, args: Mapping[str, JSON], ctx: Context) -> JSON:
        """What would be sent. No secret is looked up for it."""
        talk = self._talk(args, lambda name: f"${{env:{name}}}")
        headers = [name for name, _ in talk.headers]
        return {"dry_run": True, "url": str(talk.url), "headers": headers, "send": talk.send}

    def touches(self, args: Mapping[str, JSON]) -> list[Subject]:
        return [Subject("host", (self.url.base.subject,))]

    def _talk(self, args: Mapping[str, JSON], secret: SecretOf) -> Talk:
        args = {**self.defaults, **args}
        return Talk(
            self.url.filled(args, secret),
            filled_headers(self.headers, args, secret),
            [message.filled(args, secret) for message in self.send],
            self.collect.filled(args, secret),
            self.collect,
        )

    def _secrets(self, ctx: Context) -> SecretOf:
        plain = self.url.base.host
        host = f"[{plain}]" if ":" in plain else plain
        return lambda name: self.around.secret(ctx.tool_name, name, host=host, own=host)


def make(fields: Mapping[str, JSON], parameters: Mapping[str, JSON], place: Place, around: Surroundings) -> Declared:
    """From `url` and, where they are said, `headers`, `send`, `collect`, and limits. Raises: `Unfit`."""
    only(fields, "url", "headers", "send", "collect", "timeout_ms", "max_output")
    url = url_template(text_of(fields, "url"), schemes=("ws", "wss"))
    headers = header_templates(fields.get("headers", {}), ours=_OURS)
    send, wanted = _messages(fields.get("send", [])), collect(fields)
    if wanted.named.envs:
        raise Unfit("/collect/until", "no secret is waited for; it would have to come from the other side")
    known = parameters.get("properties") or {}
    for pointer, named in (
        ("/url", url.named),
        ("/headers", named_in(headers)),
        *((f"/send/{at}", message.named) for at, message in enumerate(send)),
        ("/collect/until", wanted.named),
    ):
        if unknown := [name for name in named.args if name not in known]:
            raise Unfit(pointer, f"{unknown[0]!r} is not among the parameters; there are {', '.join(sorted(known))}")
    try:
        network = Network(around.allow)
    except ValueError as exc:
        raise Unfit("/url", f"`network: allow` in the configuration: {exc}") from None
    backend = WebSocket(url, headers, send, wanted, defaults(parameters), place.mark, around, network)
    limits = Limits(
        number(fields, "timeout_ms", 30_000, _LONGEST_MS) / 1000,
        number(fields, "max_output", SKILL_OUTPUT_BYTES, 1024 * 1024),
    )
    claims = Capabilities(accesses_network=True, idempotent=not send)
    return Declared(backend, limits, claims, Hooks(dry_run=backend.preview, touches=backend.touches))


def _messages(value: JSON) -> tuple[Message, ...]:
    items = value if isinstance(value, list) else [value]
    if len(items) > _MOST_SENT:
        raise Unfit("/send", f"send has at most {_MOST_SENT} messages")
    return tuple(_message(each, f"/send/{at}") for at, each in enumerate(items))


def _message(value: JSON, pointer: str) -> Message:
    """Text that begins as JSON does is read as JSON now, so that no value can become a part of its structure."""
    if isinstance(value, dict | list):
        document_names(value, pointer)
        return Message(value, is_json=True)
    if not isinstance(value, str):
        raise Unfit(pointer, "a message is text, or a mapping that is sent as JSON")
    pieces(value, pointer)
    if value.lstrip()[:1] not in ("{", "["):
        return Message(value, is_json=False)
    try:
        parsed = parse(value)
    except InvalidJson as exc:
        message = f'it begins like JSON and is none ({exc}); a placeholder stands in quotes there: {{"id": "${{id}}"}}'
        raise Unfit(pointer, message) from None
    document_names(parsed, pointer)
    return Message(parsed, is_json=True)


async def _client() -> Client:
    try:
        module = await asyncio.to_thread(import_module, f"{__package__}.websocket_client")
    except ImportError as exc:
        message = f"a WebSocket needs the library websockets ({exc}); install it: pip install 'toolcrib[websocket]'"
        raise ToolError(message, code="ENGINE_NOT_AVAILABLE", before_effect=True) from None
    return cast(Client, module)
