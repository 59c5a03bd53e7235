"""Start and end of pods with running containers that the runtime does not list. If containerd starts while its disk is
full, it does not load its containers and does not list them. Without this check, the agent would create a second
container beside each, and would count a terminating pod as ended. So the pod is left unchanged meanwhile, and its
termination waits for a while. containerd lists the containers again after a restart with room on the disk.
"""

from __future__ import annotations

from typing import Final

from actors.pleg.messages import PLEG, ContainersUnlisted
from actors.pod_workers.phases.effects import AwaitListed
from actors.pod_workers.pod.results import RuntimeModified
from actors.shared.cri.errors import CriError

from . import pod_processes, unreadable_status
from .execution import Execution
from .leftover_processes import end_remains, ended_ids

UNLISTED_TRIES: Final = 4
"""Tries (some seven seconds in all) before a pod ends although the runtime does not list its containers: the pod itself
may fill the disk."""


class StillUnlisted(CriError):
    """The pod has running containers that the runtime does not list."""

    def __init__(self, text: str) -> None:
        super().__init__("ListContainers", "FAILED_PRECONDITION", text)


async def await_listed(run: Execution, effect: AwaitListed) -> None:
    """Raises StillUnlisted, CriError."""
    await refuse_second_instance(run)
    run.report(RuntimeModified())


async def refuse_second_instance(run: Execution) -> None:
    """Check that the runtime lists all containers that run in the pod's cgroup. Raises StillUnlisted, CriError."""
    missing = await _find_unlisted(run)
    if not missing:
        return
    text = f"containers run that the runtime does not list, and none is started beside them: {', '.join(missing)}"
    run.announce("Warning", unreadable_status.REASON, unreadable_status.text_of(text))
    raise StillUnlisted(text)


async def refuse_unlisted_remains(run: Execution) -> None:
    """Check, after the runtime has stopped all that it lists, that no other container runs in the pod's cgroup. Raises
    StillUnlisted, CriError. After some tries the termination continues: the containers are killed with the pod's
    cgroup, and the runtime removes them once it lists them again."""
    missing = await _find_unlisted(run)
    if not missing:
        return
    names = ", ".join(missing)
    if run.state.retry.failures < UNLISTED_TRIES:
        raise StillUnlisted(f"containers run that the runtime does not list: {names}")
    text = "pod %s: the runtime does not list its containers, they are killed with the pod's cgroup: %s"
    run.services.actor.log.warning(text, run.state.label, names)


async def _find_unlisted(run: Execution) -> list[str]:
    """Ids of containers that run in the pod's cgroup but are not listed; the PLEG gets a report. Kills the processes of
    containers that have ended for the runtime, and the leftover ones of cancelled starts of unlisted containers. Raises
    CriError."""
    await end_remains(run, ended_ids(run.state.runtime))
    tree, cgroup = pod_processes.tree(), pod_processes.path(run.state.acquired.cgroup_parent)
    found = pod_processes.running_in(tree, cgroup) if cgroup else set()
    waiting = pod_processes.waiting_in(tree, cgroup) if cgroup else {}
    if (found | waiting.keys()) <= _listed_ids(run) and not run.state.unlisted.running:
        return []
    await run.look()
    run.find_unlisted()
    for container_id in sorted(waiting.keys() - _listed_ids(run)):
        tree.kill(waiting[container_id])
        text = "pod %s: killed the leftover of a cancelled start of container %s, which the runtime does not list"
        run.services.actor.log.warning(text, run.state.label, container_id)
    missing = sorted(run.state.unlisted.running)
    if missing:
        run.services.actor.tell(PLEG, ContainersUnlisted(run.state.uid, missing))
    return missing


def _listed_ids(run: Execution) -> set[str]:
    runtime = run.state.runtime
    if runtime is None:
        return set()
    return {sandbox.id for sandbox in runtime.sandboxes} | {container.id for container in runtime.containers}
