"""Errors of a container's start."""

from __future__ import annotations


class StartFailed(Exception):
    """A container was not started: waiting reason, message, and the seconds until the retry (0: the usual backoff).

    `container_id`: the created container, which may run if its start was not answered. `event`: the text of the event,
    where it is not `message`. `under_way`: an earlier call for the same container, perhaps by a worker that has
    died since, has not ended yet. `unreachable`: the runtime could not be reached, or ended during the call. `of_pod`:
    the event is one of the pod, as the image is that of a volume.
    """

    def __init__(
        self,
        reason: str,
        message: str,
        retry: float = 0.0,
        container_id: str = "",
        event: str = "",
        *,
        under_way: bool = False,
        unreachable: bool = False,
        of_pod: bool = False,
    ) -> None:
        super().__init__(message)
        self.under_way, self.unreachable, self.of_pod = under_way, unreachable, of_pod
        self.reason, self.message, self.retry, self.container_id = reason, message, retry, container_id
        self.event = event or message


class ConfigError(Exception):
    """The pod's settings for the container are invalid (waiting reason CreateContainerConfigError)."""
