"""What the container manager allocates reaches the runtime: CPUs, memory nodes, devices."""

from __future__ import annotations

from actors.container_manager.messages import (
    AdmitPod,
    ContainerPrepared,
    PodAdmitted,
    PreparationFailed,
    PrepareContainer,
    ResizePod,
)
from actors.device_manager.messages import PrepareClaims
from actors.pod_workers.actor import PODS_AT_ONCE
from actors.shared.hardware.allocation import AllocatedMount, ContainerAllocation, DeviceSpec
from proto import cri_pb2 as cri
from tests.support.shard_harness import Driven, container, pod

GIVEN = ContainerAllocation(
    cpuset_cpus="1,3",
    cpuset_mems="0",
    exclusive_cpus=True,
    devices=(DeviceSpec("/dev/null", "/dev/thing", "rw"),),
    mounts=(AllocatedMount("/lib/thing", "/usr/lib/thing", read_only=True),),
    environment={"THING": "0", "OWN": "device"},
    annotations={"vendor.example.com/thing": "0", "io.kubernetes.container.hash": "no"},
    cdi_devices=("example.com/thing=0",),
)
LIMITS = {"limits": {"cpu": "2", "memory": "64Mi"}}


def admitted(prepare: bool = False, **containers: ContainerAllocation):
    return lambda question: PodAdmitted(question.uid, f"/kubepods/pod{question.uid}", containers, prepare)


async def test_a_container_is_created_with_what_was_allocated_to_it(tmp_path):
    both = [container("a", env=[{"name": "OWN", "value": "pod"}], resources=LIMITS), container("b", resources=LIMITS)]
    async with Driven(tmp_path) as node:
        node.answer(AdmitPod, admitted(a=GIVEN))
        await node.want(pod(containers=both))
        await node.until(lambda: node.running("a") and node.running("b"))
        config = node.containers("a")[0].config
        resources = config.linux.resources
        assert (resources.cpuset_cpus, resources.cpuset_mems, resources.cpu_quota) == ("1,3", "0", -1)
        assert list(config.devices) == [
            cri.Device(host_path="/dev/null", container_path="/dev/thing", permissions="rw")
        ]
        assert config.mounts[0] == cri.Mount(host_path="/lib/thing", container_path="/usr/lib/thing", readonly=True)
        variables = {one.key: one.value for one in config.envs}
        assert (variables["THING"], variables["OWN"]) == (b"0", b"pod")
        assert config.annotations["vendor.example.com/thing"] == "0"
        assert config.annotations["io.kubernetes.container.hash"] != "no"
        assert [one.name for one in config.CDI_devices] == ["example.com/thing=0"]
        other = node.containers("b")[0].config
        assert (other.linux.resources.cpuset_cpus, other.linux.resources.cpu_quota) == ("", 200_000)
        assert not other.devices
        assert not other.CDI_devices
        assert not [asked for _, asked in node.harness.asks if isinstance(asked, PrepareContainer)]


async def test_a_restarted_container_keeps_its_hardware_also_after_a_worker_restart(tmp_path):
    async with Driven(tmp_path) as first:
        first.answer(AdmitPod, admitted(a=GIVEN))
        await first.want(pod())
        await first.until(lambda: first.running("a"))
        await first.settled()
        await first.end("a")
        await first.pass_time(20)
        await first.until(lambda: first.attempts("a")[-1] == 1)
    async with Driven(tmp_path, first.fake, first.clock) as second:
        second.answer(AdmitPod, admitted(a=GIVEN))
        await second.first_look()
        await second.sources(pod())
        await second.settled()
        await second.end("a")
        await second.pass_time(40)
        await second.until(lambda: second.attempts("a")[-1] == 2)
        assert {one.config.linux.resources.cpuset_cpus for one in second.containers("a")} == {"1,3"}


async def test_hardware_that_may_change_is_requested_when_the_container_is_created(tmp_path):
    async with Driven(tmp_path) as node:
        node.answer(AdmitPod, admitted(prepare=True, a=ContainerAllocation(cpuset_cpus="0-3")))
        now = ContainerAllocation(cpuset_cpus="0")
        node.answer(PrepareContainer, lambda question: ContainerPrepared(question.uid, question.container, now))
        await node.want(pod())
        await node.until(lambda: node.running("a"))
        assert node.containers("a")[0].config.linux.resources.cpuset_cpus == "0"


async def test_a_container_is_prepared_with_the_init_containers_that_have_ended(tmp_path):
    async with Driven(tmp_path) as node:
        node.answer(AdmitPod, admitted(prepare=True))
        node.answer(
            PrepareContainer,
            lambda question: ContainerPrepared(question.uid, question.container, ContainerAllocation()),
        )
        once = ["sh", "-c", "true"]
        init = [container("first", once), container("side", restartPolicy="Always"), container("second", once)]
        await node.want(pod(initContainers=init))
        await node.until(lambda: bool(node.containers("first")))
        await node.end("first", 0)
        await node.until(lambda: node.running("side"))
        await node.relist()
        await node.until(lambda: bool(node.containers("second")))
        await node.end("second", 0)
        await node.until(lambda: node.running("a"))
        asked = [one for _, one in node.harness.asks if isinstance(one, PrepareContainer)]
    assert {one.container: one.ended for one in asked} == {
        "first": [], "side": ["first"], "second": ["first"], "a": ["first", "second"],
    }  # fmt: skip


async def test_a_container_that_cannot_be_prepared_waits_with_the_reason_and_is_tried_again(tmp_path):
    async with Driven(tmp_path) as node:
        node.answer(AdmitPod, admitted(prepare=True))
        node.answer(
            PrepareContainer, lambda question: PreparationFailed(question.uid, question.container, "no such thing")
        )
        await node.want(pod())
        await node.settled()
        await node.until(lambda: node.observed().waiting["a"].reason == "CreateContainerConfigError")
        waiting = node.observed().waiting["a"]
        assert (waiting.reason, waiting.message) == ("CreateContainerConfigError", "no such thing")
        assert node.containers("a") == []
        node.answer(
            PrepareContainer,
            lambda question: ContainerPrepared(question.uid, question.container, ContainerAllocation()),
        )
        await node.pass_time(20)
        await node.until(lambda: node.running("a"))


async def test_a_resize_sets_no_quota_on_exclusive_cpus_also_after_a_worker_restart(tmp_path):
    def sized(cpu: str):
        return pod(containers=[container(name, resources={"limits": {"cpu": cpu}}) for name in ("a", "b")])

    def quotas(node: Driven) -> dict[str, int]:
        names = {one.id: one.config.metadata.name for one in node.containers("a") + node.containers("b")}
        return {
            names[one.container_id]: one.linux.cpu_quota for one in node.fake.requests_for("UpdateContainerResources")
        }

    async with Driven(tmp_path) as first:
        first.answer(AdmitPod, admitted(a=GIVEN))
        first.answer(ResizePod, lambda question: PodAdmitted(question.uid, ""))
        await first.want(sized("2"))
        await first.until(lambda: first.running("a") and first.running("b"))
        await first.settled()
        await first.want(sized("3"))
        await first.until(lambda: quotas(first) == {"a": -1, "b": 300_000})
        await first.settled()
    async with Driven(tmp_path, first.fake, first.clock) as second:
        second.answer(AdmitPod, admitted(a=GIVEN))
        second.answer(ResizePod, lambda question: PodAdmitted(question.uid, ""))
        await second.first_look()
        await second.sources(sized("1"))
        await second.until(lambda: quotas(second) == {"a": -1, "b": 100_000})


async def test_plugins_and_drivers_that_never_answer_hold_up_no_other_pod(tmp_path):
    uids = [f"u{number}" for number in range(PODS_AT_ONCE)]
    async with Driven(tmp_path, joined=True) as node:
        node.answer(AdmitPod, lambda question: PodAdmitted(question.uid, "/x", {}, prepare=question.uid in uids))
        node.answer(PrepareContainer, lambda question: None)
        node.answer(PrepareClaims, lambda question: None)
        claims = [{"name": "gpu", "resourceClaimName": "one"}]
        uses = container("a", resources={"claims": [{"name": "gpu"}]})
        waiting = [pod(uid, f"plugin-{uid}") for uid in uids]
        waiting += [pod(f"c{uid}", f"driver-{uid}", containers=[uses], resourceClaims=claims) for uid in uids]
        for one in waiting:
            await node.want(one)
        await node.until(lambda: len([1 for _, one in node.harness.asks if isinstance(one, PrepareContainer)]) >= 1)
        await node.want(pod("other", "other", containers=[container("b")]))
        await node.until(lambda: node.running("b"))
        asked = [one for _, one in node.harness.asks if isinstance(one, PrepareContainer | PrepareClaims)]
        assert len(asked) == len(waiting)
        assert not node.running("a")
