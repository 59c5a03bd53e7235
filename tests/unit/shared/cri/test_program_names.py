"""Programs whose names no path can have."""

from __future__ import annotations

import pytest

from actors.shared.cri.errors import CriError, RuntimeFailure
from actors.shared.cri.program_names import MAX_BYTES
from proto import cri_pb2 as cri
from tests.support.cri_configs import container_config, sandbox_config
from tests.support.fake_cri import FakeRuntime

LONG = "é" * (MAX_BYTES // 2 + 1)


async def test_a_runtime_is_not_asked_for_a_program_with_too_long_a_name() -> None:
    fake = FakeRuntime()
    client = fake.client()
    config = container_config(sandbox_config())
    config.command[:] = [LONG]
    calls = (
        lambda: client.exec_sync("c", [LONG, "x"]),
        lambda: client.exec_url(cri.ExecRequest(container_id="c", cmd=[LONG])),
        lambda: client.create_container("s", config, sandbox_config()),
    )
    for call in calls:
        with pytest.raises(RuntimeFailure, match="the name of the program has 4096 bytes: file name too long"):
            await call()
    assert not fake.calls


async def test_the_longest_path_and_long_arguments_reach_the_runtime() -> None:
    fake = FakeRuntime()
    with pytest.raises(CriError):  # it has no such container
        await fake.client().exec_sync("c", ["a" * MAX_BYTES, "b" * 100_000])
    assert fake.calls
