"""Who cleans a cgroup tree. Two agents that were given the same cgroupRoot must not remove each other's pods."""

from __future__ import annotations

import socket


class Claim:
    """Held by binding an abstract socket name, which the kernel frees when the holder dies."""

    def __init__(self, cgroup: str) -> None:
        self._name = f"\0troupelet/cgroups{cgroup}"
        self._socket: socket.socket | None = None

    def held(self) -> bool:
        """Whether the claim is ours; takes it when nobody else has it."""
        if self._socket is None:
            attempt = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            try:
                attempt.bind(self._name)
            except OSError:
                attempt.close()
                return False
            self._socket = attempt
        return True

    def release(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
