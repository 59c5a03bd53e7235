"""How long each call may take, in seconds: the reference agent's rules."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_REQUEST_SECONDS = 120.0
"""Of runtimeRequestTimeout."""


@dataclass(frozen=True)
class Deadlines:
    """`request` is runtimeRequestTimeout."""

    request: float = DEFAULT_REQUEST_SECONDS

    @property
    def run_pod_sandbox(self) -> float:
        """Twice: the network of the pod is made in it."""
        return 2 * self.request

    def stop_container(self, grace_seconds: float) -> float:
        return self.request + max(0.0, grace_seconds)

    def exec_sync(self, timeout_seconds: float) -> float | None:
        """0: the command may take as long as it wants."""
        return self.request + timeout_seconds if timeout_seconds > 0 else None

    @property
    def pull_image(self) -> None:
        """None: how long a pull may go without progress is the runtime's to judge."""
        return None


DEFAULT_DEADLINES = Deadlines()
