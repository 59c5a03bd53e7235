"""The volumes of a running pod."""

from __future__ import annotations

from typing import Final

from actors.pod_workers.pod.results import VolumesMountedAgain
from actors.pod_workers.pod.table import PodWorkerPhase
from actors.shared.kube.pods import used_volumes
from actors.volume_manager.messages import VOLUME_MANAGER, MountVolumes, VolumesFailed, VolumesMounted
from supervision.actor import AskError

from .execution import Execution

RENEW_SECONDS: Final = 60.0


def renew_volumes(run: Execution, *, forgotten: bool = False) -> None:
    """Update the volumes whose content may change (labels, API objects) while the pod runs, and mount those that only
    an added container uses. `forgotten`: the volume manager has restarted, and follows those of drivers and servers
    again."""
    state = run.state
    pod = state.wanted.pod if state.phase is PodWorkerPhase.RUNNING else None
    volumes = pod.spec.volumes if pod is not None else []
    added = used_volumes(pod) - state.held.volumes.keys() if pod is not None else frozenset()
    if (
        any(one.name in added and one.image is None for one in volumes)
        or any(one.downwardAPI or one.projected or one.secret or one.configMap for one in volumes)
        # a new volume manager follows what it has mounted, whatever the source: figures, expansion, tokens
        or (forgotten and any(not (one.emptyDir or one.hostPath or one.image) for one in volumes))
    ):
        run.services.actor.start_task(_renew(run), f"volumes {state.uid}")


async def _renew(run: Execution) -> None:
    """If the update fails, the pod keeps its volumes and an event is emitted."""
    try:
        answer = await run.ask(VOLUME_MANAGER, MountVolumes(run.state.uid, run.state.wanted.data), RENEW_SECONDS)
    except AskError:
        return  # the next volume manager says Hello
    if isinstance(answer, VolumesFailed):
        for event in answer.pod_events:
            run.announce("Warning", event.reason, event.text)
    elif isinstance(answer, VolumesMounted):
        run.report(VolumesMountedAgain(answer.paths))
        run.wake()
