"""A node whose pods use PersistentVolumeClaims, and its API server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from actors.api_clients.kube_client.messages import ApiAnswer, ApiCall
from actors.container_manager.messages import GetNodeResources, NodeResources
from actors.shared.config.agent import Agent
from actors.volume_manager.actor import VolumeManager
from actors.volume_manager.host import mount_propagation
from actors.volume_manager.messages import MountVolumes, VolumesFailed, VolumesMounted
from supervision.testing.harness import Harness
from tests.support.volumes import user_of

UID = "0a1b"
CLAIM = "/api/v1/namespaces/ns/persistentvolumeclaims/disk"
VOLUME = "/api/v1/persistentvolumes/pv"
BOUND = {
    "metadata": {"name": "disk", "namespace": "ns", "uid": "c1"},
    "spec": {"volumeName": "pv"},
    "status": {"phase": "Bound"},
}


def persistent(**source: Any) -> dict[str, Any]:
    return {"metadata": {"name": "pv"}, "spec": {"claimRef": {"uid": "c1"}, **source}}


class ClaimingNode:
    """A volume manager, and what the API server has by path; None: it is away."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(mount_propagation, "make_shared", lambda path: False)
        self.root = root
        self.objects: dict[str, dict[str, Any]] | None = {CLAIM: BOUND}
        self.refusals = 0
        """So many requests are refused."""
        context = Agent(root_dir=str(root), run_dir=f"{root}/run", workers=2, standalone=False, node_name="n1")
        self.harness = Harness(VolumeManager, name="volume_manager", context=context)
        self.harness.answer(GetNodeResources, NodeResources({}, {"memory": 1 << 30}, {}, 0, "cgroupfs", 1))
        self.harness.answer(ApiCall, self._answer)

    def _answer(self, call: ApiCall) -> ApiAnswer:
        if self.objects is None:
            return ApiAnswer(status=0, reason="Unreachable", message="connection refused")
        if self.refusals and call.path != "/api/v1/nodes/n1":
            self.refusals -= 1
            return ApiAnswer(status=403, reason="Forbidden", message="no relationship found")
        if call.path not in self.objects:
            return ApiAnswer(status=404, reason="NotFound")
        return ApiAnswer(status=200, body=json.dumps(self.objects[call.path]).encode())

    async def mount(
        self, volume: dict[str, Any] | None = None, uid: str = UID, **spec: Any
    ) -> VolumesMounted | VolumesFailed:
        meta = {"name": "p", "namespace": "ns", "uid": uid}
        wanted = volume or {"persistentVolumeClaim": {"claimName": "disk"}}
        volumes = [{"name": "v", **wanted}]
        body = {"metadata": meta, "spec": {"volumes": volumes, "containers": [user_of(volumes)], **spec}}
        answer = await self.harness.deliver(MountVolumes(uid, json.dumps(body).encode()))
        assert isinstance(answer, VolumesMounted | VolumesFailed)
        return answer

    def operations(self) -> set[str]:
        samples = self.harness.actor.metrics.snapshot("volume_manager", 1).samples
        found = (one.labels for one in samples if one.name == "storage_operation_duration_seconds")
        return {f"{labels['operation_name']} {labels['volume_plugin']}" for labels in found}
