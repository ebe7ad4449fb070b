"""Which IP addresses are public, by a table of our own.

The standard library's table changed between its patch releases and lets some through that lead into a cloud's own
network. In ours an address is public only if nothing in the table says otherwise: first match from the top.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import NamedTuple

Address = IPv4Address | IPv6Address


class Row(NamedTuple):
    """A range of addresses that are not public."""

    network: IPv4Network | IPv6Network
    what: str
    near: bool
    """People have servers there: a name that the user listed may lead there. To all others only an address may that
    is listed itself."""


_TABLE4 = """
    168.63.129.16/32    a cloud's own service
    100.100.100.200/32  a cloud's metadata
    192.0.0.192/32      a cloud's metadata
    169.254.0.0/16      link-local, where clouds have their metadata
    0.0.0.0/8           this network
    10.0.0.0/8          private                                     near
    127.0.0.0/8         this machine                                near
    172.16.0.0/12       private                                     near
    192.168.0.0/16      private                                     near
    100.64.0.0/10       shared by a provider's customers            near
    192.0.0.0/24        protocol assignments
    192.0.2.0/24        documentation
    192.31.196.0/24     AS112
    192.52.193.0/24     AMT
    192.88.99.0/24      6to4 relays
    192.175.48.0/24     AS112
    198.18.0.0/15       benchmarking                                near
    198.51.100.0/24     documentation
    203.0.113.0/24      documentation
    224.0.0.0/4         multicast
    240.0.0.0/4         reserved
"""
_TABLE6 = """
    fd00:ec2::/32       a cloud's metadata
    fd20:ce::254/128    a cloud's metadata
    fd00:42::42/128     a cloud's metadata
    ::1/128             this machine                                near
    ::/128              no address
    ::ffff:0:0/96       an IPv4 address in IPv6 clothes
    ::ffff:0:0:0/96     an IPv4 address in IPv6 clothes
    ::/96               an IPv4 address in IPv6 clothes
    64:ff9b:1::/48      NAT64 of a local network
    100::/64            discarded
    2001::/23           protocol assignments, Teredo and ORCHID
    2001:db8::/32       documentation
    2002::/16           6to4, an IPv4 address in IPv6 clothes
    2620:4f:8000::/48   AS112
    3ffe::/16           the former 6bone
    3fff::/20           documentation
    5f00::/16           segment routing
    fc00::/7            private                                     near
    fe80::/10           link-local
    fec0::/10           site-local
    ff00::/8            multicast
"""
_PUBLIC6 = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")


def _rows(table: str, kind: type[IPv4Network] | type[IPv6Network]) -> tuple[Row, ...]:
    rows = []
    for line in table.strip().splitlines():
        cidr, what = line.split(maxsplit=1)
        near = what.endswith(" near")
        rows.append(Row(kind(cidr), what.removesuffix(" near").strip(), near))
    return tuple(rows)


_ROWS4, _ROWS6 = _rows(_TABLE4, IPv4Network), _rows(_TABLE6, IPv6Network)
_NOT_UNICAST = Row(IPv6Network("::/0"), "not given to anybody", near=False)


def not_public(address: Address) -> Row | None:
    """Why an address is not one of the public network's; None when it is."""
    if isinstance(address, IPv4Address):
        return next((row for row in _ROWS4 if address in row.network), None)
    if address in _NAT64:  # a network without IPv4 reaches all of it this way, the forbidden parts too
        inner = not_public(IPv4Address(int(address) & 0xFFFF_FFFF))
        return inner and Row(_NAT64, f"{inner.what}, through NAT64", near=False)
    found = next((row for row in _ROWS6 if address in row.network), None)
    return found or (None if address in _PUBLIC6 else _NOT_UNICAST)
