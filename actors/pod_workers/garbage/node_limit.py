"""Enforces the node's limit of dead containers, and removes those that were too young before.

Each shard computes the same list from the whole runtime and removes the containers of its own pods.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from actors.pleg.messages import PLEG, GetRuntimePods
from actors.pod_workers.containers import files
from actors.pod_workers.executor.services import ExecutorContext
from actors.shared.cri.errors import CriError
from actors.shared.kube.pod import Pod
from supervision.actor import AskError

from .container_gc import ContainerGcPolicy, dead_containers, surplus
from .failures import report

SECONDS: Final = 60.0
"""The period of the check."""
_ASK_SECONDS: Final = 10.0


def is_needed(policy: ContainerGcPolicy) -> bool:
    """Whether the check is needed; if not, the pod workers remove everything by themselves."""
    return policy.on_node >= 0 or policy.min_age > 0


async def enforce(services: ExecutorContext, pods: Mapping[str, Pod]) -> None:
    """Remove dead containers of these pods."""
    try:
        found = await services.actor.ask(PLEG, GetRuntimePods(), timeout=_ASK_SECONDS)
    except AskError:
        return
    policy, agent, now = services.garbage, services.agent, services.clock()
    surplus_ids = {instance.id for instance in surplus(found.pods, policy, now)}
    for runtime in found.pods:
        pod = pods.get(runtime.uid)
        if pod is None:
            continue  # it belongs to another shard, or its pod is being cleaned up anyway
        too_many = {instance.id for instance in dead_containers(runtime, policy, now)} | surplus_ids
        for instance in [instance for instance in runtime.containers if instance.id in too_many]:
            try:
                await services.client.remove_container(instance.id)
            except CriError as error:
                report(services, instance.id, error)
                continue
            files.remove_log(agent.container_logs_dir, agent.pod_logs_dir, pod, instance)
