"""Where tools may connect to. That nothing was connected to is seen by listeners, and by what the interpreter notes."""

import asyncio
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from ipaddress import ip_address
from typing import Any

import pytest

from toolcrib.backends.network import Entry, Network, entry, system_resolve
from toolcrib.backends.url import parse_url
from toolcrib.core.errors import Refused, ToolError

from .http_server import answered, serving

_noting: list[list[Any]] = []


def _note(event: str, args: tuple[Any, ...]) -> None:
    if event in ("socket.connect", "socket.sendto", "socket.getaddrinfo") and _noting:
        _noting[-1].append((event, args[0] if event == "socket.getaddrinfo" else args[1]))


@cache
def _listen() -> None:
    sys.addaudithook(_note)  # it stays, and notes nothing unless it is asked to


@contextmanager
def noted() -> Iterator[list[Any]]:
    """Every connection and every look-up of this process."""
    _listen()
    _noting.append([])
    try:
        yield _noting[-1]
    finally:
        _noting.pop()


class Resolver:
    """Answers with what it is given, one answer after the other, the last one for ever."""

    def __init__(self, *answers: Sequence[str] | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def vet(network: Network, url: str) -> list[str]:
    at = parse_url(url, schemes=("http", "https", "ws", "wss"))
    return [each.address for each in asyncio.run(network.vetted(at.host, at.port, secure=at.secure))]


def test_a_public_host_is_reached_by_its_addresses_by_https() -> None:
    network = Network(resolve=Resolver(["93.184.216.34", "2606:2800:220:1::1", "93.184.216.34"]))
    assert vet(network, "https://example.com/") == ["93.184.216.34", "2606:2800:220:1::1"]


@pytest.mark.parametrize("url", ["http://example.com/", "ws://example.com/", "http://93.184.216.34/"])
def test_without_encryption_nothing_is_looked_up(url: str) -> None:
    resolver = Resolver(["93.184.216.34"])
    with pytest.raises(Refused) as refused:
        vet(Network(resolve=resolver), url)
    assert refused.value.code == "NETWORK_DENIED"
    assert "config.yaml" in str(refused.value)
    assert resolver.asked == []


def test_an_unusual_port_has_to_be_listed() -> None:
    resolver = Resolver(["93.184.216.34"])
    with pytest.raises(Refused, match=r'allow: \["example.com:8443"\]'):
        vet(Network(resolve=resolver), "https://example.com:8443/")
    assert vet(Network(("example.com:8443",), resolve=resolver), "https://example.com:8443/") == ["93.184.216.34"]


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"], ["93.184.216.34", "127.0.0.1"], ["10.0.0.1", "93.184.216.34"], ["169.254.169.254"], ["::1"],
        ["2606:2800:220:1::1", "fe80::1%eth0"], ["64:ff9b::a9fe:a9fe"], ["::ffff:10.0.0.1"], ["192.0.0.192"],
        ["168.63.129.16"], ["100.64.0.1"], ["0.0.0.0"], ["::"], ["224.0.0.1"],
    ],
)  # fmt: skip
def test_one_address_that_is_not_public_refuses_all(addresses: list[str]) -> None:
    with noted() as events, pytest.raises(Refused) as refused:
        vet(Network(resolve=Resolver(addresses)), "https://example.com/")
    assert refused.value.code == "NETWORK_DENIED"
    assert events == []


def test_a_listed_name_may_lead_to_a_server_of_ones_own() -> None:
    network = Network(("build.internal",), resolve=Resolver(["10.1.2.3"]))
    assert vet(network, "http://build.internal:8080/") == ["10.1.2.3"]


@pytest.mark.parametrize(
    "address", ["169.254.169.254", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "0.0.0.0", "fe80::1"]
)
def test_no_name_leads_to_a_clouds_own_services(address: str) -> None:
    with pytest.raises(Refused, match="where no name may lead"):
        vet(Network(("build.internal",), resolve=Resolver([address])), "http://build.internal/")


def test_those_are_reached_by_their_address_when_it_is_listed() -> None:
    assert vet(Network(("169.254.169.254",)), "http://169.254.169.254/") == ["169.254.169.254"]


def test_a_listed_address_is_for_those_who_write_it() -> None:
    """Not for every name that somebody makes lead there."""
    with pytest.raises(Refused):
        vet(Network(("127.0.0.1",), resolve=Resolver(["127.0.0.1"])), "https://evil.example/")


def test_another_port_of_a_listed_one_is_not_listed() -> None:
    with pytest.raises(Refused):
        vet(Network(("127.0.0.1:8080",)), "http://127.0.0.1:8081/")


@pytest.mark.parametrize(
    "failure",
    [OSError("no such host"), socket.gaierror(-2, "Name or service not known"), UnicodeError("label too long")],
)
def test_a_host_without_an_address_is_told_before_anything_happened(failure: Exception) -> None:
    with pytest.raises(ToolError, match="has no address") as found:
        vet(Network(resolve=Resolver(failure)), "https://example.com/")
    assert found.value.before_effect


@pytest.mark.parametrize("addresses", [[], ["not an address"], ["1.2.3"]])
def test_a_resolver_that_says_nonsense_leads_nowhere(addresses: list[str]) -> None:
    with pytest.raises(ToolError):
        vet(Network(resolve=Resolver(addresses)), "https://example.com/")


def test_a_resolver_that_never_answers_is_given_up() -> None:
    async def never(host: str, port: int) -> Sequence[str]:
        await asyncio.Event().wait()
        return []

    async def run() -> None:
        await Network(resolve=never).vetted("example.com", 443, secure=True, timeout=0.05)

    with pytest.raises(ToolError, match=r"no answer within 0\.05 s"):
        asyncio.run(run())


def test_a_name_is_looked_up_once_and_what_was_looked_at_is_connected_to() -> None:
    """DNS rebinding: the second answer would be this machine, and nobody asks a second time."""

    async def run() -> tuple[int, list[str], list[Any]]:
        async with serving(answered("inside")) as inside:
            resolver = Resolver(["93.184.216.34"], ["127.0.0.1"])
            network = Network(resolve=resolver)
            with noted() as events:
                with pytest.raises((ToolError, TimeoutError)):
                    await network.connect("rebind.example", inside.port, secure=True, timeout=0.2, ports=(inside.port,))
            return inside.connections, resolver.asked, events

    connections, asked, events = asyncio.run(run())
    assert connections == 0
    assert asked == ["rebind.example"]
    assert {each for event, each in events if event == "socket.connect"} <= {("93.184.216.34", events[0][1][1])}
    assert all(event != "socket.getaddrinfo" for event, _ in events)


def test_the_first_address_that_answers_is_taken() -> None:
    async def run() -> tuple[str, int]:
        async with serving(answered("here")) as server:
            network = Network(("two.example",), resolve=Resolver(["127.0.0.9", "127.0.0.1"]))
            made = await network.connect("two.example", server.port, secure=False, timeout=5)
            with made:
                return made.getpeername()[0], len(server.seen)

    assert asyncio.run(run()) == ("127.0.0.1", 0)


def test_the_systems_resolver_knows_this_machine() -> None:
    found = asyncio.run(system_resolve("localhost", 80))
    assert all(ip_address(each).is_loopback for each in found)
    assert found


def test_the_systems_resolver_says_what_it_does_not_know() -> None:
    with pytest.raises((OSError, UnicodeError)):
        asyncio.run(system_resolve("a..b", 80))


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("example.com", Entry("example.com", None)), ("EXAMPLE.com.:80", Entry("example.com", 80)),
        ("127.0.0.1:8080", Entry("127.0.0.1", 8080)), ("::1", Entry("::1", None)), ("[::1]:80", Entry("::1", 80)),
        ("[2001:DB8::1]", Entry("2001:db8::1", None)),
    ],
)  # fmt: skip
def test_an_entry_of_the_configuration_is_read(text: str, made: Entry) -> None:
    assert entry(text) == made


@pytest.mark.parametrize(
    "text", ["", "*", "*.example.com", "http://example.com", "example.com/", "10.0.0.0/8", "a:b", "a:", "a:0", "a:99999",
             "[::1", "[::1]x", "127.1", "0x7f.1", "a b", "user@host"],
)  # fmt: skip
def test_what_is_no_entry_is_refused_and_means_nothing_else(text: str) -> None:
    with pytest.raises(ValueError, match="is not a host"):
        Network((text,))
