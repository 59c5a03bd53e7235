"""Containers that run in a pod's cgroup and that the runtime does not list.

containerd that starts while its disk is full does not load its containers, and from then on denies them: a second
container would be made beside each, and a pod that is to end would be taken for ended. So nothing is started in a pod
as long as that is so, and its end waits for a while. They are back once containerd is started again with room on the
disk.

A start that is cancelled, as its caller was killed, can leave a process of runc in the container's cgroup that waits
for an order to become the program (measured on containerd 2.1). Once the container is removed nobody can give that
order: such a process has run nothing and is killed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
_WAITING: Final = "runc:[2:INIT]"
"""The name of the process that becomes the container's program when `runc start` orders it to."""

UNLISTED_TRIES: Final = 4
"""So often the runtime is waited for, some seven seconds, before a pod ends without it: the pod may be what fills the
disk that keeps the runtime from loading it."""


class Unlisted(CriError):
    """The pod has running containers that the runtime does not list."""


async def refuse_second_instance(run: Execution) -> None:
    """Look whether all that runs in the pod's cgroup is listed. Raises Unlisted, CriError."""
    missing = await _unlisted(run)
    if not missing:
        return
    text = f"containers run that the runtime does not list, and none is started beside them: {', '.join(missing)}"
    run.announce("Warning", "FailedSync", f"error determining status: {text}")
    raise Unlisted("ListContainers", "FAILED_PRECONDITION", text)


async def refuse_unlisted_remains(run: Execution) -> None:
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
    """Ids of containers that run in the pod's cgroup but are not listed; the PLEG gets a report. Raises CriError."""
    cgroup = path(run.state.held.cgroup_parent)
    found = running_in(_tree(), cgroup) if cgroup else set()
    waiting = waiting_in(_tree(), cgroup) if cgroup else {}
    if (found | waiting.keys()) <= _known(run):
        return []
    await run.look()
    known = _known(run)
    for container_id in sorted(waiting.keys() - known):
        _tree().kill(waiting[container_id])
        text = "pod %s: killed what a cancelled start has left of container %s, which the runtime does not list"
        run.services.actor.log.warning(text, run.state.label, container_id)
    missing = sorted(found - known)
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
    """Ids of the containers in the pod's cgroup whose program runs, sandboxes left out."""
    return {name for name, _, programs in _containers(tree, cgroup) if programs - {_PAUSE, _WAITING}}


def waiting_in(tree: CgroupTree, cgroup: str) -> dict[str, str]:
    """The containers in the pod's cgroup whose program has not begun, with their own cgroups."""
    return {name: inner for name, inner, programs in _containers(tree, cgroup) if programs == {_WAITING}}


def _containers(tree: CgroupTree, cgroup: str) -> Iterator[tuple[str, str, set[str]]]:
    """Id, cgroup and the names of the processes."""
    for name in tree.children(cgroup):
        if match := _ID.search(name):
            inner = f"{cgroup}/{name}"
            yield match[1], inner, {_program(pid) for pid in tree.processes(inner)} - {""}


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
