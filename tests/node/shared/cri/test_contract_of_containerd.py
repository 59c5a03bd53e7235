"""A real containerd keeps the contract that the fake keeps."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from actors.shared.cri.client import CriClient
from tests.support.cri_contract import RuntimeContract, Site
from tests.support.runtime import RealRuntime


class TestContainerd(RuntimeContract):
    @pytest.fixture
    def site(self, real_runtime: RealRuntime, tmp_path: Path) -> Site:
        @asynccontextmanager
        async def connect() -> AsyncIterator[CriClient]:
            client = CriClient(real_runtime.endpoint)
            yield client
            await client.close()

        def leave_task(container_id: str) -> None:
            ctr = [real_runtime.host.ctr, "--address", real_runtime.socket, "--namespace", "k8s.io"]
            subprocess.run([*ctr, "tasks", "start", "--detach", "--null-io", container_id], check=True, timeout=30)

        events = real_runtime.host.version >= (1, 7)
        return Site(connect, tmp_path, leave_task, real_runtime.cgroup_parent, events)
