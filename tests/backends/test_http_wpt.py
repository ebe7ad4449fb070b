"""The public cases of URLs, and hosts in every disguise: nothing reaches an address that is not allowed.

Once on this machine, where every connection is noted, and once in a network namespace where every address of the world
is served by this machine, so that a connection to any of them would be seen.
"""

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from toolcrib.backends.declared import Unfit
from toolcrib.backends.http import HttpBackend
from toolcrib.backends.network import Network
from toolcrib.core.errors import ToolError
from toolcrib.testing import fake_context

from .http_server import Seen, answered, declared, serving
from .test_network import noted
from .test_url import cases

START = "192.0.2.77"
ROUTES = ("link set lo up", "route add local 0.0.0.0/0 dev lo", "-6 route add local ::/0 dev lo")
"""Every address of the world is this machine."""
DISGUISED = [
    "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "127.0.0.1.",
    "127.000.000.001", "0", "0.0.0.0", "[::]", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]",
    "[0:0:0:0:0:ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]",
    "[fe80::1]", "[fd00:ec2::254]", "[fec0::1]", "[ff02::1]", "[100::1]", "[2001:db8::1]", "10.0.0.1", "172.16.0.1",
    "192.168.0.1", "169.254.169.254", "169.254.170.2", "192.0.0.192", "168.63.129.16", "100.64.0.1", "100.100.100.200",
    "198.18.0.1", "224.0.0.1", "239.0.0.1", "255.255.255.255", "240.0.0.1", "localhost", "LOCALHOST.", "ip6-localhost",
    "①②⑦.⓪.⓪.①", "127。0。0。1", "127．0．0．1", "%6c%6f%63%61%6c%68%6f%73%74", "user@127.0.0.1", "93.184.216.34@127.0.0.1",
    "127.0.0.1#@93.184.216.34", "127.0.0.1\\@93.184.216.34", "93.184.216.34\\@127.0.0.1", "127.0.0.1%00.example.com",
    "127.0.0.1:443:80", "[::1%25lo]", "[::1%lo]", "0x7f.0x0.0x0.0x1", "00000177.1", "127.0.0.1?@example.com", "::1",
]  # fmt: skip


def sources() -> list[str]:
    """What a tool or a server may give as a URL: the public cases with both schemes, and the disguises."""
    found = []
    for case in cases():
        text = case["input"]
        found += [text, text.replace("http:", "https:", 1)] if "http:" in text else [text]
    for scheme in ("https", "http"):
        found += [f"{scheme}://{host}{port}/x" for host in DISGUISED for port in ("", ":80", ":8080")]
    return list(dict.fromkeys(found))


def allowed(address: str) -> bool:
    """By another opinion than the one that is tested, and stricter where that is known to be wrong."""
    at = ip_address(address)
    inner = [getattr(at, name, None) for name in ("ipv4_mapped", "sixtofour", "teredo")]
    return at.is_global and not at.is_multicast and not any(inner) and address not in ("192.0.0.192", "168.63.129.16")


async def inside(host: str, port: int) -> Sequence[str]:
    """Every name leads to this machine."""
    return ["127.0.0.1"]


def test_no_url_of_the_public_cases_is_connected_to_where_every_name_leads_inside() -> None:
    """As a tool's own URL. Public addresses that a URL spells out are left to the namespace."""

    async def run() -> tuple[list[Any], int]:
        looked_at = 0
        with noted() as events:
            for text in sources():
                try:
                    backend = declared({"url": text}).backend
                    assert isinstance(backend, HttpBackend)
                    url = backend.shape.url.base
                    looked_at += 1
                    for each in await Network(resolve=inside).vetted(url.host, url.port, secure=url.secure):
                        assert allowed(each.address), text
                except (Unfit, ToolError):
                    continue
        return events, looked_at

    events, looked_at = asyncio.run(run())
    assert events == []
    assert looked_at > 200


def test_no_location_of_the_public_cases_leads_anywhere_else() -> None:
    """As the answer of a server that is listed. Those that stay on that server are followed."""

    async def run() -> tuple[set[Any], int, int]:
        location = ""

        def answer(seen: Seen, writer: Any) -> bytes:
            if seen.target == "/start":
                return answered("", f"Location: {location}", status="302 Found")
            return answered("stayed")

        stayed = 0
        async with serving(answer, host="127.0.0.2") as first, serving(answered("inside")) as other:
            backend = declared({"url": first.url("/start")}).backend
            assert isinstance(backend, HttpBackend)
            backend = backend._replace(network=Network((first.netloc,), resolve=inside))
            with noted() as events:
                for text in sources():
                    if (
                        "\r" in text
                        or "\n" in text
                        or "\0" in text
                        or (text.startswith("https://") and "8080" not in text)
                    ):
                        continue  # what no header carries; and https to public addresses is for the namespace
                    location = text.encode("utf-8", "replace").decode("latin-1").replace("8080", str(other.port))
                    try:
                        stayed += await backend.run({}, fake_context()) == "stayed"
                    except ToolError:
                        continue
            return (
                {each for event, each in events if event == "socket.connect"} - {("127.0.0.2", first.port)},
                other.connections,
                stayed,
            )

    elsewhere, connections, stayed = asyncio.run(run())
    assert elsewhere == set()
    assert connections == 0
    assert stayed > 20


def test_in_a_world_of_our_own_only_public_addresses_are_reached(tmp_path: Path) -> None:
    """Every address is served, names lead inside, change their mind, or have one bad address among good ones."""
    if not shutil.which("unshare") or not shutil.which("ip"):
        pytest.skip("this machine has no unshare or no ip to make a network namespace with")
    routes = " && ".join(f"ip {each}" for each in ROUTES)
    if subprocess.run(
        ["unshare", "-rn", "sh", "-c", f"{routes} && {sys.executable} -c ''"], capture_output=True
    ).returncode:
        pytest.skip("this user may not make a network namespace with routes of its own")
    control = [{"url": "https://93.184.216.34/"}, {"url": "https://good.example/", "resolve": [["2606:4700::1111"]]}]
    control.append({"url": f"http://{START}/", "location": "https://1.1.1.1/"})
    given: list[dict[str, Any]] = [*control]
    given += [{"url": text} for text in sources()]
    given += [{"url": f"http://{START}/", "location": text} for text in sources() if text.isprintable()]
    rebinding = [["93.184.216.34"], ["127.0.0.1"]]
    bad = ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "64:ff9b::a9fe:a9fe", "192.0.0.192"]
    given += [{"url": "https://rebind.example/", "resolve": rebinding}] * 3
    given += [{"url": "https://mixed.example/", "resolve": [["93.184.216.34", each]]} for each in bad]
    (tmp_path / "cases.json").write_text(json.dumps(given))
    probe = Path(__file__).with_name("namespace_probe.py")
    done = subprocess.run(
        ["unshare", "-rn", "sh", "-c", f'{routes} && exec "$@"', "sh", sys.executable, str(probe),
         str(tmp_path / "cases.json"), START],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    reached = json.loads(done.stdout)
    assert reached[:3] == [["93.184.216.34"], ["2606:4700::1111"], ["1.1.1.1"]]  # it does see what is reached
    for case, addresses in zip(given, reached, strict=True):
        assert all(map(allowed, addresses)), (case, addresses)
    assert reached[-len(bad) :] == [[]] * len(bad)
