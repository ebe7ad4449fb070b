"""Which addresses are public."""

from ipaddress import IPv4Network, IPv6Network, ip_address

import pytest

from toolcrib.backends.address import not_public

NOT_PUBLIC = """
    0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 100.100.100.200 127.0.0.1 127.255.255.254
    169.254.0.1 169.254.169.254 169.254.170.2 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.170 192.0.0.192 192.0.2.1
    192.88.99.1 192.168.0.1 192.168.255.255 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.0.0.1
    239.255.255.250 240.0.0.1 255.255.255.254 255.255.255.255 168.63.129.16
    :: ::1 ::2 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:0:127.0.0.1 64:ff9b::127.0.0.1
    64:ff9b::10.0.0.1 64:ff9b::169.254.169.254 64:ff9b::168.63.129.16 64:ff9b:1::1 64:ff9b:1::8.8.8.8 64:ff9b:2::1 100::1
    2001::1 2001:0:7f00:1::1 2001:10::1 2001:20::1 2001:2::1 2001:db8::1 2002:7f00:1:: 2002:0808:0808::1 2002:a00:1::
    3ffe::1 3fff::1 4000::1 5f00::1 8000::1 fc00::1 fd00::1 fd00:ec2::254 fd20:ce::254 fdff::1 fe80::1 febf::1 fec0::1
    ff02::1 ff0e::1 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff e000::1 1::1 200::1
""".split()  # noqa: SIM905
PUBLIC = """
    1.1.1.1 8.8.8.8 9.9.9.9 93.184.216.34 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1 169.253.255.255
    169.255.0.1 172.15.255.255 172.32.0.1 191.255.255.255 192.0.1.1 192.167.255.255 192.169.0.1 198.17.255.255
    198.20.0.1 203.0.112.255 203.0.114.1 223.255.255.255 11.0.0.1 168.63.129.15 168.63.129.17
    2001:4860:4860::8888 2606:4700:4700::1111 2620:fe::fe 2a00:1450:4001:80b::200e 2001:200::1 2003::1 3ffd::1 3fff:1000::1
    64:ff9b::8.8.8.8 2400:cb00::1
""".split()  # noqa: SIM905


@pytest.mark.parametrize("text", NOT_PUBLIC)
def test_these_are_not(text: str) -> None:
    assert not_public(ip_address(text)) is not None


@pytest.mark.parametrize("text", PUBLIC)
def test_these_are(text: str) -> None:
    assert not_public(ip_address(text)) is None


@pytest.mark.parametrize("text", ["127.0.0.1", "10.1.2.3", "192.168.1.1", "172.20.0.1", "100.64.0.1", "::1", "fd12::1"])
def test_servers_of_ones_own_are_near(text: str) -> None:
    row = not_public(ip_address(text))
    assert row is not None
    assert row.near


@pytest.mark.parametrize(
    "text",
    ["169.254.169.254", "168.63.129.16", "192.0.0.192", "100.100.100.200", "fd00:ec2::254", "fd20:ce::254", "0.0.0.0",
     "::", "fe80::1", "224.0.0.1", "64:ff9b::127.0.0.1", "::ffff:127.0.0.1", "2002:7f00:1::"],
)  # fmt: skip
def test_a_clouds_own_services_never_are(text: str) -> None:
    row = not_public(ip_address(text))
    assert row is not None
    assert not row.near


def test_every_edge_of_the_registry_is_where_it_should_be() -> None:
    """One address to each side of every range that is not private use of the public network."""
    for cidr in ("10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10",
                 "198.18.0.0/15", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"):  # fmt: skip
        network = IPv4Network(cidr)
        assert not_public(network[0]) and not_public(network[-1])
        assert not not_public(network[0] - 1)
        assert not not_public(network[-1] + 1)
    for cidr in ("2001:db8::/32", "2002::/16", "3fff::/20"):
        network6 = IPv6Network(cidr)
        assert not_public(network6[0]) and not_public(network6[-1])
        assert not not_public(network6[-1] + 1)
