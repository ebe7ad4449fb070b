"""The way to the network for programs that may reach some hosts and no others: a proxy, made when one is to run."""

import os
import socket
from typing import TYPE_CHECKING

from ..core.errors import Refused

if TYPE_CHECKING:
    from ..sandbox.proxy import Proxy

_SECONDS = 30.0
_PLAIN = 80


class Reach:
    """Sockets behind which single hosts can be reached, under the same rules as tools that speak HTTP themselves."""

    def __init__(self, directory: str, allow: tuple[str, ...]) -> None:
        """`directory` is the runtime's own. `allow` is what the user's configuration lists under `network`."""
        self._directory, self._allow = directory, allow
        self._proxy: Proxy | None = None

    def socket_for(self, hosts: tuple[str, ...]) -> str:
        """Raises: `Refused`, for what is no host. `ToolError`, when there is no room for a socket."""
        if self._proxy is None:
            from ..backends.network import Network  # late, all three: few programs are held to hosts
            from ..backends.url import parse_host
            from ..sandbox.proxy import Proxy

            network = Network(self._allow)

            async def connect(host: str, port: int) -> socket.socket:
                # The list names the ports; what is spoken on the usual one of plain HTTP is not encrypted.
                return await network.connect(host, port, secure=port != _PLAIN, timeout=_SECONDS, ports=(port,))

            self._proxy = Proxy(os.path.join(self._directory, "proxy"), connect, parse_host)
        try:
            return self._proxy.socket_for(hosts)
        except ValueError as exc:
            raise Refused(f"no host that could be reached: {exc}", code="CONFIG_INVALID") from None

    def close(self) -> None:
        if self._proxy is not None:
            self._proxy.close()
