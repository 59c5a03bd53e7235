"""Reports the health of allocated devices to the status manager."""

from __future__ import annotations

from actors.status_manager.messages import STATUS_MANAGER, DeviceHealth
from supervision.actor import Actor

from .device_reports import Health


class HealthReports:
    """Reports nothing if the gate ResourceHealthStatus is off."""

    def __init__(self, actor: Actor, *, enabled: bool) -> None:
        self._actor, self._enabled = actor, enabled
        self._reported: Health = {}

    def tell(self, now: Health, *, everything: bool) -> None:
        """The changed reports, or all."""
        before, self._reported = self._reported, now
        for uid in sorted({*before, *now}):
            if self._enabled and (everything or before.get(uid) != now.get(uid)):
                self._actor.tell(STATUS_MANAGER, DeviceHealth(uid, now.get(uid, {})), deadline=60.0)
