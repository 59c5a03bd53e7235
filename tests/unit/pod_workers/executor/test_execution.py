"""Where an HTTP hook without a host is called."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from actors.pod_workers.executor import execution
from actors.pod_workers.executor.execution import Execution
from actors.pod_workers.executor.hooks import HookFailed
from actors.pod_workers.pod.state import PodState
from actors.shared.clock_jumps import WallClock
from tests.support.pod_states import box, pod, ran, running

NO_IP = msgspec.structs.replace(box(), ips=[])


@pytest.fixture(autouse=True)
def _node(monkeypatch: pytest.MonkeyPatch) -> None:
    async def node_ips(*_: object) -> list[str]:
        return ["192.0.2.1"]

    monkeypatch.setattr(execution, "node_ips", node_ips)


def run(state: PodState) -> Execution:
    services: Any = SimpleNamespace(actor=None, agent=None, clock=WallClock(time.time, time.monotonic))
    return Execution(services, state)


async def test_the_hook_of_a_pod_without_an_address_is_not_sent_to_the_node():
    with pytest.raises(HookFailed, match="failed to find networking container"):
        await run(running(pod(), ran(), boxes=(NO_IP,))).pod_ip()


async def test_the_hook_of_a_pod_on_the_hosts_network_is_sent_to_the_node():
    assert await run(running(pod(hostNetwork=True), ran(), boxes=(NO_IP,))).pod_ip() == "192.0.2.1"


async def test_the_hook_of_any_other_pod_is_sent_to_its_own_address():
    assert await run(running(pod(), ran())).pod_ip() == box().ips[0]
