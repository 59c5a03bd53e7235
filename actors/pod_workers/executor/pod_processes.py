"""What runs in a pod's cgroup, whatever the runtime says of it.

A start that is cancelled, as its caller was killed, can leave a process of runc in the container's cgroup that waits
for an order to become the program (measured on containerd 2.1). Once the container is removed nobody can give that
order: such a process has run nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from actors.pod_workers.pod.state import PodState
from actors.shared.kube.pods import qos_class
from actors.shared.linux import cgroup_tree
from actors.shared.linux.cgroup_names import parse_root, path_of
from actors.shared.linux.cgroup_tree import CgroupTree
from actors.shared.stats.pod_cgroups import paths_of

_ID: Final = re.compile(r"(?:^|(?<!conmon)-)([0-9a-f]{64})(?:\.scope)?$")
"""A container's cgroup is called by its id with cgroupfs, and `cri-containerd-<id>.scope` with systemd. That of
CRI-O's monitor is `crio-conmon-<id>.scope`."""
_PAUSE: Final = "pause"
"""The program of a sandbox. One that is left over holds nothing of the pod's."""
_WAITING: Final = "runc:["
"""What the names of the processes begin with that make the container, as `runc:[1:CHILD]`. The last one,
`runc:[2:INIT]`, becomes the container's program when `runc start` orders it to."""


def cgroups(state: PodState, cgroup_root: str) -> list[str]:
    """The pod's cgroup: as it was given to the runtime, or before the admission where it can be. `cgroup_root`: as in
    the configuration."""
    if state.held.cgroup_parent:
        return [path(state.held.cgroup_parent)]
    if state.wanted.pod is None:
        return []
    return paths_of(cgroup_root, qos_class(state.wanted.pod).lower(), state.uid)


def path(cgroup_parent: str) -> str:
    """The path below each hierarchy's mount point of what the runtime is given as the pod's cgroup; '' for none."""
    if cgroup_parent.endswith(".slice") and "/" not in cgroup_parent:
        return path_of(parse_root(cgroup_parent, "systemd"), "systemd")
    return cgroup_parent


def running_in(tree: CgroupTree, cgroup: str) -> set[str]:
    """Ids of the containers in the pod's cgroup whose program runs, sandboxes left out."""
    return {name for name, _, programs in _containers(tree, cgroup) if _started_programs(programs) - {_PAUSE}}


def paused_in(tree: CgroupTree, cgroup: str) -> set[str]:
    """Ids of the sandboxes in the pod's cgroup whose program runs."""
    return {name for name, _, programs in _containers(tree, cgroup) if _PAUSE in programs}


def waiting_in(tree: CgroupTree, cgroup: str) -> dict[str, str]:
    """The containers in the pod's cgroup whose program has not begun, with their own cgroups."""
    return {
        name: inner
        for name, inner, programs in _containers(tree, cgroup)
        if programs and not _started_programs(programs)
    }


def _containers(tree: CgroupTree, cgroup: str) -> Iterator[tuple[str, str, set[str]]]:
    """Id, cgroup and the names of the processes."""
    for name in tree.children(cgroup):
        if match := _ID.search(name):
            inner = f"{cgroup}/{name}"
            yield match[1], inner, {_program(pid) for pid in tree.processes(inner)} - {""}


def _started_programs(programs: set[str]) -> set[str]:
    return {name for name in programs if not name.startswith(_WAITING)}


def _program(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


_found: Final = cache(cgroup_tree.find)
"""An OSError is not cached."""


def tree() -> CgroupTree:
    """The host's; one without hierarchies if it has none that can be read, or none now."""
    try:
        return _found()
    except OSError:
        return CgroupTree(())
