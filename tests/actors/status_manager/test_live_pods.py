"""The pods that the shutdown manager has to end, as the status manager reports them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from actors.pod_workers.messages import ShardPods
from actors.status_manager.messages import ActivePods, GetActivePods, GetLivePods, LivePod, LivePods
from supervision.testing.harness import Harness
from tests.support.api_joined import BORN, S, joined, pod, seen
from tests.support.api_neighbour import ApiNeighbour
from tests.support.status_questions import ask_now


async def live(harness: Harness) -> LivePods:
    answer = await harness.deliver(GetLivePods())
    assert isinstance(answer, LivePods)
    return answer


async def test_a_status_counts_as_written_once_the_api_server_has_the_last_one(tmp_path: Path) -> None:
    store = ApiNeighbour()
    bound = store.put(pod(priority=7, terminationGracePeriodSeconds=9))
    async with joined(tmp_path, store) as harness:
        await harness.deliver(seen(bound))
        # the server has not said what it has
        assert [one.status_written for one in (await live(harness)).pods] == [False]
        await store.sync(harness)
        await harness.advance(1.0)
        expected = LivePod(
            uid="u", full_name="p_n", static=False, priority=7, grace_seconds=9, finished=False, status_written=True,
            started=BORN / S - 5,
        )  # fmt: skip
        assert (await live(harness)).pods == [expected]

        over = seen(
            bound, code=143, at=2.0, worker_phase="terminated", reason="Terminated", disruption="m", finished=True
        )
        await harness.deliver(over)
        (now,) = (await live(harness)).pods
        assert (now.finished, now.status_written, now.started) == (True, False, 0.0)
        await harness.advance(1.0)
        assert (await live(harness)).pods[0].status_written
        status = store.find("p")["status"]
        assert (status["phase"], status["reason"]) == ("Failed", "Terminated")
        assert {"type": "DisruptionTarget", "reason": "TerminationByKubelet"}.items() <= next(
            one.items() for one in status["conditions"] if one["type"] == "DisruptionTarget"
        )


async def test_the_list_is_complete_once_every_worker_has_listed_its_pods(tmp_path: Path) -> None:
    async with joined(tmp_path, ApiNeighbour()) as harness:
        assert not (await live(harness)).complete
        await harness.deliver(ShardPods("pod_workers/worker/0", 1, []))
        assert (await live(harness)).complete


@pytest.mark.parametrize(
    ("spec", "priority"),
    [
        ({}, 0),
        ({"priority": -3}, -3),
        ({"priorityClassName": "system-node-critical"}, 2_000_001_000),
        ({"priorityClassName": "system-cluster-critical"}, 2_000_000_000),
        ({"priorityClassName": "theirs"}, 0),
        ({"priorityClassName": "system-node-critical", "priority": 5}, 5),
    ],
)
async def test_the_system_priority_classes_are_known_without_an_api_server(
    tmp_path: Path, spec: dict[str, Any], priority: int
) -> None:
    async with joined(tmp_path, ApiNeighbour()) as harness:
        await harness.deliver(seen(pod(**spec)))
        assert [one.priority for one in (await live(harness)).pods] == [priority]


async def test_a_pod_that_was_rejected_has_nothing_left_to_end(tmp_path: Path) -> None:
    async with joined(tmp_path, ApiNeighbour()) as harness:
        await harness.deliver(seen(pod(), run=False, worker_phase="rejected", reason="OutOfcpu"))
        assert [one.finished for one in (await live(harness)).pods] == [True]


async def test_a_pod_that_only_its_worker_has_is_in_the_list(tmp_path: Path) -> None:
    async with joined(tmp_path, ApiNeighbour()) as harness:
        await harness.deliver(ShardPods("pod_workers/worker/0", 1, ["u"]))
        (found,) = (await live(harness)).pods
        assert (found.uid, found.reported, found.finished, found.status_written) == ("u", False, False, False)
        await harness.deliver(seen(pod()))
        assert [(one.uid, one.reported) for one in (await live(harness)).pods] == [("u", True)]
        await harness.deliver(ShardPods("pod_workers/worker/0", 1, []))
        assert (await live(harness)).pods == []


async def test_a_pod_is_active_until_its_worker_reports_it_ended_or_rejected(tmp_path: Path) -> None:
    async with joined(tmp_path, ApiNeighbour()) as harness:
        for phase, active in (("running", ["u"]), ("terminating", ["u"]), ("terminated", []), ("rejected", [])):
            await harness.deliver(seen(pod(), worker_phase=phase))
            answer = await ask_now(harness, GetActivePods())
            assert isinstance(answer, ActivePods)
            assert [one.uid for one in answer.pods] == active, phase
