"""Reads the device checkpoint once, at the start, and writes it when it has changed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from actors.shared.state_files import StateFiles
from supervision.process_messages import ServiceState

from . import checkpoint
from .checkpoint import DeviceCheckpointError
from .holdings import Holdings
from .inventory import Inventory

CHECKPOINT: Final = "device checkpoint"
_REMEDY: Final = "drain the node: this ends with the pods that run now"


class DeviceCheckpoint:
    """The checkpoint file in the directory device-plugins."""

    def __init__(
        self,
        files: StateFiles,
        directory: str,
        inventory: Inventory,
        holdings: Holdings,
        tell: Callable[[ServiceState], None],
    ) -> None:
        """`tell` gets the trouble for `supervise status`, until no pod runs whose devices are unknown. Another file
        that is put there is read at the next start only."""
        self._tell, self._is_damaged = tell, False
        self._file, self._log = files.file(f"{directory}/{checkpoint.NAME}"), files.log
        self._inventory, self._holdings = inventory, holdings
        self._written_data: checkpoint.Data | None = None

    def restore(self, now: float) -> None:
        """Raises OSError."""
        self._file.prepare()
        try:
            found = checkpoint.read(self._file.newest())
        except DeviceCheckpointError as error:
            self._log.error(
                "the device checkpoint cannot be read, so the devices of running pods are not known: %s", error
            )
            text = f"{error}; the devices of running pods are not known"
            self._tell(ServiceState(CHECKPOINT, text, time.monotonic(), _REMEDY))
            self._is_damaged = True
            return
        if found is None:
            return
        if found.warning:
            self._log.warning("%s", found.warning)
        for key, share in found.shares.items():
            self._holdings.allocate(key, share)
        self._inventory.remembered(found.registered, now)

    def damage_is_over(self) -> None:
        """No pod runs whose devices are unknown."""
        if self._is_damaged:
            self._is_damaged = False
            self._tell(ServiceState(CHECKPOINT))

    def save(self) -> None:
        """Write the checkpoint if it has changed. Like the kubelet without fsync: after a power loss no container runs.
        Raises OSError."""
        data = checkpoint.data_of(self._holdings.items(), self._inventory.healthy())
        if data != self._written_data:
            self._file.write(checkpoint.encode(data))
            self._written_data = data
