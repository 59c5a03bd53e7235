"""Containers that run in a pod's cgroup and that the runtime does not list.

containerd that starts while its disk is full does not load its containers, and from then on denies them: a second
container would be made beside each, and a pod that is to end would be taken for ended. So nothing is started in a pod
as long as that is so, and its end waits for a while. They are back once containerd is started again with room on the
disk.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Final

from actors.pleg.messages import PLEG, ContainersUnlisted
from actors.shared.cri.errors import CriError
from actors.shared.linux import cgroup_tree
from actors.shared.linux.cgroup_names import parse_root, path_of
from actors.shared.linux.cgroup_tree import CgroupTree

from .execution import Execution

_ID: Final = re.compile(r"(?:^|-)([0-9a-f]{64})(?:\.scope)?$")
"""A container's cgroup is called by its id with cgroupfs, and `cri-containerd-<id>.scope` with systemd."""
_PAUSE: Final = "pause"
"""The program of a sandbox. One that is left over holds nothing of the pod's."""


UNLISTED_TRIES: Final = 4
"""So often the runtime is waited for, some seven seconds, before a pod ends without it: the pod may be what fills the
disk that keeps the runtime from loading it."""


class Unlisted(CriError):
    """The pod has running containers that the runtime does not list."""


async def refuse_doubles(run: Execution) -> None:
    """Look whether all that runs in the pod's cgroup is listed. Raises Unlisted, CriError."""
    missing = await _unlisted(run)
    if not missing:
        return
    text = f"containers run that the runtime does not list, and none is started beside them: {', '.join(missing)}"
    run.announce("Warning", "FailedSync", f"error determining status: {text}")
    raise Unlisted("ListContainers", "FAILED_PRECONDITION", text)


async def refuse_to_forget(run: Execution) -> None:
    """The runtime has stopped all that it lists; look whether more runs in the pod's cgroup. Raises Unlisted, CriError.
    After some tries the pod's end goes on: what runs is killed with the pod's cgroup, and the runtime removes the rest
    once it has loaded it again."""
    missing = await _unlisted(run)
    if not missing:
        return
    names = ", ".join(missing)
    if run.state.retry.failures < UNLISTED_TRIES:
        raise Unlisted(
            "ListContainers", "FAILED_PRECONDITION", f"containers run that the runtime does not list: {names}"
        )
    text = "pod %s: the runtime does not list its containers, they are killed without it: %s"
    run.services.actor.log.warning(text, run.state.label, names)


async def _unlisted(run: Execution) -> list[str]:
    """Ids of what runs in the pod's cgroup and is not listed; the PLEG is told of it. Raises CriError."""
    cgroup = path(run.state.held.cgroup_parent)
    found = running_in(_tree(), cgroup) if cgroup else set()
    if not found or not found - _known(run):
        return []
    await run.look()
    missing = sorted(found - _known(run))
    if missing:
        run.services.actor.tell(PLEG, ContainersUnlisted(run.state.uid, missing))
    return missing


def _known(run: Execution) -> set[str]:
    runtime = run.state.runtime
    if runtime is None:
        return set()
    return {sandbox.id for sandbox in runtime.sandboxes} | {container.id for container in runtime.containers}


def path(cgroup_parent: str) -> str:
    """The path below each hierarchy's mount point of what the runtime is given as the pod's cgroup; '' for none."""
    if cgroup_parent.endswith(".slice") and "/" not in cgroup_parent:
        return path_of(parse_root(cgroup_parent, "systemd"), "systemd")
    return cgroup_parent


def running_in(tree: CgroupTree, cgroup: str) -> set[str]:
    """Ids of the containers with a process in the pod's cgroup, sandboxes left out."""
    found = set()
    for name in tree.children(cgroup):
        match = _ID.search(name)
        if match and not _idle(tree.processes(f"{cgroup}/{name}")):
            found.add(match[1])
    return found


def _idle(pids: Collection[int]) -> bool:
    return all(_program(pid) in ("", _PAUSE) for pid in pids)


def _program(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


@cache
def _tree() -> CgroupTree:
    try:
        return cgroup_tree.find()
    except OSError:
        return CgroupTree(())
