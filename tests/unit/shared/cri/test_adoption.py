"""A create whose outcome is not known is looked for, and adopted."""

from __future__ import annotations

import asyncio

import pytest

from actors.shared.cri.adoption import PollSchedule, create_or_adopt
from actors.shared.cri.deadlines import Deadlines
from actors.shared.cri.errors import DeadlineExceeded, NameReserved, StillCreating, Unavailable
from tests.support.cri_configs import container_config, sandbox_config
from tests.support.fake_cri import FakeRuntime, Fault

QUICK = PollSchedule(first=0.01, longest=0.05, total=1.0)
SHORT = Deadlines(0.05)


async def test_a_sandbox_created_after_the_deadline_is_adopted() -> None:
    fake = FakeRuntime()
    fake.faults.add("RunPodSandbox", Fault(late=0.3, times=1))
    made = await fake.client(SHORT, QUICK).run_pod_sandbox(sandbox_config())
    assert list(fake.world.sandboxes) == [made]


async def test_a_container_created_after_the_deadline_is_adopted() -> None:
    fake = FakeRuntime()
    client = fake.client(SHORT, QUICK)
    pod = sandbox_config()
    sandbox = await client.run_pod_sandbox(pod)
    fake.faults.add("CreateContainer", Fault(late=0.3, times=1))
    made = await client.create_container(sandbox, container_config(pod), pod)
    assert list(fake.world.containers) == [made]


async def test_a_create_that_never_finishes_fails_at_its_deadline() -> None:
    fake = FakeRuntime()
    fake.faults.add("RunPodSandbox", Fault(hang=True))
    with pytest.raises(DeadlineExceeded):
        await fake.client(SHORT, PollSchedule(0.01, 0.05, 0.2)).run_pod_sandbox(sandbox_config())
    assert len(fake.requests_for("RunPodSandbox")) == 1


async def test_the_next_try_adopts_what_the_runtime_made_before_its_answer_was_lost() -> None:
    fake = FakeRuntime()
    client, pod = fake.client(polling=QUICK), sandbox_config()
    fake.faults.add("RunPodSandbox", Fault(answer_lost=True, times=1))
    with pytest.raises(Unavailable):
        await client.run_pod_sandbox(pod)
    assert [await client.run_pod_sandbox(pod)] == list(fake.world.sandboxes)


async def test_a_name_that_is_reserved_by_a_try_that_fails_is_used_by_the_next() -> None:
    fake = FakeRuntime()
    pod = sandbox_config()
    fake.faults.add("RunPodSandbox", Fault(delay=0.1, error="UNKNOWN", times=1))
    first = asyncio.ensure_future(fake.client().run_pod_sandbox(pod))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    made = await fake.client(polling=QUICK).run_pod_sandbox(pod)
    assert list(fake.world.sandboxes) == [made]
    with pytest.raises(Exception, match="injected"):
        await first


async def test_a_slow_create_is_distinguished_from_a_taken_name() -> None:
    fake, pod = FakeRuntime(), sandbox_config()
    goes_on = asyncio.Event()
    fake.faults.add("RunPodSandbox", Fault(held=goes_on, times=1))
    first = asyncio.ensure_future(fake.client().run_pod_sandbox(pod))
    await asyncio.sleep(0)
    with pytest.raises(StillCreating):
        await fake.client(polling=QUICK).run_pod_sandbox(pod)
    goes_on.set()
    assert await fake.client(polling=QUICK).run_pod_sandbox(pod) == await first


async def test_a_sandbox_that_is_no_longer_ready_is_not_adopted() -> None:
    fake = FakeRuntime()
    client, pod = fake.client(polling=QUICK), sandbox_config()
    made = await client.run_pod_sandbox(pod)
    fake.lose_sandbox(made)
    with pytest.raises(NameReserved) as caught:
        await client.run_pod_sandbox(pod)
    assert caught.value.id == made


async def test_a_container_of_another_definition_is_not_adopted() -> None:
    fake = FakeRuntime()
    client, pod = fake.client(polling=QUICK), sandbox_config()
    sandbox = await client.run_pod_sandbox(pod)
    made = await client.create_container(sandbox, container_config(pod), pod)
    changed = container_config(pod)
    changed.annotations["io.kubernetes.container.hash"] = "ffff"
    with pytest.raises(NameReserved) as caught:
        await client.create_container(sandbox, changed, pod)
    assert caught.value.id == made


async def test_pauses_between_looks_grow_and_end() -> None:
    pauses: list[float] = []

    async def record(seconds: float) -> None:
        pauses.append(seconds)

    async def create() -> str:
        raise DeadlineExceeded("RunPodSandbox", "DEADLINE_EXCEEDED", "")

    async def find() -> None:
        return None

    with pytest.raises(DeadlineExceeded):
        await create_or_adopt(create, find, PollSchedule(0.1, 1.0, 3.0, record))
    assert pauses == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.0, 1.0])
