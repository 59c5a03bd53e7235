"""Removes all containers of pods that have ended, also the newest ones, when the disk is full."""

from __future__ import annotations

from collections.abc import Iterable

from actors.pod_workers.containers import files
from actors.pod_workers.executor.pod_worker import PodWorker
from actors.pod_workers.executor.services import ExecutorContext
from actors.pod_workers.pod.phase_transitions import PodWorkerPhase
from actors.shared.cri.errors import CriError
from actors.shared.cri.model import CriContainerState

from .failures import report


async def remove_containers(services: ExecutorContext, workers: Iterable[PodWorker]) -> int:
    """Returns how many were removed. A container that cannot be removed is logged, and stays."""
    removed = 0
    for state in [worker.state for worker in workers]:
        pod, runtime = state.wanted.pod, state.runtime
        if state.phase is not PodWorkerPhase.ENDED or pod is None or runtime is None:
            continue
        for instance in [one for one in runtime.containers if one.state is CriContainerState.EXITED]:
            try:
                await services.client.remove_container(instance.id)
            except CriError as error:
                report(services, instance.id, error)
                continue
            files.remove_log(services.agent.container_logs_dir, services.agent.pod_logs_dir, pod, instance)
            removed += 1
    return removed
