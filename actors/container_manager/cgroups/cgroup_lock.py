"""The cgroup lock. If two agents have the same cgroupRoot, only its holder may remove cgroups of unknown pods."""

from __future__ import annotations

import socket


class CgroupLock:
    """The lock is an abstract socket name, which the kernel frees when its holder dies."""

    def __init__(self, host: str = "") -> None:
        """`host`: the root directory of a fake host."""
        self._host, self._cgroup = host, ""
        self._socket: socket.socket | None = None

    def acquire(self, cgroup: str) -> bool:
        """Take the lock of this cgroup tree if it is free, and release that of another tree. Returns whether this agent
        holds it."""
        if self._socket is not None and cgroup == self._cgroup:
            return True
        self.release()
        attempt = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            attempt.bind(f"\0troupelet/cgroups{self._host}{cgroup}")
        except OSError:
            attempt.close()
            return False
        self._socket, self._cgroup = attempt, cgroup
        return True

    def release(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
