"""Local volumes: the type of a path, and its bind mount in a pod's directory. Runs in disposable processes."""

from __future__ import annotations

import os
import stat
from typing import Final

from actors.shared.linux import mount_calls, mountinfo
from actors.shared.linux.directories import make_path

from .mount_program import PROGRAM, mount_error

DIRECTORY, DEVICE = "directory", "device"
_DIRECTORY_MODE: Final = 0o750


def kind_of(path: str) -> str:
    """DIRECTORY, DEVICE, or '' for anything else. Raises OSError, ValueError for a path that does not exist."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        raise ValueError(f'path "{path}" does not exist') from None
    return DIRECTORY if stat.S_ISDIR(mode) else DEVICE if stat.S_ISBLK(mode) else ""


def bind_volume(source: str, target: str, options: list[str], seconds: float) -> str:
    """Bind mount the directory, without the mounts below it, unless it is mounted; then apply the options. Returns ''
    or the error; after an error nothing is mounted. Raises OSError.
    """
    real = os.path.realpath(target)
    make_path(target, _DIRECTORY_MODE)
    if not mountinfo.at(real):
        mount_calls.bind(source, target, recursive=False)
    error = ""
    if options:
        remount = ",".join(["bind", "remount", *options])
        error = mount_error([PROGRAM, "-o", remount, source, target], seconds)
    if error:
        mount_calls.umount(target)
        os.rmdir(target)
    return error
