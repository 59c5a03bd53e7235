"""The iscsi sessions of this node, as sysfs has them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from glob import glob
from typing import NamedTuple

from .scsi_devices import read

_HOST = re.compile(r"host([0-9]+)\Z")


class IscsiSession(NamedTuple):
    host: int
    """The number of its SCSI host."""
    target: str
    interface: str
    """'' where the kernel does not say."""
    portals: frozenset[str]
    """Its addresses with ports: the current one, and that which the target was found by."""
    directory: str

    def disks(self, lun: int | str = "*") -> list[str]:
        """The names of its disks with this number, as `sda`: one at most; without a number of all its disks."""
        top = f"{self.directory}/target{self.host}:0:0/{self.host}:0:0:{lun}/block"
        return sorted(os.path.basename(path) for path in glob(f"{top}/*"))


def sessions(target: str, interface: str, sysfs: str = "/sys") -> list[IscsiSession]:
    """The sessions with this target, by this interface."""
    return [one for one in _all(sysfs) if one.target == target and one.interface in ("", interface)]


def _all(sysfs: str) -> Iterator[IscsiSession]:
    for path in sorted(glob(f"{sysfs}/class/iscsi_host/host*/device/session*")):
        host, name = _HOST.match(path.split("/")[-3]), os.path.basename(path)
        if host is not None:
            target, interface = (read(f"{path}/iscsi_session/{name}/{one}") for one in ("targetname", "ifacename"))
            yield IscsiSession(int(host[1]), target, interface, frozenset(_portals(path)), path)


def _portals(session: str) -> Iterator[str]:
    for path in glob(f"{session}/connection*"):
        connection = f"{path}/iscsi_connection/{os.path.basename(path)}"
        for kind in ("", "persistent_"):
            address, port = read(f"{connection}/{kind}address"), read(f"{connection}/{kind}port")
            if address and port:
                yield f"[{address}]:{port}" if ":" in address and not address.startswith("[") else f"{address}:{port}"
