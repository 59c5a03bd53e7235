"""Critical pods get the room of others."""

from actors.container_manager.admission.preemption import KEEP_SECONDS, WAIT_SECONDS
from actors.container_manager.messages import (
    AdmissionFailed,
    AdmitPod,
    NodeEvictions,
    PodAdmitted,
    PodRejected,
    ResizePod,
    StopCounting,
)
from actors.container_manager.resizes.pod_resizes import OPEN_SECONDS
from actors.eviction_manager.messages import EVICTION_MANAGER, PreemptPods
from tests.support.managed_host import CORES, admit, pod

CRITICAL = 2_000_000_000
WHOLE = f"{CORES * 1000}m"
PART = f"{CORES * 600}m"


async def test_a_critical_pod_waits_until_a_preempted_pod_has_ended(host):
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


async def test_a_repeated_request_while_victims_end_preempts_no_other_pod(host):
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


async def test_the_order_is_repeated_until_the_eviction_manager_has_taken_it(host):
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


async def test_a_critical_pod_that_another_check_refuses_preempts_no_pod(host):
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


async def test_a_pod_that_is_not_critical_preempts_no_pod(host):
    async with host.start(standalone=False) as manager:
        await manager.deliver(NodeEvictions([]))
        assert isinstance(await admit(manager, "old", pod(cpu=WHOLE)), PodAdmitted)
        refused = await admit(manager, "new", pod(cpu=PART, priority=CRITICAL - 1))
        assert refused.reason == "OutOfcpu"
        assert manager.sent(PreemptPods) == []


async def test_room_made_for_a_critical_pod_is_reserved_for_it(host):
    async with host.start(standalone=False) as manager:
        await manager.deliver(NodeEvictions([]))
        assert isinstance(await admit(manager, "old", pod(cpu=PART)), PodAdmitted)
        waiting = manager.post(AdmitPod("new", pod(cpu=PART, priority=CRITICAL)))
        await manager.wait_sent(PreemptPods, to=EVICTION_MANAGER)
        await manager.deliver(StopCounting("old"))
        refused = await admit(manager, "thief", pod(cpu=PART))  # before the critical pod has looked again
        assert (type(refused), refused.reason) == (PodRejected, "OutOfcpu")
        await manager.advance(0.2)
        assert isinstance(await waiting, PodAdmitted)


async def test_room_stays_reserved_for_a_limited_time_while_the_worker_asks_again(host):
    async with host.start(standalone=False) as manager:
        await manager.deliver(NodeEvictions([]))
        assert isinstance(await admit(manager, "old", pod(cpu=PART)), PodAdmitted)
        waiting = manager.post(AdmitPod("new", pod(cpu=PART, priority=CRITICAL)))
        await manager.advance(WAIT_SECONDS + 1.0)
        assert isinstance(await waiting, AdmissionFailed)
        await manager.deliver(StopCounting("old"))
        assert isinstance(await admit(manager, "thief", pod(cpu=PART)), PodRejected)
        await manager.advance(KEEP_SECONDS)
        assert isinstance(await admit(manager, "later", pod(cpu=PART)), PodAdmitted)


async def test_no_room_is_kept_for_a_critical_pod_that_was_withdrawn(host):
    async with host.start(standalone=False) as manager:
        await manager.deliver(NodeEvictions([]))
        assert isinstance(await admit(manager, "old", pod(cpu=PART)), PodAdmitted)
        manager.post(AdmitPod("new", pod(cpu=PART, priority=CRITICAL)))
        await manager.wait_sent(PreemptPods, to=EVICTION_MANAGER)
        for uid in ("new", "old"):
            await manager.deliver(StopCounting(uid))
        await manager.advance(WAIT_SECONDS)
        assert isinstance(await admit(manager, "other", pod(cpu=PART)), PodAdmitted)


async def test_a_pod_that_fits_beside_the_critical_pod_waits_and_is_not_refused(host):
    async with host.start(standalone=False) as manager:
        await manager.deliver(NodeEvictions([]))
        assert isinstance(await admit(manager, "old", pod(cpu=WHOLE)), PodAdmitted)
        waiting = manager.post(AdmitPod("new", pod(cpu=PART, priority=CRITICAL)))
        await manager.wait_sent(PreemptPods, to=EVICTION_MANAGER)
        assert isinstance(await admit(manager, "small", pod(cpu="100m")), AdmissionFailed)
        await manager.deliver(StopCounting("old"))
        assert isinstance(await admit(manager, "small", pod(cpu="100m")), PodAdmitted)
        await manager.advance(0.2)
        assert isinstance(await waiting, PodAdmitted)


async def test_two_critical_pods_do_not_wait_for_the_same_room(host):
    async with host.start(standalone=False) as manager:
        await manager.deliver(NodeEvictions([]))
        for uid in ("a", "b"):
            assert isinstance(await admit(manager, uid, pod(cpu=f"{CORES * 500}m")), PodAdmitted)
        both = [
            manager.post(AdmitPod(uid, pod(cpu=f"{CORES * 500}m", priority=CRITICAL))) for uid in ("first", "second")
        ]
        await manager.settle()
        assert sorted(uid for order in manager.sent(PreemptPods) for uid in order.uids) == ["a", "b"]
        for uid in ("a", "b"):
            await manager.deliver(StopCounting(uid))
        await manager.advance(0.2)
        assert all([isinstance(await one, PodAdmitted) for one in both])


async def test_a_resize_takes_no_room_reserved_for_a_critical_pod(host):
    async with host.start(standalone=False) as manager:
        await manager.deliver(NodeEvictions([]))
        assert isinstance(await admit(manager, "old", pod(cpu=PART)), PodAdmitted)
        await manager.advance(OPEN_SECONDS)
        small, large = (pod(cpu=f"{CORES * milli}m", priority=CRITICAL) for milli in (100, 500))
        assert isinstance(await admit(manager, "grows", small), PodAdmitted)
        waiting = manager.post(AdmitPod("new", pod(cpu=PART, priority=CRITICAL)))
        await manager.wait_sent(PreemptPods, to=EVICTION_MANAGER)
        await manager.deliver(StopCounting("old"))
        assert (await manager.deliver(ResizePod("grows", large, small))).reason == "Deferred"
        await manager.advance(0.2)
        assert isinstance(await waiting, PodAdmitted)
