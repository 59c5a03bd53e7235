"""The PLEG while the pod network is not ready: what it says, and what it does about a managed one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from actors.api_clients.heartbeat_client.messages import RuntimeReport
from actors.container_runtime.messages import RESTORE_FILES
from actors.pleg import actor as module
from actors.pleg.actor import RELIST_SECONDS, STATUS_SECONDS, Pleg
from actors.pleg.messages import PodNetwork
from actors.pleg.network_repairs import NOTICE_SECONDS, NetworkRepairs
from actors.pleg.runtime_health import NETWORK
from actors.pleg.runtime_restarts import PAUSES
from actors.pod_workers.messages import RuntimeHealth
from actors.shared.config.agent import Agent
from supervision.actor import DisposableError
from supervision.process_messages import ServiceState
from supervision.testing.harness import Harness
from tests.support.fake_cri import FakeRuntime, Fault

Node = Harness[Pleg]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeRuntime:
    runtime = FakeRuntime("2.1")
    monkeypatch.setattr(module, "CriClient", lambda *_, **__: runtime.client())
    return runtime


def tell(story: Callable[[Node], Awaitable[None]], **more: Any) -> None:
    agent = Agent(workers=2, runtime_endpoint="unix:///run/x/containerd.sock", **more)

    async def run() -> None:
        async with Harness(Pleg, name="pleg", context=agent) as harness:
            await harness.advance(0)
            await story(harness)

    asyncio.run(run())


def told(harness: Node) -> list[str]:
    return [one.text for one in harness.sent(ServiceState) if one.service == NETWORK]


@pytest.mark.parametrize("managed", [True, False])
def test_a_network_that_is_not_ready_is_reported_and_restored_if_managed(fake, managed):
    async def story(harness: Node) -> None:
        harness.disposables[RESTORE_FILES] = lambda **_: True
        await harness.advance(2 * STATUS_SECONDS)
        assert told(harness) == [""], "what an earlier incarnation told no longer holds"
        fake.network_ready = False
        await harness.advance(2 * STATUS_SECONDS)
        _, text = told(harness)
        assert text == "not ready: NetworkReady=false reason:NetworkPluginNotReady message:cni plugin not initialized"
        made = [function for function, _ in harness.disposed if function == RESTORE_FILES]
        assert bool(made) is managed
        fake.network_ready = True
        await harness.advance(STATUS_SECONDS)
        assert told(harness)[2:] == [""]

    tell(story, managed_runtime=managed)


def test_a_worker_that_missed_the_ready_network_gets_it_with_the_next_relist(fake):
    async def story(harness: Node) -> None:
        count = len(harness.outbox)
        await harness.advance(STATUS_SECONDS)
        again = [(name, one) for name, one in harness.outbox[count:] if isinstance(one, RuntimeHealth)]
        assert [name for name, _ in again] == ["pod_workers/worker/0", "pod_workers/worker/1"]
        assert all(one.ready and one.network_ready for _, one in again)

    tell(story)


@pytest.mark.parametrize("managed", [True, False])
def test_a_silent_managed_runtime_gets_its_missing_start_files_again(fake, managed):
    async def story(harness: Node) -> None:
        harness.disposables[RESTORE_FILES] = lambda **_: False
        fake.faults.add("Status", Fault(error="UNAVAILABLE"))
        await harness.advance(2 * STATUS_SECONDS)
        assert any(function == RESTORE_FILES for function, _ in harness.disposed) is managed

    tell(story, managed_runtime=managed)


def test_only_the_network_of_this_agent_is_restored(fake):
    async def story(harness: Node) -> None:
        harness.disposables[RESTORE_FILES] = lambda **_: False
        fake.network_ready = False
        await harness.advance(STATUS_SECONDS)
        agent = harness.actor.agent
        (_, arguments), *_ = [one for one in harness.disposed if one[0] == RESTORE_FILES]
        assert arguments == {
            "root_dir": agent.root_dir, "runtime_dir": agent.managed_runtime_dir, "state_dir": agent.managed_state_dir,
            "cluster": False, "pod_cidr": "",
        }  # fmt: skip

    tell(story, managed_runtime=True)


def test_the_runtime_gets_the_pods_network_again_when_it_has_lost_it(fake):
    async def story(harness: Node) -> None:
        await harness.deliver(PodNetwork("10.1.2.0/24"))
        fake.pod_cidr = ""
        await harness.deliver(PodNetwork("10.1.2.0/24"))
        assert fake.pod_cidr == "", "it has it"
        fake.network_ready = False
        await harness.advance(STATUS_SECONDS)
        await harness.deliver(PodNetwork("10.1.2.0/24"))
        assert fake.pod_cidr == "10.1.2.0/24"

    tell(story, standalone=False)


class Repairs:
    """Of a managed runtime, with a clock and restarts of the test's."""

    def __init__(self, harness: Node, restored: Callable[[], bool]) -> None:
        self.now, self.restarts = 1000.0, 0
        harness.disposables[RESTORE_FILES] = lambda **_: restored()
        self._repairs = NetworkRepairs(harness.actor, harness.actor.agent, self._restart, lambda: self.now)

    async def _restart(self) -> None:
        self.restarts += 1

    async def look(self, after: float = 0.0, *, ready: bool = False) -> None:
        self.now += after
        await self._repairs.look(ready=ready)


def test_a_runtime_that_ignores_restored_files_is_restarted_once_and_later_again(fake):
    async def story(harness: Node) -> None:
        gone = [True]
        repairs = Repairs(harness, lambda: bool(gone and gone.pop()))
        await repairs.look()
        await repairs.look(NOTICE_SECONDS - 1)
        assert repairs.restarts == 0
        await repairs.look(1)
        await repairs.look(5)
        assert repairs.restarts == 1
        await repairs.look(PAUSES.limit)
        assert repairs.restarts == 2

    tell(story, managed_runtime=True)


def test_a_network_that_was_not_gone_is_no_reason_to_restart_anything(fake):
    async def story(harness: Node) -> None:
        repairs = Repairs(harness, lambda: False)
        for _ in range(20):
            await repairs.look(60)
        assert repairs.restarts == 0

    tell(story, managed_runtime=True)


def test_a_network_that_is_ready_again_needs_no_restart(fake):
    async def story(harness: Node) -> None:
        repairs = Repairs(harness, lambda: True)
        await repairs.look()
        await repairs.look(1, ready=True)
        gone = Repairs(harness, lambda: False)
        await gone.look(NOTICE_SECONDS)
        assert repairs.restarts == gone.restarts == 0

    tell(story, managed_runtime=True)


def test_a_failed_restoration_is_logged_once(fake, caplog):
    async def story(harness: Node) -> None:
        repairs = Repairs(harness, lambda: False)
        harness.disposables[RESTORE_FILES] = DisposableError("MissingPrograms", "runc is missing")
        for _ in range(3):
            await repairs.look(5)

    tell(story, managed_runtime=True)
    assert caplog.text.count("cannot look for containerd's missing configuration") == 1


def test_a_network_that_becomes_ready_is_reported_with_the_next_relist(fake):
    async def story(harness: Node) -> None:
        fake.network_ready = False
        await harness.advance(STATUS_SECONDS)
        assert harness.sent(RuntimeReport)[-1].network_error
        fake.network_ready = True
        await harness.advance(RELIST_SECONDS)
        assert not harness.sent(RuntimeReport)[-1].network_error

    tell(story, standalone=False)
