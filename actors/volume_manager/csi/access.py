"""The VolumeCapability of a volume. Pure."""

from __future__ import annotations

from typing import Final

from proto import csi_pb2 as csi

from .errors import CsiError
from .model import CsiMount, Driver

_MODE: Final = csi.VolumeCapability.AccessMode
_MODES: Final = {
    "ReadWriteOnce": _MODE.SINGLE_NODE_WRITER,
    "ReadOnlyMany": _MODE.MULTI_NODE_READER_ONLY,
    "ReadWriteMany": _MODE.MULTI_NODE_MULTI_WRITER,
    "ReadWriteOncePod": _MODE.SINGLE_NODE_WRITER,
}
_MODES_OF_MANY_WRITERS: Final = {
    **_MODES,
    "ReadWriteOnce": _MODE.SINGLE_NODE_MULTI_WRITER,
    "ReadWriteOncePod": _MODE.SINGLE_NODE_SINGLE_WRITER,
}
"""For drivers with the capability SINGLE_NODE_MULTI_WRITER."""


def capability(driver: Driver, step: CsiMount) -> csi.VolumeCapability:
    """Raises CsiError."""
    mode = _MODE(mode=access_mode(driver, step.source.access_modes))
    if step.device is not None:
        return csi.VolumeCapability(block=csi.VolumeCapability.BlockVolume(), access_mode=mode)
    group = str(step.group) if driver.groups and step.group is not None else ""
    mount = csi.VolumeCapability.MountVolume(
        fs_type=step.source.fs_type, mount_flags=step.source.mount_options, volume_mount_group=group
    )
    return csi.VolumeCapability(mount=mount, access_mode=mode)


def access_mode(driver: Driver, modes: list[str]) -> csi.VolumeCapability.AccessMode.Mode.ValueType:
    """The first of the PersistentVolume's modes counts; an inline volume has none, and is ReadWriteOnce.

    Raises CsiError for a mode that no driver knows.
    """
    mode, known = modes[0] if modes else "ReadWriteOnce", _MODES_OF_MANY_WRITERS if driver.many_writers else _MODES
    if mode not in known:
        raise CsiError(f"unsupported access mode {mode!r}")
    return known[mode]
