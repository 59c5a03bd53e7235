"""The kube client when answers break off, and when a consumer is too slow."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from actors.api_clients.kube_client.actor import WAKE_SECONDS
from actors.pod_config.messages import SourcePod, SourcePods
from actors.shared.api.errors import Unreachable
from supervision.resends import RESEND_SECONDS
from tests.actors.api_clients.test_kube_client import add_pod, cluster, harness_of, joined, names, watching


async def test_answers_that_break_off_end_no_pause_for_those_that_come_soon_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy answers 200, then nonsense: each answer looks like the return of the server."""
    async with cluster(tmp_path) as server, harness_of(joined(server)) as harness:
        await watching(harness, server, "pods")
        later, woken = time.monotonic() + WAKE_SECONDS, list[float]()
        monkeypatch.setattr(harness.actor, "_wake", lambda: woken.append(time.monotonic()))
        for now in (later, later + 0.1, later + 0.2, later + WAKE_SECONDS):
            monkeypatch.setattr("actors.api_clients.kube_client.actor.time.monotonic", lambda: now)  # noqa: B023
            harness.actor.failed(Unreachable(0, "Unreachable", "the watch returned an invalid event"))
            harness.actor.answered()
        monkeypatch.undo()
    assert woken == [later, later + WAKE_SECONDS]


async def test_a_consumer_that_was_too_slow_for_single_pods_gets_the_whole_list(tmp_path: Path) -> None:
    """Five thousand pods at once on a busy machine: each change that missed its deadline was lost for ever."""
    async with cluster(tmp_path) as server, harness_of(joined(server)) as harness:
        made = add_pod(server, "a")
        await watching(harness, server, "pods")
        await harness.wait(lambda: made["metadata"]["uid"] in harness.actor.pods.pods, "the pod")
        harness.clear()
        harness.actor.on_dead_letter("pod_config", SourcePod("api", made["metadata"]["uid"]), "deadline")
        await harness.advance(RESEND_SECONDS)
        assert names(await harness.wait_sent(SourcePods, to="pod_config")) == ["a"]
        assert harness.sent(SourcePods, to="status_manager") == []
