"""Volumes with trust anchors of the cluster, in a volume manager whose API client is made up."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from actors.api_clients.kube_client.messages import GetTrustBundles, TrustBundles, TrustBundlesChanged
from actors.container_manager.messages import GetNodeResources, NodeResources
from actors.pod_workers.messages import RetryMounts
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.volume_manager.actor import VolumeManager
from actors.volume_manager.host import memory_mounts, mount_propagation
from actors.volume_manager.messages import MountVolumes, UnmountVolumes, VolumesFailed, VolumesMounted
from supervision.testing.harness import Harness
from supervision.testing.virtual_clock import VirtualClock
from tests.support.volumes import user_of

UID = "0a1b"
GATES = {"ClusterTrustBundle": True, "ClusterTrustBundleProjection": True}
BY_NAME = {"clusterTrustBundle": {"name": "roots", "path": "ca.crt"}}
BY_SIGNER = {"clusterTrustBundle": {"signerName": "a.b/c", "labelSelector": {}, "path": "dir/ca.crt"}}


def block(der: bytes) -> str:
    return f"-----BEGIN CERTIFICATE-----\n{base64.encodebytes(der).decode()}-----END CERTIFICATE-----\n"


def bundle(*ders: bytes) -> bytes:
    return json.dumps({"metadata": {"name": "roots"}, "spec": {"trustBundle": "".join(map(block, ders))}}).encode()


def _no_tmpfs(path: str, size: int, group: int | None) -> bool:
    Path(path).mkdir(parents=True, exist_ok=True)
    return True


class Node:
    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, gates: dict[str, bool]) -> None:
        monkeypatch.setattr(mount_propagation, "make_shared", lambda path: False)
        monkeypatch.setattr(memory_mounts, "mount_memory", _no_tmpfs)
        config = KubeletConfiguration(featureGates=gates)
        agent = Agent(root_dir=str(root), run_dir=f"{root}/run", workers=2, standalone=False, config=config)
        self.harness = Harness(VolumeManager, name="volume_manager", context=agent, clock=VirtualClock())
        self.found = TrustBundles()
        self.asked: list[GetTrustBundles] = []
        self.harness.answer(GetTrustBundles, self._answer)
        self.harness.answer(GetNodeResources, NodeResources({}, {"memory": 1 << 30}, {}, 0, "cgroupfs", 1))

    def _answer(self, asked: GetTrustBundles) -> TrustBundles:
        self.asked.append(asked)
        return self.found

    async def mount(self, *sources: dict[str, Any], **spec: Any) -> VolumesMounted | VolumesFailed:
        volume = {"name": "v", "projected": {"sources": list(sources)}}
        meta = {"name": "p", "namespace": "ns", "uid": UID}
        pod = {"metadata": meta, "spec": {"volumes": [volume], "containers": [user_of([volume])], **spec}}
        answer = await self.harness.deliver(MountVolumes(UID, json.dumps(pod).encode()))
        assert isinstance(answer, VolumesMounted | VolumesFailed)
        return answer

    async def changed(self, found: TrustBundles) -> None:
        self.found = found
        await self.harness.deliver(TrustBundlesChanged())
        await self.harness.settle()


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    return Node(tmp_path, monkeypatch, GATES)


async def test_anchors_become_a_file_and_a_changed_bundle_changes_it(node: Node) -> None:
    node.found = TrustBundles([bundle(b"one")])
    async with node.harness:
        answer = await node.mount(BY_NAME, BY_SIGNER)
        assert isinstance(answer, VolumesMounted)
        by_name, by_signer = (Path(answer.paths["v"], name) for name in ("ca.crt", "dir/ca.crt"))
        assert by_name.read_text() == by_signer.read_text() == block(b"one")
        await node.changed(TrustBundles([bundle(b"two")]))
        assert by_name.read_text() == by_signer.read_text() == block(b"two")
        asked = [(one.name, one.signer) for one in node.asked]
        assert set(asked) == {("roots", ""), ("", "a.b/c")}


async def test_a_pod_that_waits_for_a_bundle_starts_when_it_appears(node: Node) -> None:
    async with node.harness:
        answer = await node.mount(BY_NAME, BY_SIGNER)
        assert isinstance(answer, VolumesFailed)
        missing = 'while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "roots" not found'
        none = "combination of signerName and labelSelector matched zero ClusterTrustBundles"
        assert answer.message == f'MountVolume.SetUp failed for volume "v" : [{missing}, {none}]'
        await node.changed(TrustBundles([bundle(b"one")]))
        await node.harness.wait_sent(RetryMounts)
        assert isinstance(await node.mount(BY_NAME, BY_SIGNER), VolumesMounted)


async def test_a_removed_bundle_leaves_its_file_and_an_optional_one_empties_it(node: Node) -> None:
    optional = {"clusterTrustBundle": {"name": "roots", "path": "maybe.crt", "optional": True}}
    node.found = TrustBundles([bundle(b"one")])
    async with node.harness:
        answer = await node.mount(BY_NAME)
        assert isinstance(answer, VolumesMounted)
        await node.changed(TrustBundles())
        assert Path(answer.paths["v"], "ca.crt").read_text() == block(b"one")
        await node.harness.deliver(UnmountVolumes(UID))
        answer = await node.mount(optional)
        assert isinstance(answer, VolumesMounted)
        assert Path(answer.paths["v"], "maybe.crt").read_text() == ""


async def test_the_file_is_private_to_the_only_user_of_the_pod(node: Node) -> None:
    node.found = TrustBundles([bundle(b"one")])
    async with node.harness:
        answer = await node.mount(BY_NAME, securityContext={"runAsUser": 0})
        assert isinstance(answer, VolumesMounted)
        file = Path(answer.paths["v"], "ca.crt").stat()
        assert (file.st_mode & 0o777, file.st_uid) == (0o600, 0)


async def test_without_the_gate_no_bundle_is_requested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(tmp_path, monkeypatch, {})
    node.found = TrustBundles([bundle(b"one")])
    async with node.harness:
        answer = await node.mount(BY_NAME)
        assert isinstance(answer, VolumesFailed)
        assert "ClusterTrustBundle projection is not supported in static kubelet mode" in answer.message
        assert "the feature gate ClusterTrustBundleProjection is off" in answer.message
        assert node.asked == []
