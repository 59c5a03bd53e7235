"""Slices of systemd, made and stopped over its D-Bus interface (org.freedesktop.systemd1.Manager)."""

from __future__ import annotations

from typing import Final

from actors.shared.linux.cgroup_limits import CgroupLimits, unit_properties
from actors.shared.linux.cgroup_names import CgroupName, slice_of
from actors.shared.linux.system_bus import SYSTEMD, BusError, Call, variants

_UNIT_EXISTS: Final = "org.freedesktop.systemd1.UnitExists"
_NO_SUCH_UNIT: Final = "org.freedesktop.systemd1.NoSuchUnit"


class SliceError(Exception):
    """systemd refused or did not answer."""


class Slices:
    """Starts, updates and stops slices."""

    def __init__(self, version: int, call: Call) -> None:
        """`version` of the cgroup tree; `call` calls systemd."""
        self._version, self._call = version, call

    async def start(self, name: CgroupName, limits: CgroupLimits) -> None:
        """Start the slice and those above it, or set the properties of one that runs. Raises SliceError."""
        unit = slice_of(name)
        described = {"Description": ("s", f"pods: {unit}"), "DefaultDependencies": ("b", False)}
        accounting = dict.fromkeys(("CPUAccounting", "MemoryAccounting", "TasksAccounting"), ("b", True))
        properties = variants({**described, **accounting, **unit_properties(limits, self._version)})
        try:
            await self._call(SYSTEMD, "StartTransientUnit", "ssa(sv)a(sa(sv))", [unit, "fail", properties, []])
        except BusError as error:
            if error.name != _UNIT_EXISTS:
                raise SliceError(f"systemd did not start {unit}: {error}") from error
            await self.update(name, limits)

    async def update(self, name: CgroupName, limits: CgroupLimits) -> None:
        """Raises SliceError."""
        unit, properties = slice_of(name), variants(unit_properties(limits, self._version))
        try:
            await self._call(SYSTEMD, "SetUnitProperties", "sba(sv)", [unit, True, properties])
        except BusError as error:
            raise SliceError(f"systemd did not set the limits of {unit}: {error}") from error

    async def stop(self, name: CgroupName) -> None:
        """Stop the slice; one that is not loaded is stopped already. Raises SliceError."""
        unit = slice_of(name)
        try:
            await self._call(SYSTEMD, "StopUnit", "ss", [unit, "replace"])
        except BusError as error:
            if error.name != _NO_SUCH_UNIT:
                raise SliceError(f"systemd did not stop {unit}: {error}") from error
