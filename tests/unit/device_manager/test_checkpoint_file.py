"""The checkpoint of devices as the device manager reads it at its start."""

from __future__ import annotations

from pathlib import Path

from actors.device_manager.checkpoint import NAME
from actors.device_manager.checkpoint_file import CHECKPOINT, DeviceCheckpoint
from actors.device_manager.holdings import Holdings
from actors.device_manager.inventory import Inventory
from actors.shared.state_files import StateFiles
from supervision.process_messages import ServiceState


def test_a_damaged_checkpoint_is_a_trouble_for_status(tmp_path: Path) -> None:
    told: list[ServiceState] = []
    files = StateFiles(str(tmp_path), str(tmp_path / "run"))
    record = DeviceCheckpoint(files, str(tmp_path), Inventory(), Holdings(), told.append)
    record.restore(0.0)
    assert told == [], "no file is no trouble"
    (tmp_path / NAME).write_text("{corrupt")
    record.restore(0.0)
    ((service, text),) = [(one.service, one.text) for one in told]
    assert service == CHECKPOINT
    assert text.startswith(f"{tmp_path / NAME} is damaged: ")
    assert text.endswith("; the devices of running pods are not known")
