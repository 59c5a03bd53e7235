"""The PLEG on a fake runtime: the first look, changes, a slow pod, a runtime that is away."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from types import SimpleNamespace

import pytest

from actors.api_clients.heartbeat_client.messages import HEARTBEAT_CLIENT, RuntimeReport
from actors.container_runtime.messages import CONTAINER_RUNTIME
from actors.pleg import actor as module
from actors.pleg import runtime_repairs, status_calls
from actors.pleg.actor import RELIST_SECONDS, STATUS_SECONDS, Pleg
from actors.pleg.hanging_starts import HANGS_SECONDS
from actors.pleg.messages import ContainersUnlisted, GetRuntimePods, PodNetwork, StartHangs
from actors.pleg.runtime_repairs import ROOM_BYTES, SWEEP_SHIMS
from actors.pleg.runtime_restarts import PAUSES
from actors.pod_workers.messages import PodRuntimeChanged, PodRuntimeUnreadable, RuntimeHealth, RuntimePods, worker_of
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.cri.model import CriContainerState
from supervision.addresses import ActorName
from supervision.process_messages import Hello
from supervision.protocol import FORK_SERVER, Done, RollingRestart
from supervision.testing.harness import Harness
from tests.support.cri_configs import container_config, sandbox_config
from tests.support.fake_cri import FakeRuntime, Fault

Story = Callable[[Harness, FakeRuntime], Awaitable[None]]
WORKERS = ["pod_workers/worker/0", "pod_workers/worker/1"]


WITH_EVENTS = pytest.mark.parametrize("fake", ["2.1"], indirect=True)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> FakeRuntime:
    runtime = FakeRuntime(getattr(request, "param", "1.6"))
    monkeypatch.setattr(module, "CriClient", lambda *_, **__: runtime.client())
    return runtime


def tell(story: Story, fake: FakeRuntime, *, joined: bool = False) -> None:
    async def run() -> None:
        async with Harness(Pleg, name="pleg", context=Agent(workers=2, standalone=not joined)) as harness:
            await harness.advance(0)  # the first look
            await story(harness, fake)

    asyncio.run(run())


async def pod(fake: FakeRuntime) -> tuple[str, str, str]:
    """(uid, sandbox id, container id) of a new pod that runs."""
    client, sandbox = fake.client(), sandbox_config()
    box = await client.run_pod_sandbox(sandbox)
    container = await client.create_container(box, container_config(sandbox, ("sleep", "1000")), sandbox)
    await client.start_container(container)
    return sandbox.metadata.uid, box, container


def changed(harness: Harness) -> list[tuple[str, PodRuntimeChanged]]:
    return [(name, message) for name, message in harness.outbox if isinstance(message, PodRuntimeChanged)]


def test_each_worker_gets_its_own_pods_after_the_first_relist(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.wait_sent(RuntimePods)
        told = [(name, message) for name, message in harness.outbox if isinstance(message, RuntimePods)]
        assert sorted(name for name, _ in told) == WORKERS
        uids = {one.uid for _, message in told for one in message.pods}
        assert len(uids) == 3
        assert all(worker_of(one.uid, 2) == name for name, message in told for one in message.pods)

    async def first() -> None:
        for _ in range(3):
            await pod(fake)

    asyncio.run(first())
    tell(story, fake)


def test_the_worker_gets_each_new_and_ended_pod_with_its_full_runtime_state(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.wait_sent(RuntimePods)
        uid, _, container = await pod(fake)
        await harness.advance(RELIST_SECONDS)
        (name, message) = changed(harness)[-1]
        assert (name, message.uid) == (worker_of(uid, 2), uid)
        assert [one.state for one in message.runtime.containers] == [CriContainerState.RUNNING]
        await fake.client().stop_container(container, 0)
        await harness.advance(RELIST_SECONDS)
        assert [one.state for one in changed(harness)[-1][1].runtime.containers] == [CriContainerState.EXITED]

    tell(story, fake)


def test_nothing_is_sent_while_nothing_changes(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.wait_sent(RuntimePods)
        await pod(fake)
        await harness.advance(RELIST_SECONDS)
        count, statuses = len(changed(harness)), len(fake.requests_for("ContainerStatus"))
        await harness.advance(10 * RELIST_SECONDS)
        assert (len(changed(harness)), len(fake.requests_for("ContainerStatus"))) == (count, statuses)

    tell(story, fake)


def test_pods_that_a_relist_shows_are_not_listed_one_by_one(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.wait_sent(RuntimePods)
        for _ in range(3):
            await pod(fake)
        before = len(fake.requests_for("ListPodSandbox"))
        await harness.advance(RELIST_SECONDS)
        told = {message.uid: message.runtime for _, message in changed(harness)}
        assert [(len(one.sandboxes), len(one.containers)) for one in told.values()] == [(1, 1)] * 3
        assert len(fake.requests_for("ListPodSandbox")) == before + 1
        assert not any(request.filter.label_selector for request in fake.requests_for("ListContainers"))

    tell(story, fake)


def test_an_unavailable_runtime_is_reported_and_no_pod_counts_as_gone(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.wait_sent(RuntimePods)
        await pod(fake)
        await harness.advance(STATUS_SECONDS)
        count = len(changed(harness))
        fake.faults.add("*", Fault(error="UNAVAILABLE"))
        await harness.advance(2 * STATUS_SECONDS)
        assert len(changed(harness)) == count
        assert not harness.sent(RuntimeHealth)[-1].ready
        fake.faults.clear()
        await harness.advance(2 * STATUS_SECONDS)
        assert harness.sent(RuntimeHealth)[-1].ready
        assert len((await harness.deliver(GetRuntimePods())).pods) == 1

    tell(story, fake)


def test_a_runtime_that_is_back_is_reported_with_the_next_relist(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.wait_sent(RuntimePods)
        fake.faults.add("*", Fault(error="UNAVAILABLE"))
        await harness.advance(STATUS_SECONDS)
        assert not harness.sent(RuntimeHealth)[-1].ready
        fake.faults.clear()
        await harness.advance(RELIST_SECONDS)
        assert harness.sent(RuntimeHealth)[-1].ready

    tell(story, fake)


def test_a_runtime_that_is_missing_at_the_start_is_logged_once(fake, caplog):
    fake.faults.add("*", Fault(error="UNAVAILABLE"))

    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.advance(3 * STATUS_SECONDS)

    tell(story, fake)
    assert sum("container runtime: " in record.getMessage() for record in caplog.records) == 1


def test_a_hanging_pod_status_delays_no_other_pod(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.wait_sent(RuntimePods)
        fake.faults.add("PodSandboxStatus", Fault(hang=True, times=1))
        await pod(fake)
        await harness.advance(RELIST_SECONDS)
        other, _, _ = await pod(fake)
        await harness.advance(RELIST_SECONDS)
        assert [message.uid for _, message in changed(harness)] == [other]

    tell(story, fake)


def test_at_the_first_relist_a_pod_with_a_hanging_status_is_named_and_follows_later(fake, monkeypatch):
    monkeypatch.setattr(module, "FIRST_POLL_SECONDS", 0.3)
    monkeypatch.setattr(status_calls, "DEADLINE_SECONDS", 0.6)

    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.wait_sent(RuntimePods, count=2)
        told = harness.sent(RuntimePods)
        assert sum(len(one.pods) for one in told) == 1
        (late,) = [uid for one in told for uid in one.unread]
        await harness.wait(lambda: len(fake.requests_for("PodSandboxStatus")) == 2)
        await asyncio.sleep(0.6)  # its deadline
        await harness.advance(RELIST_SECONDS)
        await harness.wait_sent(PodRuntimeChanged)
        assert [message.uid for _, message in changed(harness)] == [late]

    async def first() -> None:
        for _ in range(2):
            await pod(fake)
        fake.faults.add("PodSandboxStatus", Fault(hang=True, times=1))

    asyncio.run(first())
    tell(story, fake)


def test_a_pod_whose_status_call_failed_and_that_is_gone_by_the_next_relist_is_reported_gone_once(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.wait_sent(RuntimePods)
        uid, box, container = await pod(fake)
        await harness.advance(RELIST_SECONDS)
        fake.faults.add("ContainerStatus", Fault(error="UNKNOWN", times=1))
        fake.finish(container, 1)
        await harness.advance(RELIST_SECONDS)  # it is to be seen as new by the next look
        harness.clear()
        await fake.client().stop_pod_sandbox(box)
        await fake.client().remove_pod_sandbox(box)
        await harness.advance(3 * RELIST_SECONDS)
        ((name, message),) = changed(harness)
        assert (name, message.uid) == (worker_of(uid, 2), uid)
        assert (message.runtime.sandboxes, message.runtime.containers) == ([], [])
        assert message.runtime.at > 0
        assert (await harness.deliver(GetRuntimePods())).pods == []
        await harness.deliver(Hello(ActorName(name), 2), name)
        (told,) = harness.sent(RuntimePods)
        assert (told.pods, told.unread) == ([], [])

    tell(story, fake)


def test_a_worker_learns_with_each_relist_that_the_runtime_does_not_tell_the_state_of_its_pod(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.wait_sent(RuntimePods)
        uid, _, container = await pod(fake)
        other, _, _ = await pod(fake)
        await harness.advance(RELIST_SECONDS)
        harness.clear()
        fake.faults.add("ContainerStatus", Fault(error="UNKNOWN", details="no such snapshot", times=2))
        fake.finish(container, 1)
        await harness.advance(3 * RELIST_SECONDS)
        told = [
            (name, one) for name, one in harness.outbox if isinstance(one, PodRuntimeUnreadable | PodRuntimeChanged)
        ]
        assert {name for name, _ in told} == {worker_of(uid, 2)}
        assert [type(one) for _, one in told] == [PodRuntimeUnreadable, PodRuntimeUnreadable, PodRuntimeChanged]
        assert told[0][1] == PodRuntimeUnreadable(uid, "rpc error: code = Unknown desc = no such snapshot")
        assert other not in {one.uid for _, one in told}

    tell(story, fake)


def test_a_pod_whose_status_was_never_known_is_reported_gone(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.wait_sent(RuntimePods)
        fake.faults.add("PodSandboxStatus", Fault(error="UNKNOWN", times=1))
        uid, box, _ = await pod(fake)
        await harness.advance(RELIST_SECONDS)
        assert changed(harness) == []
        await fake.client().stop_pod_sandbox(box)
        await fake.client().remove_pod_sandbox(box)
        await harness.advance(3 * RELIST_SECONDS)
        ((_, message),) = changed(harness)
        assert (message.uid, message.runtime.sandboxes) == (uid, [])

    tell(story, fake)


@WITH_EVENTS
def test_a_worker_that_starts_does_not_hear_of_a_pod_that_an_event_found_gone(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.wait_sent(RuntimePods)
        fake.faults.add("PodSandboxStatus", Fault(error="UNKNOWN"))
        uid, box, _ = await pod(fake)
        await harness.advance(RELIST_SECONDS)
        assert changed(harness) == []
        fake.faults.clear()
        await fake.client().stop_pod_sandbox(box)
        await fake.client().remove_pod_sandbox(box)
        await harness.advance(RELIST_SECONDS)
        assert {message.uid for _, message in changed(harness)} == {uid}
        assert changed(harness)[-1][1].runtime.sandboxes == []
        harness.clear()
        await harness.deliver(Hello(worker_of(uid, 2), 2))
        (told,) = harness.sent(RuntimePods)
        assert (told.pods, told.unread) == ([], [])

    tell(story, fake)


def test_a_worker_that_starts_gets_all_its_pods(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.wait_sent(RuntimePods)
        uid, _, _ = await pod(fake)
        await harness.advance(RELIST_SECONDS)
        harness.outbox.clear()
        name = worker_of(uid, 2)
        await harness.deliver(Hello(ActorName(name), 2), name)
        (told,) = harness.sent(RuntimePods)
        assert [one.uid for one in told.pods] == [uid]
        assert harness.sent(RuntimeHealth)

    tell(story, fake)


@WITH_EVENTS
def test_an_event_of_the_runtime_brings_the_look_at_its_pod_forward(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.wait_sent(RuntimePods)
        uid, box, container = await pod(fake)
        await harness.wait(lambda: any(message.runtime.containers for _, message in changed(harness)))
        assert {message.uid for _, message in changed(harness)} == {uid}
        fake.world.announce(container, box, 17)  # type: ignore[arg-type]  # of a later version of CRI
        fake.finish(container, 3)
        await harness.wait(lambda: changed(harness)[-1][1].runtime.containers[0].exit_code == 3)

    tell(story, fake)


def reports(harness: Harness) -> list[RuntimeReport]:
    return harness.sent(RuntimeReport, HEARTBEAT_CLIENT)


def test_the_heartbeat_client_gets_a_report_with_each_health_check_and_on_hello(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.wait_sent(RuntimePods)
        last = reports(harness)[-1]
        assert last.ready_at > 0
        assert last.relisted_at > 0
        assert (last.runtime_error, last.network_error) == ("", "")
        version = await fake.client().version()
        assert last.version == f"{version.name}://{version.version}"
        count = len(reports(harness))
        await harness.advance(3 * STATUS_SECONDS)
        assert len(reports(harness)) == count + 3
        await harness.deliver(Hello(HEARTBEAT_CLIENT, 2))
        assert len(reports(harness)) == count + 4

    tell(story, fake, joined=True)


def test_the_runtime_gets_the_pods_network_once_after_it_has_accepted_it(fake, caplog):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        fake.faults.add("UpdateRuntimeConfig", Fault(error="UNAVAILABLE", times=1))
        await harness.deliver(PodNetwork("10.244.1.0/24"))
        assert fake.pod_cidr == ""
        for _ in range(3):
            await harness.deliver(PodNetwork("10.244.1.0/24"))
        assert fake.pod_cidr == "10.244.1.0/24"
        await harness.deliver(PodNetwork("10.244.1.0/24,fd00:1::/64"))
        assert fake.pod_cidr == "10.244.1.0/24,fd00:1::/64"
        assert caplog.text.count("the runtime is told the pods' network") == 2

    with caplog.at_level("INFO"):
        tell(story, fake, joined=True)


def test_standing_alone_the_pods_network_is_that_of_the_configuration(fake):
    async def run() -> None:
        agent = Agent(workers=1, standalone=True, config=KubeletConfiguration(podCIDR="10.9.0.0/24"))
        async with Harness(Pleg, name="pleg", context=agent) as harness:
            await harness.advance(0)
            await harness.wait(lambda: fake.pod_cidr == "10.9.0.0/24", "the runtime is told")

    asyncio.run(run())


def test_a_network_that_is_not_ready_is_reported_apart_from_the_runtime(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        fake.network_ready = False
        await harness.advance(STATUS_SECONDS)
        last = reports(harness)[-1]
        text = "NetworkReady=false reason:NetworkPluginNotReady message:cni plugin not initialized"
        assert (last.runtime_error, last.network_error) == ("", text)
        fake.network_ready, fake.runtime_ready = True, False
        await harness.advance(STATUS_SECONDS)
        told = reports(harness)[-1]
        assert told.runtime_error.startswith("RuntimeReady=false")
        assert (told.network_error, told.ready_at) == ("", last.ready_at)

    tell(story, fake, joined=True)


def test_a_runtime_that_does_not_answer_leaves_the_times_of_its_last_answers(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.wait_sent(RuntimePods)
        before = reports(harness)[-1]
        fake.faults.add("*", Fault(error="UNAVAILABLE"))
        await harness.advance(2 * STATUS_SECONDS)
        after = reports(harness)[-1]
        assert after.ready_at == before.ready_at
        assert after.relisted_at >= before.relisted_at
        assert after.version == ""

    tell(story, fake, joined=True)


def test_a_standalone_agent_sends_no_report_of_the_runtime(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.advance(2 * STATUS_SECONDS)
        assert reports(harness) == []

    tell(story, fake)


@pytest.mark.parametrize("managed", [True, False])
def test_a_start_that_hangs_for_long_is_a_reason_to_restart_a_managed_runtime_once(fake, managed, monkeypatch):
    seconds = [1000.0]

    async def story() -> None:
        context = Agent(workers=2, managed_runtime=managed, runtime_endpoint="unix:///run/x/containerd.sock")
        async with Harness(Pleg, name="pleg", context=context) as harness:
            monkeypatch.setattr(runtime_repairs, "time", SimpleNamespace(monotonic=lambda: seconds[0], time=time.time))
            harness.answer(RollingRestart, lambda _: Done())
            harness.disposables[SWEEP_SHIMS] = lambda **_: [[], []]
            _, _, container = await pod(fake)
            await harness.advance(RELIST_SECONDS)

            def restarts() -> list[object]:
                return [ask for ask in harness.asks if isinstance(ask[1], RollingRestart)]

            await harness.deliver(StartHangs(container))
            seconds[0] += HANGS_SECONDS / 2
            await harness.deliver(StartHangs(container))
            assert restarts() == []
            seconds[0] += HANGS_SECONDS / 2
            for _ in range(2):
                await harness.deliver(StartHangs(container))
                await harness.advance(RELIST_SECONDS)
            order = (FORK_SERVER, RollingRestart((CONTAINER_RUNTIME,)))
            assert restarts() == ([order] if managed else [])

    asyncio.run(story())


@pytest.mark.parametrize(("managed", "free", "restarts"), [(True, 2**30, 1), (True, 2**20, 0), (False, 2**30, 0)])
def test_containers_that_a_managed_runtime_does_not_list_are_a_reason_to_restart_it_if_there_is_room(
    fake, monkeypatch, managed, free, restarts
):
    async def story() -> None:
        context = Agent(workers=2, managed_runtime=managed, runtime_endpoint="unix:///run/x/containerd.sock")
        async with Harness(Pleg, name="pleg", context=context) as harness:
            monkeypatch.setattr(runtime_repairs, "free_bytes", lambda _: free)
            harness.answer(RollingRestart, lambda _: Done())
            for _ in range(3):
                await harness.deliver(ContainersUnlisted("u", ["0a1b"]))
                await harness.advance(RELIST_SECONDS)
            asked = [ask for ask in harness.asks if isinstance(ask[1], RollingRestart)]
            assert asked == restarts * [(FORK_SERVER, RollingRestart((CONTAINER_RUNTIME,)))]

    asyncio.run(story())


def test_a_container_that_a_full_disk_hid_is_loaded_once_there_is_space_even_without_its_pod(fake, monkeypatch):
    free, seconds = [0], [1000.0]

    async def story() -> None:
        context = Agent(workers=2, managed_runtime=True, runtime_endpoint="unix:///run/x/containerd.sock")
        async with Harness(Pleg, name="pleg", context=context) as harness:
            monkeypatch.setattr(runtime_repairs, "free_bytes", lambda _: free[0])
            monkeypatch.setattr(runtime_repairs, "time", SimpleNamespace(monotonic=lambda: seconds[0], time=time.time))
            harness.disposables[SWEEP_SHIMS] = lambda **_: [[], []]
            harness.answer(RollingRestart, lambda _: Done())
            await harness.deliver(ContainersUnlisted("u", ["0a1b"]))
            seconds[0] += PAUSES.limit
            await harness.advance(2 * STATUS_SECONDS)
            assert [ask for ask in harness.asks if isinstance(ask[1], RollingRestart)] == []
            free[0] = ROOM_BYTES
            await harness.advance(4 * STATUS_SECONDS)
            asked = [ask for ask in harness.asks if isinstance(ask[1], RollingRestart)]
            assert asked == [(FORK_SERVER, RollingRestart((CONTAINER_RUNTIME,)))], "once"

    asyncio.run(story())


def test_a_relist_counts_the_running_pods_and_containers_and_how_long_ago_the_last_one_was(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await pod(fake)
        await harness.advance(2 * RELIST_SECONDS)
        samples = harness.actor.metrics.snapshot("pleg", 1).samples
        found = {(one.name, *one.labels.values()): one for one in samples}
        assert found["kubelet_running_pods",].value == 1
        assert found["kubelet_running_containers", "running"].value == 1
        assert found["kubelet_running_containers", "exited"].value == 0
        assert sum(found["kubelet_pleg_relist_interval_seconds",].counts) >= 2

    tell(story, fake)
