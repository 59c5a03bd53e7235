"""Volumes on network disks: iscsi and fc. Their fields, and what the API requires of them (API reference,
ISCSIVolumeSource and FCVolumeSource v1 core)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from .volume_source import Problem, SourceWithSecret, VolumeSource

MOST_LUN: Final = 255
_NAMES: Final = {
    "iqn": re.compile(r"iqn\.[0-9]{4}-[0-9]{2}\.[A-Za-z0-9.-]+(:[^,;*&$|\s]+)\Z"),
    "eui": re.compile(r"eui\.[A-Za-z0-9]{16}\Z"),
    "naa": re.compile(r"naa\.[A-Za-z0-9]{32}\Z"),
}
"""The forms of names of targets and initiators, by the first letters."""


class ISCSIVolumeSource(SourceWithSecret, frozen=True):
    targetPortal: str = ""
    """An address or a name, with or without a port."""
    iqn: str = ""
    lun: int = 0
    iscsiInterface: str = "default"
    fsType: str = ""
    portals: list[str] = []
    """More portals of the target, for a multipath device."""
    chapAuthDiscovery: bool = False
    chapAuthSession: bool = False
    initiatorName: str | None = None

    def problems(self) -> Iterator[Problem]:
        if not self.targetPortal:
            yield "targetPortal", "required"
        if wrong := _name_problem(self.iqn) if self.iqn else "required":
            yield "iqn", wrong
        yield from _lun_problems(self.lun)
        if (self.chapAuthDiscovery or self.chapAuthSession) and self.secretRef is None:
            yield "secretRef", "required with chapAuthDiscovery or chapAuthSession"
        if self.initiatorName is not None and (wrong := _name_problem(self.initiatorName)):
            yield "initiatorName", wrong


class FCVolumeSource(VolumeSource, frozen=True):
    """`targetWWNs` with `lun`, or `wwids`."""

    targetWWNs: list[str] = []
    lun: int | None = None
    wwids: list[str] = []
    fsType: str = ""
    readOnly: bool = False

    def problems(self) -> Iterator[Problem]:
        if bool(self.targetWWNs) == bool(self.wwids):
            yield "targetWWNs", "either targetWWNs or wwids must be given, and not both"
        if not self.targetWWNs:
            return
        if self.lun is None:
            yield "lun", "required with targetWWNs"
        else:
            yield from _lun_problems(self.lun)

    @property
    def only_read(self) -> bool:
        return self.readOnly


def _name_problem(name: str) -> str:
    form = _NAMES.get(name[:3])
    if form is None:
        return f"{name[:80]!r} must begin with iqn, eui or naa"
    return "" if form.match(name) else f"{name[:80]!r} is not a name of the form {name[:3]}"


def _lun_problems(lun: int) -> Iterator[Problem]:
    if not 0 <= lun <= MOST_LUN:
        yield "lun", f"{lun} is not between 0 and {MOST_LUN}"
