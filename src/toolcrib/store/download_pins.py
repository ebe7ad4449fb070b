"""Which file a person took for the right one, for programs whose declaration does not say: by URL, its digest."""

import re

from ..core.errors import ConfigError, InvalidJson
from ..core.jsontext import dump, parse
from .home import Home
from .lock import alone_in
from .regular import regular_bytes

NAME = "download_pins.json"
_MOST_BYTES = 64 * 1024**2
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class DownloadPins:
    """A small file of the home, written whole or not at all."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self.path = home.file(NAME)

    def get(self, url: str) -> str:
        """The digest that a person took for the file at this URL; empty when nobody did.

        Raises:
            ConfigError: the file is not what we write.
        """
        return self._all().get(url, "")

    def add(self, url: str, digest: str) -> None:
        """Raises: `ConfigError`, when the file is not what we write; `OSError`, when it cannot be written."""
        with alone_in(self._home.directory()):  # two who add at once must not lose one
            self._home.replace(dump({**self._all(), url: digest}) + b"\n", NAME)

    def _all(self) -> dict[str, str]:
        data = regular_bytes(self.path, most=_MOST_BYTES)
        if data is None:
            return {}
        try:
            found = parse(data)
        except InvalidJson as exc:
            raise ConfigError(f"{exc}; remove the file, and you are asked again", path=self.path) from None
        if not isinstance(found, dict) or not all(
            isinstance(digest, str) and _DIGEST.fullmatch(digest) for digest in found.values()
        ):
            raise ConfigError("it is no list of digests; remove the file, and you are asked again", path=self.path)
        return found
