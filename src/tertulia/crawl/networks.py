"""Which addresses of the Internet protocol a crawler may talk to: public ones, and no others however they are written.

The tables are those of the IANA registries of special-purpose addresses (RFC 6890 and its updates).
"""

from __future__ import annotations

import ipaddress
import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

__all__ = ["forbidden", "is_literal"]

_V4 = {
    "0.0.0.0/8": "this network",
    "10.0.0.0/8": "private",
    "100.64.0.0/10": "shared by a carrier",
    "127.0.0.0/8": "loopback",
    "169.254.0.0/16": "link-local",
    "172.16.0.0/12": "private",
    "192.0.0.0/24": "reserved",
    "192.0.2.0/24": "for documentation",
    "192.88.99.0/24": "reserved",
    "192.168.0.0/16": "private",
    "198.18.0.0/15": "for benchmarks",
    "198.51.100.0/24": "for documentation",
    "203.0.113.0/24": "for documentation",
    "224.0.0.0/4": "multicast",
    "240.0.0.0/4": "reserved",
}
# Of IPv6 all is forbidden but the global unicast block, and in that these.
_V6 = {
    "2001::/23": "reserved",
    "2001:db8::/32": "for documentation",
    "3fff::/20": "for documentation",
}
_NETWORKS_4 = [(IPv4Network(network), what) for network, what in _V4.items()]
_NETWORKS_6 = [(IPv6Network(network), what) for network, what in _V6.items()]
_GLOBAL = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_TEREDO = IPv6Network("2001::/32")
_SIX_TO_FOUR = IPv6Network("2002::/16")
_NAMED_6 = [
    (IPv6Network("::1/128"), "loopback"),
    (IPv6Network("fc00::/7"), "private"),
    (IPv6Network("fe80::/10"), "link-local"),
    (IPv6Network("fec0::/10"), "site-local"),
    (IPv6Network("ff00::/8"), "multicast"),
]
_LOOPBACK = frozenset({"127.0.0.1", "::1"})
# Four numbers or fewer, in any of the notations that a C library takes for an address.
_NUMERIC = re.compile(r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+)){0,3}\.?", re.IGNORECASE)


def is_literal(host: str) -> bool:
    """Whether a host is an address, or is written like one, and not a name that has to be looked up."""
    return ":" in host or bool(_NUMERIC.fullmatch(host))


def forbidden(address: str, *, allow_loopback: bool = False) -> str | None:
    """Why a crawler may not talk to an address; ``None`` where it may.

    An address that carries another one in it (IPv4-mapped, NAT64, 6to4, Teredo, ISATAP) is judged by that one too.
    ``allow_loopback`` is for tests: it lets through 127.0.0.1 and ::1, and no other.

    >>> forbidden("10.1.2.3")
    'a private address'
    >>> forbidden("::ffff:169.254.169.254")
    'a link-local address'
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return "not an address in its plain form"
    if allow_loopback and str(ip) in _LOOPBACK:
        return None
    what = _special_4(ip) if isinstance(ip, IPv4Address) else _special_6(ip)
    return None if what is None else f"a {what} address" if what[0] not in "aeiou" else f"an {what} address"


def _special_4(ip: IPv4Address) -> str | None:
    return next((what for network, what in _NETWORKS_4 if ip in network), None)


def _special_6(ip: IPv6Address) -> str | None:
    if ip.scope_id is not None:
        return "link-local"
    if ip.ipv4_mapped is not None:
        return _special_4(ip.ipv4_mapped)
    low = IPv4Address(int(ip) & 0xFFFFFFFF)
    if ip in _NAT64:
        return _special_4(low)
    if ip in _SIX_TO_FOUR:
        return _special_4(IPv4Address(int(ip) >> 80 & 0xFFFFFFFF))
    if ip in _TEREDO:
        return _special_4(IPv4Address(int(ip) >> 64 & 0xFFFFFFFF)) or _special_4(IPv4Address(~int(low) & 0xFFFFFFFF))
    named = next((what for network, what in [*_NAMED_6, *_NETWORKS_6] if ip in network), None)
    if named is not None or ip not in _GLOBAL:
        return named or "reserved"
    # ISATAP: the interface's identifier ends in an address of IPv4.
    if int(ip) >> 32 & 0xFDFFFFFF == 0x00005EFE:
        return _special_4(low)
    return None
