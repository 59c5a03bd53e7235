"""The fake keeps the contract, in the same process and over a socket, old and new."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from actors.shared.cri.client import CriClient
from tests.support.cri_contract import RuntimeContract, Site
from tests.support.fake_cri import FakeRuntime, serve
from tests.support.fake_cri.runtime import Flavour

pytestmark = pytest.mark.slow


def in_process(flavour: Flavour, logs: Path) -> Site:
    fakes: list[FakeRuntime] = []

    @asynccontextmanager
    async def connect() -> AsyncIterator[CriClient]:
        fakes.append(fake := FakeRuntime(flavour))
        yield fake.client()
        await fake.close()

    return Site(connect, logs, lambda container_id: fakes[-1].leave_task(container_id), events=flavour != "1.6")


def over_a_socket(flavour: Flavour, logs: Path, socket: Path) -> Site:
    fakes: list[FakeRuntime] = []

    @asynccontextmanager
    async def connect() -> AsyncIterator[CriClient]:
        fakes.append(fake := FakeRuntime(flavour))
        async with serve(fake, socket) as endpoint:
            client = CriClient(endpoint)
            yield client
            await client.close()
        await fake.close()

    return Site(connect, logs, lambda container_id: fakes[-1].leave_task(container_id), events=flavour != "1.6")


class TestInTheSameProcess(RuntimeContract):
    @pytest.fixture(params=["1.6", "2.1"])
    def site(self, request: pytest.FixtureRequest, tmp_path: Path) -> Site:
        return in_process(request.param, tmp_path)


class TestOverASocket(RuntimeContract):
    @pytest.fixture(params=["1.6", "2.1"])
    def site(self, request: pytest.FixtureRequest, tmp_path: Path) -> Site:
        return over_a_socket(request.param, tmp_path, tmp_path / "cri.sock")
