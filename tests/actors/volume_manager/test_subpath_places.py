"""Where the subPaths of a container are mounted: a kubelet that takes over finds them there by the volume's name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from actors.shared.kube.codec import decode_pod
from actors.volume_manager.messages import BindSubPaths, SubPath, SubPathsBound
from actors.volume_manager.types.base import PodContext
from actors.volume_manager.types.registry import plan
from tests.actors.volume_manager.claiming_node import UID, VOLUME, ClaimingNode, persistent
from tests.support.volumes import user_of

_BIND = "actors.volume_manager.host.subpaths:bind_subpath"


async def test_a_subpath_of_a_claim_is_below_the_name_of_its_persistent_volume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = ClaimingNode(tmp_path, monkeypatch)
    assert node.objects is not None
    node.objects[VOLUME] = persistent(hostPath={"path": "/etc"})
    node.harness.disposables[_BIND] = lambda **_: None
    async with node.harness as harness:
        await node.mount()
        answer = await harness.deliver(BindSubPaths(UID, "c", [SubPath("v", "x", 2)]))

    assert answer == SubPathsBound(UID, "c", {2: f"{tmp_path}/pods/{UID}/volume-subpaths/pv/c/2"})


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ({"csi": {"driver": "d"}}, "v"),
        ({"gcePersistentDisk": {"pdName": "disk"}}, "pd.csi.storage.gke.io-disk"),
    ],
)
def test_a_volume_in_the_pod_has_the_name_that_its_driver_knows(source: dict[str, Any], name: str) -> None:
    volumes = [{"name": "v", **source}]
    pod = decode_pod(json.dumps({"spec": {"volumes": volumes, "containers": [user_of(volumes)]}}).encode())
    (found,) = plan(PodContext(pod=pod, pod_dir="/pods/u", plugins_dir="/plugins"), joined=True)
    assert getattr(found, "spec_name", "") == name
