"""A real containerd keeps the contract that the fake keeps."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from actors.cri.client import CriClient
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

        events = real_runtime.host.version >= (1, 7)
        return Site(connect, tmp_path, real_runtime.cgroup_parent, events)
