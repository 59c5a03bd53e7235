"""What the client makes of a containerd that dies, is slow, or is asked twice."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError, NameReserved, Unavailable
from actors.shared.cri.model import CriContainerState
from tests.support.cri_configs import container_config, sandbox_config
from tests.support.cri_contract import until_exited
from tests.support.runtime import RealRuntime


@asynccontextmanager
async def connected(runtime: RealRuntime, seconds: float = 30.0) -> AsyncIterator[CriClient]:
    client = CriClient(runtime.endpoint, request_seconds=seconds)
    yield client
    await client.close()


async def answered_again(client: CriClient) -> None:
    """The channel connects again by itself, at most 3 s after it could."""
    async with asyncio.timeout(60):
        while True:
            try:
                await client.status()
            except Unavailable:
                await asyncio.sleep(0.05)
            else:
                return


async def test_a_container_outlives_the_runtime_and_the_same_client_sees_it_again(
    real_runtime: RealRuntime, tmp_path: Path
) -> None:
    async with connected(real_runtime) as client:
        pod = sandbox_config(real_runtime.cgroup_parent, tmp_path)
        sandbox = await client.run_pod_sandbox(pod)
        container = await client.create_container(sandbox, container_config(pod), pod)
        await client.start_container(container)
        before = await client.container_status(container, sandbox)
        real_runtime.kill()
        with pytest.raises(Unavailable, match=r"reading from server|Error while dialing"):
            await client.container_status(container)
        real_runtime.start()
        await real_runtime.ready()
        await answered_again(client)
        assert await client.container_status(container, sandbox) == before
        result = await client.exec_sync(container, ["echo", "still here"], 10)
        assert result.stdout == b"still here\n"


async def test_a_container_that_ended_while_the_runtime_was_away_is_reported_ended(
    real_runtime: RealRuntime, tmp_path: Path
) -> None:
    async with connected(real_runtime) as client:
        pod = sandbox_config(real_runtime.cgroup_parent, tmp_path)
        sandbox = await client.run_pod_sandbox(pod)
        flag = tmp_path / "go"
        script = "while [ ! -e /flags/go ]; do sleep 0.05; done; exit 9"
        config = container_config(pod, ["sh", "-c", script])
        config.mounts.add(container_path="/flags", host_path=str(tmp_path))
        container = await client.create_container(sandbox, config, pod)
        await client.start_container(container)
        real_runtime.kill()
        flag.touch()
        real_runtime.start()
        await real_runtime.ready()
        await answered_again(client)
        ended = await until_exited(client, container)
        assert ended.exit_code in (9, 255)  # 255: newer containerds do not learn the code


async def test_two_creates_at_once_make_one_sandbox_and_one_container(
    real_runtime: RealRuntime, tmp_path: Path
) -> None:
    async with connected(real_runtime) as client, connected(real_runtime) as other:
        pod = sandbox_config(real_runtime.cgroup_parent, tmp_path)
        sandboxes = await asyncio.gather(client.run_pod_sandbox(pod), other.run_pod_sandbox(pod))
        assert sandboxes[0] == sandboxes[1]
        config = container_config(pod)
        containers = await asyncio.gather(
            client.create_container(sandboxes[0], config, pod), other.create_container(sandboxes[0], config, pod)
        )
        assert containers[0] == containers[1]
        assert len(await client.list_containers(sandbox_id=sandboxes[0])) == 1


async def test_a_sandbox_with_an_abandoned_creation_is_created_once_by_the_next_try(
    real_runtime: RealRuntime, tmp_path: Path
) -> None:
    async with connected(real_runtime, 0.02) as hasty, connected(real_runtime) as patient:
        pod = sandbox_config(real_runtime.cgroup_parent, tmp_path)
        with contextlib.suppress(CriError, TimeoutError):
            await asyncio.wait_for(hasty.run_pod_sandbox(pod), 0.3)
        try:
            made = await patient.run_pod_sandbox(pod)
        except NameReserved:  # containerd could not clean up after the one that was given up: it is there, not ready
            pod.metadata.attempt += 1
            made = await patient.run_pod_sandbox(pod)
        listed = await patient.list_pod_sandboxes({"io.kubernetes.pod.uid": pod.metadata.uid})
        assert [one.id for one in listed if one.ready] == [made]
        container = await patient.create_container(made, container_config(pod), pod)
        await patient.start_container(container)
        assert (await patient.container_status(container)).state is CriContainerState.RUNNING
