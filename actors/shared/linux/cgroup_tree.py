"""The cgroup file systems of a host: v1 (each controller its own hierarchy, perhaps with a v2 one beside them: hybrid)
or v2 (one hierarchy). All paths are below a root directory, so that tests can use a fake host.

cgroupfs never hangs, and each call takes microseconds. Paths of cgroups have a leading slash (see cgroup_names).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from . import cgroup_files, mountinfo
from .cgroup_files import CgroupError
from .cgroup_hierarchy import Hierarchy, available
from .cgroup_limits import CgroupLimits

CONTROLLERS: Final = frozenset(
    {"blkio", "cpu", "cpuacct", "cpuset", "devices", "dmem", "freezer", "hugetlb", "io", "memory", "misc"}
    | {"net_cls", "net_prio", "perf_event", "pids", "rdma"}
)


class CgroupTree(msgspec.Struct, frozen=True):
    """All hierarchies of a host."""

    hierarchies: tuple[Hierarchy, ...]

    @property
    def version(self) -> int:
        """2 if v2 is alone or has the memory controller. On a hybrid host v1 has the controllers, but a v2 host may
        also have a v1 hierarchy that some program has mounted for itself (net_cls of a VPN)."""
        unified = [hierarchy for hierarchy in self.hierarchies if hierarchy.unified]
        alone = len(unified) == len(self.hierarchies)
        return 2 if alone or any("memory" in hierarchy.controllers for hierarchy in unified) else 1

    @property
    def controllers(self) -> frozenset[str]:
        return frozenset[str]().union(*(hierarchy.controllers for hierarchy in self.hierarchies))

    # -- creating ---------------------------------------------------------------------------------------------------
    def create(self, cgroup: str) -> None:
        """Create the cgroup and its parents in every hierarchy that limits pods. Idempotent. Raises CgroupError."""
        for hierarchy in self._limiting_hierarchies():
            hierarchy.create(cgroup)

    def apply(self, cgroup: str, limits: CgroupLimits) -> None:
        """Write the limits in the hierarchies of `create`. Controllers and files that this kernel lacks are skipped,
        and so are huge pages in use: a pod that has them from before the limit keeps them. Raises CgroupError."""
        for hierarchy in self._limiting_hierarchies():
            hierarchy.apply(cgroup, limits)

    def enter(self, cgroup: str, pid: int) -> None:
        """Move a process, and with it its future children, into the cgroup of `create`. Raises CgroupError."""
        for hierarchy in self._limiting_hierarchies():
            cgroup_files.write(f"{hierarchy.path}{cgroup}/cgroup.procs", str(pid))

    def enter_from_root(self, cgroup: str, pid: int) -> None:
        """Like `enter`, but only in hierarchies where the process is in the root cgroup. Raises CgroupError."""
        for hierarchy in self._limiting_hierarchies():
            if pid in cgroup_files.pids(f"{hierarchy.path}/cgroup.procs"):
                cgroup_files.write(f"{hierarchy.path}{cgroup}/cgroup.procs", str(pid))

    def exists(self, cgroup: str) -> bool:
        """Whether it exists in every hierarchy of `create`. Raises CgroupError if that cannot be seen."""
        return all(cgroup_files.exists(hierarchy.path + cgroup) for hierarchy in self._limiting_hierarchies())

    def anywhere(self, cgroup: str) -> bool:
        """Whether it exists in any hierarchy. Raises CgroupError if that cannot be seen."""
        return any(cgroup_files.exists(hierarchy.path + cgroup) for hierarchy in self.hierarchies)

    def created(self, cgroup: str) -> float:
        """When it was created, in seconds since 1970; 0: it is gone. Taken from its files, because creating a child
        changes the directory's time."""
        directories = [hierarchy.path + cgroup for hierarchy in self.hierarchies]
        files = [f"{path}/{name}" for path in directories for name in ("cgroup.clone_children", "cgroup.events")]
        return min(filter(None, map(cgroup_files.modified, (*directories, *files))), default=0.0)

    def read(self, cgroup: str, controller: str, name: str) -> str:
        """The text of one file. Raises OSError; FileNotFoundError also if no hierarchy has the controller."""
        return Path(f"{self.directory(cgroup, controller)}/{name}").read_text("ascii").strip()

    def directory(self, cgroup: str, controller: str) -> str:
        """The cgroup's directory in the hierarchy of a controller. Raises FileNotFoundError if no hierarchy has it."""
        for hierarchy in self.hierarchies:
            if controller in hierarchy.controllers:
                return f"{hierarchy.path}{cgroup}"
        raise FileNotFoundError(errno.ENOENT, "no such controller", controller)

    def _limiting_hierarchies(self) -> Iterator[Hierarchy]:
        """The hierarchies that limit pods: on a hybrid host not v2, where the runtime creates its own cgroups."""
        return (hierarchy for hierarchy in self.hierarchies if hierarchy.unified == (self.version == 2))

    # -- queries --------------------------------------------------------------------------------------------------
    def children(self, cgroup: str) -> list[str]:
        """Names of the direct child cgroups, in any hierarchy. Raises OSError."""
        found = set[str]()
        for hierarchy in self.hierarchies:
            found.update(cgroup_files.subdirectories(hierarchy.path + cgroup))
        return sorted(found)

    def processes(self, cgroup: str) -> set[int]:
        """Process ids in the cgroup and below it, in any hierarchy. Raises OSError if they cannot be read."""
        return {pid for file in self._process_files(cgroup) for pid in cgroup_files.pids(file)}

    def in_root(self) -> set[int]:
        """Process ids in the root cgroup itself, including kernel threads; on v1 of the devices hierarchy, in which all
        processes are placed. Raises CgroupError."""
        limiting = list(self._limiting_hierarchies())
        by_devices = [hierarchy for hierarchy in limiting if "devices" in hierarchy.controllers] or limiting[:1]
        return {pid for hierarchy in by_devices for pid in cgroup_files.pids(f"{hierarchy.path}/cgroup.procs")}

    def occupied(self, cgroup: str) -> str:
        """On v2, the cgroup or its nearest ancestor below the root that has processes of its own; '' for none.

        The kernel enables no domain controllers below such a cgroup (cgroups(7), "no internal processes"). Raises
        CgroupError.
        """
        if self.version == 2:
            parts = [part for part in cgroup.split("/") if part]
            for end in range(1, len(parts) + 1):
                path = "/" + "/".join(parts[:end])
                if any(
                    cgroup_files.pids(f"{hierarchy.path}{path}/cgroup.procs")
                    for hierarchy in self._limiting_hierarchies()
                ):
                    return path
        return ""

    def _process_files(self, cgroup: str) -> Iterator[str]:
        for hierarchy in self.hierarchies:
            for directory in cgroup_files.depth_first(hierarchy.path + cgroup):
                yield f"{directory}/cgroup.procs"

    # -- removal ---------------------------------------------------------------------------------------------------
    def kill(self, cgroup: str) -> int:
        """Send SIGKILL to every process in the cgroup and below; return their number. Raises OSError if they cannot be
        read."""
        killed = set[int]()
        for file in self._process_files(cgroup):
            there = [pid for pid in cgroup_files.pids(file) if pid > 0]
            if cgroup_files.kill_at_once(os.path.dirname(file)):
                killed.update(there)
            else:
                killed.update(pid for pid in there if cgroup_files.kill_member(pid, file))
        return len(killed)

    def remove(self, cgroup: str) -> list[str]:
        """Remove the cgroup and those below it in every hierarchy; return the directories that are still in use."""
        left: list[str] = []
        for hierarchy in self.hierarchies:
            left += [
                path for path in cgroup_files.depth_first(hierarchy.path + cgroup) if not cgroup_files.remove(path)
            ]
        return left


def find(root: str = "") -> CgroupTree:
    """The mounted hierarchies, each once. Raises OSError; CgroupError if there is none."""
    tree = of_mounts(mountinfo.read(f"{root}/proc"), root)
    if not tree.hierarchies:
        raise CgroupError(errno.ENODEV, "no cgroup file system is mounted", f"{root}/sys/fs/cgroup")
    return tree


def find_mounted() -> CgroupTree:
    """The same of this host; empty if none is mounted. Raises OSError if that cannot be read: containers may run."""
    return of_mounts(mountinfo.read())


def of_mounts(mounts: Iterable[mountinfo.Mount], root: str = "") -> CgroupTree:
    found: dict[str, Hierarchy] = {}
    for mount in mounts:
        if mount.kind == "cgroup":
            named = {option for option in mount.super_options if option.startswith("name=")}
            controllers = frozenset(CONTROLLERS.intersection(mount.super_options) | named)
            found.setdefault(mount.device, Hierarchy(root + mount.point, controllers, unified=False))
        elif mount.kind == "cgroup2":
            point = root + mount.point
            found.setdefault(mount.device, Hierarchy(point, available(point), unified=True))
    return CgroupTree(tuple(found.values()))
