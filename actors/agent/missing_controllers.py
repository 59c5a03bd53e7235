"""The cgroup controllers that limit pods, and what a host without one of them needs: the start, `status` and `doctor`
say the same of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from actors.shared.linux.cgroup_tree import CgroupTree

LIMITING: Final = ("cpu", "memory", "cpuset", "pids")
_REQUIRED_OF_V1: Final = frozenset({"cpu", "cpuacct", "cpuset", "memory"})
"""Without these the kubelet does not start (pkg/kubelet/cm/container_manager_linux.go, validateSystemRequirements); on
v2 it does not look."""


class MissingControllers(NamedTuple):
    """Why pods cannot be limited."""

    text: str
    remedy: str
    prevents_start: bool


def missing_controllers(tree: CgroupTree, proc: str = "/proc") -> MissingControllers | None:
    """What the mounted hierarchies lack; None: nothing. A host without any is not judged here."""
    is_v1 = tree.version == 1
    wanted = dict.fromkeys((*LIMITING, *sorted(_REQUIRED_OF_V1 if is_v1 else ())))
    missing = [controller for controller in wanted if controller not in tree.controllers]
    if not missing:
        return None
    version = "v2" if all(hierarchy.unified for hierarchy in tree.hierarchies) else "v1"
    remedy = _remedy(missing, available(proc) if is_v1 else frozenset())
    text = f"{version} without {', '.join(missing)}: pods cannot be limited"
    return MissingControllers(text, remedy, is_v1 and not _REQUIRED_OF_V1.isdisjoint(missing))


def _remedy(missing: Iterable[str], mountable: frozenset[str]) -> str:
    """`mountable`: controllers of v1 that the kernel has, mounted or not."""
    place = "/sys/fs/cgroup"
    lost = [controller for controller in missing if controller not in mountable]
    if lost:
        return f"boot with cgroup_enable={lost[0]}, without cgroup_disable; in a container: enable them outside"
    return "; ".join(f"mkdir -p {place}/{one}; mount -t cgroup -o {one} none {place}/{one}" for one in missing)


def available(proc: str) -> frozenset[str]:
    """The controllers that /proc/cgroups calls enabled; none if it cannot be read."""
    try:
        lines = Path(proc, "cgroups").read_text("ascii").splitlines()
    except OSError:
        return frozenset()
    return frozenset(words[0] for line in lines if (words := line.split())[3:] == ["1"])
