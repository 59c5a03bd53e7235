"""Pods at the bounds of what is admitted: the worker serves others all along."""

from __future__ import annotations

import asyncio

import msgspec

from actors.api_clients.kube_client.messages import Services
from actors.pod_workers.containers.container_config import Parts, container_config
from actors.pod_workers.containers.resources import LinuxContainerResources
from actors.pod_workers.containers.service_links import service_environment
from actors.pod_workers.phases.actions import Start
from proto import cri_pb2 as cri
from tests.support.shard_harness import container, pod

SERVICES = 5000


def service(number: int) -> bytes:
    ports = [{"port": 80, "name": "http"}, {"port": 443, "name": "https"}]
    spec = {"clusterIP": "10.96.0.1", "ports": ports}
    return msgspec.json.encode({"metadata": {"name": f"service-{number}"}, "spec": spec})


async def test_the_variables_of_thousands_of_services_are_made_in_pieces() -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    found = Services(synced=True, services=[service(number) for number in range(SERVICES)])
    task = asyncio.ensure_future(others())
    variables = await service_environment(found.services, b"", links=True)
    assert len(variables) == 13 * SERVICES
    assert turns >= 2 * SERVICES / 200
    wanted = pod(containers=[container("a")])
    turns = 0
    parts = Parts(
        image_ref="image",
        environment=variables,
        mounts=[],
        limits=LinuxContainerResources(cpu_shares=2, cpu_quota=0, cpu_period=0, memory_bytes=0, oom_score_adj=0),
        security=cri.LinuxContainerSecurityContext(),
    )
    config = await container_config(wanted, Start(wanted.spec.containers[0], 0), parts)
    assert len(config.envs) == len(variables)
    assert turns >= len(variables) / 2000
    task.cancel()
