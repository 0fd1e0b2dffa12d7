"""Community IDs are those that the specification publishes for its test captures, from either side."""

from ipaddress import IPv4Address, ip_address

import pytest

from stompcap.assembly.addresses import MAPPED, community_id


def end(address: str, port: int) -> bytes:
    one = ip_address(address)
    return (MAPPED if isinstance(one, IPv4Address) else b"") + one.packed + port.to_bytes(2, "big")


@pytest.mark.parametrize(
    ("source", "target", "published"),
    [  # github.com/corelight/community-id-spec, baseline, TCP with seed 0
        (("128.232.110.120", 34855), ("66.35.250.204", 80), "1:LQU9qZlK+B5F3KDmev6m5PMibrg="),
        (("2001:470:e5bf:dead:4957:2174:e82c:4887", 63943), ("2607:f8b0:400c:c03::1a", 25), "1:/qFaeAR+gFe1KYjMzVDsMv+wgU4="),
    ],
)
def test_community_ids_are_the_published_ones(source, target, published):
    assert community_id(end(*source) + end(*target)) == published
    assert community_id(end(*target) + end(*source)) == published
