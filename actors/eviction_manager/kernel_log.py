"""Reads the OOM killer's records in the kernel log. Pure."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from actors.shared.stats.pod_cgroups import container_id, pod_uid

_KILL: Final = re.compile(
    r"oom-kill:constraint=(?P<constraint>[A-Z_]+),.*?task_memcg=(?P<cgroup>[^,]*),task=(?P<process>.*),pid=(?P<pid>[0-9]+),uid=[0-9]+\Z"
)
_OF_KERNEL: Final = re.compile("[0-7],")
"""A level without the number of another facility, which the kernel gives to what programs write."""


class OomKill(msgspec.Struct, frozen=True, kw_only=True):
    """A process that the OOM killer killed (mm/oom_kill.c)."""

    cgroup: str
    """Cgroup of the process."""
    process: str
    """Name of the process."""
    pid: int
    of_node: bool
    """The node itself was out of memory, not a cgroup at its limit; the process may be of any cgroup."""

    @property
    def pod_uid(self) -> str:
        """'' when the process belongs to no pod."""
        return next((uid for part in self.cgroup.split("/") if (uid := pod_uid(part))), "")

    @property
    def container_id(self) -> str:
        """'' when the process belongs to no container."""
        parts = self.cgroup.split("/")
        inner = [parts[at + 1] for at, part in enumerate(parts[:-1]) if pod_uid(part)]
        return container_id(inner[0]) if inner else ""


def read_kill(record: str) -> OomKill | None:
    """Parse one record of /dev/kmsg, `level,number,time,flags;text`. None: the record reports no OOM kill, or is not
    the kernel's own: programs write there, too, and some what pods have told them."""
    if not _OF_KERNEL.match(record):
        return None
    match = _KILL.search(record.partition(";")[2].partition("\n")[0])
    if match is None:
        return None
    return OomKill(
        cgroup=match["cgroup"],
        process=match["process"],
        pid=int(match["pid"]),
        of_node=not match["constraint"].endswith("_MEMCG"),
    )
