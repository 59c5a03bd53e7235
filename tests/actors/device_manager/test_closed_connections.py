"""Calls to a plugin or driver whose connection was closed, because it is gone or another has taken its place."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from actors.device_manager.dra.connection import DraConnection
from actors.device_manager.dra.driver_services import choose
from actors.device_manager.plugin_client import PluginClient
from actors.shared.kube.resource_claims import ResourceClaimError
from actors.shared.plugins.model import PluginError
from actors.shared.plugins.registrar import CLOSED
from supervision.metrics import Metrics


async def test_a_device_plugin_that_is_gone_allocates_nothing(tmp_path: Path) -> None:
    client = PluginClient(str(tmp_path / "s"))
    await client.close()
    with pytest.raises(PluginError, match=CLOSED):
        await client.allocate(["d0"])
    with pytest.raises(PluginError, match=CLOSED):
        await anext(client.devices())


async def test_a_device_plugin_that_is_replaced_while_it_connects_is_not_connected(tmp_path: Path) -> None:
    async with await asyncio.start_unix_server(lambda reader, writer: None, tmp_path / "s"):
        client = PluginClient(str(tmp_path / "s"))
        connecting = asyncio.ensure_future(client.connect())
        await asyncio.sleep(0)
        await client.close()
        with pytest.raises(PluginError, match=CLOSED):
            await asyncio.wait_for(connecting, 20)


async def test_a_driver_that_is_gone_prepares_no_claim_and_reports_no_health(tmp_path: Path) -> None:
    connection = DraConnection("d", str(tmp_path / "s"), choose(["v1.DRAPlugin"]), Metrics())
    await connection.close()
    with pytest.raises(ResourceClaimError, match=CLOSED):
        await connection.prepare([])
    with pytest.raises(ResourceClaimError, match=CLOSED):
        await anext(connection.watch_health())
