"""Programs whose names no path can have."""

from __future__ import annotations

import pytest

from actors.shared.cri.errors import CriError, RuntimeFailure
from actors.shared.cri.program_names import MAX_BYTES, has_entrypoint
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


@pytest.mark.parametrize("entrypoint", ["null", "[]"])
async def test_a_long_argument_is_refused_where_the_image_has_no_program_of_its_own(entrypoint: str) -> None:
    fake = FakeRuntime()
    fake.images.info = f'{{"chainID": "c", "imageSpec": {{"config": {{"Cmd": ["sh"], "Entrypoint": {entrypoint}}}}}}}'
    config = container_config(sandbox_config())
    config.command[:], config.args[:] = [], [LONG]
    with pytest.raises(RuntimeFailure, match="file name too long"):
        await fake.client().create_container("s", config, sandbox_config())
    assert not fake.requests_for("CreateContainer")


@pytest.mark.parametrize("info", ['{"imageSpec": {"config": {"Entrypoint": ["sh", "-c"]}}}', "", "{}", "[]"])
async def test_a_long_argument_reaches_the_program_of_an_image(info: str) -> None:
    fake = FakeRuntime()
    fake.images.info = info
    config = container_config(sandbox_config())
    config.command[:], config.args[:] = [], [LONG]
    with pytest.raises(CriError):  # it has no such sandbox
        await fake.client().create_container("s", config, sandbox_config())
    assert fake.requests_for("CreateContainer")


async def test_an_image_is_looked_at_for_long_arguments_only() -> None:
    fake = FakeRuntime()
    config = container_config(sandbox_config())
    config.command[:], config.args[:] = [], ["sh"]
    with pytest.raises(CriError):
        await fake.client().create_container("s", config, sandbox_config())
    assert not fake.requests_for("ImageStatus")


@pytest.mark.parametrize("info", ["", "{", "[" * 100_000, '{"imageSpec": 1}'])
def test_an_image_whose_configuration_cannot_be_read_may_have_a_program(info: str) -> None:
    assert has_entrypoint(info)
