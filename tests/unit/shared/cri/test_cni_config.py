"""The pods' networks in a CNI configuration list."""

from __future__ import annotations

import msgspec
import pytest

from actors.shared.cri.cni_config import subnets_in


def conflist(ipam: object) -> bytes:
    return msgspec.json.encode({"name": "pods", "plugins": [{"type": "bridge", "ipam": ipam}, {"type": "portmap"}]})


def test_each_range_gives_its_first_subnet():
    ranges = [[{"subnet": "10.1.0.0/24"}, {"subnet": "10.9.0.0/24"}], [{"subnet": "fd00::/64"}]]
    assert subnets_in(conflist({"type": "host-local", "ranges": ranges})) == ["10.1.0.0/24", "fd00::/64"]


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b'{"plugins": []}', b"\xff", b"[" * 100_000, conflist({}), conflist({"ranges": [[]]}), conflist(None)],
)
def test_what_has_no_networks_or_cannot_be_read_gives_none(data: bytes):
    assert subnets_in(data) == []
