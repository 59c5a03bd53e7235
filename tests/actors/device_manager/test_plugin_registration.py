"""The device manager answers for plugins that nobody serves."""

from __future__ import annotations

from pathlib import Path

from actors.device_manager.actor import DeviceManager
from actors.shared.config.agent import Agent
from supervision.harness import Harness
from tests.support.csi_driver import FakeDriver


async def test_a_plugin_of_an_unknown_type_is_told_that_nobody_serves_it(tmp_path: Path) -> None:
    (tmp_path / "plugins_registry").mkdir()
    driver = FakeDriver(str(tmp_path), kind="NoPlugin")
    async with Harness(DeviceManager, name="device_manager", context=Agent(root_dir=str(tmp_path))) as harness:
        with driver.running():
            await harness.wait(lambda: bool(driver.said), timeout=30)
        await harness.stop()
    path = f"{tmp_path}/plugins_registry/{driver.name}-reg.sock"
    text = f"RegisterPlugin error -- no handler registered for plugin type: NoPlugin at socket {path}"
    assert driver.said == [(False, text)]
