"""Why a container is not there yet, as its users see it."""

from __future__ import annotations


class StartFailed(Exception):
    """A container was not started: waiting reason, message, and in how many seconds to try again (0: as usual)."""

    def __init__(self, reason: str, message: str, retry: float = 0.0) -> None:
        super().__init__(message)
        self.reason, self.message, self.retry = reason, message, retry


class ConfigError(Exception):
    """The container cannot be made as its pod says (waiting reason CreateContainerConfigError)."""
