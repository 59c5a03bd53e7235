"""Which PersistentVolumes a node may use, and which paths in them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.shared.kube.persistent_volumes import PersistentVolume
from actors.volume_manager.persistent_volumes.volume_claims import (
    ClaimedVolume,
    UnusableVolumeError,
    VolumeClaimError,
    check_node,
    checked_path,
)


def volume(**spec: Any) -> PersistentVolume:
    return msgspec.convert({"metadata": {"name": "pv"}, "spec": spec}, PersistentVolume)


@pytest.mark.parametrize("path", ["", "data", "../etc", "/data/../etc", "/.."])
def test_a_path_that_is_relative_or_leads_upwards_is_refused(path: str) -> None:
    claimed = ClaimedVolume(volume="v", claim="c", read_only=False, persistent=volume())
    with pytest.raises(VolumeClaimError, match="must be absolute and without"):
        checked_path(claimed, path)
    assert checked_path(claimed, "/data/..a") == "/data/..a"


def test_a_volume_of_another_zone_is_refused_and_one_without_affinity_is_not() -> None:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    zonal = volume(nodeAffinity={"required": {"nodeSelectorTerms": [term]}})
    check_node(zonal, "n1", {"zone": "a"})
    with pytest.raises(UnusableVolumeError):
        check_node(zonal, "n1", {"zone": "b"})
    check_node(volume(), "n1", {})
    check_node(volume(nodeAffinity={}), "n1", {})
