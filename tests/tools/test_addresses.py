"""D80: which addresses count as public."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.tools.addresses import refusal


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "100.100.100.200",  # Alibaba's metadata service
        "127.0.0.1",
        "127.255.255.254",
        "168.63.129.16",  # Azure
        "169.254.169.254",  # most clouds
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.192",  # Oracle
        "192.168.1.1",
        "198.18.0.1",
        "203.0.113.9",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::7f00:1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:0:127.0.0.1",
        "64:ff9b::127.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "2002:c0a8:101::1",
        "3fff::1",
        "fc00::1",
        "fd00:ec2::254",  # Amazon
        "fe80::1",
        "fe80::1%lo",
        "fec0::1",
        "ff02::1",
        "localhost",
        "",
    ],
)
def test_refused(address):
    assert refusal(address) is not None


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "100.63.255.255",
        "100.128.0.1",
        "172.32.0.1",
        "192.0.1.1",
        "223.255.255.255",
        "2606:4700::1111",
        "2a00:1450::1",
        "::ffff:1.1.1.1",
        "64:ff9b::1.1.1.1",
        "2002:101:101::1",
    ],
)
def test_public(address):
    assert refusal(address) is None


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_cannot_hide_inside_ipv6(address: IPv4Address):
    """For every IPv4 address: whoever wraps it is judged as it is."""
    number = int(address)
    wrapped = [
        IPv6Address((0xFFFF << 32) | number),
        IPv6Address((0x64FF9B << 96) | number),
        IPv6Address((0x2002 << 112) | (number << 80) | 1),
    ]
    assert {refusal(str(outer)) for outer in wrapped} == {refusal(str(address))}


@given(st.ip_addresses())
def test_what_the_standard_library_calls_private_is_refused(address):
    if address.is_private or address.is_multicast or address.is_loopback or address.is_link_local:
        assert refusal(str(address)) is not None
