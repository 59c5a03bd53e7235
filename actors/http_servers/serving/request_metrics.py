"""kubelet_http_* metrics. Values that callers choose are labels only when they are known ones."""

from __future__ import annotations

from typing import Final

from supervision.metrics import Metrics

METHODS: Final = frozenset({"GET", "HEAD", "POST", "DELETE", "PATCH", "PUT", "OPTIONS"})
OTHER: Final = "other"
_REQUESTS: Final = "kubelet_http_requests_total"
_SECONDS: Final = "kubelet_http_requests_duration_seconds"
_INFLIGHT: Final = "kubelet_http_inflight_requests"


def label(path: str) -> str:
    """The first word of a path; two of those below /metrics, as in the reference. Pure."""
    first, _, rest = path.lstrip("/").partition("/")
    second = rest.partition("/")[0]
    return f"{first}/{second}" if first == "metrics" and second else first


class RequestMetrics:
    """Of one server."""

    def __init__(self, metrics: Metrics, *, read_only: bool) -> None:
        self._metrics, self._server = metrics, "readonly" if read_only else "readwrite"
        self._long_running: dict[str, bool] = {}
        self._inflight: dict[tuple[str, str], int] = {}

    def add(self, prefix: str, *, long_running: bool) -> None:
        """Make a path known; any other one is counted as `other`."""
        self._long_running[label(prefix)] = long_running

    def labels(self, method: str, path: str) -> dict[str, str]:
        """`path` as it came."""
        known = label(path)
        if known not in self._long_running:
            known = next((one for one in (known.partition("/")[0],) if one in self._long_running), OTHER)
        return {
            "long_running": "true" if self._long_running.get(known) else "false",
            "method": method if method in METHODS else OTHER,
            "path": known,
            "server_type": self._server,
        }

    def begin(self, labels: dict[str, str]) -> None:
        """A request has come."""
        self._change(labels, 1)
        self._metrics.count(_REQUESTS, **labels)

    def end(self, labels: dict[str, str], seconds: float) -> None:
        """It is answered, or its stream has ended."""
        self._change(labels, -1)
        self._metrics.observe(_SECONDS, seconds, **labels)

    def _change(self, labels: dict[str, str], by: int) -> None:
        key = (labels["method"], labels["path"])
        self._inflight[key] = self._inflight.get(key, 0) + by
        self._metrics.gauge(_INFLIGHT, self._inflight[key], **labels)
