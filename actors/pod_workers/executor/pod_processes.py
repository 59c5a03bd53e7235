"""The processes in a pod's cgroup, also those of containers that the runtime does not list. A cancelled start, for
example of a caller that was killed, can leave a runc process in the container's cgroup that waits for the order to
become the program (measured on containerd 2.1). After the container is removed nobody can give that order, so such a
process has run nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
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
"""The name of a container's cgroup is its id with cgroupfs, and `cri-containerd-<id>.scope` with systemd. CRI-O's
monitor has `crio-conmon-<id>.scope`."""
_PAUSE: Final = "pause"
"""The program of a sandbox. A leftover one holds no resources of the pod."""
_WAITING: Final = "runc:["
"""The prefix of the names of the processes that create a container, such as `runc:[1:CHILD]`. The last one,
`runc:[2:INIT]`, becomes the container's program on `runc start`."""


def cgroups(state: PodState, cgroup_root: str) -> list[str]:
    """The possible cgroups of the pod: the one given to the runtime or, before admission, each that it may get.
    `cgroup_root`: as in the configuration."""
    if state.acquired.cgroup_parent:
        return [path(state.acquired.cgroup_parent)]
    if state.wanted.pod is None:
        return []
    return paths_of(cgroup_root, qos_class(state.wanted.pod).lower(), state.uid)


def path(cgroup_parent: str) -> str:
    """The pod's cgroup, as given to the runtime, as a path below each hierarchy's mount point; '' for none."""
    if cgroup_parent.endswith(".slice") and "/" not in cgroup_parent:
        return path_of(parse_root(cgroup_parent, "systemd"), "systemd")
    return cgroup_parent


class CgroupWatch:
    """Notices that the cgroup of a pod was removed under its sandbox."""

    def __init__(self, find: Callable[[], CgroupTree] | None = None) -> None:
        self._find, self._seen = find or tree, ""
        """The id of the sandbox with which the cgroup has been seen."""

    def is_gone(self, state: PodState) -> bool:
        """Whether the pod's cgroup, seen with the current sandbox, no longer exists in every hierarchy. One that cannot
        be looked for counts as there: the pod runs on."""
        runtime, parent = state.runtime, state.acquired.cgroup_parent
        if runtime is None or not runtime.sandboxes or not parent:
            return False
        newest = runtime.sandboxes[0]
        try:
            is_there = self._find().exists(path(parent))
        except OSError:
            return False
        if is_there:
            self._seen = newest.id
            return False
        return newest.ready and self._seen == newest.id


def running_in(tree: CgroupTree, cgroup: str) -> set[str]:
    """Ids of the containers, without sandboxes, in the pod's cgroup whose program runs."""
    return {name for name, _, programs in _containers(tree, cgroup) if _started_programs(programs) - {_PAUSE}}


def paused_in(tree: CgroupTree, cgroup: str) -> set[str]:
    """Ids of the sandboxes in the pod's cgroup whose program runs."""
    return {name for name, _, programs in _containers(tree, cgroup) if _PAUSE in programs}


def cgroups_with_programs(tree: CgroupTree, cgroup: str) -> dict[str, str]:
    """The containers and sandboxes in the pod's cgroup that have a process, with their own cgroups."""
    return {name: inner for name, inner, programs in _containers(tree, cgroup) if programs}


def waiting_in(tree: CgroupTree, cgroup: str) -> dict[str, str]:
    """The containers in the pod's cgroup whose program has not started, with their own cgroups."""
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
    """'': it has ended. Raises OSError if that cannot be read."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


tree: Final = cache(cgroup_tree.find_mounted)
"""The host's cgroup hierarchies; empty if none is mounted. Raises OSError, which is not cached, if that cannot be
read."""
