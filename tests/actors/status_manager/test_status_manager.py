"""The status manager with faked workers and prober: order of observations, probes, restarts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.pod_workers.messages import ShardPods
from actors.prober.messages import PROBER, PodAddress
from actors.shared.config.agent import Agent
from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime, Sandbox
from actors.status_manager.actor import UNKNOWN_PODS_SECONDS, StatusManager
from actors.status_manager.messages import GetPods, GetPodStatus, PodObserved, PodStatusFound, ProbeResult, Resize
from actors.status_manager.node_facts import REREAD_SECONDS
from actors.status_manager.readiness.readiness_saver import SAVE_SECONDS
from actors.status_manager.times import PodStatusClocks
from supervision.process_messages import Hello
from supervision.protocol import GetMetrics
from supervision.testing.harness import Harness
from tests.support.status_questions import ask_now

S = 1_000_000_000
BORN = 1_700_000_000 * S
PROBE = {"httpGet": {"port": 80}}


def started(tmp_path: Path, **agent: Any) -> Harness:
    context = Agent(**{"root_dir": str(tmp_path), "node_ip": "10.0.0.1", "workers": 2, **agent})
    started_at = iter([BORN])
    clocks = PodStatusClocks(lambda: next(started_at, BORN + 60 * S))
    return Harness(StatusManager, name="status_manager", context=context, arguments={"clocks": clocks}, incarnation=3)


def seen(*, uid: str = "u", name: str = "p", at: float = 1.0, age: int = 5, run: bool = True, **more: Any):
    container = CriContainer(id="c1", name="a", pod_uid=uid, state=CriContainerState.RUNNING, started_ns=BORN - age * S)
    sandbox = Sandbox(id="s", pod_uid=uid, pod_name=name, pod_namespace="n", ready=True, ips=["10.1.0.2"])
    runtime = PodRuntime(uid=uid, sandboxes=[sandbox], containers=[container] if run else [], at=at)
    spec = {
        "containers": [{"name": "a", "image": "i", **more.pop("probes", {})}],
        "x-unknown": 1,
        **more.pop("spec", {}),
    }
    metadata = {"name": name, "namespace": "n", "uid": uid, "annotations": {"k": "v"}}
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec}
    fields = {"worker_phase": "running", "runtime": runtime, "sandbox_ready": True, **more}
    return PodObserved(uid, json.dumps(pod).encode(), **fields)


async def pods(harness: Harness) -> list[dict[str, Any]]:
    listed = json.loads((await ask_now(harness, GetPods())).data)
    assert (listed["kind"], listed["apiVersion"]) == ("PodList", "v1")
    items: list[dict[str, Any]] = listed["items"]
    return items


async def ready(harness: Harness) -> bool:
    (pod,) = await pods(harness)
    found: bool = pod["status"]["containerStatuses"][0]["ready"]
    return found


async def test_removed_pods_are_reported_with_the_list(tmp_path):
    async with started(tmp_path) as harness:
        await harness.deliver(seen(uid="u1"))
        assert (await ask_now(harness, GetPods())).removed == []
        await harness.deliver(seen(uid="u1", worker_phase="terminating", removed=True, at=2.0))
        assert (await ask_now(harness, GetPods())).removed == ["u1"]


async def test_pods_are_listed_as_their_source_gave_them_with_the_status_of_now(tmp_path):
    async with started(tmp_path) as harness:
        assert await pods(harness) == []
        await harness.deliver(seen(uid="u2", name="z"))
        await harness.deliver(seen(uid="u1", name="a"))
        first, second = await pods(harness)
        assert (first["metadata"]["name"], second["metadata"]["name"]) == ("a", "z")
        assert not {"kind", "apiVersion"} & set(first)  # the list has them
        assert first["spec"]["x-unknown"] == 1
        assert first["metadata"]["annotations"] == {"k": "v"}
        assert first["status"]["phase"] == "Running"
        assert first["status"]["containerStatuses"][0]["containerID"] == "containerd://c1"


@pytest.mark.parametrize(
    ("endpoint", "prefix", "questions"),
    [
        ("/run/other.sock", "docker", 2),
        ("/run/cri-dockerd.sock", "docker", 0),
        ("/run/containerd/containerd.sock", "containerd", 0),
        ("/var/run/crio/crio.sock", "cri-o", 0),
        ("", "containerd", 0),
    ],
)
async def test_ids_of_containers_begin_with_the_name_that_the_runtime_has(tmp_path, endpoint, prefix, questions):
    harness = started(tmp_path, runtime_endpoint=f"unix://{endpoint}" if endpoint else "")
    asked = iter(["", "docker"])  # it does not answer at first
    harness.disposables["actors.shared.cri.liveness:name"] = lambda path: next(asked)
    async with harness:
        await harness.deliver(seen())
        for _ in range(2):
            await harness.advance(REREAD_SECONDS)
        (container,) = (await pods(harness))[0]["status"]["containerStatuses"]
        assert container["containerID"] == f"{prefix}://c1"
        assert (container["restartCount"], container["lastState"]) == (0, {}), "it is the same container"
    assert len(list(asked)) == 2 - questions


async def test_an_older_observation_never_replaces_a_newer_one(tmp_path):
    async with started(tmp_path) as harness:
        await harness.deliver(seen(at=5.0))
        await harness.deliver(seen(at=4.0, run=False))
        assert (await pods(harness))[0]["status"]["phase"] == "Running"
        await harness.deliver(seen(at=6.0, run=False))
        assert (await pods(harness))[0]["status"]["containerStatuses"][0]["restartCount"] == 1


async def test_a_worker_that_has_not_queried_the_runtime_changes_no_status(tmp_path):
    async with started(tmp_path) as harness:
        await harness.deliver(seen())
        await harness.deliver(seen(worker_phase="admitting", runtime=None))
        assert (await pods(harness))[0]["status"]["phase"] == "Running"


async def test_a_pod_without_a_source_is_not_shown_and_a_removed_one_stays(tmp_path):
    async with started(tmp_path) as harness:
        orphan = seen(worker_phase="terminating")
        orphan = PodObserved("u", b"", orphan.worker_phase, runtime=orphan.runtime)
        await harness.deliver(orphan)
        assert await pods(harness) == []
        await harness.deliver(seen())
        await harness.deliver(orphan)
        assert (await pods(harness))[0]["metadata"]["name"] == "p"


async def test_a_pod_that_is_gone_is_forgotten(tmp_path):
    async with started(tmp_path) as harness:
        await harness.deliver(seen())
        await harness.deliver(seen(gone=True))
        assert await pods(harness) == []
        assert await ask_now(harness, GetPodStatus("u")) == PodStatusFound("u", b"", b"")


async def test_one_status_is_found_by_uid_and_by_name(tmp_path):
    async with started(tmp_path) as harness:
        await harness.deliver(seen())
        found = await ask_now(harness, GetPodStatus("u"))
        assert json.loads(found.status)["podIP"] == "10.1.0.2"
        assert await ask_now(harness, GetPodStatus(namespace="n", name="p")) == found
        assert (await ask_now(harness, GetPodStatus(namespace="n", name="q"))).status == b""
        assert (await ask_now(harness, GetPodStatus())).status == b""


async def test_without_a_probe_running_is_ready(tmp_path):
    async with started(tmp_path) as harness:
        await harness.deliver(seen(age=1))
        assert await ready(harness)


async def test_a_probed_container_is_ready_when_its_probe_succeeds(tmp_path):
    async with started(tmp_path) as harness:
        await harness.deliver(seen(probes={"readinessProbe": PROBE}, age=1))
        assert not await ready(harness)
        await harness.deliver(ProbeResult("u", "a", "other", "readiness", True))
        assert not await ready(harness)
        await harness.deliver(ProbeResult("u", "a", "c1", "readiness", True))
        assert await ready(harness)
        await harness.deliver(ProbeResult("u", "a", "c1", "readiness", False))
        assert not await ready(harness)


async def test_a_container_is_not_ready_before_its_startup_probe_passed(tmp_path):
    async with started(tmp_path) as harness:
        await harness.deliver(seen(probes={"startupProbe": PROBE}, age=1))
        assert not await ready(harness)
        await harness.deliver(ProbeResult("u", "a", "c1", "startup", True))
        assert await ready(harness)


async def test_a_container_older_than_the_agent_stays_ready_until_it_is_probed(tmp_path):
    async with started(tmp_path) as harness:
        await harness.deliver(seen(probes={"readinessProbe": PROBE}, age=11))
        assert await ready(harness)
        await harness.deliver(ProbeResult("u", "a", "c1", "readiness", False))
        assert not await ready(harness)


async def test_a_restart_of_the_agent_changes_no_readiness(tmp_path):
    for said in (False, True):
        async with started(tmp_path) as harness:
            await harness.deliver(seen(probes={"readinessProbe": PROBE}, age=30))
            await harness.deliver(ProbeResult("u", "a", "c1", "readiness", said))
        async with started(tmp_path) as harness:
            await harness.deliver(seen(probes={"readinessProbe": PROBE}, age=30))
            assert await ready(harness) is said
            (pod,) = await pods(harness)
            assert pod["status"]["conditions"][2]["lastTransitionTime"] == "2023-11-14T22:12:50Z"


async def test_a_damaged_memory_is_set_aside(tmp_path):
    path = tmp_path / "troupelet" / "status_manager" / "probes.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{"version": 1, "pods": [')
    async with started(tmp_path) as harness:
        await harness.deliver(seen(probes={"readinessProbe": PROBE}, age=30))
        assert await ready(harness)
        assert path.with_name("probes.json.damaged").exists()


async def test_a_readiness_that_could_not_be_written_is_written_once_that_can_be(tmp_path):
    directory = tmp_path / "troupelet" / "status_manager"
    directory.parent.mkdir()
    directory.write_text("in the way")
    async with started(tmp_path) as harness:
        await harness.deliver(seen(probes={"readinessProbe": PROBE}))
        directory.unlink()
        await harness.advance(SAVE_SECONDS)
        assert "c1" in (directory / "probes.json").read_text()


async def test_memory_of_removed_pods_is_dropped(tmp_path):
    path = tmp_path / "troupelet" / "status_manager" / "probes.json"
    async with started(tmp_path) as harness:
        await harness.deliver(seen(probes={"readinessProbe": PROBE}))
        await harness.advance(SAVE_SECONDS)
        assert "c1" in path.read_text()
        await harness.deliver(seen(gone=True))
        await harness.advance(SAVE_SECONDS)
        assert "c1" not in path.read_text()


async def test_the_readiness_of_unknown_pods_is_kept_until_every_worker_has_listed_its_pods(tmp_path):
    path = tmp_path / "troupelet" / "status_manager" / "probes.json"
    async with started(tmp_path) as harness:
        await harness.deliver(seen(probes={"readinessProbe": PROBE}))
        await harness.advance(SAVE_SECONDS)
    async with started(tmp_path) as harness:
        await harness.deliver(ShardPods("pod_workers/worker/0", 2, []))
        await harness.advance(UNKNOWN_PODS_SECONDS + 1)
        assert "c1" in path.read_text()
        await harness.deliver(ShardPods("pod_workers/worker/1", 2, []))
        await harness.advance(UNKNOWN_PODS_SECONDS)
        assert "c1" not in path.read_text()


async def numbers(harness: Harness, name: str) -> dict[tuple[str, ...], float]:
    snapshot = await harness.deliver(GetMetrics())
    return {tuple(each.labels.values()): each.value for each in snapshot.samples if each.name == name and each.value}


async def test_pods_and_ends_of_containers_are_counted(tmp_path):
    async with started(tmp_path) as harness:
        await harness.deliver(seen(uid="u1"))
        await harness.deliver(seen(uid="u2", name="q", worker_phase="rejected", runtime=None, reason="OutOfcpu"))
        ended = CriContainer(
            id="c1", name="a", pod_uid="u1", state=CriContainerState.EXITED, exit_code=3, finished_ns=BORN
        )
        for at in (2.0, 3.0):
            await harness.deliver(seen(uid="u1", runtime=PodRuntime(uid="u1", containers=[ended], at=at)))
        assert await numbers(harness, "kubelet_terminated_containers_total") == {("container", "3", "Error"): 1}
        assert await numbers(harness, "kubelet_admission_rejections_total") == {("OutOfcpu",): 1}
        assert await numbers(harness, "kubelet_desired_pods") == {("",): 2}
        assert await numbers(harness, "kubelet_active_pods") == {("",): 1}
        working = {("desired", "sync", ""): 1, ("desired", "terminated", ""): 1}
        assert await numbers(harness, "kubelet_working_pods") == working
        await harness.deliver(seen(uid="u1", gone=True))
        assert await numbers(harness, "kubelet_desired_pods") == {("",): 1}
        assert await numbers(harness, "kubelet_working_pods") == {("desired", "terminated", ""): 1}


async def test_leftovers_in_the_runtime_count_as_working_pods_until_their_worker_has_ended_them(tmp_path):
    async with started(tmp_path) as harness:
        for uid in ("u1", "u2", "u3"):
            await harness.deliver(PodObserved(uid, b"", worker_phase="terminating"))
        left = ("runtime_only", "terminating", "unknown")
        assert await numbers(harness, "kubelet_working_pods") == {left: 3}
        await harness.deliver(PodObserved("u1", b"", worker_phase="terminated", gone=True))
        assert await numbers(harness, "kubelet_working_pods") == {left: 2}
        await harness.deliver(seen(uid="u2"))
        assert await numbers(harness, "kubelet_working_pods") == {left: 1, ("desired", "sync", ""): 1}
        snapshot = await harness.deliver(GetMetrics())
        labels = [one.labels for one in snapshot.samples if one.name == "kubelet_working_pods"]
        assert sum(one["config"] == "runtime_only" for one in labels) == 3


async def test_a_pod_without_room_for_its_volumes_is_counted_once_as_refused(tmp_path):
    async with started(tmp_path) as harness:
        nothing = PodRuntime(uid="u1", at=1.0)
        await harness.deliver(seen(uid="u1", runtime=nothing))
        for phase in ("terminating", "terminated"):
            refused = seen(uid="u1", runtime=nothing, worker_phase=phase, reason="VolumeAttachmentLimitExceeded")
            await harness.deliver(refused)
        counted = await numbers(harness, "kubelet_admission_rejections_total")
        assert counted == {("VolumeAttachmentLimitExceeded",): 1}


async def test_resizes_are_counted_while_they_wait_and_while_they_are_carried_out(tmp_path):
    async with started(tmp_path) as harness:
        await harness.deliver(seen(uid="u1", resize=Resize("Deferred", "later")))
        await harness.deliver(seen(uid="u2", name="q", resize=Resize(in_progress=True)))
        assert await numbers(harness, "kubelet_pod_pending_resizes") == {("deferred",): 1}
        assert await numbers(harness, "kubelet_pod_in_progress_resizes") == {(): 1}
        await harness.deliver(seen(uid="u1"))
        assert await numbers(harness, "kubelet_pod_pending_resizes") == {}


async def addresses(harness: Harness) -> list[tuple[str, str]]:
    return [(message.uid, message.ip) for message in harness.sent(PodAddress, "prober")]


@pytest.mark.parametrize(
    ("node_ip", "host_network", "ips", "probed"),
    [
        ("10.0.0.1", False, ["10.1.0.2"], "10.1.0.2"),
        ("10.0.0.1", True, [], "10.0.0.1"),
        ("fd00::1", True, [], "fd00::1"),
        ("fd00::1,10.0.0.1", True, [], "fd00::1"),
        ("fd00::1,10.0.0.1", False, ["10.1.0.2", "fd01::2"], "fd01::2"),
        ("10.0.0.1,fd00::1", False, ["fd01::2", "10.1.0.2"], "10.1.0.2"),
    ],
)
async def test_the_prober_gets_the_address_of_a_pod_and_its_end(tmp_path, node_ip, host_network, ips, probed):
    harness = started(tmp_path, node_ip=node_ip)
    async with harness:
        sandbox = Sandbox(id="s", pod_uid="u", pod_name="p", pod_namespace="n", ready=True, ips=ips)
        report = seen(probes={"livenessProbe": PROBE}, spec={"hostNetwork": host_network})
        runtime = msgspec.structs.replace(report.runtime, sandboxes=[sandbox])
        await harness.deliver(msgspec.structs.replace(report, runtime=runtime))
        assert await addresses(harness) == [("u", probed)]
        await harness.deliver(Hello(PROBER, 2))
        assert await addresses(harness) == [("u", probed)] * 2
        await harness.deliver(seen(gone=True))
        assert await addresses(harness) == [("u", probed)] * 2 + [("u", "")]


async def test_the_prober_gets_no_message_of_a_pod_without_probes(tmp_path):
    async with started(tmp_path) as harness:
        await harness.deliver(seen())
        await harness.deliver(Hello(PROBER, 2))
        await harness.deliver(seen(gone=True))
        assert await addresses(harness) == []
