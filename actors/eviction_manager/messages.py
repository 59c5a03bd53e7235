"""Messages of the eviction manager."""

from __future__ import annotations

from typing import Any, Final

from supervision.addresses import ActorName
from supervision.message import Message, Question

EVICTION_MANAGER: Final = ActorName("eviction_manager")


class PreemptPods(Message, frozen=True):
    """From container_manager, repeated: end these pods to make room for a critical pod."""

    uids: list[str]
    resource: str
    """The resource that the critical pod lacks; label of the metric."""


class GetPodDisks(Question["PodDisksMeasured"], frozen=True):
    """From a server with stats pages. Answered with PodDisksMeasured within MEASURE_SECONDS."""

    pods: list[list[str]]
    """UID, directory, and directory of the logs, of each."""
    left_out: list[str] = []
    """Volumes that their drivers measure: `UID/plugin/name`."""


class PodDisksMeasured(Message, frozen=True):
    pods: dict[str, dict[str, Any]]
    """By UID, as PodDisks measures them; `at`: when, in seconds since 1970, at most volumeStatsAggPeriod ago."""
    error: str = ""
    """Why nothing could be measured; '' if it was."""
