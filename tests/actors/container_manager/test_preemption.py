"""Critical pods get the room of others."""

from actors.container_manager.messages import (
    AdmissionFailed,
    AdmitPod,
    NodeEvictions,
    PodAdmitted,
    PodRejected,
    StopCounting,
)
from actors.container_manager.preemption import WAIT_SECONDS
from actors.eviction_manager.messages import EVICTION_MANAGER, PreemptPods
from tests.support.managed_host import CORES, admit, pod

CRITICAL = 2_000_000_000
WHOLE = f"{CORES * 1000}m"
PART = f"{CORES * 600}m"


async def test_a_critical_pod_waits_until_another_one_has_ended_for_it(host):
    async with host.start(standalone=False) as manager:
        await manager.deliver(NodeEvictions([]))
        assert isinstance(await admit(manager, "old", pod(cpu=PART)), PodAdmitted)
        waiting = manager.post(AdmitPod("new", pod(cpu=PART, priority=CRITICAL)))
        assert await manager.wait_sent(PreemptPods, to=EVICTION_MANAGER) == PreemptPods(["old"], "cpu")
        await manager.deliver(NodeEvictions([], ending=["old"]))
        await manager.advance(3.0)
        assert not waiting.done()
        assert len(manager.sent(PreemptPods)) == 1  # it ends already
        await manager.deliver(StopCounting("old"))
        await manager.advance(0.2)
        assert isinstance(await waiting, PodAdmitted)


async def test_its_worker_asks_again_while_the_victims_end_and_nobody_else_ends_for_it(host):
    async with host.start(standalone=False) as manager:
        await manager.deliver(NodeEvictions([]))
        for uid in ("a", "b"):
            assert isinstance(await admit(manager, uid, pod(cpu=f"{CORES * 500}m")), PodAdmitted)
        for _ in range(2):
            waiting = manager.post(AdmitPod("new", pod(cpu=f"{CORES * 400}m", priority=CRITICAL)))
            await manager.settle()
            (first, *others) = manager.sent(PreemptPods)
            await manager.deliver(NodeEvictions([], ending=first.uids))
            await manager.advance(WAIT_SECONDS + 1.0)
            assert isinstance(await waiting, AdmissionFailed)
            assert others == []


async def test_the_order_is_told_again_until_the_eviction_manager_has_taken_it(host):
    async with host.start(standalone=False) as manager:
        await manager.deliver(NodeEvictions([]))
        assert isinstance(await admit(manager, "old", pod(cpu=PART)), PodAdmitted)
        waiting = manager.post(AdmitPod("new", pod(cpu=PART, priority=CRITICAL)))
        await manager.advance(2.5)
        assert len(manager.sent(PreemptPods)) == 3
        await manager.deliver(StopCounting("new"))
        await manager.deliver(StopCounting("old"))
        await manager.advance(0.2)
        assert isinstance(await waiting, AdmissionFailed)  # nobody waits for it any more


async def test_nobody_ends_for_a_critical_pod_that_may_not_run_anyway(host):
    async with host.start(standalone=False) as manager:
        await manager.deliver(NodeEvictions([]))
        assert isinstance(await admit(manager, "old", pod(cpu=PART, ports=[80])), PodAdmitted)
        both = pod(cpu=PART, ports=[80], priority=CRITICAL)
        refused = await admit(manager, "new", both)
        assert isinstance(refused, PodRejected)
        assert refused.reason == "NodePorts"
        too_big = await admit(manager, "huge", pod(cpu=f"{CORES * 2000}m", priority=CRITICAL))
        assert too_big.reason == "UnexpectedAdmissionError"
        assert manager.sent(PreemptPods) == []


async def test_a_pod_that_is_not_critical_gets_nobodys_room(host):
    async with host.start(standalone=False) as manager:
        await manager.deliver(NodeEvictions([]))
        assert isinstance(await admit(manager, "old", pod(cpu=WHOLE)), PodAdmitted)
        refused = await admit(manager, "new", pod(cpu=PART, priority=CRITICAL - 1))
        assert refused.reason == "OutOfcpu"
        assert manager.sent(PreemptPods) == []
