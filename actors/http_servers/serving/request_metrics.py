"""kubelet_http_* metrics. Methods and paths that callers invent are labelled `other`."""

from __future__ import annotations

from typing import Final

from supervision.metrics import Metrics

METHODS: Final = frozenset({"GET", "HEAD", "POST", "DELETE", "PATCH", "PUT", "OPTIONS"})
OTHER: Final = "other"
_REQUESTS: Final = "kubelet_http_requests_total"
_SECONDS: Final = "kubelet_http_requests_duration_seconds"
_INFLIGHT: Final = "kubelet_http_inflight_requests"


def label(path: str) -> str:
    """The first word of a path; two of those below /metrics, as in the kubelet. Pure."""
    first, _, rest = path.lstrip("/").partition("/")
    second = rest.partition("/")[0]
    return f"{first}/{second}" if first == "metrics" and second else first


class RequestMetrics:
    """The request metrics of one server."""

    def __init__(self, metrics: Metrics, *, read_only: bool) -> None:
        self._metrics, self._server = metrics, "readonly" if read_only else "readwrite"
        self._long_running: dict[str, bool] = {}
        self._inflight: dict[tuple[str, str], int] = {}

    def add(self, prefix: str, *, long_running: bool) -> None:
        """Add a path. Paths that are not added are counted as `other`."""
        self._long_running[label(prefix)] = long_running

    def labels(self, method: str, path: str) -> dict[str, str]:
        """The labels of a request. `path`: as received."""
        known = label(path)
        if known not in self._long_running:
            known = next((one for one in (known.partition("/")[0],) if one in self._long_running), OTHER)
        return {
            "long_running": "true" if self._long_running.get(known) else "false",
            "method": method if method in METHODS else OTHER,
            "path": known,
            "server_type": self._server,
        }

    def start(self, labels: dict[str, str]) -> None:
        """A request was received."""
        self._change(labels, 1)
        self._metrics.count(_REQUESTS, **labels)

    def end(self, labels: dict[str, str], seconds: float) -> None:
        """The request is answered, or its stream has ended."""
        self._change(labels, -1)
        self._metrics.observe(_SECONDS, seconds, **labels)

    def _change(self, labels: dict[str, str], by: int) -> None:
        key = (labels["method"], labels["path"])
        self._inflight[key] = self._inflight.get(key, 0) + by
        self._metrics.gauge(_INFLIGHT, self._inflight[key], **labels)
