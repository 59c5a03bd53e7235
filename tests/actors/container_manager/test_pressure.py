"""Whom a node that runs short keeps away, on a made-up host."""

from actors.container_manager.admission.eviction_admission import HOLD_SECONDS
from actors.container_manager.messages import AdmissionFailed, AdmitPod, NodeEvictions, PodAdmitted, PodRejected
from tests.support.managed_host import admit, pod


async def test_a_node_that_is_short_of_memory_refuses_pods_without_requests(host):
    async with host.start(standalone=False) as manager:
        await manager.deliver(NodeEvictions(["MemoryPressure"]))
        refused = await admit(manager, "u1", pod())
        assert refused == PodRejected("u1", "Evicted", "The node had condition: [MemoryPressure]. ")
        assert isinstance(await admit(manager, "u2", pod(memory="1Mi")), PodAdmitted)
        assert isinstance(await admit(manager, "u3", pod(), running=True), PodAdmitted)
        assert isinstance(await admit(manager, "u4", pod(priority=2000000000)), PodAdmitted)
        await manager.deliver(NodeEvictions([]))
        assert isinstance(await admit(manager, "u1", pod()), PodAdmitted)


async def test_a_pod_that_is_evicted_is_not_started_again_by_its_next_worker(host):
    async with host.start(standalone=False) as manager:
        await manager.deliver(NodeEvictions(["DiskPressure"], ending=["victim"]))
        assert isinstance(await admit(manager, "victim", pod()), AdmissionFailed)
        assert isinstance(await admit(manager, "victim", pod(), running=True), AdmissionFailed)
        assert isinstance(await manager.deliver(AdmitPod("victim", pod(), over=True)), AdmissionFailed)


async def test_new_pods_wait_briefly_for_the_eviction_managers_report(host):
    async with host.start(standalone=False) as manager:
        waiting = manager.post(AdmitPod("u", pod()))
        await manager.advance(HOLD_SECONDS / 2)
        assert not waiting.done()
        await manager.advance(HOLD_SECONDS / 2 + 0.01)
        assert isinstance(await waiting, PodAdmitted)


async def test_no_pod_waits_for_conditions_on_a_standalone_node(host):
    async with host.start() as manager:
        assert isinstance(await admit(manager, "u1", pod()), PodAdmitted)
