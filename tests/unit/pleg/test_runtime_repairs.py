"""What the log says of containers that run and that the runtime does not list."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from actors.pleg import runtime_repairs
from actors.pleg.runtime_repairs import ROOM_BYTES, RuntimeRepairs


@pytest.mark.parametrize(
    ("managed", "free", "remedy"),
    [
        (True, ROOM_BYTES - 1, "its disk is full"),
        (False, ROOM_BYTES - 1, "its disk is full"),
        (False, ROOM_BYTES, "restart the runtime once its disk has room"),
    ],
)
def test_the_warning_names_the_full_disk_or_what_the_operator_can_do(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, managed: bool, free: int, remedy: str
) -> None:
    monkeypatch.setattr(runtime_repairs, "free_bytes", lambda directory: free)
    actor: Any = SimpleNamespace(log=logging.getLogger("pleg"))
    agent: Any = SimpleNamespace(managed_runtime=managed, root_dir="/")
    asyncio.run(RuntimeRepairs(actor, agent).unlisted("default/web", ["a", "b"]))
    (record,) = caplog.records
    assert record.getMessage() == f"default/web: 2 containers run that the runtime does not list: {remedy}"
