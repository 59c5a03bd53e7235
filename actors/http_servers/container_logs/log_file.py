"""The log file of a container. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from actors.http_servers.serving.http_error import HttpError
from actors.shared.kube.pod import ContainerStatus, Pod, PodStatus
from actors.shared.kube.pods import container_statuses, find_container

_PULLS: Final = {"ErrImagePull": "image can't be pulled", "ImagePullBackOff": "trying and failing to pull image"}
"""The kubelet's texts for some waiting reasons, which people and programs search for."""


class LogFile(msgspec.Struct, frozen=True):
    """`path`: below the directory of pod logs."""

    container: str
    container_id: str
    path: str

    def unreadable(self, pod: str, why: str) -> HttpError:
        """The error when the file cannot be opened. As in the kubelet, a container without an ID, which has never
        started or which the runtime has lost, is terminated."""
        if self.container_id:
            return HttpError(400, f"unable to retrieve container logs for {self.container_id}: {why}")
        return HttpError(400, f'container "{self.container}" in pod "{pod}" is terminated')

    def runs_in(self, status: PodStatus) -> bool:
        """Whether this container is still running."""
        found = _status_of(status, self.container)
        return found is not None and found.containerID == self.container_id and found.state.running is not None


def find_log(pod: Pod, status: PodStatus, container: str, *, previous: bool) -> LogFile:
    """The log of a container of this pod, or of its previous instance. Raises HttpError, with the kubelet's texts."""
    name = pod.metadata.name
    if find_container(pod, container) is None:
        raise HttpError(404, f'container "{container}" not found in pod "{name}"')
    found = _status_of(status, container)
    if found is None:
        raise HttpError(400, f'container "{container}" in pod "{name}" is not available')
    last = found.lastState.terminated
    if previous:
        if last is None or not last.containerID:
            raise HttpError(400, f'previous terminated container "{container}" in pod "{name}" not found')
        newest = last.containerID == found.containerID  # it waits for its restart: no newer instance exists
        return _log_of(pod, container, last.containerID, found.restartCount - (not newest))
    if found.state.running is not None or found.state.terminated is not None:
        return _log_of(pod, container, found.containerID, found.restartCount)
    if last is not None and last.containerID:
        return _log_of(pod, container, last.containerID, found.restartCount)
    reason = found.state.waiting.reason if found.state.waiting else ""
    text = _PULLS.get(reason, reason) or "no reason given"
    raise HttpError(400, f'container "{container}" in pod "{name}" is waiting to start: {text}')


def _log_of(pod: Pod, container: str, container_id: str, count: int) -> LogFile:
    meta = pod.metadata
    directory = f"{meta.namespace}_{meta.name}_{meta.uid}"
    return LogFile(container, container_id, f"{directory}/{container}/{max(0, count)}.log")


def _status_of(status: PodStatus, container: str) -> ContainerStatus | None:
    return next((one for one in container_statuses(status) if one.name == container), None)
