"""Volumes with certificates of pods, in a volume manager whose API client is made up."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from actors.api_clients.event_client.messages import RecordEvent
from actors.api_clients.kube_client.messages import ApiAnswer, ApiCall, GetObject, ObjectChanged, ObjectRef, ObjectState
from actors.container_manager.messages import GetNodeResources, NodeResources
from actors.pod_workers.messages import RetryMounts
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.volume_manager.actor import VolumeManager
from actors.volume_manager.host import memory_mounts, mount_propagation
from actors.volume_manager.messages import MountVolumes, UnmountVolumes, VolumesFailed, VolumesMounted
from actors.volume_manager.pod_certificates import certificates
from actors.volume_manager.pod_certificates.api import MAKE
from actors.volume_manager.pod_certificates.certificates import POLL_SECONDS, STATES
from actors.volume_manager.pod_certificates.states import ABANDON_SECONDS, JITTER_SECONDS
from supervision.protocol import GetMetrics
from supervision.testing.harness import Harness
from supervision.testing.virtual_clock import VirtualClock
from tests.support.pod_signer import NAME, Obj, PodSigner, condition
from tests.support.volumes import user_of

UID = "0a1b"
ROUND = 2 * POLL_SECONDS + 1
SOURCE = {"signerName": NAME, "keyType": "ED25519"}
PATHS = {"credentialBundlePath": "all.pem", "keyPath": "key.pem", "certificateChainPath": "chain.pem"}


class Node:
    """A volume manager, and the requests that the API server has by name."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, gate: bool = True) -> None:
        monkeypatch.setattr(mount_propagation, "make_shared", lambda path: False)
        monkeypatch.setattr(memory_mounts, "mount_memory", _no_tmpfs)
        config = KubeletConfiguration(featureGates={"PodCertificateRequest": gate})
        self.agent = Agent(root_dir=str(root), run_dir=f"{root}/run", workers=2, standalone=False, config=config)
        self.started_at, self.clock = time.time(), VirtualClock()
        start = self.clock.now
        arguments = {"wall": lambda: self.started_at + self.clock.now - start}
        self.harness = Harness(
            VolumeManager, name="volume_manager", context=self.agent, clock=self.clock, arguments=arguments
        )
        self.signer, self.requests = PodSigner(), dict[str, Obj]()
        self.refusal: ApiAnswer | None = None
        self.harness.answer(ApiCall, self._call)
        self.harness.answer(GetObject, self._get)
        self.harness.answer(GetNodeResources, NodeResources({}, {"memory": 1 << 30}, {}, 0, "cgroupfs", 1))

    def _call(self, call: ApiCall) -> ApiAnswer:
        if call.path == "/api/v1/namespaces/ns/serviceaccounts/default":
            return ApiAnswer(status=200, body=b'{"metadata":{"uid":"account-uid"}}')
        if call.path != "/apis/certificates.k8s.io/v1beta1/namespaces/ns/podcertificaterequests":
            return ApiAnswer(status=404, reason="NotFound")
        if self.refusal is not None:
            return self.refusal
        name = f"req-{len(self.requests) + 1}"
        self.requests[name] = json.loads(call.body)
        self.requests[name]["metadata"]["name"] = name
        return ApiAnswer(status=201, body=json.dumps(self.requests[name]).encode())

    def _get(self, asked: GetObject) -> ObjectState:
        if asked.ref.kind == "Node":
            return ObjectState(asked.ref, b'{"metadata":{"uid":"node-uid"}}')
        found = self.requests.get(asked.ref.name)
        return (
            ObjectState(asked.ref, json.dumps(found).encode()) if found else ObjectState(asked.ref, reason="NotFound")
        )

    def post_mount(self) -> asyncio.Task[Any]:
        volume = {"name": "v", "projected": {"sources": [{"podCertificate": {**SOURCE, **PATHS}}]}}
        meta = {"name": "p", "namespace": "ns", "uid": UID}
        pod = {"metadata": meta, "spec": {"volumes": [volume], "containers": [user_of([volume])]}}
        return self.harness.post(MountVolumes(UID, json.dumps(pod).encode()))

    async def mount(self) -> VolumesMounted | VolumesFailed:
        """Without a wait for the signer."""
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(certificates, "WAIT_SECONDS", 0.01)
            answer = await self.post_mount()
        assert isinstance(answer, VolumesMounted | VolumesFailed)
        return answer

    async def decided(self, name: str, status: Obj) -> None:
        await self.harness.wait(lambda: name in self.requests, f"the request {name}")
        self.requests[name]["status"] = status
        await self.harness.deliver(ObjectChanged(ObjectRef("PodCertificateRequest", name, "ns")))
        await self.harness.settle()

    async def issue(self, name: str, **times: int) -> str:
        """The chain, without comments."""
        await self.harness.wait(lambda: name in self.requests, f"the request {name}")
        status = self.signer.issued(self.requests[name], **times)
        await self.decided(name, status)
        chain: str = status["certificateChain"]
        return "".join(line for line in chain.splitlines(keepends=True) if not line.startswith("#"))

    async def mounted(self) -> Path:
        """With the first certificate."""
        answering = self.post_mount()
        await self.issue("req-1")
        await self.harness.wait(answering.done, "an answer", timeout=10)
        answer = answering.result()
        assert isinstance(answer, VolumesMounted), answer
        return Path(answer.paths["v"])

    def events(self) -> list[tuple[str, str]]:
        sent = self.harness.sent(RecordEvent, "api_clients/event_client")
        return [(event.reason, event.message) for event in sent]

    async def states(self) -> dict[str, float]:
        found = await self.harness.deliver(GetMetrics())
        return {one.labels["state"]: one.value for one in found.samples if one.name == STATES}


def _no_tmpfs(path: str, size: int, group: int | None) -> bool:
    Path(path).mkdir(parents=True, exist_ok=True)
    return True


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    return Node(tmp_path, monkeypatch)


async def test_a_mount_requests_a_certificate_and_has_key_and_chain_once_it_is_issued(node: Node) -> None:
    async with node.harness:
        answering = node.post_mount()
        chain = await node.issue("req-1")
        await node.harness.wait(answering.done, "an answer")
        files = Path(answering.result().paths["v"])
        key = files.joinpath("key.pem").read_text()
        assert key.startswith("-----BEGIN PRIVATE KEY-----")
        assert files.joinpath("chain.pem").read_text() == chain
        assert files.joinpath("all.pem").read_text() == key + chain
        spec = node.requests["req-1"]["spec"]
        assert (spec["nodeUID"], spec["serviceAccountUID"]) == ("node-uid", "account-uid")
        assert spec["nodeName"] == node.agent.node_name
        assert await node.states() == {"fresh": 1}


async def test_a_pod_whose_certificate_is_not_issued_waits_and_learns_when_it_is(node: Node) -> None:
    async with node.harness:
        answer = await node.mount()
        assert isinstance(answer, VolumesFailed)
        text = 'MountVolume.SetUp failed for volume "v" : credential bundle is not issued yet'
        assert answer.message == text
        assert await node.states() == {"not_yet_issued": 1}
        await node.issue("req-1")
        await node.harness.wait_sent(RetryMounts)
        assert isinstance(await node.mount(), VolumesMounted)
        assert len(node.requests) == 1


async def test_only_a_change_of_the_awaited_request_is_read(node: Node) -> None:
    async with node.harness:
        assert isinstance(await node.mount(), VolumesFailed)
        await node.harness.settle()
        for name, namespace, reads in (("req-2", "ns", 0), ("req-1", "other", 0), ("req-1", "ns", 1)):
            node.harness.clear()
            await node.harness.deliver(ObjectChanged(ObjectRef("PodCertificateRequest", name, namespace)))
            await node.harness.settle()
            read = [one.ref.name for _, one in node.harness.asks if isinstance(one, GetObject)]
            assert read == ["req-1"] * reads
        await node.issue("req-1")
        await node.harness.wait_sent(RetryMounts)
        node.harness.clear()
        await node.harness.deliver(ObjectChanged(ObjectRef("PodCertificateRequest", "req-1", "ns")))
        await node.harness.settle()
        assert node.harness.asks == [], "it is issued"


async def test_a_renewed_key_and_its_chain_replace_the_old_ones_together(node: Node) -> None:
    async with node.harness:
        files = await node.mounted()
        first = files.joinpath("all.pem").read_text()
        data = files.joinpath("..data").readlink()
        await node.harness.advance(600 + JITTER_SECONDS + ROUND)
        assert files.joinpath("all.pem").read_text() == first
        chain = await node.issue("req-2")
        await node.harness.wait(lambda: files.joinpath("..data").readlink() != data, "new files")
        key = files.joinpath("key.pem").read_text()
        assert files.joinpath("all.pem").read_text() == key + chain
        assert key not in first
        assert len(node.requests) == 2


@pytest.mark.parametrize("kind", ["Denied", "Failed"])
async def test_a_refused_certificate_is_reported_once_and_never_requested_again(node: Node, kind: str) -> None:
    async with node.harness:
        assert isinstance(await node.mount(), VolumesFailed)
        await node.decided("req-1", {"conditions": [condition(kind, "Why", "no")]})
        await node.harness.wait_sent(RetryMounts)
        answer = await node.mount()
        assert isinstance(answer, VolumesFailed)
        refused = f'PodCertificateRequest was permanently {kind.lower()}: reason="Why" message="no"'
        assert answer.message.endswith(refused)
        for _ in range(5):
            await node.harness.advance(ROUND)
        assert [reason for reason, _ in node.events()] == [kind]
        assert len(node.requests) == 1
        assert await node.states() == {kind.lower(): 1}


async def test_a_renewal_that_is_refused_leaves_the_files_and_an_event(node: Node) -> None:
    async with node.harness:
        files = await node.mounted()
        before = files.joinpath("all.pem").read_text()
        await node.harness.advance(600 + JITTER_SECONDS + ROUND)
        await node.decided("req-2", {"conditions": [condition("Denied")]})
        await node.harness.advance(ROUND)
        assert files.joinpath("all.pem").read_text() == before
        assert (
            "Denied",
            'PodCertificateRequest ns/req-2 was denied, reason="Because", message="it is so"',
        ) in node.events()


async def test_a_missing_renewal_is_reported_when_overdue_and_when_expired(node: Node) -> None:
    async with node.harness:
        files = await node.mounted()
        for _ in range(3600 // int(POLL_SECONDS) + 3):
            await node.harness.advance(POLL_SECONDS)
        assert [reason for reason, _ in node.events()] == ["CertificateOverdueForRefresh", "CertificateExpired"]
        assert await node.states() == {"expired": 1}
        assert files.joinpath("all.pem").exists()


async def test_a_request_that_the_api_server_refuses_is_retried_and_named_in_the_event(node: Node) -> None:
    node.refusal = ApiAnswer(status=500, reason="InternalError", message="names node UID")
    async with node.harness:
        answer = await node.mount()
        assert isinstance(answer, VolumesFailed)
        why = "while creating initial PodCertificateRequest: while creating on API: names node UID"
        assert answer.message.endswith(f": credential bundle is not issued yet: {why}")
        node.refusal = None
        await node.harness.advance(60.0)
        await node.issue("req-1")
        await node.harness.wait_sent(RetryMounts)


async def test_a_request_that_was_deleted_is_made_again_after_ten_minutes(node: Node) -> None:
    async with node.harness:
        assert isinstance(await node.mount(), VolumesFailed)
        node.requests["req-1"] = {}
        await node.harness.advance(ABANDON_SECONDS - ROUND)
        assert len(node.requests) == 1
        await node.harness.advance(JITTER_SECONDS + 2 * ROUND)
        await node.harness.wait(lambda: "req-2" in node.requests, "another request")


async def test_an_answer_that_was_missed_is_found_within_two_minutes(node: Node) -> None:
    async with node.harness:
        assert isinstance(await node.mount(), VolumesFailed)
        node.requests["req-1"]["status"] = node.signer.issued(node.requests["req-1"])
        await node.harness.advance(ROUND)
        await node.harness.wait_sent(RetryMounts)


async def test_an_unmounted_volume_has_no_certificate_any_more(node: Node) -> None:
    async with node.harness:
        await node.mounted()
        assert await node.states() == {"fresh": 1}
        await node.harness.deliver(UnmountVolumes(UID))
        assert await node.states() == {}
        await node.harness.advance(2000)
        assert len(node.requests) == 1


async def test_after_a_restart_a_certificate_is_requested_again_and_the_files_stay_until_it_is_issued(
    node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with node.harness:
        files = await node.mounted()
        before = files.joinpath("all.pem").read_text()
    again = Node(tmp_path, monkeypatch)
    async with again.harness:
        assert isinstance(await again.mount(), VolumesMounted)
        assert files.joinpath("all.pem").read_text() == before
        chain = await again.issue("req-1")
        await again.harness.wait(lambda: files.joinpath("chain.pem").read_text() == chain, "the new chain")


async def test_without_the_gate_nothing_is_requested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(tmp_path, monkeypatch, gate=False)
    async with node.harness:
        answer = await node.mount()
        assert isinstance(answer, VolumesFailed)
        assert answer.message.endswith(": unimplemented (the feature gate PodCertificateRequest is off)")
        assert node.requests == {}
        assert await node.states() == {}


async def test_the_key_is_made_in_a_process_of_its_own(node: Node) -> None:
    async with node.harness:
        await node.mounted()
        assert (MAKE, {"key_type": "ED25519"}) in node.harness.disposed
