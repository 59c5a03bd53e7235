"""Why a container is not started."""

from __future__ import annotations


class StartFailed(Exception):
    """A container was not started: waiting reason, message, and in how many seconds to try again (0: as usual).

    `container_id`: of the container that was created, and may run though its start was not answered. `event`: the text
    of the event, where it is not `message`.
    """

    def __init__(self, reason: str, message: str, retry: float = 0.0, container_id: str = "", event: str = "") -> None:
        super().__init__(message)
        self.reason, self.message, self.retry, self.container_id = reason, message, retry, container_id
        self.event = event or message


class ConfigError(Exception):
    """The container cannot be created as its pod says (waiting reason CreateContainerConfigError)."""
