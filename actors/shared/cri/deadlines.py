"""The deadline of each call in seconds, as in the kubelet."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_REQUEST_SECONDS = 120.0
"""Default of runtimeRequestTimeout."""


@dataclass(frozen=True)
class Deadlines:
    """`request` is runtimeRequestTimeout."""

    request: float = DEFAULT_REQUEST_SECONDS

    @property
    def run_pod_sandbox(self) -> float:
        """Twice the request timeout, because the call sets up the pod's network."""
        return 2 * self.request

    def stop_container(self, grace_seconds: float) -> float:
        return self.request + max(0.0, grace_seconds)

    def exec_sync(self, timeout_seconds: float) -> float | None:
        """A timeout of 0 means no deadline."""
        return self.request + timeout_seconds if timeout_seconds > 0 else None

    @property
    def pull_image(self) -> None:
        """No deadline: the runtime cancels a pull that makes no progress."""
        return None


DEFAULT_DEADLINES = Deadlines()
