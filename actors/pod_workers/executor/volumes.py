"""Volumes of a pod that runs."""

from __future__ import annotations

from typing import Final

import msgspec

from actors.pod_workers.pod.table import Phase
from actors.volume_manager.messages import VOLUME_MANAGER, MountVolumes, VolumesFailed
from supervision.actor import AskError

from .execution import Execution

RENEW_SECONDS: Final = 60.0


def renew_volumes(run: Execution, *, forgotten: bool = False) -> None:
    """Have the volumes that are made of what may change (labels, objects of the API) made anew while the pod runs;
    `forgotten`: the volume manager is a new one, and asks for those of storage drivers, too."""
    state = run.state
    volumes = state.wanted.pod.spec.volumes if state.wanted.pod is not None and state.phase is Phase.RUNNING else []
    if any(one.downwardAPI or one.projected or one.secret or one.configMap for one in volumes) or (
        forgotten and any(one.csi or one.persistentVolumeClaim or one.ephemeral != msgspec.Raw() for one in volumes)
    ):
        run.services.actor.start_task(_renew(run), f"volumes {state.uid}")


async def _renew(run: Execution) -> None:
    """The pod keeps the volumes that it has when they cannot be renewed; its users are told."""
    try:
        answer = await run.ask(VOLUME_MANAGER, MountVolumes(run.state.uid, run.state.wanted.data), RENEW_SECONDS)
    except AskError:
        return  # the next volume manager says Hello
    if isinstance(answer, VolumesFailed):
        for text in answer.texts or [answer.message]:
            run.announce("Warning", "FailedMount", text)
