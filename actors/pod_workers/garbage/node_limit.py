"""Holds dead containers to the bound of the node, and removes those that were too young when they were looked at.

Each worker looks at all that the runtime has, finds the same as the others, and removes what is of its own pods.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from actors.pleg.messages import PLEG, GetRuntimePods, RuntimeSnapshot
from actors.pod_workers.containers import files
from actors.shared.cri.errors import CriError
from supervision.actor import AskError

from . import container_gc

if TYPE_CHECKING:
    from actors.pod_workers.actor import Worker

BOUND_SECONDS: Final = 60.0
_ASK_SECONDS: Final = 10.0


def is_needed(flags: Mapping[str, Any]) -> bool:
    """Else each pod's driver does all that there is to do."""
    policy = container_gc.policy_of(flags)
    return policy.on_node >= 0 or policy.min_age > 0


async def bound(worker: Worker) -> None:
    """To be called each minute."""
    try:
        found = await worker.ask(PLEG, GetRuntimePods(), RuntimeSnapshot, timeout=_ASK_SECONDS)
    except AskError:
        return
    policy, now = container_gc.policy_of(worker.agent.flags), worker.clock()
    going = {ran.id: ran for ran in container_gc.surplus(found.pods, policy, now)}
    for runtime in found.pods:
        driver = worker.drivers.get(runtime.uid)
        if driver is None or driver.pod is None:
            continue  # of another worker, or its pod is about to leave no trace anyway
        too_many = {ran.id: ran for ran in container_gc.dead_containers(runtime, policy, now)}
        for ran in (too_many | {ran.id: ran for ran in runtime.containers if ran.id in going}).values():
            try:
                await worker.client.remove_container(ran.id)
            except CriError as error:
                worker.log.warning("dead container %s stays for now: %s", ran.id, error)
                continue
            files.remove_log(worker.agent.container_logs_dir, worker.agent.pod_logs_dir, driver.pod, ran)
