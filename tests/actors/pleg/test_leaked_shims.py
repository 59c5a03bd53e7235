"""When the PLEG looks for shims of containerd that belong to nothing, and what it does about them."""

from __future__ import annotations

import asyncio

import pytest

from actors.container_runtime.messages import CONTAINER_RUNTIME
from actors.pleg import actor as module
from actors.pleg import runtime_repairs
from actors.pleg.actor import Pleg
from actors.pleg.forgotten_shims import CANDIDATES, END_SHIMS
from actors.pleg.runtime_repairs import EXTERNAL_SHIMS_SECONDS, ROOM_BYTES, SHIMS_SECONDS, SWEEP_SHIMS
from actors.shared.config.agent import Agent
from supervision.protocol import FORK_SERVER, Done, RollingRestart
from supervision.testing.harness import Harness
from tests.support.cri_configs import container_config, sandbox_config
from tests.support.fake_cri import FakeRuntime, Fault


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeRuntime:
    runtime = FakeRuntime("1.6")
    monkeypatch.setattr(module, "CriClient", lambda *_, **__: runtime.client())
    return runtime


def test_shims_of_a_managed_runtime_are_compared_with_the_lists_of_the_runtime(fake):
    async def story() -> None:
        context = Agent(workers=2, managed_runtime=True, runtime_endpoint="unix:///run/x/containerd.sock")
        async with Harness(Pleg, name="pleg", context=context) as harness:
            asked: list[dict[str, object]] = []

            def sweep(**arguments: object) -> list[object]:
                asked.append(arguments)
                return [[], [], []]

            harness.disposables[SWEEP_SHIMS] = sweep
            client, sandbox = fake.client(), sandbox_config()
            box = await client.run_pod_sandbox(sandbox)
            container = await client.create_container(box, container_config(sandbox, ("sleep", "1000")), sandbox)
            await harness.advance(1.2 * SHIMS_SECONDS)
            assert (asked[0]["socket"], asked[0]["known"]) == ("/run/x/containerd.sock", sorted([box, container]))
            fake.faults.add("ListContainers", Fault(error="UNAVAILABLE"))
            await harness.advance(3 * SHIMS_SECONDS)
            count = len(asked)
            await harness.advance(3 * SHIMS_SECONDS)
            assert len(asked) == count, "a list that is old is no reason to end anything"

    asyncio.run(story())


def test_shims_of_an_external_runtime_are_checked_rarely_and_running_ones_left_alone(fake, monkeypatch):
    async def story() -> None:
        context = Agent(workers=2, runtime_endpoint="unix:///run/x/containerd.sock")
        async with Harness(Pleg, name="pleg", context=context) as harness:
            asked: list[dict[str, object]] = []

            def sweep(**arguments: object) -> list[object]:
                asked.append(arguments)
                return [["dead"], ["runs"], ["10.0.0.9"]]

            harness.disposables[SWEEP_SHIMS] = sweep
            await harness.advance(1.2 * SHIMS_SECONDS)
            assert asked == []
            harness.disposables[CANDIDATES] = lambda **_: []
            await harness.advance(1.2 * EXTERNAL_SHIMS_SECONDS)
            assert [each["managed"] for each in asked] == [False]
            assert [ask for ask in harness.asks if isinstance(ask[1], RollingRestart)] == []

    asyncio.run(story())


def test_a_shim_with_a_container_that_no_source_and_no_list_has_is_a_reason_to_load_it_again(fake, monkeypatch):
    async def story() -> None:
        context = Agent(workers=2, managed_runtime=True, runtime_endpoint="unix:///run/x/containerd.sock")
        async with Harness(Pleg, name="pleg", context=context) as harness:
            monkeypatch.setattr(runtime_repairs, "free_bytes", lambda _: ROOM_BYTES)
            harness.answer(RollingRestart, lambda _: Done())
            harness.disposables[SWEEP_SHIMS] = lambda **_: [["dead"], ["runs"], ["10.0.0.9"]]
            await harness.advance(1.2 * SHIMS_SECONDS)
            asked = [ask for ask in harness.asks if isinstance(ask[1], RollingRestart)]
            assert asked == [(FORK_SERVER, RollingRestart((CONTAINER_RUNTIME,)))]

    asyncio.run(story())


def test_a_shim_of_an_external_runtime_is_ended_when_containerd_has_no_record_of_it(fake):
    async def story() -> None:
        context = Agent(workers=2, runtime_endpoint="unix:///run/x/containerd.sock")
        async with Harness(Pleg, name="pleg", context=context) as harness:
            recorded = await fake.client().run_pod_sandbox(sandbox_config())
            ended: list[dict[str, object]] = []
            harness.disposables[SWEEP_SHIMS] = lambda **_: [[], [], []]
            harness.disposables[CANDIDATES] = lambda **_: ["forgotten", recorded]

            def end(**asked: object) -> object:
                ended.append(asked)
                return asked["ids"]

            harness.disposables[END_SHIMS] = end
            fake.faults.add("GetContainer", Fault(error="UNAVAILABLE", times=2))
            await harness.advance(1.2 * EXTERNAL_SHIMS_SECONDS)
            assert ended == [], "containerd did not answer"
            await harness.advance(EXTERNAL_SHIMS_SECONDS)
            assert ended == [{"socket": "/run/x/containerd.sock", "ids": ["forgotten"]}]

    asyncio.run(story())
