"""Events on their way to an API server of our own, time in the test's hand."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from actors.api_clients.event_client.actor import EventClient
from actors.api_clients.event_client.messages import EventTaken, RecordEvent, TakeEvent
from actors.shared.config.agent import Agent
from supervision.testing.harness import Harness
from tests.support.apiserver import ApiServer

WALL_NS = 1_790_000_000 * 10**9
Story = Callable[["Events"], Coroutine[Any, Any, None]]


class Events:
    """An event client, joined."""

    def __init__(self, server: ApiServer, **agent: Any) -> None:
        self.server = server
        known = {"standalone": False, "node_name": "n1", "kubeconfig": server.node_kubeconfig("n1")}
        self.harness = Harness(EventClient, name="api_clients/event_client", context=Agent(**{**known, **agent}))
        clock = self.harness.clock
        actor = self.harness.actor
        assert isinstance(actor, EventClient)
        self.actor = actor
        tick = itertools.count()  # no two moments are the same
        actor._clock, actor._rng = clock, lambda: 0.5
        actor._wall_ns = lambda: WALL_NS + round(clock() * 10**9) + next(tick)

    async def record(self, message: str = "m", **more: Any) -> None:
        known = {"kind": "Pod", "namespace": "default", "name": "web", "uid": "u", "type": "Normal", "reason": "R"}
        await self.harness.deliver(RecordEvent(message=message, **{**known, **more}))

    def stored(self, namespace: str = "default") -> list[dict[str, Any]]:
        return self.server.items("events", namespace)

    def counts(self) -> dict[str, int]:
        return {event["message"]: event["count"] for event in self.stored()}

    async def until(self, condition: Callable[[], bool], step: float = 0.0) -> None:
        for _ in range(400):
            if condition():
                return
            await self.harness.advance(step)
            await asyncio.sleep(0.005)
        raise AssertionError(f"stored: {self.counts()}")

    async def written(self) -> None:
        """Until nothing waits."""
        await self.until(lambda: len(self.actor._backlog) == 0)

    def requests_for(self, verb: str) -> int:
        return sum(one.verb == verb and one.resource == "events" for one in self.server.requests)

    def dropped(self) -> dict[str, float]:
        samples = self.actor.metrics.snapshot("x", 1).samples
        return {s.labels["why"]: s.value for s in samples if s.name == "troupelet_events_dropped_total"}


@pytest.fixture
def play(tmp_path: Path) -> Callable[[Story], None]:
    def run(story: Story) -> None:
        async def whole() -> None:
            async with ApiServer(tmp_path) as server:
                events = Events(server)
                async with events.harness:
                    await asyncio.wait_for(story(events), 40)
                if events.actor.client is not None:
                    await events.actor.client.close()

        asyncio.run(whole())

    return run


def test_an_event_is_stored_and_the_same_again_is_counted(play):
    async def story(events: Events) -> None:
        await events.record("Pulled it", field="spec.containers{a}")
        await events.written()
        for _ in range(3):
            await events.record("Pulled it", field="spec.containers{a}")
        await events.written()
        (stored,) = events.stored()
        assert stored["count"] == 4
        assert stored["involvedObject"]["fieldPath"] == "spec.containers{a}"
        assert stored["source"] == {"component": "kubelet", "host": "n1"}
        assert stored["reportingComponent"] == "kubelet"
        assert (events.requests_for("create"), events.requests_for("patch") >= 1) == (1, True)

    play(story)


def test_an_event_that_a_restarted_worker_repeats_is_recorded_once(play):
    async def story(events: Events) -> None:
        for instance in ("1", "1", "2"):
            await events.record("Stopping container a", reason="Killing", instance=instance)
        await events.written()
        assert events.counts() == {"Stopping container a": 2}

    play(story)


def test_a_nodes_event_is_kept_in_default_under_the_nodes_name(play):
    async def story(events: Events) -> None:
        await events.record(kind="Node", namespace="", name="n1", uid="n1", reason="NodeReady")
        await events.written()
        (stored,) = events.stored()
        assert stored["involvedObject"] == {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "n1"}

    play(story)


def test_events_wait_and_are_counted_while_the_server_is_away(play):
    async def story(events: Events) -> None:
        await events.record("before")
        await events.written()
        await events.server.stop()
        for n in range(5):
            await events.record("before")
            await events.record(f"m{n}", uid="v", reason=f"R{n}")
            await events.harness.advance(30)
            await asyncio.sleep(0.02)
        assert len(events.actor._backlog) == 6
        await events.server.start()
        await events.until(lambda: len(events.actor._backlog) == 0, step=1.0)
        assert events.counts() == {"before": 6, **{f"m{n}": 1 for n in range(5)}}
        first = {event["message"]: event["firstTimestamp"] for event in events.stored()}
        assert first["m0"] < first["m4"]

    play(story)


def test_the_backlog_is_bounded_and_dropped_events_are_counted(play):
    async def story(events: Events) -> None:
        await events.server.stop()
        for n in range(1010):
            await events.record(uid=f"u{n}")
        assert len(events.actor._backlog) == 1000
        assert events.dropped() == {"backlog": 10}

    play(story)


def test_an_event_that_the_server_refuses_is_dropped_and_the_others_are_sent(play, caplog):
    async def story(events: Events) -> None:
        events.server.fault("status", verb="create", resource="events", code=403, times=1)
        await events.record("refused")
        await events.record("taken", reason="S")
        await events.written()
        assert events.counts() == {"taken": 1}
        assert events.dropped() == {"refused": 1}
        await events.record("refused")
        await events.written()
        assert events.counts() == {"taken": 1, "refused": 1}

    with caplog.at_level(logging.INFO):
        play(story)
    assert "the API server does not take event R of default/web" in caplog.text


def test_an_event_that_always_fails_delays_others_for_a_limited_time(play):
    async def story(events: Events) -> None:
        events.server.fault("status", verb="create", resource="events", code=500, times=12)
        await events.record("fails")
        await events.record("taken", reason="S")
        await events.until(lambda: events.counts() == {"taken": 1}, step=1.0)
        assert events.dropped() == {"refused": 1}
        assert events.requests_for("create") == 13

    play(story)


def test_an_event_whose_namespace_is_gone_is_dropped(play):
    async def story(events: Events) -> None:
        await events.record(namespace="gone")
        await events.written()
        assert events.dropped() == {"refused": 1}

    play(story)


def test_an_overloaded_server_is_not_called_for_a_while(play):
    async def story(events: Events) -> None:
        events.server.fault("status", verb="create", resource="events", code=429, retry_after=20, times=1)
        await events.record()
        await events.until(lambda: events.requests_for("create") == 1)
        await events.harness.advance(19)
        await asyncio.sleep(0.05)
        assert events.requests_for("create") == 1
        await events.until(lambda: events.counts() == {"m": 1}, step=1.0)

    play(story)


def test_an_event_that_expired_at_the_server_is_created_again(play):
    async def story(events: Events) -> None:
        await events.record()
        await events.written()
        events.server.delete("events", events.stored()[0]["metadata"]["name"])
        await events.record()
        await events.written()
        assert events.counts() == {"m": 2}

    play(story)


def test_an_event_whose_answer_was_lost_is_not_written_twice(play):
    async def story(events: Events) -> None:
        events.server.fault("lost", verb="create", resource="events", times=1)
        await events.record()
        await events.until(lambda: len(events.actor._backlog) == 0, step=1.0)
        await events.record()
        await events.written()
        assert events.counts() == {"m": 2}
        assert len(events.stored()) == 1

    play(story)


def test_similar_events_are_combined_and_a_noisy_object_is_rate_limited(play):
    async def story(events: Events) -> None:
        for n in range(12):
            await events.record(f"m{n}")
        for _ in range(40):
            await events.record("again", uid="noisy")
        await events.written()
        messages = [message for message in events.counts() if message.startswith("(combined from similar events): ")]
        assert len(messages) == 1
        assert events.counts()["again"] == 25
        assert events.dropped() == {"spam": 15}

    play(story)


def test_events_wait_for_credentials(tmp_path):
    async def story() -> None:
        async with ApiServer(tmp_path) as server:
            later = tmp_path / "kubelet.conf"
            events = Events(server, kubeconfig=str(later), bootstrap_kubeconfig="/b")
            async with events.harness:
                await events.record()
                await events.harness.advance(10)
                later.write_bytes(Path(server.node_kubeconfig("n1")).read_bytes())
                await events.until(lambda: events.counts() == {"m": 1}, step=1.0)
            assert events.actor.client is not None
            await events.actor.client.close()

    asyncio.run(story())


def test_an_event_that_is_asked_about_is_answered_once_it_is_queued_and_counts_once(
    play: Callable[[Story], None],
) -> None:
    async def story(events: Events) -> None:
        event = RecordEvent(
            kind="Pod", namespace="default", name="web", uid="u", type="Warning", reason="Evicted", message="m",
            instance="u",
        )  # fmt: skip
        for _ in range(2):
            assert await events.harness.ask(TakeEvent(event)) == EventTaken()
        await events.written()
        assert events.counts() == {"m": 1}

    play(story)
