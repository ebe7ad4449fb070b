"""Which tool gets which secret of the environment, where it may stand, and to whom it may be sent."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple
from urllib.parse import quote

from ..core.errors import Refused
from .redact import Redactor

Place = Literal["header", "url", "json", "env", "argv"]
PLACES: tuple[Place, ...] = ("header", "url", "json", "env", "argv")

_OPENING = "${env:"
_PLACEHOLDER = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]{0,127})\}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_](?:[a-z0-9_-]{0,62}))*")
_ADDRESS6 = re.compile(r"\[[0-9a-f:.]{2,45}\]")

_SECRET_NAME = re.compile(
    r"SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|TOKEN|API_?KEY|PRIVATE_?KEY|ACCESS_?KEY|CONNECTION_?STRING"
    r"|(?:^|_)(?:AUTH|AUTHORIZATION|BEARER|JWT|PAT|PASS|COOKIE|DSN|DATABASE_URL|WEBHOOK_URL)(?:_|$)|_(?:KEY|PWD)$|^KEY$"
)
_ONLY_ABOUT = re.compile(
    r"^(?:MAX|MIN|NUM|TOTAL)_|_(?:FILE|PATH|DIR|SOCK|SOCKET|TTL|TIMEOUT|COUNT|LENGTH|LIMIT|TYPE|SECONDS)$"
)
"""Names of what says where a secret is or how many there are, and is none."""


class Grant(NamedTuple):
    """One secret that the user's configuration allows for a tool."""

    name: str
    hosts: tuple[str, ...] = ()
    """Where it may be sent. None: only to the literal host in the tool's own URL."""


class Secrets:
    """The one place that reads secrets: by name, for a tool that the user allowed it, at the moment of use."""

    def __init__(self, allowed: Mapping[str, Sequence[Grant]], environ: Mapping[str, str]) -> None:
        self._allowed = {tool: {grant.name: grant for grant in grants} for tool, grants in allowed.items()}
        self._environ = environ
        self._made: tuple[dict[str, str], Redactor] = ({}, Redactor({}))

    def __repr__(self) -> str:
        return f"<Secrets for {len(self._allowed)} tools>"

    def names(self, tool: str) -> tuple[str, ...]:
        return tuple(self._allowed.get(tool, ()))

    def value(self, tool: str, name: str, *, host: str | None = None, own: str | None = None) -> str:
        """The value, for a tool that is to use it here, or to send it to `host`.

        `own` is the literal host in the tool's own URL, None if a placeholder stands there. Without hosts in the
        configuration a secret goes there and nowhere else.

        Raises:
            Refused: with the line that would allow it.
        """
        grant = self._allowed.get(tool, {}).get(name)
        if grant is None:
            raise _refused(
                f"{tool} may not have the secret {name}; to allow it, write into config.yaml: "
                f"`tools: {{{tool}: {{secrets: [{name}]}}}}`"
            )
        if host is not None:
            _check_host(grant, tool, host, own)
        value = self._environ.get(name)
        if not value:
            raise _refused(f"{tool} needs the secret {name}, which is not set in the environment; set {name} first")
        return value

    def expand(self, template: str, tool: str, *, place: Place, host: str | None = None, own: str | None = None) -> str:
        """The text with each `${env:NAME}` replaced, once: a value is never looked into for more.

        `$${env:NAME}` stands for the text `${env:NAME}`; any other `$` is itself. What comes out is fit for its place:
        a header's value has no control characters; in a URL the value is one component, percent-encoded; in `json`
        and `env` it is as it is, for whoever puts it in as a whole. In a command line (`argv`) no secret ever stands,
        because everybody on the machine can read it there.

        Raises:
            Refused: for a secret that this tool may not have, may not send there, or that is unfit for the place, and
                for a placeholder that is not well formed.
        """
        if place not in PLACES:
            raise ValueError(f"{place!r} is no place for a secret; there are {', '.join(PLACES)}")
        if _OPENING not in template:
            return template
        out = []
        for text, name in _pieces(template):
            out.append(text)
            if name:
                if place == "argv":
                    raise _refused(
                        f"{tool} puts the secret {name} into a command line, where every user of the machine can read "
                        "it; pass it in the environment or on stdin"
                    )
                out.append(_fit(self.value(tool, name, host=host, own=own), name, place))
        return "".join(out)

    def redactor(self) -> Redactor:
        """For all values that any tool is allowed, as they are set now."""
        names = dict.fromkeys(name for grants in self._allowed.values() for name in grants)
        values = {name: value for name in names if (value := self._environ.get(name))}
        if values != self._made[0]:
            self._made = (values, Redactor(values))
        return self._made[1]


def mentioned(template: str) -> tuple[str, ...]:
    """The secrets that a text names.

    Raises:
        Refused: for a placeholder that is not well formed, with its place.
    """
    return tuple(dict.fromkeys(name for _, name in _pieces(template) if name))


def canonical_host(text: str) -> str | None:
    """A host name or address as it is compared, None for what is neither.

    Upper and lower case are the same, and so are names with and without the dot at the end. A port, a user, a path or a
    character beyond ASCII does not belong to a host: an international name is written as `xn--`, because programs
    differ in how they spell it.
    """
    host = text.removesuffix(".").lower() if text.isascii() else ""
    return host if _HOST.fullmatch(host) or _ADDRESS6.fullmatch(host) else None


def looks_secret(name: str) -> bool:
    """Whether the name of an environment variable says that its value is a secret."""
    upper = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", "_", name).upper()
    return bool(_SECRET_NAME.search(upper)) and not _ONLY_ABOUT.search(upper)


def _pieces(template: str) -> Iterator[tuple[str, str]]:
    """Plain text and the name that follows it, "" at the end."""
    text, at = "", 0
    while (found := template.find(_OPENING, at)) >= 0:
        if found > at and template[found - 1] == "$":
            end = found + len(_OPENING)
            text += template[at : found - 1] + _OPENING
        else:
            placeholder = _PLACEHOLDER.match(template, found)
            if placeholder is None:
                raise _refused(
                    f"the placeholder at character {found + 1} is not well formed; write ${{env:NAME}}, where NAME is "
                    "letters, digits and _"
                )
            end = placeholder.end()
            yield text + template[at:found], placeholder[1]
            text = ""
        at = end
    yield text + template[at:], ""


def _check_host(grant: Grant, tool: str, host: str, own: str | None) -> None:
    to = canonical_host(host)
    may = grant.hosts or ((own,) if own is not None else ())
    if to is None or to not in map(canonical_host, may):
        where = to or "what is not a host name"
        line = f"; to allow it, write into config.yaml: `tools: {{{tool}: {{secrets: {{{grant.name}: [{to}]}}}}}}`"
        raise _refused(f"{tool} may not send the secret {grant.name} to {where}{line if to else ''}")


def _fit(value: str, name: str, place: Place) -> str:
    if place == "header" and _CONTROL.search(value):
        raise _refused(
            f"the value of {name} has a line end or another control character in it, which must not stand in a "
            "header; set it without"
        )
    if place == "env" and "\0" in value:
        raise _refused(f"the value of {name} has a NUL character in it, which no variable can hold")
    if place != "url":
        return value
    if value in (".", ".."):
        raise _refused(f"the value of {name} would change the path of the URL; set it to a secret")
    return quote(value, safe="", errors="surrogateescape")


def _refused(message: str) -> Refused:
    return Refused(message, code="ENV_NOT_ALLOWED")
