"""The connection to logind, with a real bus and a stand-in for logind on it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from actors.shutdown_manager.logind import Logind
from tests.support.system_bus import system_bus


async def test_each_signal_is_waited_for_once(tmp_path: Path) -> None:
    with system_bus(tmp_path / "bus") as bus:
        logind = Logind(str(bus.drop_in_dir))
        await logind.connect()
        bus.tell("begin")
        await asyncio.wait_for(logind.wait_for_signal(), 20.0)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(logind.wait_for_signal(), 0.1)
        logind.close()
