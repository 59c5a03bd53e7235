"""The volumes of a running pod."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from actors.pod_workers.errors import StartFailed
from actors.pod_workers.pod.phase_transitions import PodWorkerPhase
from actors.pod_workers.pod.results import VolumesMountedAgain
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import used_volumes
from actors.volume_manager.messages import VOLUME_MANAGER, MountVolumes, VolumesFailed, VolumesMounted
from supervision.actor import AskError

from .execution import Execution

VOLUME_SECONDS: Final = 130.0
"""How long a pod worker waits until all volumes of its pod are mounted, or unmounted and removed."""
RETRY_SECONDS: Final = 5.0
FAILED: Final = "CreateContainerConfigError"


def mount_again(run: Execution, *, before: Pod | None = None, forgotten: bool = False) -> None:
    """Update the files that have fields of the pod while it runs, and mount the volumes that only an added container
    uses. Volumes of ConfigMaps, Secrets and tokens follow their sources in the volume manager.

    `before`: the pod before an update; None if its resources changed. `forgotten`: the volume manager has restarted:
    it follows all sources, and drivers and servers, again.
    """
    state = run.state
    pod = state.wanted.pod if state.phase is PodWorkerPhase.RUNNING else None
    if pod is None:
        return
    added = used_volumes(pod) - state.acquired.volumes.keys()
    if (
        any(one.name in added and one.image is None for one in pod.spec.volumes)
        or (_has_other_fields(pod, before) and any(one.downwardAPI or one.projected for one in pod.spec.volumes))
        or (forgotten and any(not (one.emptyDir or one.hostPath or one.image) for one in pod.spec.volumes))
    ):
        run.services.actor.start_task(_mount_again(run), f"volumes {state.uid}")


def _has_other_fields(pod: Pod, before: Pod | None) -> bool:
    """Whether a field that a file can have may have changed. A pod's deletion, for one, changes none."""
    if before is None:
        return True
    now, then = pod.metadata, before.metadata
    return (now.labels, now.annotations) != (then.labels, then.annotations)


def lost_volumes(paths: Mapping[str, str], pod_dir: str) -> list[str]:
    """The volumes of these (path by name) that are no longer in the pod's directory, in order. The directories are
    listed: to look at a volume itself may never end, if its server does not answer."""
    listed: dict[str, list[str]] = {}
    lost = []
    for name, path in sorted(paths.items()):
        parent, entry = os.path.split(path)
        if not path.startswith(f"{pod_dir}/"):
            continue  # a directory of the host, or an image
        if parent not in listed:
            try:
                listed[parent] = os.listdir(parent)
            except OSError:
                listed[parent] = []
        if entry not in listed[parent]:
            lost.append(name)
    return lost


async def mount_lost(run: Execution, lost: list[str]) -> None:
    """Mount the pod's volumes again, because these have been removed under it. Otherwise the runtime would make empty
    directories in their place. Raises StartFailed, EffectInterrupted."""
    run.services.actor.log.warning("pod %s: volumes %s are gone, they are mounted again", run.state.label, lost)
    question = MountVolumes(run.state.uid, run.state.wanted.data)
    try:
        answer = await run.unless_terminating(run.ask(VOLUME_MANAGER, question, VOLUME_SECONDS))
    except AskError as error:
        raise StartFailed(FAILED, f"volumes {', '.join(lost)} are gone: {error}") from None
    if isinstance(answer, VolumesFailed):
        for event in answer.pod_events:
            run.announce("Warning", event.reason, event.text)
        raise StartFailed(FAILED, answer.message)
    if isinstance(answer, VolumesMounted):
        run.report(VolumesMountedAgain(answer.paths))


async def _mount_again(run: Execution) -> None:
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
