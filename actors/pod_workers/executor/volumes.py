"""The volumes of a running pod."""

from __future__ import annotations

from typing import Final

from actors.pod_workers.pod.results import VolumesMountedAgain
from actors.pod_workers.pod.table import PodWorkerPhase
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import used_volumes
from actors.volume_manager.messages import VOLUME_MANAGER, MountVolumes, VolumesFailed, VolumesMounted
from supervision.actor import AskError

from .execution import Execution

VOLUME_SECONDS: Final = 130.0
"""How long a pod worker waits until all volumes of its pod are mounted, or unmounted and removed."""
RETRY_SECONDS: Final = 5.0


def renew_volumes(run: Execution, *, before: Pod | None = None, forgotten: bool = False) -> None:
    """Update the files that have fields of the pod while it runs, and mount the volumes that only an added container
    uses. Volumes of ConfigMaps, Secrets and tokens follow their sources in the volume manager.

    `before`: the pod before an update; None if its resources changed. `forgotten`: the volume manager has restarted:
    it follows all sources, and drivers and servers, again.
    """
    state = run.state
    pod = state.wanted.pod if state.phase is PodWorkerPhase.RUNNING else None
    if pod is None:
        return
    added = used_volumes(pod) - state.held.volumes.keys()
    if (
        any(one.name in added and one.image is None for one in pod.spec.volumes)
        or (_has_other_fields(pod, before) and any(one.downwardAPI or one.projected for one in pod.spec.volumes))
        or (forgotten and any(not (one.emptyDir or one.hostPath or one.image) for one in pod.spec.volumes))
    ):
        run.services.actor.start_task(_renew(run), f"volumes {state.uid}")


def _has_other_fields(pod: Pod, before: Pod | None) -> bool:
    """Whether a field that a file can have may have changed. A pod's deletion, for one, changes none."""
    if before is None:
        return True
    now, then = pod.metadata, before.metadata
    return (now.labels, now.annotations) != (then.labels, then.annotations)


async def _renew(run: Execution) -> None:
    """If the update fails, the pod keeps its volumes and an event is emitted. Without an answer it is repeated, with
    the newest pod, while the pod runs."""
    answer = None
    while answer is None and run.state.phase is PodWorkerPhase.RUNNING:
        try:
            answer = await run.ask(VOLUME_MANAGER, MountVolumes(run.state.uid, run.state.wanted.data), VOLUME_SECONDS)
        except AskError:
            await run.services.actor.pause(RETRY_SECONDS)
    if isinstance(answer, VolumesFailed):
        for event in answer.pod_events:
            run.announce("Warning", event.reason, event.text)
    elif isinstance(answer, VolumesMounted):
        run.report(VolumesMountedAgain(answer.paths))
        run.wake()
