"""The PLEG and a runtime whose lists lack what its statuses tell."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from actors.pleg import actor as module
from actors.pleg.actor import RELIST_SECONDS, Pleg
from actors.pleg.messages import GetRuntimePods
from actors.pleg.runtime_repairs import SHIMS_SECONDS, SWEEP_SHIMS
from actors.pod_workers.messages import PodRuntimeChanged, RuntimePods
from actors.shared.config.agent import Agent
from actors.shared.cri.model import PodRuntime
from supervision.testing.harness import Harness
from tests.support.cri_configs import container_config, sandbox_config
from tests.support.fake_cri import FakeRuntime, Fault

LISTS = pytest.mark.parametrize("lists", [("ListContainers",), ("ListContainers", "ListPodSandbox")])


def last_seen(harness: Harness[Pleg]) -> PodRuntime:
    """Of the only pod."""
    return harness.sent(PodRuntimeChanged)[-1].runtime


@LISTS
def test_the_end_of_a_container_that_is_not_listed_is_noticed_and_no_pod_counts_as_gone(
    lists: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeRuntime("1.6")
    monkeypatch.setattr(module, "CriClient", lambda *_, **__: fake.client())

    async def story() -> None:
        async with Harness(Pleg, name="pleg", context=Agent(workers=1, managed_runtime=True)) as harness:
            known: list[list[str]] = []

            def sweep(**about: Any) -> list[list[str]]:
                known.append(about["known"])
                return [[], [], []]

            harness.disposables[SWEEP_SHIMS] = sweep
            await harness.advance(0)
            await harness.wait_sent(RuntimePods)
            client, config = fake.client(), sandbox_config()
            box = await client.run_pod_sandbox(config)
            container = await client.create_container(box, container_config(config, ("sleep", "1000")), config)
            await client.start_container(container)
            await harness.advance(RELIST_SECONDS)
            for method in lists:
                fake.faults.add(method, Fault(unheeded=True))
            await harness.advance(2 * SHIMS_SECONDS)
            assert known[-1] == sorted([box, container]), "its shim has not leaked"
            fake.finish(container, 3)
            await harness.advance(RELIST_SECONDS)
            assert all(one.runtime.sandboxes[0].ready for one in harness.sent(PodRuntimeChanged))
            assert [one.exit_code for one in last_seen(harness).containers] == [3]
            snapshot = await harness.deliver(GetRuntimePods())
            assert [one.uid for one in snapshot.pods] == [config.metadata.uid]
            await client.stop_pod_sandbox(box)
            await client.remove_pod_sandbox(box)
            await harness.advance(RELIST_SECONDS)
            assert last_seen(harness).sandboxes == []
            assert (await harness.deliver(GetRuntimePods())).pods == []

    asyncio.run(story())
