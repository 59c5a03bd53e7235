"""How far the driver is with a CSI volume, kept in the volume's record: written before a driver is called, and after it
has answered. Calls block, but only on the agent's own file system.
"""

from __future__ import annotations

import os

import msgspec

from actors.shared.linux.directories import names_in
from actors.volume_manager.host.device_links import link_device

from . import record_file, records
from .model import CsiMount, DevicePaths, RecordState, VolumeRecord
from .records import StagedVolume


def folder_of(step: CsiMount) -> str:
    """The directory of the volume's record."""
    return os.path.dirname(step.path) if step.device is None else step.device.record


def is_published(step: CsiMount) -> bool:
    """Whether the volume is published and its fsGroup applied. A device needs no fsGroup."""
    known = record_file.read(folder_of(step))
    return known is not None and (known.state == "published" or step.device is not None) and records.mounted(step.path)


def note(step: CsiMount, record: VolumeRecord) -> None:
    """Record that the pod will use the volume. Raises OSError."""
    folder = folder_of(step)
    known = record_file.read(folder)
    if known is None:
        state: RecordState = "none"
    else:  # a volume of the same name may have been deleted
        is_same = (known.driverName, known.volumeHandle) == (record.driverName, record.volumeHandle)
        state = known.state if is_same else ""
    record_file.write(folder, msgspec.structs.replace(record, state=state))
    if step.device is not None:
        link_device(step.device.link, step.device.target)


def note_call(step: CsiMount, record: VolumeRecord) -> None:
    """Record that the driver will be asked to publish the volume. Raises OSError."""
    if (known := record_file.read(folder_of(step))) is not None and known.state == "none":
        record_file.write(folder_of(step), record)


def note_failure(step: CsiMount, record: VolumeRecord) -> None:
    """Record a final error of the driver in publishing the volume. Raises OSError."""
    known = record_file.read(folder_of(step))
    if step.device is None and (known is None or not known.state) and not records.mounted(step.path):
        record_file.write(folder_of(step), msgspec.structs.replace(record, state="none"))


def note_published(step: CsiMount, record: VolumeRecord) -> None:
    """Record that the volume is published and its fsGroup applied. Raises OSError."""
    if step.device is None:
        record_file.write(folder_of(step), msgspec.structs.replace(record, state="published"))


def note_stage_call(staged: StagedVolume, record: VolumeRecord) -> None:
    """Record that the driver will be asked to stage the volume. Raises OSError."""
    known = record_file.read(staged.folder)
    is_staged = known is not None and known.state == "staged"
    record_file.write(staged.folder, msgspec.structs.replace(record, state="staged" if is_staged else ""))


def note_staged(staged: StagedVolume, record: VolumeRecord) -> None:
    """Record that the driver has staged the volume. Raises OSError."""
    record_file.write(staged.folder, msgspec.structs.replace(record, state="staged"))


def note_stage_failure(staged: StagedVolume, device: DevicePaths | None) -> None:
    """Record a final error of the driver in staging the volume: it is not staged, unless it was staged before or is
    published. Raises OSError."""
    known = record_file.read(staged.folder)
    if known is None or known.state == "staged" or records.mounted(staged.target):
        return
    if device is None:
        records.remove_staged(staged)
    elif not names_in(os.path.dirname(device.target)):
        record_file.write(staged.folder, msgspec.structs.replace(known, state="none"))
