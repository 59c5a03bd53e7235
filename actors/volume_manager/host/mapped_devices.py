"""What a kubelet keeps of a device that a pod uses: the device bound to a file named for the pod, and a loop device on
that file, which holds the device open. A pod that a kubelet has started has both when it ends here.
"""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from glob import escape, glob
from pathlib import Path
from typing import Final

from actors.shared.linux import mount_calls, mountinfo

_PLACES: Final = (
    "kubernetes.io/csi/volumeDevices/*/dev",
    "kubernetes.io~local-volume/volumeDevices/*",
    "kubernetes.io/iscsi/volumeDevices/iface-*/*",
    "kubernetes.io/fc/volumeDevices/*",
)
"""Below the directory of plugins: a directory for each PersistentVolume, or disk."""
_LOOP_CLR_FD: Final = 0x4C01
"""An ioctl of loop devices (linux/loop.h)."""


def mapped(plugins_dir: str, uid: str) -> list[str]:
    """The files of the pod's devices. On the agent's own file system, so it needs no disposable process."""
    top = escape(plugins_dir)
    return [path for place in _PLACES for path in sorted(glob(f"{top}/{place}/{escape(uid)}")) if os.path.lexists(path)]


def unmap(paths: list[str]) -> None:
    """Release the devices, so that they can be detached, and remove the files. For a disposable process: a device may
    not answer. Raises OSError."""
    for path in paths:
        real = os.path.realpath(path)
        for device in loop_devices(real):
            _release(device)
        for _ in mountinfo.at(real):
            mount_calls.umount(real)
        with suppress(FileNotFoundError):
            os.unlink(path)
        with suppress(OSError):  # other pods use the volume
            os.rmdir(os.path.dirname(path))


def loop_devices(file: str, sysfs: str = "/sys") -> list[str]:
    """The loop devices on this file, as `/dev/loop0`."""
    found = []
    for path in sorted(glob(f"{sysfs}/block/loop*/loop/backing_file")):
        with suppress(OSError):
            if Path(path).read_text("utf-8", "surrogateescape").strip().removesuffix("(deleted)").strip() == file:
                found.append(f"/dev/{path.split('/')[-3]}")
    return found


def _release(device: str) -> None:
    """Raises OSError."""
    fd = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.ioctl(fd, _LOOP_CLR_FD)
    except OSError as error:
        if error.errno != errno.ENXIO:  # it has no file any more
            raise
    finally:
        os.close(fd)
