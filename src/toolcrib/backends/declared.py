"""What every backend that is declared in a file is made of: its fields, what is around it, and what comes out."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from ..core.context import Context
from ..core.jsontext import JSON
from ..core.limits import Limits
from ..core.tool import NO_CAPABILITIES, NO_HOOKS, Backend, Capabilities, Hooks

SKILL_OUTPUT_BYTES = 102_400
"""What is kept of an answer, unless the tool says otherwise; the rest goes to an artifact."""


class Unfit(ValueError):
    """A declaration that cannot be used."""

    def __init__(self, pointer: str, message: str) -> None:
        """`pointer` leads to the field, from the declaration of the backend, such as `/headers/X-Key`."""
        super().__init__(message)
        self.pointer = pointer


class SecretFor(Protocol):
    """Where secrets come from that are sent somewhere."""

    def __call__(self, tool: str, name: str, *, host: str, own: str | None) -> str:
        """The value of a secret that the user allowed for this tool, to be sent to `host`.

        `own` is the literal host in the tool's own URL; None if a placeholder stands there. Raises: `Refused`.
        """
        ...


class Downloads(Protocol):
    """Programs from elsewhere, fetched once and looked at each time."""

    async def obtained(self, url: str, sha256: str, member: str, ctx: Context) -> str:
        """The path of a program whose file at `url` has this digest (empty: as the user pinned it).

        `member` is its path in an archive; empty where the file is the program itself.

        Raises:
            Refused: `DOWNLOAD_UNVERIFIED`, `DIGEST_MISMATCH`, `ARCHIVE_UNSAFE`, `NETWORK_DENIED`.
        """
        ...


class Surroundings(NamedTuple):
    """What the runtime hands to declared tools."""

    secret: SecretFor
    downloads: Downloads
    allow: tuple[str, ...] = ()
    """Hosts, `host:port` and addresses that the user's configuration lists for the network."""
    variables: tuple[str, ...] = ("PATH", "HOME", "USER")
    """Names that are passed on from the host's environment."""


class Place(NamedTuple):
    """Where a declaration stands."""

    folder: str
    """The directory that relative paths count from; empty for what was handed over as text."""
    mark: str
    """Digest of the declaration and of all that came with it; a backend's own digest is this, or includes it."""


class Declared(NamedTuple):
    """What a declaration came to."""

    backend: Backend
    limits: Limits
    capabilities: Capabilities = NO_CAPABILITIES
    hooks: Hooks = NO_HOOKS


class Maker(Protocol):
    """Makes one kind of backend."""

    def __call__(
        self, fields: Mapping[str, JSON], parameters: Mapping[str, JSON], place: Place, around: Surroundings
    ) -> Declared:
        """`fields` are all of `backend:` but its type; `parameters` is the JSON Schema of the arguments.

        Raises:
            Unfit: with the field that is wrong, and what to write instead.
        """
        ...


def only(fields: Mapping[str, JSON], *known: str) -> None:
    """Raises: `Unfit`, for a field that this kind of backend does not have."""
    from difflib import get_close_matches

    for name in fields:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}"
            raise Unfit(f"/{name}", f"there is no field {name} here{hint}")


def text_of(fields: Mapping[str, JSON], name: str, default: str | None = None) -> str:
    """A field that is text. Raises: `Unfit`."""
    value = fields.get(name, default)
    if not isinstance(value, str) or not value:
        raise Unfit(f"/{name}", f"{name} has to be text" if name in fields else f"{name} is missing")
    return value
