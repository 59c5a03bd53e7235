"""Whether the kernel's OOM killer has ended a process, by the counts of the memory cgroups of the children.

The kernel counts a kill in the cgroup of its victim, whether that cgroup or the whole machine was out of memory, before
it sends SIGKILL: `oom_kill` in memory.events.local (cgroup v2) or memory.oom_control (v1). It names no PID there. So a
count that rose shortly before a process was killed from elsewhere is the evidence, and each kill explains one end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from ..time_scale import scaled

CLAIM_SECONDS: Final = 10.0
"""How long a kill waits for the end that it explains: a process whose memory is large, or that waits for a disk, is
reaped late."""
_GROUPS_SECONDS: Final = 30.0
"""How long a process is taken to stay in its cgroup: reading that of each process at each look cost a tenth of the
agent's processor time at rest."""
_OF_V1, _OF_V2 = "memory.oom_control", "memory.events.local"


class MemoryHierarchy(NamedTuple):
    """The mounted hierarchy of cgroups that has the memory controller."""

    controller: str
    """In /proc/PID/cgroup: `memory`, '' for cgroup v2."""
    root: str
    """The cgroup at the mount point; not `/` in a container without a cgroup namespace."""
    mount_point: str

    def group(self, cgroups: str) -> str:
        """The cgroup of a process. `cgroups`: its /proc/PID/cgroup (cgroups(7)); '' if it has none here."""
        for line in cgroups.splitlines():
            _, _, rest = line.partition(":")
            controllers, _, path = rest.partition(":")
            if self.controller in controllers.split(","):
                return path
        return ""

    def counts(self, group: str) -> Path:
        """The file that has `oom_kill` of the cgroup."""
        below = group.removeprefix(self.root) if self.root != "/" else group
        return Path(f"{self.mount_point}/{below.lstrip('/')}", _OF_V1 if self.controller else _OF_V2)


def hierarchy(mount_info: str) -> MemoryHierarchy | None:
    """`mount_info`: /proc/self/mountinfo (proc_pid_mountinfo(5)). Where the memory controller is in a hierarchy of v1,
    that of v2 does not have it."""
    found: dict[str, MemoryHierarchy] = {}
    for line in mount_info.splitlines():
        mount, _, filesystem = line.partition(" - ")
        _, _, _, root, mount_point, *_ = mount.split(" ")
        kind, _, options = filesystem.split(" ", 2)
        if kind == "cgroup2":
            found.setdefault("", MemoryHierarchy("", root, mount_point))
        elif kind == "cgroup" and "memory" in options.split(","):
            found.setdefault("memory", MemoryHierarchy("memory", root, mount_point))
    return found.get("memory") or found.get("")


def kills(counts: str) -> int | None:
    """`oom_kill`, None if the kernel does not report it."""
    for line in counts.splitlines():
        name, _, value = line.partition(" ")
        if name == "oom_kill":
            return int(value)
    return None


@dataclass(slots=True)
class _Group:
    count: int
    unclaimed: list[float] = field(default_factory=list)
    """When each kill that explains no end yet was seen."""

    def seen(self, count: int, now: float) -> None:
        self.unclaimed = [at for at in self.unclaimed if now - at <= scaled(CLAIM_SECONDS)]
        self.unclaimed += [now] * (count - self.count)
        self.count = count

    def claim(self) -> bool:
        """Take the oldest kill that explains no end yet; whether there was one."""
        if not self.unclaimed:
            return False
        del self.unclaimed[0]
        return True


class OomKills:
    """The counts of the memory cgroups of the children, as they were last seen."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._hierarchy = hierarchy(_read(proc / "self/mountinfo"))
        self._groups: dict[str, _Group] = {}
        self._of_process: dict[int, str] = {}
        self._groups_at = float("-inf")
        self._own = ""
        """The fork server's cgroup, which a child has when it is forked."""

    def look(self, pids: Iterable[int], now: float) -> None:
        """See which cgroup each child is in, and its count."""
        if self._hierarchy is None:
            return
        before, self._of_process = self._of_process, {}
        all_groups = now - self._groups_at >= _GROUPS_SECONDS
        if all_groups:
            self._groups_at, self._own = now, self._group("self")
        for pid in pids:
            if not all_groups and pid in before:
                self._of_process[pid] = before[pid]
                continue
            group = self._group(str(pid))
            # v1 shows a process that is ending in `/`
            self._of_process[pid] = before.get(pid, self._own) if group in ("", "/") else group
        wanted = {self._own, *self._of_process.values()} - {""}
        self._groups = {group: found for group, found in self._groups.items() if group in wanted}
        for group in wanted:
            self._count(group, now)

    def explain(self, pid: int, now: float) -> str:
        """Why a process that nobody here has killed was ended by SIGKILL; '' if it was not the OOM killer."""
        group = self._of_process.get(pid, self._own)
        if group not in self._groups:
            return ""
        self._count(group, now)
        found = self._groups.get(group)
        if found is None or not found.claim():  # None: its count cannot be read any more
            return ""
        return (
            f"out of memory: the kernel's OOM killer ended a process of its cgroup {group} at that time "
            f"(oom_kill is {found.count} now)"
        )

    def _group(self, process: str) -> str:
        return self._hierarchy.group(_read(self._proc / process / "cgroup")) if self._hierarchy is not None else ""

    def _count(self, group: str, now: float) -> None:
        count = kills(_read(self._hierarchy.counts(group))) if self._hierarchy is not None else None
        if count is None:
            self._groups.pop(group, None)
        else:
            self._groups.setdefault(group, _Group(count)).seen(count, now)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
