"""The volume manager of a joined node: objects of the API become files, and their changes too."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from actors.api_clients.event_client.messages import RecordEvent
from actors.api_clients.kube_client.messages import ApiAnswer, ApiCall, GetObject, ObjectChanged, ObjectRef, ObjectState
from actors.container_manager.messages import GetNodeResources, NodeResources
from actors.pod_workers.messages import RetryMounts, worker_of
from actors.shared.config.agent import Agent
from actors.volume_manager.actor import VolumeManager
from actors.volume_manager.host import memory_mounts, mount_propagation
from actors.volume_manager.messages import MountVolumes, UnmountVolumes, VolumesFailed, VolumesMounted
from actors.volume_manager.volume_refresh import RETRY_SECONDS, TOKEN_SECONDS
from supervision.testing.harness import Harness
from supervision.testing.virtual_clock import VirtualClock
from tests.support.volumes import user_of

UID = "0a1b"
SECRET, CONFIG = ObjectRef("Secret", "s", "ns"), ObjectRef("ConfigMap", "c", "ns")


def pod(*volumes: dict[str, Any]) -> bytes:
    meta = {"name": "p", "namespace": "ns", "uid": UID}
    return json.dumps({"metadata": meta, "spec": {"volumes": list(volumes), "containers": [user_of(volumes)]}}).encode()


def secret(value: bytes) -> ObjectState:
    return ObjectState(SECRET, json.dumps({"data": {"key": base64.b64encode(value).decode()}}).encode())


class Node:
    """A volume manager, and what the API server has."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, clock: VirtualClock | None = None) -> None:
        monkeypatch.setattr(mount_propagation, "make_shared", lambda path: False)
        context = Agent(root_dir=str(root), run_dir=f"{root}/run", workers=2, standalone=False)
        arguments = {"clock": clock} if clock else {}
        self.harness = Harness(
            VolumeManager, name="volume_manager", context=context, arguments=arguments, clock=clock or VirtualClock()
        )
        self.objects: dict[ObjectRef, ObjectState] = {}
        self.token = 0
        self.harness.answer(GetObject, lambda ask: self.objects.get(ask.ref, ObjectState(ask.ref, reason="NotFound")))
        self.harness.answer(GetNodeResources, NodeResources({}, {"memory": 1 << 30}, {}, 0, "cgroupfs", 1))
        self.harness.answer(ApiCall, self._token)

    def _token(self, call: ApiCall) -> ApiAnswer:
        if not call.path.endswith("/token"):
            return ApiAnswer(status=404, reason="NotFound")
        self.token += 1
        body = {"status": {"token": f"token {self.token}", "expirationTimestamp": "2001-01-01T00:00:00Z"}}
        return ApiAnswer(status=201, body=json.dumps(body).encode())

    async def mount(self, *volumes: dict[str, Any]) -> VolumesMounted | VolumesFailed:
        answer = await self.harness.deliver(MountVolumes(UID, pod(*volumes)))
        assert isinstance(answer, VolumesMounted | VolumesFailed)
        return answer

    async def changed(self, state: ObjectState) -> None:
        self.objects[state.ref] = state
        await self.harness.deliver(ObjectChanged(state.ref))
        await self.harness.advance(0.0)


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    monkeypatch.setattr(memory_mounts, "mount_memory", _no_tmpfs)
    return Node(tmp_path, monkeypatch)


def _no_tmpfs(path: str, size: int, group: int | None) -> bool:
    os.makedirs(path, exist_ok=True)
    return True


async def test_a_secret_becomes_files_and_its_change_a_change_of_the_files(node: Node) -> None:
    node.objects[SECRET] = secret(b"one")
    async with node.harness:
        answer = await node.mount({"name": "v", "secret": {"secretName": "s"}})
        assert isinstance(answer, VolumesMounted)
        file = Path(answer.paths["v"], "key")
        assert file.read_bytes() == b"one"
        await node.changed(secret(b"two"))
        assert file.read_bytes() == b"two"


async def test_other_volumes_have_a_place_below_a_volume_of_files_that_outlives_its_changes(node: Node) -> None:
    node.objects[SECRET] = secret(b"one")
    fields = [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]
    names = ("s", "d", "other")
    sources: list[dict[str, Any]] = [
        {"secret": {"secretName": "s"}},
        {"downwardAPI": {"items": fields}},
        {"emptyDir": {}},
    ]
    paths = {"s": "/s", "d": "/d", "other": "/s/other"}
    mounts = [{"name": name, "mountPath": path} for name, path in paths.items()]
    mounts.append({"name": "other", "mountPath": "/d/sub/other"})
    spec = {
        "volumes": [{"name": name, **source} for name, source in zip(names, sources, strict=True)],
        "containers": [{"name": "c", "volumeMounts": mounts}],
    }
    meta = {"name": "p", "namespace": "ns", "uid": UID}
    async with node.harness:
        answer = await node.harness.deliver(MountVolumes(UID, json.dumps({"metadata": meta, "spec": spec}).encode()))
        assert isinstance(answer, VolumesMounted)
        await node.changed(secret(b"two"))
        assert Path(answer.paths["s"], "key").read_bytes() == b"two"
        assert Path(answer.paths["s"], "other").is_dir()
        assert Path(answer.paths["d"], "sub", "other").is_dir()


async def test_a_volume_with_a_missing_object_reports_it_and_its_worker_is_notified_when_it_appears(node: Node) -> None:
    volume = {"name": "v", "configMap": {"name": "c"}}
    async with node.harness:
        answer = await node.mount(volume)
        assert isinstance(answer, VolumesFailed)
        assert answer.message == 'MountVolume.SetUp failed for volume "v" : configmap "c" not found'
        await node.changed(ObjectState(CONFIG, b'{"data":{"k":"v"}}'))
        assert (await node.harness.wait_sent(RetryMounts, to=worker_of(UID, 2))).uid == UID
        assert isinstance(await node.mount(volume), VolumesMounted)


async def test_a_deleted_object_leaves_the_files_of_a_running_pod_unchanged(node: Node) -> None:
    node.objects[SECRET] = secret(b"one")
    async with node.harness:
        answer = await node.mount({"name": "v", "secret": {"secretName": "s"}})
        assert isinstance(answer, VolumesMounted)
        await node.changed(ObjectState(SECRET, reason="NotFound"))
        assert Path(answer.paths["v"], "key").read_bytes() == b"one"


async def test_a_running_pod_with_a_missing_object_has_one_event_despite_retries(node: Node) -> None:
    node.objects[SECRET] = secret(b"1")

    def events() -> list[tuple[str, str]]:
        sent = node.harness.sent(RecordEvent, "api_clients/event_client")
        return [(event.reason, event.message) for event in sent if event.reason == "FailedMount"]

    gone = ("FailedMount", 'MountVolume.SetUp failed for volume "v" : secret "s" not found')
    async with node.harness:
        node.harness.actor._mounts._clock = lambda: node.harness.clock.now
        await node.mount({"name": "v", "secret": {"secretName": "s"}})
        await node.changed(ObjectState(SECRET, reason="NotFound"))
        assert events() == [], "the pod may just have been deleted"
        for _ in range(5):
            await node.harness.advance(RETRY_SECONDS)
        assert events() == [gone]
        for _ in range(9):
            await node.harness.advance(RETRY_SECONDS)
        assert events() == [gone, gone], "again after two minutes"
        await node.changed(secret(b"2"))
        await node.changed(ObjectState(SECRET, reason="NotFound"))
        await node.harness.advance(RETRY_SECONDS)
        assert events() == [gone] * 3, "the two minutes do not count once the volume was refreshed"


async def test_a_pod_that_is_unmounted_after_its_object_went_has_no_event(node: Node) -> None:
    node.objects[SECRET] = secret(b"1")
    async with node.harness:
        await node.mount({"name": "v", "secret": {"secretName": "s"}})
        await node.changed(ObjectState(SECRET, reason="Forbidden"))
        await node.harness.deliver(UnmountVolumes(UID))
        for _ in range(5):
            await node.harness.advance(RETRY_SECONDS)
        assert node.harness.sent(RecordEvent, "api_clients/event_client") == []


async def test_a_token_that_has_become_old_is_replaced_in_its_file(node: Node) -> None:
    sources = [{"serviceAccountToken": {"path": "token"}}]
    async with node.harness:
        answer = await node.mount({"name": "v", "projected": {"sources": sources}})
        assert isinstance(answer, VolumesMounted)
        file = Path(answer.paths["v"], "token")
        assert file.read_text() == "token 1"
        await node.harness.advance(1.2 * TOKEN_SECONDS)
        assert file.read_text() == "token 2", "the first one had ended when it came"


async def test_an_unmounted_volume_is_no_longer_updated(node: Node) -> None:
    node.objects[CONFIG] = ObjectState(CONFIG, b'{"data":{"k":"v"}}')
    async with node.harness:
        answer = await node.mount({"name": "v", "configMap": {"name": "c"}})
        assert isinstance(answer, VolumesMounted)
        assert Path(answer.paths["v"], "k").read_text() == "v"
        await node.harness.deliver(UnmountVolumes(UID))
        await node.changed(ObjectState(CONFIG, b'{"data":{"k":"w"}}'))
        assert not os.path.exists(answer.paths["v"])


async def test_a_filled_volume_is_used_without_the_server_and_updated_later(
    node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node.objects[SECRET] = secret(b"one")
    volume = {"name": "v", "secret": {"secretName": "s"}}
    async with node.harness:
        assert isinstance(await node.mount(volume), VolumesMounted)
    again = Node(tmp_path, monkeypatch)
    again.objects[SECRET] = ObjectState(SECRET, reason="Unreachable", message="connection refused")
    async with again.harness:
        answer = await again.mount(volume)
        assert isinstance(answer, VolumesMounted)
        assert Path(answer.paths["v"], "key").read_bytes() == b"one"
        again.objects[SECRET] = secret(b"two")
        await again.harness.advance(RETRY_SECONDS + 0.1)
        assert Path(answer.paths["v"], "key").read_bytes() == b"two"


@pytest.mark.parametrize(("swap", "never_swapped", "said"), [(True, False, 1), (True, True, 0), (False, False, 0)])
async def test_secrets_that_may_be_swapped_to_disk_are_reported_once_as_a_node_event(
    node: Node, monkeypatch: pytest.MonkeyPatch, swap: bool, never_swapped: bool, said: int
) -> None:
    monkeypatch.setattr(memory_mounts, "swap_is_on", lambda: swap)
    monkeypatch.setattr(memory_mounts, "mount_memory", lambda *given: _no_tmpfs(*given) and never_swapped)
    node.objects[SECRET] = secret(b"1")
    volumes = [{"name": name, "secret": {"secretName": SECRET.name}} for name in ("a", "b")]
    async with node.harness:
        assert isinstance(await node.mount(*volumes), VolumesMounted)
        found = [event.reason for event in node.harness.sent(RecordEvent, "api_clients/event_client")]
    assert found == ["PossibleMemoryBackedVolumesOnDisk"] * said


async def test_the_time_of_a_mount_is_counted_from_its_first_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, volume = VirtualClock(), {"name": "v", "secret": {"secretName": "s"}}
    monkeypatch.setattr(memory_mounts, "mount_memory", _no_tmpfs)
    node = Node(tmp_path, monkeypatch, clock)

    def seconds() -> list[float]:
        samples = node.harness.actor.metrics.snapshot("volume_manager", 1).samples
        return [one.value for one in samples if one.name == "volume_operation_total_seconds"]

    async with node.harness:
        assert isinstance(await node.mount(volume), VolumesFailed)
        assert seconds() == []
        await node.harness.advance(7.0)
        node.objects[SECRET] = secret(b"one")
        assert isinstance(await node.mount(volume), VolumesMounted)
        (first,) = seconds()
        assert first >= 7.0
        assert isinstance(await node.mount(volume), VolumesMounted)
        assert seconds()[0] - first < 7.0


async def test_a_volume_of_too_large_objects_is_refused_and_no_more_of_them_are_read(tmp_path, monkeypatch):
    node = Node(tmp_path, monkeypatch)
    async with node.harness:
        refs = [ObjectRef("ConfigMap", f"c{number}", "ns") for number in range(60)]
        node.objects |= {
            ref: ObjectState(ref, json.dumps({"data": {ref.name: "x" * (1 << 20)}}).encode()) for ref in refs
        }
        sources = [{"configMap": {"name": ref.name}} for ref in refs]
        answer = await node.harness.ask(MountVolumes(UID, pod({"name": "v", "projected": {"sources": sources}})))
        assert isinstance(answer, VolumesFailed)
        assert "its secrets and config maps have more than 24 MiB in all" in answer.message
        assert len({question.ref for _, question in node.harness.asks if isinstance(question, GetObject)}) == 24
