"""mount(2) and umount2(2), which Python lacks. Every call may hang on a dead remote file system: run it in a disposable
process unless the mount is local."""

from __future__ import annotations

import ctypes
import os
from typing import Final

MS_BIND: Final = 4096
MS_REC: Final = 16384
MS_SHARED: Final = 1 << 20

MNT_DETACH: Final = 2
UMOUNT_NOFOLLOW: Final = 8

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mount.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p)
_libc.umount2.argtypes = (ctypes.c_char_p, ctypes.c_int)


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount. Raises OSError with the errno of the kernel."""
    data = options.encode() or None
    if _libc.mount(os.fsencode(source), os.fsencode(target), kind.encode() or None, flags, data) != 0:
        raise _last_error(target)


def umount(target: str, flags: int = UMOUNT_NOFOLLOW) -> None:
    """Unmount the topmost mount at `target`. Raises OSError (EBUSY, EINVAL if nothing is mounted there, ...)."""
    if _libc.umount2(os.fsencode(target), flags) != 0:
        raise _last_error(target)


def bind(source: str, target: str, *, recursive: bool = True) -> None:
    """Bind `source`, for instance /proc/self/fd/N, to `target`. Raises OSError."""
    mount(source, target, flags=MS_BIND | (MS_REC if recursive else 0))


def make_shared(target: str) -> None:
    """Let mounts at and below this mount point propagate (rshared). Raises OSError."""
    mount("none", target, flags=MS_SHARED | MS_REC)


def _last_error(path: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), path)
