"""Whatever the runtime answers, and whoever dies meanwhile: a container never has two instances, and the pod runs as
wanted once the faults are over."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.pod_workers.messages import PodRuntimeChanged, ProbeVerdict, RuntimePods
from actors.shared.cri.model import PodRuntime
from actors.shared.cri.pod_lookup import look
from proto import cri_pb2 as cri
from supervision.testing.virtual_clock import VirtualClock
from tests.support.examples import examples
from tests.support.fake_cri import FakeRuntime, Fault
from tests.support.shard_harness import Driven, container, pod

pytestmark = pytest.mark.slow

METHODS = [
    *("RunPodSandbox", "StopPodSandbox", "RemovePodSandbox", "PodSandboxStatus", "ListPodSandbox"),
    *("CreateContainer", "StartContainer", "StopContainer", "RemoveContainer", "ContainerStatus", "ListContainers"),
]
FAULTS = [Fault(answer_lost=True, times=1), Fault(error="UNAVAILABLE", times=2), Fault(error="UNKNOWN", times=1)]
WANTED = pod(
    initContainers=[container("i"), container("side", restartPolicy="Always")],
    containers=[container("a"), container("b")],
)
STEPS = st.one_of(
    st.tuples(st.just("fault"), st.sampled_from(METHODS), st.sampled_from(FAULTS)),
    st.tuples(st.just("time"), st.sampled_from([0.3, 1.0, 5.0, 15.0])),
    st.tuples(st.just("relist"), st.booleans()),
    st.tuples(st.just("end"), st.sampled_from(["i", "side", "a", "b"]), st.integers(0, 1)),
    st.tuples(st.just("unhealthy"), st.sampled_from(["side", "a", "b"])),
    st.tuples(st.just("withdrawn or put back")),
)
LIVES = st.lists(st.lists(STEPS, min_size=4, max_size=20), min_size=1, max_size=3)


class History:
    """One pod on one runtime, and the shards that had it one after the other."""

    def __init__(self, home: Path) -> None:
        self.home, self.clock = home, VirtualClock(1_700_000_000.0)
        self.fake = FakeRuntime(clock_ns=lambda: round(self.clock() * 1e9))
        self.relisted: PodRuntime | None = None

    async def life(self, steps: list[tuple], *, last: bool = False) -> None:
        """A shard, told what the PLEG saw last, until it is killed."""
        async with Driven(self.home, self.fake, self.clock) as node:
            if last:
                await node.first_look()
            else:
                pods = [self.relisted] if self.relisted and self.relisted.sandboxes else []
                await node.harness.deliver(RuntimePods(pods, self.relisted.at if self.relisted else 0.0))
            await node.sources(WANTED)
            for kind, *rest in steps:
                await self.step(node, kind, *rest)
                self.look_at_the_names(node)
            if last:
                await self.well_again(node)

    async def step(self, node: Driven, kind: str, *rest: Any) -> None:
        if kind == "fault":
            method, fault = rest
            self.fake.faults.add(method, fault)
        elif kind == "time":
            await node.pass_time(rest[0])
        elif kind == "relist":
            self.relisted = await self.seen()
            if rest[0]:
                await node.harness.deliver(PodRuntimeChanged("u", self.relisted))
        elif kind == "withdrawn or put back":
            worker = node.shard.pods.get("u")
            await (node.want(WANTED) if worker is None or worker.state.wanted.removed else node.remove())
        else:
            await self.ended(node, kind, *rest)

    async def ended(self, node: Driven, kind: str, name: str, code: int = 0) -> None:
        for one in self.running(name):
            if kind == "end":
                self.fake.finish(one.id, code)
            else:
                await node.harness.deliver(ProbeVerdict("u", name, one.id, "liveness", False))

    async def seen(self) -> PodRuntime:
        """What a look of the PLEG finds, which no fault meets."""
        faults, self.fake.faults._by_method = self.fake.faults._by_method, {}
        try:
            return await look(self.fake.client(), "u")
        finally:
            self.fake.faults._by_method = faults

    def running(self, name: str = "") -> list:
        containers = self.fake.world.containers.values()
        found = [one for one in containers if one.state == cri.CONTAINER_RUNNING]
        return [one for one in found if name in ("", one.config.metadata.name)]

    def look_at_the_names(self, node: Driven) -> None:
        for one in self.fake.world.containers.values():
            if one.state != cri.CONTAINER_CREATED and any((self.home / "logs").glob("*")):
                node.leave_log(one.config.metadata.name, one.config.metadata.attempt)
        names = Counter(one.config.metadata.name for one in self.running())
        assert not [name for name, times in names.items() if times > 1]

    async def well_again(self, node: Driven) -> None:
        for _ in range(25):
            await node.pass_time(15)
            await self.ended(node, "end", "i")
            await node.relist()
            self.look_at_the_names(node)
        before = sorted(one.config.metadata.name for one in self.running())
        assert before == ["a", "b", "side"]
        ids = {one.id for one in self.running()}
        await node.pass_time(300)
        assert {one.id for one in self.running()} == ids
        await node.remove()
        for _ in range(5):
            await node.pass_time(15)
            await node.relist()
        assert not self.fake.world.containers
        assert not self.fake.world.sandboxes


@settings(max_examples=examples(30), deadline=None)
@given(LIVES)
def test_no_container_runs_twice_in_any_history_and_every_pod_settles(lives):
    async def story(home: str) -> None:
        history = History(Path(home))
        for steps in lives:
            await history.life(steps)
        history.fake.faults.clear()
        await history.life([], last=True)

    with tempfile.TemporaryDirectory() as home:
        asyncio.run(story(home))
