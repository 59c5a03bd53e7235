"""Questions to a status manager that has just started: it does not deny pods that it does not know yet."""

from __future__ import annotations

import json

import pytest

from actors.pod_workers.messages import ShardPods
from actors.status_manager.messages import GetActivePods, GetPods, GetPodStatus, PodObserved
from actors.status_manager.reports.first_reports import WAIT_SECONDS
from tests.actors.status_manager.test_status_manager import seen, started

WORKERS = ("pod_workers/worker/0", "pod_workers/worker/1")


@pytest.mark.parametrize(
    "question", [GetPods(), GetActivePods(), GetPodStatus("", "n", "p")], ids=lambda one: type(one).__name__
)
async def test_a_question_waits_until_every_worker_has_listed_its_pods(tmp_path, question):
    async with started(tmp_path) as harness:
        answer = harness.post(question)
        await harness.deliver(ShardPods(WORKERS[0], 2, []))
        await harness.settle()
        assert not answer.done()
        await harness.deliver(seen())
        await harness.deliver(ShardPods(WORKERS[1], 2, ["u"]))
        found = await answer
        assert {"Pods": lambda: json.loads(found.data)["items"], "ActivePods": lambda: found.pods}.get(
            type(found).__name__, lambda: found.pod
        )()


async def test_a_question_waits_for_a_listed_pod_that_its_worker_has_not_reported_yet(tmp_path):
    """A worker that was killed together with the status manager lists its pods first."""
    async with started(tmp_path) as harness:
        await harness.deliver(ShardPods(WORKERS[0], 2, []))
        await harness.deliver(ShardPods(WORKERS[1], 2, ["u", "leftover"]))
        answer = harness.post(GetPodStatus("", "n", "p"))
        await harness.deliver(PodObserved("leftover", b"", "terminating"))
        await harness.settle()
        assert not answer.done()
        await harness.deliver(seen())
        assert (await answer).pod
        assert not (await harness.deliver(GetPodStatus("other"))).pod, "later ones do not wait"


async def test_a_question_about_a_known_pod_does_not_wait_for_the_other_pods(tmp_path):
    async with started(tmp_path) as harness:
        await harness.deliver(seen())
        assert (await harness.deliver(GetPodStatus("u"))).pod


async def test_a_question_is_answered_with_what_is_known_when_a_worker_does_not_report(tmp_path):
    async with started(tmp_path) as harness:
        await harness.deliver(ShardPods(WORKERS[0], 2, []))
        answers = [harness.post(GetPods()), harness.post(GetPodStatus("u"))]
        await harness.advance(WAIT_SECONDS)
        pods, status = [await answer for answer in answers]
        assert json.loads(pods.data)["items"] == []
        assert status.pod == b""
        assert json.loads((await harness.deliver(GetPods())).data)["items"] == [], "later ones do not wait"
