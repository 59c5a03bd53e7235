"""The devices of pods, from the device manager's reports: devices of resource claims, and plugins' health. Pure."""

from __future__ import annotations

from .messages import ClaimedDeviceHealth, ClaimedDevices, DeviceHealth

ClaimDevices = dict[str, list[ClaimedDeviceHealth]]
"""By the claim's name."""
PluginDevices = dict[str, dict[str, dict[str, str]]]
"""The health by container, resource and device."""


class DeviceReports:
    """The last report for each pod, by UID."""

    def __init__(self) -> None:
        self._claims: dict[str, ClaimDevices] = {}
        self._health: dict[str, PluginDevices] = {}

    def claimed(self, report: ClaimedDevices) -> None:
        self._claims[report.uid] = report.claims

    def health(self, report: DeviceHealth) -> None:
        self._health[report.uid] = report.containers

    def claims_of(self, uid: str) -> ClaimDevices | None:
        return self._claims.get(uid)

    def health_of(self, uid: str) -> PluginDevices | None:
        return self._health.get(uid)

    def uids(self) -> set[str]:
        """The pods with a report."""
        return {*self._claims, *self._health}

    def forget(self, uid: str) -> None:
        self._claims.pop(uid, None)
        self._health.pop(uid, None)
