"""The floor: a bare CRI client that makes the same calls on the same runtime, and does nothing else."""

from __future__ import annotations

import asyncio
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from actors.shared.cri.client import CriClient
from actors.shared.linux.cgroup_limits import CgroupLimits
from actors.shared.linux.cgroup_tree import find
from tests.support.runtime import RealRuntime

from .pods import bare_container, bare_sandbox

_LIMITS = CgroupLimits(cpu_shares=5, cpu_quota_us=20_000, cpu_period_us=100_000, memory_bytes=64 << 20)


@dataclass(frozen=True)
class Times:
    """Seconds since the first order, sorted: each container started, each pod gone."""

    started: list[float]
    gone: list[float]


async def floor(runtime: RealRuntime, pods: int, at_once: int) -> Times:
    """Start so many pods, never more than `at_once` at a time, then remove them in the same way."""
    bare = _Bare(runtime, at_once)
    try:
        return await bare.measure(pods)
    finally:
        await bare.client.close()


class _Bare:
    def __init__(self, runtime: RealRuntime, at_once: int) -> None:
        self.client = CriClient(runtime.endpoint)
        self._cgroups, self._parent = find(), f"{runtime.cgroup_parent}/floor"
        self._turn = asyncio.Semaphore(at_once)
        self._hosts = Path(runtime.base, "hosts")
        self._hosts.touch()

    async def measure(self, pods: int) -> Times:
        await self.client.version()
        self._cgroups.create(self._parent)
        started_at = time.time()
        made = await asyncio.gather(*(self._start() for _ in range(pods)))
        states = [await self.client.container_status(container) for _, container, _ in made]
        started = sorted(state.started_ns / 1e9 - started_at for state in states)
        started_at = time.time()
        gone = sorted(await asyncio.gather(*(self._end(*pod) for pod in made)))
        self._cgroups.remove(self._parent)
        return Times(started, [at - started_at for at in gone])

    async def _start(self) -> tuple[str, str, str]:
        async with self._turn:
            cgroup = f"{self._parent}/{uuid.uuid4()}"
            self._cgroups.create(cgroup)
            self._cgroups.apply(cgroup, _LIMITS)
            sandbox = bare_sandbox(cgroup)
            sandbox_id = await self.client.run_pod_sandbox(sandbox)
            config = bare_container(sandbox, str(self._hosts))
            container_id = await self.client.create_container(sandbox_id, config, sandbox)
            await self.client.start_container(container_id)
            return sandbox_id, container_id, cgroup

    async def _end(self, sandbox_id: str, container_id: str, cgroup: str) -> float:
        async with self._turn:
            await self.client.stop_container(container_id, 10)
            await self.client.stop_pod_sandbox(sandbox_id)
            await self.client.remove_container(container_id)
            await self.client.remove_pod_sandbox(sandbox_id)
            self._cgroups.remove(cgroup)
            return time.time()
