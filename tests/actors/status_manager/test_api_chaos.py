"""Random lives of pods under random faults of the API server and restarts of the status manager: nothing is lost,
nothing goes back, readiness does not flap, and in the end the server has what is true."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from actors.api_clients.kube_client.messages import ApiAnswer, ApiCall
from actors.pod_config.messages import SourcePod
from actors.status_manager.messages import PodObserved
from supervision.actor import AskError
from supervision.testing.harness import Harness
from tests.support.api_joined import begun, joined, pod, seen
from tests.support.api_neighbour import ApiNeighbour

FAULTS: tuple[dict[str, Any] | AskError, ...] = (
    {"kind": "drop"},
    {"kind": "lost"},
    {"kind": "status", "code": 429, "retry_after": 1},
    {"kind": "status", "code": 500},
    {"kind": "status", "code": 409},
    {"kind": "status", "code": 504},
    AskError("kube_client is being replaced"),
)
RANKS = {"Pending": 0, "Running": 1, "Succeeded": 2, "Failed": 2}
LIFE = ("begun", "running", "running", "terminating", "ended", "finished")


class World:
    """Pods whose workers go from stage to stage, a server that fails, a watch that lags and loses nothing for ever."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.folder, self.store = folder, ApiNeighbour()
        self.failing = 0.3
        self.pods = [self.store.put(pod(uid=f"u{n}", name=f"p{n}", restartPolicy="Never")) for n in range(6)]
        self.source = [json.loads(json.dumps(each)) for each in self.pods]
        self.at = 1.0
        self.reached = [0] * len(self.pods)

    def answer(self, call: ApiCall) -> ApiAnswer:
        if self.chance.random() < self.failing:
            found = self.chance.choice(FAULTS)
            if isinstance(found, AskError):
                raise found
            self.store.fault(**found, times=1)
        try:
            return self.store.answer(call)
        finally:
            self.store.faults.clear()

    def observation(self, number: int) -> PodObserved:
        stage, source = LIFE[self.reached[number]], self.source[number]
        if stage == "begun":
            return begun(source)
        if stage == "running":
            return seen(source, at=self.at)
        if stage == "terminating":
            return seen(source, at=self.at, worker_phase="terminating", termination_step="containers")
        return seen(source, code=0, at=self.at, worker_phase="terminated", finished=stage == "finished")

    async def step(self, harness: Harness) -> None:
        self.at += 1.0
        number = self.chance.randrange(len(self.pods))
        action = self.chance.choice(["advance", "advance", "watch", "time", "foreign", "delete", "relist", "again"])
        if action == "advance":
            self.reached[number] = min(self.reached[number] + 1, len(LIFE) - 1)
            await harness.deliver(self.observation(number))
        elif action == "again":
            await harness.deliver(self.observation(number))
        elif action == "watch":
            await self.watch(harness, number)
        elif action == "time":
            await harness.advance(self.chance.choice([0.2, 3.0, 15.0]))
        elif action == "relist":
            await self.store.sync(harness)
        elif self.store.has(f"p{number}"):
            found = self.store.find(f"p{number}")
            if action == "foreign":
                others = [c for c in found["status"]["conditions"] if c["type"] != "example.com/mine"]
                found["status"]["conditions"] = [*others, {"type": "example.com/mine", "status": "True"}]
            else:
                found["metadata"].update(deletionTimestamp="2023-11-14T22:20:00Z", deletionGracePeriodSeconds=30)
            self.store.put(found)

    async def watch(self, harness: Harness, number: int) -> None:
        if self.store.has(f"p{number}"):
            await self.store.watch(harness, f"p{number}")
        else:
            await harness.deliver(SourcePod("api", f"u{number}"))

    async def start(self, harness: Harness) -> None:
        """What the neighbours tell one that has just started."""
        if self.chance.random() < 0.5:
            await self.store.sync(harness)
        for number in range(len(self.pods)):
            await harness.deliver(self.observation(number))
        await self.store.sync(harness)


@pytest.mark.parametrize("seed", range(25))
async def test_the_server_ends_with_the_true_status_after_any_failures(tmp_path, seed):
    world = World(tmp_path, seed)
    for incarnation in range(1, 4):
        async with joined(tmp_path, world.store, incarnation) as harness:
            harness.answer(ApiCall, world.answer)
            await world.start(harness)
            for _ in range(40):
                await world.step(harness)
            if incarnation == 3:
                await settle(world, harness)
    check_world(world)


async def settle(world: World, harness: Harness) -> None:
    """The faults end, time passes."""
    world.failing = 0.0
    for number in range(len(world.pods)):
        world.reached[number] = max(world.reached[number], 1)
        await harness.deliver(world.observation(number))
    for _ in range(3):
        await world.store.sync(harness)
        await harness.advance(90.0)
    calls = len(world.store.calls)
    await harness.advance(90.0)
    assert len(world.store.calls) == calls, "at rest nothing is written"
    assert len(harness.actor._api_sync.writer.backlog) == 0


def check_world(world: World) -> None:
    for number, history in ((n, world.store.history[f"u{n}"]) for n in range(len(world.pods))):
        stage = LIFE[world.reached[number]]
        phases = [each["phase"] for each in history]
        assert [RANKS[each] for each in phases] == sorted(RANKS[each] for each in phases), "phases go on only"
        final = [each for each in phases if RANKS[each] == 2]
        assert len(set(final)) <= 1
        ready = [next((c["status"] for c in each["conditions"] if c["type"] == "Ready"), "False") for each in history]
        changes = sum(one != other for one, other in pairwise(ready))
        assert changes <= 2, f"Ready flapped: {ready}"
        starts = {each.get("startTime") for each in history} - {None}
        assert len(starts) <= 1
        wanted = {"running": "Running", "terminating": "Running", "ended": "Succeeded", "finished": "Succeeded"}[stage]
        if world.store.has(f"p{number}"):
            found = world.store.find(f"p{number}")
            assert found["status"]["phase"] == wanted
            assert stage != "finished" or "deletionTimestamp" not in found["metadata"]
        else:
            assert stage == "finished"
            assert phases[-1] == "Succeeded", "it was not deleted before its last status was written"
