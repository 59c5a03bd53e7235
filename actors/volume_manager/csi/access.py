"""How a volume is to be used, in a driver's words. Pure."""

from __future__ import annotations

from typing import Final

from proto import csi_pb2 as csi

from .model import CsiMount, Driver

_MODE: Final = csi.VolumeCapability.AccessMode
_ONE: Final = {"ReadWriteOnce": _MODE.SINGLE_NODE_WRITER, "ReadWriteOncePod": _MODE.SINGLE_NODE_WRITER}
_ONE_OF_MANY: Final = {
    "ReadWriteOnce": _MODE.SINGLE_NODE_MULTI_WRITER,
    "ReadWriteOncePod": _MODE.SINGLE_NODE_SINGLE_WRITER,
}


def capability(driver: Driver, step: CsiMount) -> csi.VolumeCapability:
    """Mounted, with the file system, options and group of the volume, as far as the driver cares."""
    group = str(step.group) if driver.groups and step.group is not None else ""
    mount = csi.VolumeCapability.MountVolume(
        fs_type=step.source.fs_type, mount_flags=step.source.mount_options, volume_mount_group=group
    )
    return csi.VolumeCapability(mount=mount, access_mode=_MODE(mode=access_mode(driver, step.source.access_modes)))


def access_mode(driver: Driver, modes: list[str]) -> csi.VolumeCapability.AccessMode.Mode.ValueType:
    """The widest of the volume's modes counts; a pod's own volume is its writer's alone."""
    if "ReadWriteMany" in modes:
        return _MODE.MULTI_NODE_MULTI_WRITER
    one = _ONE_OF_MANY if driver.many_writers else _ONE
    if "ReadOnlyMany" in modes:
        return _MODE.MULTI_NODE_SINGLE_WRITER if "ReadWriteOnce" in modes else _MODE.MULTI_NODE_READER_ONLY
    return one["ReadWriteOncePod" if "ReadWriteOncePod" in modes else "ReadWriteOnce"]
