"""Pods that the node has ordered to end, and that still run long after their grace period."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from actors.api_clients.event_client.messages import EVENT_CLIENT, RecordEvent
from actors.pod_workers.messages import KillPod
from actors.pod_workers.overdue_kills import LEAST_SECONDS, REASON, OverdueKills, overdue_after
from actors.pod_workers.pod.phase_transitions import PodWorkerPhase
from actors.shared.kube.meta import ObjectMeta
from actors.shared.kube.pod import Pod
from supervision.actor import Actor
from supervision.testing.harness import Harness

P = PodWorkerPhase


class Shard(Actor):
    """Only its clock is used."""


def worker(phase: PodWorkerPhase = P.TERMINATING, pod: Pod | None = None) -> Any:
    known = Pod(metadata=ObjectMeta(name="p", namespace="n", uid="u")) if pod is None else pod
    return SimpleNamespace(state=SimpleNamespace(phase=phase, wanted=SimpleNamespace(pod=known)))


def order(grace: int = 20) -> KillPod:
    return KillPod("u", "Evicted", "m", grace)


def reported(harness: Harness[Shard]) -> list[str]:
    return [event.reason for event in harness.sent(RecordEvent, EVENT_CLIENT)]


@pytest.mark.parametrize(("grace", "seconds"), [(0, LEAST_SECONDS), (6, LEAST_SECONDS), (7, 10.5), (100, 150.0)])
def test_a_kill_is_overdue_after_one_and_a_half_grace_periods_and_ten_seconds_at_least(grace, seconds):
    assert overdue_after(grace) == seconds


@pytest.mark.parametrize(
    ("phase", "told"),
    [(P.ADMITTING, True), (P.RUNNING, True), (P.TERMINATING, True), (P.TERMINATED, False), (P.REJECTED, False)],
)
async def test_a_pod_that_has_not_ended_in_time_has_an_event(phase, told):
    harness = Harness(Shard, name="pod_workers/worker/0")
    async with harness:
        kills = OverdueKills(harness.actor, {"u": worker(phase)})
        kills.ordered(order())
        await harness.advance(29.0)
        assert reported(harness) == []
        await harness.advance(2.0)
        assert reported(harness) == ([REASON] if told else [])


async def test_repeated_orders_are_one_and_an_order_for_a_pod_that_is_gone_none():
    harness = Harness(Shard, name="pod_workers/worker/0")
    async with harness:
        pods = {"u": worker()}
        kills = OverdueKills(harness.actor, pods)
        kills.ordered(KillPod("other", "Evicted", "m", 0))
        kills.ordered(order())
        await harness.advance(20.0)
        kills.ordered(order())
        await harness.advance(100.0)
        assert reported(harness) == [REASON]


async def test_the_successor_of_a_pod_is_not_blamed_and_has_an_order_of_its_own():
    harness = Harness(Shard, name="pod_workers/worker/0")
    async with harness:
        pods = {"u": worker()}
        kills = OverdueKills(harness.actor, pods)
        kills.ordered(order())
        pods["u"] = worker()
        await harness.advance(31.0)
        assert reported(harness) == []
        kills.ordered(order())
        await harness.advance(31.0)
        assert reported(harness) == [REASON]
