"""Slices of systemd, made and stopped over its D-Bus interface (org.freedesktop.systemd1.Manager) with busctl(1)."""

from __future__ import annotations

from typing import Final

from actors.shared.linux.cgroup_limits import Limits, unit_properties
from actors.shared.linux.cgroup_names import CgroupName, slice_of
from actors.shared.linux.command import Runner, run

BUSCTL: Final = "/usr/bin/busctl"
_CALL: Final = ["call", "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"]


class SliceError(Exception):
    """systemd refused or did not answer."""


class Slices:
    """Starts, updates and stops slices."""

    def __init__(self, version: int, runner: Runner = run) -> None:
        """`version` of the cgroup tree."""
        self._version, self._run = version, runner

    async def start(self, name: CgroupName, limits: Limits) -> None:
        """Start the slice and those above it, or set the properties of one that runs. Raises SliceError."""
        unit = slice_of(name)
        described = {"Description": ("s", f"pods: {unit}"), "DefaultDependencies": ("b", "false")}
        accounting = dict.fromkeys(("CPUAccounting", "MemoryAccounting", "TasksAccounting"), ("b", "true"))
        properties = _written({**described, **accounting, **unit_properties(limits, self._version)})
        call = [BUSCTL, *_CALL, "StartTransientUnit", "ssa(sv)a(sa(sv))", unit, "fail"]
        error = await self._run([*call, *properties, "0"])
        if "already exists" in error.lower() or "already loaded" in error.lower():
            await self.update(name, limits)
        elif error:
            raise SliceError(f"systemd did not start {unit}: {error}")

    async def update(self, name: CgroupName, limits: Limits) -> None:
        """Raises SliceError."""
        properties = _written(unit_properties(limits, self._version))
        unit = slice_of(name)
        error = await self._run([BUSCTL, *_CALL, "SetUnitProperties", "sba(sv)", unit, "true", *properties])
        if error:
            raise SliceError(f"systemd did not set the limits of {unit}: {error}")

    async def stop(self, name: CgroupName) -> None:
        """A slice that is not loaded is stopped already. Raises SliceError."""
        unit = slice_of(name)
        error = await self._run([BUSCTL, *_CALL, "StopUnit", "ss", unit, "replace"])
        if error and "not loaded" not in error.lower():
            raise SliceError(f"systemd did not stop {unit}: {error}")


def _written(properties: dict[str, tuple[str, object]]) -> list[str]:
    """An array of (name, variant), as arguments of busctl."""
    words = [str(len(properties))]
    for name, (kind, value) in properties.items():
        words += [name, kind, str(value)]
    return words
