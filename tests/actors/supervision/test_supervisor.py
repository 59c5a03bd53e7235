"""The supervisor as an actor: its orders go to the fork server, at the times its decisions ask for."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from supervision.actor import ChildExited
from supervision.process_messages import EXIT_ESCALATED, Exited, ReachedMaxRestartIntensity, Started, Stop
from supervision.protocol import FORK_SERVER, Done
from supervision.spec import ChildSpec, Policy, SetPolicies
from supervision.supervisor.supervisor import Supervisor
from supervision.testing.harness import Harness

SPEC = ChildSpec(name="group", children=(ChildSpec(name="x", actor="m:C"), ChildSpec(name="y", actor="m:C")))


class Recording(Supervisor):
    """Does not end the test's process."""

    left: int | None = None

    def leave(self, status: int) -> None:
        self.left = status


def make(**policy: Any) -> Harness:
    policies = {name: Policy(**policy) for name in ("group", "group/x", "group/y")}
    harness = Harness(Recording, name="group", arguments={"spec": SPEC, "policies": policies, "rng": lambda: 0.0})
    harness.actor._clock = harness.clock
    return harness


def orders(harness: Harness) -> list[str]:
    stopped = [message.name for message in harness.sent(Stop, to=FORK_SERVER)]
    created = [name for name, _ in harness.created]
    harness.clear()
    return [*(f"-{name}" for name in stopped), *(f"+{name}" for name in created)]


async def start(harness: Harness) -> None:
    await harness.advance(0)
    for number, name in enumerate(("group/x", "group/y"), 100):
        await harness.deliver(Started(name, 1, number, 0.01), FORK_SERVER)


async def test_a_supervisor_orders_its_children_when_it_is_in_service_itself() -> None:
    async with make() as harness:
        assert orders(harness) == []
        await harness.advance(0)
        assert orders(harness) == ["+group/x", "+group/y"]


async def test_only_the_fork_server_reports_that_a_child_is_in_service(caplog) -> None:
    async with make(start_seconds=5.0) as harness:
        await harness.advance(0)
        await harness.deliver(Started("group/x", 1, 100, 0.01), FORK_SERVER)
        await harness.deliver(Started("group/y", 1, 101, 0.01), "pleg")
        orders(harness)
        await harness.advance(7.5)
        assert orders(harness) == ["-group/y"], "its start is over time"
        assert "in service: group/y" not in caplog.text


async def test_a_supervisor_pauses_before_the_second_restart() -> None:
    async with make(backoff_seconds=0.5) as harness:
        await start(harness)
        orders(harness)
        await harness.deliver(ChildExited(Exited("group/x", 1, 100, 9, "signal")), FORK_SERVER)
        assert orders(harness) == ["+group/x"]
        await harness.deliver(Started("group/x", 2, 102, 0.01), FORK_SERVER)
        await harness.deliver(ChildExited(Exited("group/x", 2, 102, 9, "signal")), FORK_SERVER)
        await harness.advance(0.49)
        assert orders(harness) == []
        await harness.advance(0.02)
        assert orders(harness) == ["+group/x"]


async def test_a_supervisor_reports_why_it_gives_up_before_it_ends() -> None:
    async with make(max_restarts=0) as harness:
        harness.answer(ReachedMaxRestartIntensity, Done(), name=FORK_SERVER)
        await start(harness)
        orders(harness)
        await harness.deliver(ChildExited(Exited("group/x", 1, 100, 9, "signal")), FORK_SERVER)
        assert harness.sent(Stop) == [Stop("group/y", 5.0, "stopped")]
        await harness.deliver(ChildExited(Exited("group/y", 1, 101, 0, "stopped")), FORK_SERVER)
        await harness.settle()
        assert harness.asks == [
            (FORK_SERVER, ReachedMaxRestartIntensity("group/x failed once, more than the 0 restarts allowed"))
        ]
        assert harness.actor.left == EXIT_ESCALATED


async def test_an_orderly_stop_ends_when_the_last_child_has() -> None:
    async with make() as harness:
        await start(harness)
        orders(harness)
        stopping = asyncio.create_task(harness.stop())
        await harness.settle()
        assert orders(harness) == ["-group/y"]
        await harness.deliver(ChildExited(Exited("group/y", 1, 101, 0, "stopped")), FORK_SERVER)
        assert orders(harness) == ["-group/x"]
        assert not stopping.done()
        await harness.deliver(ChildExited(Exited("group/x", 1, 100, 0, "stopped")), FORK_SERVER)
        await asyncio.wait_for(stopping, 5)
        assert harness.actor.left is None
        await harness.advance(600)
        assert orders(harness) == []


@pytest.mark.parametrize(
    ("policy", "sender", "why"),
    [
        ({"max_restarts": -1}, FORK_SERVER, "group/x.max_restarts: must be a whole number from 0 to 1000, not -1"),
        ({"start_seconds": math.nan}, FORK_SERVER, "group/x.start_seconds: must be a number from 0.1 to 3600, not nan"),
        ({"backoff_max_seconds": 0.0}, FORK_SERVER, "is 0, less than backoff_seconds, 0.05"),
        ({"max_restarts": 1}, "pleg", "only the fork server sets them"),
    ],
)
async def test_an_invalid_policy_is_refused_and_the_one_in_force_stays(caplog, policy, sender, why) -> None:
    async with make() as harness:
        await start(harness)
        orders(harness)
        await harness.deliver(SetPolicies({"group/x": Policy(**policy)}), sender)
        assert why in caplog.text
        for incarnation in (1, 2, 3):
            await harness.deliver(ChildExited(Exited("group/x", incarnation, 100, 9, "signal")), FORK_SERVER)
            await harness.advance(10)
            assert orders(harness) == ["+group/x"]
            await harness.deliver(Started("group/x", incarnation + 1, 100, 0.01), FORK_SERVER)


async def test_a_policy_of_the_fork_servers_is_in_force_at_once() -> None:
    async with make(max_restarts=8) as harness:
        await start(harness)
        await harness.deliver(SetPolicies({"group/x": Policy(max_restarts=0)}), FORK_SERVER)
        await harness.deliver(ChildExited(Exited("group/x", 1, 100, 9, "signal")), FORK_SERVER)
        await harness.advance(1)
        assert "-group/y" in orders(harness)
