"""Many pods that end at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from actors.shared.config.agent import Agent
from actors.shared.linux import mountinfo
from actors.shared.linux.mountinfo import Mount
from actors.volume_manager.teardown import Teardown


async def test_between_two_looks_at_the_mount_table_others_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    served = 0
    at: list[int] = []

    async def others() -> None:
        nonlocal served
        while True:
            served += 1
            await asyncio.sleep(0)

    def read_below(directory: str) -> list[Mount]:
        at.append(served)
        return []

    monkeypatch.setattr(mountinfo, "read_below", read_below)
    nothing: Any = None
    ending = Teardown(nothing, Agent(root_dir="/nowhere"), nothing)
    task = asyncio.ensure_future(others())
    await asyncio.gather(*(ending.mounts(f"/pods/{number}") for number in range(100)))
    task.cancel()
    assert len(set(at)) == 100
