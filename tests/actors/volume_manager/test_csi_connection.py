"""A connection to a CSI driver that is closed while the driver has a call."""

from __future__ import annotations

import asyncio
from tempfile import TemporaryDirectory

import pytest

from actors.shared.plugins.registrar import CLOSED
from actors.volume_manager.csi import connection as module
from actors.volume_manager.csi.connection import CsiConnection
from actors.volume_manager.csi.errors import CallError


async def test_calls_that_outlast_the_time_for_closing_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await reader.read()
        writer.close()

    with TemporaryDirectory(prefix="csi-") as home:
        async with await asyncio.start_unix_server(silent, f"{home}/s"):
            connection = CsiConnection(f"{home}/s")
            call = asyncio.ensure_future(connection.unpublish("volume", "/path"))
            await asyncio.wait_for(asked.wait(), 20)
            monkeypatch.setattr(module, "CALL_SECONDS", 0.0)
            await connection.close()
            with pytest.raises(CallError, match=CLOSED):
                await asyncio.wait_for(call, 20)


async def test_the_end_of_a_task_that_waits_for_a_call_is_its_end() -> None:
    with TemporaryDirectory(prefix="csi-") as home:
        connection = CsiConnection(f"{home}/nobody")
        call = asyncio.ensure_future(connection.unpublish("volume", "/path"))
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await connection.close()


async def test_a_call_after_the_connection_was_closed_is_an_error_of_the_driver() -> None:
    with TemporaryDirectory(prefix="csi-") as home:
        connection = CsiConnection(f"{home}/nobody")
        await connection.close()  # as for a driver that is replaced between two steps of a mount
        with pytest.raises(CallError, match=CLOSED):
            await connection.unpublish("volume", "/path")
