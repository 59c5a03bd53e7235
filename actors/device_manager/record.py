"""The checkpoint of this process: read once, written when it differs."""

from __future__ import annotations

from actors.shared.state_files import StateFiles

from . import checkpoint
from .checkpoint import DeviceCheckpointError
from .holdings import Holdings
from .inventory import Inventory


class DeviceCheckpoint:
    """The checkpoint file in the directory device-plugins."""

    def __init__(self, files: StateFiles, directory: str, inventory: Inventory, holdings: Holdings) -> None:
        self._file, self._log = files.file(f"{directory}/{checkpoint.NAME}"), files.log
        self._inventory, self._holdings = inventory, holdings
        self._written_data: checkpoint.Data | None = None

    def restore(self, now: float) -> None:
        """Raises OSError."""
        self._file.prepare()
        try:
            found = checkpoint.read(self._file.path)
        except DeviceCheckpointError as error:
            self._log.error("which pods have which devices is not known: %s", error)
            return
        if found is None:
            return
        if found.warning:
            self._log.warning("%s", found.warning)
        for key, share in found.shares.items():
            self._holdings.allocate(key, share)
        self._inventory.remembered(found.registered, now)

    def save(self) -> None:
        """Write what differs, without fsync as the kubelet: after a loss of power no container runs. Raises OSError."""
        data = checkpoint.data_of(self._holdings.items(), self._inventory.healthy())
        if data != self._written_data:
            self._file.write(checkpoint.encode(data))
            self._written_data = data
