"""kubelet_http_* metrics. What callers choose becomes a label only where it is one of few words."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from supervision.metrics import Metrics

METHODS: Final = frozenset({"GET", "HEAD", "POST", "DELETE", "PATCH", "PUT", "OPTIONS"})
LONG_RUNNING: Final = frozenset({"exec", "attach", "portForward", "debug", "containerLogs"})
OTHER: Final = "other"
READ_WRITE, READ_ONLY = "readwrite", "readonly"
BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds."""
_REQUESTS: Final = "kubelet_http_requests_total"
_SECONDS: Final = "kubelet_http_requests_duration_seconds"
_INFLIGHT: Final = "kubelet_http_inflight_requests"


class Counting:
    """Of one server; `kind` is READ_WRITE or READ_ONLY. `paths`: first words of those that it has."""

    def __init__(self, metrics: Metrics, kind: str, paths: Collection[str]) -> None:
        self.kind = kind
        self._metrics, self._paths = metrics, frozenset(paths)
        self._inflight: dict[tuple[str, str], int] = {}

    def labels(self, method: str, path: str) -> dict[str, str]:
        """Pure. `path` as it came."""
        first, _, rest = path.lstrip("/").partition("/")
        known = first if first in self._paths else OTHER
        second = rest.partition("/")[0]
        if known == "metrics" and f"metrics/{second}" in self._paths:
            known = f"metrics/{second}"
        return {
            "long_running": "true" if first in LONG_RUNNING else "false",
            "method": method if method in METHODS else OTHER,
            "path": known,
            "server_type": self.kind,
        }

    def begin(self, labels: dict[str, str]) -> None:
        """A request has come."""
        self._change(labels, 1)
        self._metrics.count(_REQUESTS, **labels)

    def end(self, labels: dict[str, str], seconds: float) -> None:
        """It is answered, or its stream has ended."""
        self._change(labels, -1)
        self._metrics.observe(_SECONDS, seconds, BUCKETS, **labels)

    def _change(self, labels: dict[str, str], by: int) -> None:
        key = (labels["method"], labels["path"])
        self._inflight[key] = self._inflight.get(key, 0) + by
        self._metrics.gauge(_INFLIGHT, self._inflight[key], **labels)
