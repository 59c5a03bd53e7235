"""Volumes of a pod that runs."""

from __future__ import annotations

import msgspec

from actors.pod_workers.pod.table import Phase
from actors.volume_manager.messages import VOLUME_MANAGER, MountVolumes

from .execution import Execution


def renew_volumes(run: Execution, *, forgotten: bool = False) -> None:
    """Have the volumes that are made of what may change (labels, objects of the API) made anew while the pod runs;
    `forgotten`: the volume manager is a new one, and asks for those of storage drivers, too."""
    state = run.state
    volumes = state.wanted.pod.spec.volumes if state.wanted.pod is not None and state.phase is Phase.RUNNING else []
    if any(one.downwardAPI or one.projected or one.secret or one.configMap for one in volumes) or (
        forgotten and any(one.csi or one.persistentVolumeClaim or one.ephemeral != msgspec.Raw() for one in volumes)
    ):
        run.services.actor.tell(VOLUME_MANAGER, MountVolumes(state.uid, state.wanted.data), deadline=30.0)
