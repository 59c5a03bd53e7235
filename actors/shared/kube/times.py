"""Times of the API (RFC 3339), and the start time of a pod."""

from __future__ import annotations

from datetime import UTC, datetime

from .names import CONFIG_SEEN
from .pod import Pod


def seconds(when: str | None) -> float:
    """Seconds since 1970; 0 for None or an invalid time."""
    try:
        return datetime.fromisoformat(when).timestamp() if when else 0.0
    except ValueError:
        return 0.0


def rfc3339(seconds: float) -> str:
    """A Time of the API, of whole seconds; `seconds` since 1970."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def start_time(pod: Pod) -> str:
    """When the node first saw the pod: status.startTime, else the annotation of a static pod, which survives a restart
    of the agent; '' if neither is set."""
    if pod.status.startTime:
        return pod.status.startTime
    seen = pod.metadata.annotations.get(CONFIG_SEEN, "")
    return f"{seen[:19]}Z" if len(seen) >= 20 and seen.endswith("Z") else ""
