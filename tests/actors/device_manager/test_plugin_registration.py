"""The device manager answers for plugins that nobody serves."""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.device_manager.actor import DeviceManager
from actors.device_manager.messages import REGISTRATION, GetPlugin, PluginAtSocket
from actors.shared.config.agent import Agent
from actors.shared.relay import LOOK_SECONDS
from supervision.process_messages import ServiceState
from supervision.testing.harness import Harness
from tests.support.csi_driver import FakeDriver


@pytest.fixture
def root() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="devices-") as directory:  # short: a socket's path has 107 bytes
        Path(directory, "plugins_registry").mkdir()
        yield Path(directory)


async def test_a_plugin_of_an_unknown_type_is_refused_with_the_reason(root: Path) -> None:
    driver = FakeDriver(str(root), kind="NoPlugin")
    agent = Agent(root_dir=str(root), run_dir=str(root))
    async with Harness(DeviceManager, name="device_manager", context=agent) as harness:
        with driver.running():
            await harness.wait(lambda: bool(driver.said), timeout=30)
        await harness.stop()
    path = f"{root}/plugins_registry/{driver.name}-reg.sock"
    text = f"RegisterPlugin error -- no handler registered for plugin type: NoPlugin at socket {path}"
    assert driver.said == [(False, text)]


async def test_a_driver_of_volumes_is_asked_once_and_described_to_who_serves_it(root: Path) -> None:
    driver = FakeDriver(str(root))
    agent = Agent(root_dir=str(root), run_dir=str(root), standalone=False)
    path = f"{root}/plugins_registry/{driver.name}-reg.sock"
    async with Harness(DeviceManager, name="device_manager", context=agent) as harness:
        assert await harness.deliver(GetPlugin(path)) == PluginAtSocket(None), "there is no socket"
        with driver.running():
            for _ in range(2):
                answer = await harness.deliver(GetPlugin(path), timeout=30)
                assert isinstance(answer, PluginAtSocket)
                assert answer.plugin is not None
                assert (answer.plugin.kind, answer.plugin.name) == ("CSIPlugin", driver.name)
            assert len(driver.requests("GetInfo")) == 1
            assert driver.said == []
        await harness.stop()


async def test_a_broken_registration_socket_is_reported_until_it_works(root: Path) -> None:
    directory = root / "device-plugins"
    directory.write_text("not a directory")
    agent = Agent(root_dir=str(root), run_dir=str(root))
    async with Harness(DeviceManager, name="device_manager", context=agent) as harness:
        told = await harness.wait_sent(ServiceState, where=lambda report: report.service == REGISTRATION)
        assert told.text.partition(":")[0] == "no device plugin can register"
        harness.clear()
        directory.unlink()
        directory.mkdir()
        await harness.advance(5.0)
        told = await harness.wait_sent(ServiceState)
        assert (told.service, told.text) == (REGISTRATION, "")
        assert (directory / "kubelet.sock").is_socket()
        await harness.stop()


async def test_a_socket_whose_name_is_not_utf8_is_reported_and_ends_no_actor(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    registry = root / "plugins_registry"
    registry.mkdir(exist_ok=True)
    with socket.socket(socket.AF_UNIX) as unreadable:
        unreadable.bind(bytes(registry) + b"/\xff.sock")
        agent = Agent(root_dir=str(root), run_dir=str(root))
        async with Harness(DeviceManager, name="device_manager", context=agent) as harness:
            await harness.wait(lambda: ".sock is not UTF-8" in caplog.text, timeout=30)
            await harness.stop()


@pytest.mark.parametrize("removed", ["socket", "directory"])
async def test_a_removed_registration_socket_is_made_again(root: Path, removed: str) -> None:
    path = root / "device-plugins" / "kubelet.sock"
    path.parent.mkdir()
    agent = Agent(root_dir=str(root), run_dir=str(root))
    async with Harness(DeviceManager, name="device_manager", context=agent) as harness:
        await harness.settle()
        assert path.is_socket()
        path.unlink() if removed == "socket" else shutil.rmtree(path.parent)
        await harness.advance(LOOK_SECONDS)
        await harness.settle()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
        await harness.stop()
