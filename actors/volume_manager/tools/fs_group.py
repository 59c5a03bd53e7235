"""Ownership of a volume by the pod's fsGroup."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from actors.api_clients.event_client.messages import EVENT_CLIENT, pod_event
from actors.shared.kube.pod import Pod
from supervision.actor import Actor

from .system_calls import CallFailed, DisposableCalls

SLICE_SECONDS: Final = 10.0
"""One disposable process works for this long and the next one continues, so that none counts as hung and other volumes
get their turn."""
SLICE_DEADLINE: Final = 40.0
FIRST_REPORT_SECONDS: Final = 30.0
REPORT_SECONDS: Final = 60.0
_ADVICE: Final = (
    "is taking longer than expected, consider using OnRootMismatch - "
    "https://kubernetes.io/docs/tasks/configure-pod-container/security-context/"
    "#configure-volume-permission-and-ownership-change-policy-for-pods"
)
_APPLY: Final = "actors.volume_manager.host.ownership:apply_group"
_GROUP: Final = "actors.volume_manager.host.ownership:group_of"


class FsGroup:
    """Changes the files in disposable processes, without a deadline, and reports the progress in events of the pod."""

    def __init__(self, actor: Actor, calls: DisposableCalls, clock: Callable[[], float]) -> None:
        self._actor, self._calls, self._clock = actor, calls, clock

    async def apply(self, pod: Pod, path: str, group: int, on_root_mismatch: bool) -> str:
        """Change the group of all files at `path`; `on_root_mismatch`: only if the top directory has another group.
        Like the kubelet, it logs files that cannot be changed, and does not fail. Returns '' or the error's text.
        """
        after, files, reports, report_at = b"", 0, 0, self._clock() + FIRST_REPORT_SECONDS
        while True:
            arguments = {"path": path, "group": group, "on_root_mismatch": on_root_mismatch, "after": after}
            try:
                done = await self._calls.call(
                    path, _APPLY, {**arguments, "seconds": SLICE_SECONDS}, deadline=SLICE_DEADLINE
                )
            except CallFailed as error:
                return str(error)
            self._log_failed(path, done)
            after, files = done["after"], files + done["files"]
            if not after:
                return ""
            if self._clock() >= report_at:
                self._report(pod, path, files if reports else None)
                reports, report_at = reports + 1, self._clock() + REPORT_SECONDS

    async def compare(self, pod: Pod, volume: str, path: str, group: int) -> None:
        """Emit an event if the top directory of a volume whose ownership is not changed has another group. Raises
        CallFailed."""
        owner = await self._calls.call(path, _GROUP, {"path": path})
        if owner != group:
            text = f"The requested fsGroup is {group}, but the volume {volume} has GID {owner}."
            message = f"{text} The volume may not be shareable."
            event = pod_event(pod.metadata, "Warning", "AlreadyMountedVolume", message)
            self._actor.tell(EVENT_CLIENT, event, deadline=60.0)

    def _log_failed(self, path: str, done: dict[str, Any]) -> None:
        if done["failed"]:
            self._actor.log.warning(
                "fsGroup: %d files of %s stay as they are: %s", done["failed"], path, "; ".join(done["errors"])
            )

    def _report(self, pod: Pod, path: str, files: int | None) -> None:
        """Report the progress: advice in the first event, the number of files in the later ones."""
        of_pod = path.find(pod.metadata.uid)  # do not show the part of the path above the pod's directory
        what = f"Setting volume ownership for {path[max(0, of_pod) :]}"
        message = f"{what} {_ADVICE}" if files is None else f"{what}, processed {files} files."
        event = pod_event(pod.metadata, "Warning", "VolumePermissionChangeInProgress", message)
        self._actor.tell(EVENT_CLIENT, event, deadline=60.0)
