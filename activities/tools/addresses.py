"""Which IP addresses a tool may connect to: public ones.

The standard library's `is_global` differs between Python releases (3.11 calls 6to4 and NAT64
addresses of private hosts global), so the ranges stand here, from the IANA special-purpose
registries for IPv4 (RFC 6890) and IPv6.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

BENCHMARKING = "benchmarking"

_REFUSED_IPV4 = [
    (IPv4Network(network), label)
    for network, label in [
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "carrier-grade NAT"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "cloud metadata"),  # Azure's wire server, in a public range
        ("169.254.0.0/16", "link-local"),  # and the metadata service of most clouds
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "protocol assignments"),  # and Oracle's metadata service
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "6to4 relay"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", BENCHMARKING),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    ]
]

_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")

_REFUSED_IPV6 = [
    (IPv6Network(network), label)
    for network, label in [
        ("2001::/23", "protocol assignments"),  # Teredo and ORCHID among them
        ("2001:db8::/32", "documentation"),
        ("3fff::/20", "documentation"),
    ]
]


def refusal(address: str) -> str | None:
    """Why `address` (an IPv4 or IPv6 literal) must not be connected to; None: it is public.

    Addresses that carry an IPv4 address inside (mapped, 6to4, NAT64) are judged by that one.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return "not an IP address"
    if isinstance(parsed, IPv4Address):
        return _label(parsed)
    embedded = parsed.ipv4_mapped or parsed.sixtofour or _nat64(parsed)
    if embedded is not None:
        return _label(embedded)
    if parsed not in _GLOBAL_UNICAST:
        # loopback, unspecified, link-local, unique local, multicast, translated: all outside
        return "not global unicast"
    return next((label for network, label in _REFUSED_IPV6 if parsed in network), None)


def _label(address: IPv4Address) -> str | None:
    return next((label for network, label in _REFUSED_IPV4 if address in network), None)


def _nat64(address: IPv6Address) -> IPv4Address | None:
    return IPv4Address(address.packed[-4:]) if address in _NAT64 else None
