"""One mounted cgroup hierarchy, v1 or v2: how a cgroup is created and limited in it.

Paths of cgroups have a leading slash (see cgroup_names)."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

import msgspec

from . import cgroup_files
from .cgroup_files import CgroupError
from .cgroup_limits import CgroupLimits, writes_v1, writes_v2

_WITHHELD: Final = {errno.EBUSY, errno.EINVAL, errno.ENOENT, errno.EOPNOTSUPP}
"""The errors of an unavailable controller: processes in the cgroup, cpu with real-time processes, removed, a threaded
cgroup."""
_INHERITED: Final = ("cpuset.cpus", "cpuset.mems")


class Hierarchy(msgspec.Struct, frozen=True):
    path: str
    """The mount point."""
    controllers: frozenset[str]
    """Its controllers; `name=systemd` for systemd's own v1 hierarchy."""
    unified: bool

    def create(self, cgroup: str) -> None:
        """Create the cgroup and its parents. Idempotent. Raises CgroupError."""
        above, _, name = cgroup.rpartition("/")
        inherits = self.unified or "cpuset" in self.controllers
        if not inherits and os.path.isdir(self.path + above):
            _make(self, self.path + above, name)
            return
        path = self.path
        for part in cgroup.strip("/").split("/"):
            if self.unified:
                _enable(path, self.controllers)
            _make(self, path, part)
            path = f"{path}/{part}"

    def apply(self, cgroup: str, limits: CgroupLimits) -> None:
        """Write the limits. Controllers and files that this kernel lacks are skipped. Raises CgroupError."""
        for controller, name, text in (writes_v2 if self.unified else writes_v1)(limits):
            if controller in self.controllers:
                _write_limit(controller, f"{self.path}{cgroup}/{name}", text)


def available(path: str) -> frozenset[str]:
    """The controllers of a v2 cgroup; none if it cannot be read."""
    try:
        return frozenset(Path(path, "cgroup.controllers").read_text("ascii").split())
    except OSError:
        return frozenset()


def _write_limit(controller: str, path: str, text: str) -> None:
    """Huge pages in use stay without the limit. Raises CgroupError."""
    try:
        cgroup_files.write(path, text)
    except CgroupError as error:
        if controller != "hugetlb" or error.errno != errno.EBUSY:
            raise


def _enable(path: str, controllers: frozenset[str]) -> None:
    """Enable these controllers for the children of a v2 cgroup; unavailable ones are skipped."""
    file = f"{path}/cgroup.subtree_control"
    try:
        missing = available(path) & controllers - set(Path(file).read_text("ascii").split())
    except OSError as error:
        raise cgroup_files.cgroup_error(error, file) from None
    for controller in sorted(missing):
        try:
            cgroup_files.write(file, f"+{controller}")
        except CgroupError as error:
            if error.errno not in _WITHHELD:
                raise


def _make(hierarchy: Hierarchy, parent: str, name: str) -> None:
    path = f"{parent}/{name}"
    try:
        os.mkdir(path, 0o755)
    except FileExistsError:
        pass
    except OSError as error:
        raise cgroup_files.cgroup_error(error, path) from None
    for file in _INHERITED if "cpuset" in hierarchy.controllers and not hierarchy.unified else ():
        # a new v1 cpuset is empty, and no process can enter it before both files are set
        try:
            if not Path(path, file).read_text("ascii").strip():
                cgroup_files.write(f"{path}/{file}", Path(parent, file).read_text("ascii").strip())
        except FileNotFoundError:
            pass
        except CgroupError:
            raise
        except OSError as error:
            raise cgroup_files.cgroup_error(error, f"{path}/{file}") from None
