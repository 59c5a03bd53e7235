"""The checkpoint of this process: read once, written when it differs."""

from __future__ import annotations

import logging

from . import checkpoint
from .checkpoint import DeviceCheckpointError
from .holdings import Holdings
from .inventory import Inventory


class DeviceCheckpoint:
    """The checkpoint file in the directory device-plugins."""

    def __init__(self, directory: str, inventory: Inventory, holdings: Holdings) -> None:
        self._path = f"{directory}/{checkpoint.NAME}"
        self._inventory, self._holdings = inventory, holdings
        self._written: checkpoint.Data | None = None

    def restore(self, now: float, log: logging.Logger) -> None:
        try:
            found = checkpoint.read(self._path)
        except DeviceCheckpointError as error:
            log.error("which pods have which devices is not known: %s", error)
            return
        if found is None:
            return
        if found.warning:
            log.warning("%s", found.warning)
        for key, share in found.shares.items():
            self._holdings.hold(key, share)
        self._inventory.remembered(found.registered, now)

    def save(self) -> None:
        """Raises OSError."""
        data = checkpoint.data_of(self._holdings.items(), self._inventory.healthy())
        if data != self._written:
            checkpoint.write(self._path, checkpoint.encode(data))
            self._written = data
