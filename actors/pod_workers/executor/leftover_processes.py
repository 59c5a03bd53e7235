"""Kills the processes of containers and sandboxes that have ended for the runtime and run on.

containerd that has lost its directory of state (in /run) lists all as ended. After the end of a shim it answers each
stop with success, although nothing can stop the processes any more (measured on containerd 2.1). They are killed before
another instance is started, and before the runtime forgets what it stopped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Set as AbstractSet
from typing import Final

from actors.shared.cri.errors import CriError
from actors.shared.cri.model import CriContainerState, PodRuntime
from actors.shared.linux.cgroup_tree import CgroupTree
from supervision.time_scale import scaled

from . import pod_processes
from .execution import Execution

_END_SECONDS: Final = 2.0
"""To wait for the end of killed processes."""
_POLL_SECONDS: Final = 0.02


def ended_ids(runtime: PodRuntime | None) -> set[str]:
    """Ids of the containers and sandboxes that the runtime lists as ended."""
    if runtime is None:
        return set()
    ended = {instance.id for instance in runtime.containers if instance.state is CriContainerState.EXITED}
    return ended | {sandbox.id for sandbox in runtime.sandboxes if not sandbox.ready}


async def end_remains(run: Execution, ended: AbstractSet[str]) -> None:
    """Kill what still runs of these containers and sandboxes. Raises CriError if that takes too long."""
    cgroup = pod_processes.path(run.state.acquired.cgroup_parent)
    if not cgroup or not ended:
        return
    tree = pod_processes.tree()
    remains = _remains(tree, cgroup, ended)
    for container_id, inner in sorted(remains.items()):
        tree.kill(inner)
        text = "pod %s: killed the processes of %s, which has ended for the runtime"
        run.services.actor.log.warning(text, run.state.label, container_id)
    for _ in range(int(scaled(_END_SECONDS) / _POLL_SECONDS) if remains else 0):
        if not _remains(tree, cgroup, ended):
            return
        await asyncio.sleep(_POLL_SECONDS)
    if remains:
        raise CriError(
            "ListContainers", "FAILED_PRECONDITION", f"killed processes have not ended: {', '.join(remains)}"
        )


def _remains(tree: CgroupTree, cgroup: str, ended: AbstractSet[str]) -> dict[str, str]:
    found = pod_processes.cgroups_with_programs(tree, cgroup)
    return {name: inner for name, inner in found.items() if name in ended}
