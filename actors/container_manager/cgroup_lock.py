"""The cgroup lock: which of two agents with the same cgroupRoot may remove cgroups that belong to none of its pods."""

from __future__ import annotations

import socket


class CgroupLock:
    """Held by an abstract socket name, which the kernel frees when the holder dies."""

    def __init__(self, host: str = "") -> None:
        """`host`: the root directory of a made-up host."""
        self._host, self._cgroup = host, ""
        self._socket: socket.socket | None = None

    def acquire(self, cgroup: str) -> bool:
        """Whether the lock of this cgroup tree is ours, taken now if nobody has it. That of another tree is let go."""
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
