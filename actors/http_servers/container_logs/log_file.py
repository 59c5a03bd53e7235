"""Which file holds the log that a client asks for. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from actors.shared.kube.pod import ContainerStatus, Pod, PodStatus
from actors.shared.kube.pods import find_container

_PULLS: Final = {"ErrImagePull": "image can't be pulled", "ImagePullBackOff": "trying and failing to pull image"}
"""Of the reasons for waiting those that the reference says in other words: people and programs look for them."""


class LogRefused(Exception):
    """There is no such log; `status` is the HTTP status, the text is for the client."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class LogPlace(msgspec.Struct, frozen=True):
    """`path` is below the directory of pod logs."""

    container: str
    container_id: str
    path: str

    def runs_in(self, status: PodStatus) -> bool:
        """Whether that very container still runs."""
        found = _status_of(status, self.container)
        return found is not None and found.containerID == self.container_id and found.state.running is not None


def find_log(pod: Pod, status: PodStatus, container: str, *, previous: bool) -> LogPlace:
    """The log of a container of this pod, or of its previous instance. Raises LogRefused, worded as the reference."""
    name = pod.metadata.name
    if find_container(pod, container) is None:
        raise LogRefused(404, f'container "{container}" not found in pod "{name}"')
    found = _status_of(status, container)
    if found is None:
        raise LogRefused(400, f'container "{container}" in pod "{name}" is not available')
    last = found.lastState.terminated
    if previous:
        if last is None or not last.containerID:
            raise LogRefused(400, f'previous terminated container "{container}" in pod "{name}" not found')
        return _place(pod, container, last.containerID, found.restartCount - 1)
    if found.state.running is not None or found.state.terminated is not None:
        return _place(pod, container, found.containerID, found.restartCount)
    if last is not None and last.containerID:
        return _place(pod, container, last.containerID, found.restartCount)
    reason = found.state.waiting.reason if found.state.waiting else ""
    said = _PULLS.get(reason, reason) or "no reason given"
    raise LogRefused(400, f'container "{container}" in pod "{name}" is waiting to start: {said}')


def _place(pod: Pod, container: str, container_id: str, count: int) -> LogPlace:
    meta = pod.metadata
    directory = f"{meta.namespace}_{meta.name}_{meta.uid}"
    return LogPlace(container, container_id, f"{directory}/{container}/{max(0, count)}.log")


def _status_of(status: PodStatus, container: str) -> ContainerStatus | None:
    groups = (status.containerStatuses, status.initContainerStatuses, status.ephemeralContainerStatuses)
    return next((one for group in groups for one in group if one.name == container), None)
