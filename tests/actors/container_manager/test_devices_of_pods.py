"""Which pods the device manager hears of: those that ask for devices, and those that are not known not to."""

from __future__ import annotations

import asyncio
import os

import msgspec
import pytest

from actors.api_clients.event_client.messages import RecordEvent
from actors.container_manager.messages import (
    AdmissionFailed,
    AdmitPod,
    CountRunningPod,
    PodAdmitted,
    PodRejected,
    ReleasePod,
    StopCounting,
)
from actors.container_manager.topology.devices import (
    ALLOCATE_SECONDS,
    HINT_SECONDS,
    TELL_SECONDS,
    DeviceHintProvider,
)
from actors.device_manager.messages import (
    AllocateDevices,
    DeviceHints,
    DevicesAllocated,
    DevicesRefused,
    DevicesReserved,
    GetDeviceHints,
    ReleaseDevices,
    ReserveDevices,
)
from actors.pod_workers.messages import ShardPods
from actors.shared.admission.node_object import NodeObject
from actors.shared.hardware.allocation import NOTHING
from actors.shared.hardware.hints import TopologyHint
from actors.shared.kube.codec import encode
from supervision.actor import AskError
from tests.support.hardware_pods import asking, pod_of
from tests.support.machines import machine, write_sysfs
from tests.support.managed_host import Host, admit, pod

THING = "example.com/thing"
WORKER = "pod_workers/worker/0"


def thing(uid: str) -> bytes:
    limits = {"limits": {"cpu": "100m", THING: "1"}}
    return encode(pod_of(asking("a", "100m"), {"name": "b", "image": "i", "resources": limits}, uid=uid))


async def test_the_device_manager_gets_no_message_of_pods_without_devices(host: Host) -> None:
    async with host.start() as manager:
        assert isinstance(await admit(manager, "u", pod()), PodAdmitted)
        await manager.deliver(ShardPods(WORKER, 1, ["u"]))
        await manager.deliver(StopCounting("u"))
        await manager.deliver(ReleasePod("u"))
        await manager.deliver(ShardPods(WORKER, 1, []))
        refused = await admit(manager, "large", pod(cpu="100k"))
        assert isinstance(refused, PodRejected)
        assert manager.sent(ReleaseDevices) == []
        assert manager.asks == []


@pytest.mark.parametrize(
    "answer", [DevicesAllocated(NOTHING, served=[THING]), DevicesRefused("none"), AskError("late")]
)
async def test_the_devices_of_a_pod_are_given_back_when_it_ends_or_is_not_admitted(
    host: Host, answer: DevicesAllocated | DevicesRefused | AskError
) -> None:
    async with host.start() as manager:
        manager.answer(AllocateDevices, answer)
        await admit(manager, "u", thing("u"))
        await manager.deliver(StopCounting("u"))
        assert ReleaseDevices("u") in manager.sent(ReleaseDevices)


def listing(amount: int) -> NodeObject:
    return NodeObject(extended={THING: amount})


async def test_pods_get_no_more_of_an_extended_resource_than_the_node_lists(host: Host) -> None:
    async with host.start() as manager:
        manager.answer(AllocateDevices, DevicesAllocated(NOTHING))
        unlisted = AdmitPod("u", thing("u"), node=NodeObject())
        assert isinstance(await manager.deliver(unlisted), PodAdmitted), "it may be a resource of the whole cluster"
        assert isinstance(await manager.deliver(AdmitPod("v", thing("v"), node=listing(2))), PodAdmitted)
        refused = await manager.deliver(AdmitPod("w", thing("w"), node=listing(2)))
        text = f"Node didn't have enough resource: {THING}, requested: 1, used: 2, capacity: 2"
        assert refused == PodRejected("w", f"OutOf{THING}", text)
        assert ReleaseDevices("w") in manager.sent(ReleaseDevices)


async def test_devices_of_a_plugin_do_not_wait_for_the_nodes_list(host: Host) -> None:
    async with host.start() as manager:
        manager.answer(AllocateDevices, DevicesAllocated(NOTHING, served=[THING]))
        assert isinstance(await manager.deliver(AdmitPod("u", thing("u"), node=listing(0))), PodAdmitted)
        manager.answer(AllocateDevices, DevicesAllocated(NOTHING))
        refused = await manager.deliver(AdmitPod("v", thing("v"), node=listing(0)))
        assert isinstance(refused, PodRejected)
        assert refused.reason == f"OutOf{THING}"


async def test_no_plugin_allocates_a_resource_that_a_claim_provides(host: Host) -> None:
    mapped = {"containerName": "b", "resourceName": THING, "requestName": "r"}
    status = {"extendedResourceClaimStatus": {"resourceClaimName": "c", "requestMappings": [mapped]}}
    claimed = msgspec.json.encode({**msgspec.json.decode(thing("u")), "status": status})
    async with host.start() as manager:
        asked = AdmitPod("u", claimed, node=listing(0), claims=True, extended_claims=True)
        assert isinstance(await manager.deliver(asked), PodAdmitted)
        assert manager.asks == []


async def test_a_pod_of_an_earlier_process_may_have_devices(host: Host) -> None:
    async with host.start() as manager:
        await manager.deliver(CountRunningPod("u", thing("u")))
        await manager.deliver(StopCounting("u"))
        assert manager.sent(ReleaseDevices) == [ReleaseDevices("u")]


async def test_records_of_pods_that_no_worker_has_are_removed(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[DeviceHintProvider] = []
    start = DeviceHintProvider.__init__

    def noted(self: DeviceHintProvider, actor: object, nodes: tuple[int, ...]) -> None:
        start(self, actor, nodes)  # type: ignore[arg-type]
        made.append(self)

    monkeypatch.setattr(DeviceHintProvider, "__init__", noted)
    async with host.start() as manager:
        await admit(manager, "u", pod())
        await admit(manager, "v", pod())
        await manager.deliver(ShardPods(WORKER, 1, ["u", "v"]))
        await manager.deliver(StopCounting("u"))
        assert sorted(made[0].uids()) == ["u", "v"]
        await manager.deliver(ShardPods(WORKER, 1, ["v"]))
        assert list(made[0].uids()) == ["v"]


async def test_abandoned_questions_do_not_delay_other_pods(host: Host) -> None:
    write_sysfs(host.root, machine(cores=4))
    async with host.start(topologyManagerPolicy="best-effort") as manager:
        manager.answer(GetDeviceHints, lambda question: None)
        asked = [manager.post(AdmitPod("u", thing("u"))) for _ in range(5)]
        gone = manager.post(AdmitPod("gone", thing("gone")))
        await manager.settle()
        await manager.deliver(StopCounting("gone"))
        other = manager.post(AdmitPod("v", pod()))
        await manager.advance(2 * HINT_SECONDS + 2)
        assert isinstance(await other, PodAdmitted)
        assert [type(await one) for one in (*asked, gone)] == [AdmissionFailed] * 6


@pytest.mark.parametrize("scope", ["container", "pod"])
async def test_a_silent_plugin_delays_no_pod_of_others_and_keeps_the_cpus_of_its_own_pods(
    host: Host, scope: str
) -> None:
    write_sysfs(host.root, machine(cores=4))
    static = {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "1"}, "topologyManagerScope": scope}
    async with host.start(topologyManagerPolicy="restricted", **static) as manager:
        manager.answer(GetDeviceHints, DeviceHints({THING: [TopologyHint(1, True)]}))
        manager.answer(ReserveDevices, DevicesReserved(served=True))
        manager.answer(AllocateDevices, lambda question: None)
        limits = {"limits": {"cpu": "2", "memory": "1Mi", THING: "1"}}
        hung = manager.post(AdmitPod("u", encode(pod_of({"name": "a", "image": "i", "resources": limits}, uid="u"))))
        await manager.settle()
        assert {one.machine for _, one in manager.asks if isinstance(one, GetDeviceHints)} == {(0,)}
        assert isinstance(manager.asks[-1][1], AllocateDevices)
        refused = await admit(manager, "v", encode(pod_of(asking("a", "2"), uid="v")))
        assert (refused.reason, refused.message) == (
            "TopologyAffinityError",
            "Resources cannot be allocated with Topology locality",
        )
        assert isinstance(await admit(manager, "w", encode(pod_of(asking("a", "1"), uid="w"))), PodAdmitted)
        await manager.advance(ALLOCATE_SECONDS + 1)
        assert isinstance(await hung, AdmissionFailed)
        assert ReleaseDevices("u") in manager.sent(ReleaseDevices)
        assert isinstance(await admit(manager, "v", encode(pod_of(asking("a", "2"), uid="v"))), PodAdmitted)


async def test_a_repeated_admission_is_not_counted_twice(host: Host) -> None:
    """The first worker died while the plugin took its time; its question enters the pod before that of the next."""
    most = f"{(os.cpu_count() or 1) * 600}m"
    limits = {"limits": {"cpu": most, THING: "1"}}
    data = encode(pod_of({"name": "a", "image": "i", "resources": limits}, uid="u"))
    async with host.start() as manager:
        both = [asyncio.ensure_future(manager.ask(AdmitPod("u", data))) for _ in range(2)]
        await manager.deliver(ShardPods(WORKER, 1, ["u"]))
        manager.answer(AllocateDevices, DevicesAllocated(NOTHING, served=[THING]))
        assert [type(answer) for answer in await asyncio.gather(*both)] == [PodAdmitted, PodAdmitted]
        refused = await admit(manager, "v", encode(pod_of(asking("a", most), uid="v")))
        assert isinstance(refused, PodRejected)


async def test_a_pod_whose_device_plugin_does_not_answer_has_an_event_each_time_that_it_asks(host: Host) -> None:
    async with host.start() as manager:
        asked = asyncio.ensure_future(manager.ask(AdmitPod("u", thing("u"))))
        await manager.advance(TELL_SECONDS - 1)
        assert manager.sent(RecordEvent) == []
        await manager.advance(2)
        (event,) = manager.sent(RecordEvent)
        assert (event.kind, event.name, event.type, event.reason) == ("Pod", "p-u", "Warning", "WaitingForDevices")
        assert event.message == f"Container b waits for devices ({THING}): no answer of a device plugin for 10 s"
        manager.answer(AllocateDevices, DevicesAllocated(NOTHING, served=[THING]))
        assert isinstance(await asked, PodAdmitted)
        await manager.advance(60)
        assert len(manager.sent(RecordEvent)) == 1
