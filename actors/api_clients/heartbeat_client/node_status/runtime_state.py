"""Why the container runtime keeps the node from being ready. Pure; times are of the monotonic clock, in seconds."""

from __future__ import annotations

from typing import Final

import msgspec

from actors.api_clients.heartbeat_client.messages import RuntimeReport
from actors.shared.config.fields.duration import Duration

DOWN_SECONDS: Final = 30.0
"""Seconds without a good answer after which the runtime counts as down (maxWaitForContainerRuntime)."""
PLEG_SECONDS: Final = 180.0
"""The maximum age of the last look, in seconds."""


class RuntimeState(msgspec.Struct, frozen=True, kw_only=True):
    """The reports about the runtime since `started_at`, the start of this process."""

    started_at: float
    ready_at: float = 0.0
    relisted_at: float = 0.0
    runtime_error: str = ""
    network_error: str = ""

    def reported(self, report: RuntimeReport) -> RuntimeState:
        """The state after a report. A new incarnation of the PLEG knows less than the last one: earlier facts stay."""
        return RuntimeState(
            started_at=self.started_at,
            ready_at=max(self.ready_at, report.ready_at),
            relisted_at=max(self.relisted_at, report.relisted_at),
            runtime_error=report.runtime_error,
            network_error=report.network_error if report.ready_at or report.network_error else self.network_error,
        )

    def settled(self, now: float) -> bool:
        """Whether `errors` can be believed. In the first seconds of this process, silence is not yet a fault."""
        if self.runtime_error or (self.ready_at and self.relisted_at):
            return True
        return now - self.started_at >= DOWN_SECONDS

    def errors(self, now: float) -> list[str]:
        """The kubelet's words; [] when runtime, PLEG and network are well."""
        found = []
        if not self.ready_at:
            found.append("container runtime status check may not have completed yet")
        elif now - self.ready_at >= DOWN_SECONDS:
            found.append("container runtime is down")
        if not self.relisted_at:
            found.append("PLEG is not healthy: pleg has yet to be successful")
        elif now - self.relisted_at > PLEG_SECONDS:
            age, threshold = Duration(round(now - self.relisted_at, 3)), Duration(PLEG_SECONDS)
            found.append(f"PLEG is not healthy: pleg was last seen active {age} ago; threshold is {threshold}")
        if self.runtime_error:
            found.append(f"container runtime not ready: {self.runtime_error}")
        if self.network_error:
            found.append(f"container runtime network not ready: {self.network_error}")
        elif not self.ready_at:
            found.append("network state unknown")
        return found
