"""Metrics of images: requests, and the duration of pulls by the image's size."""

from __future__ import annotations

from typing import Final

from supervision.metrics import Metrics

_MB, _GB = 1 << 20, 1 << 30
_SIZES: Final = (
    (100 * _GB, "GT100GB"), (60 * _GB, "60GB-100GB"), (40 * _GB, "40GB-60GB"), (30 * _GB, "30GB-40GB"),
    (20 * _GB, "20GB-30GB"), (10 * _GB, "10GB-20GB"), (5 * _GB, "5GB-10GB"), (_GB, "1GB-5GB"), (500 * _MB, "500MB-1GB"),
    (100 * _MB, "100MB-500MB"), (10 * _MB, "10MB-100MB"), (1, "0-10MB"),
)  # fmt: skip
"""The lower bounds in bytes of the size labels."""


def size_label(size_bytes: int) -> str:
    """The kubelet's label for an image of this size; N/A if unknown."""
    return next((label for least, label in _SIZES if size_bytes >= least), "N/A")


class PullMetrics:
    """Remembers how long a pull took until the image's size is known."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._took: dict[str, float] = {}

    def requested(self, policy: str, *, present: bool | None = None, pulled: bool | None = None) -> None:
        """An image was requested; `pulled`: it must be pulled. None: that was not found out."""
        texts = {None: "unknown", True: "true", False: "false"}
        self._metrics.count(
            "kubelet_image_manager_ensure_image_requests_total",
            present_locally=texts[present], pull_policy=policy.lower(), pull_required=texts[pulled],
        )  # fmt: skip

    def pulled(self, image: str, seconds: float) -> None:
        """A pull has ended well."""
        self._took[image] = seconds

    def unknown(self, image: str) -> None:
        """The runtime does not say what it has pulled."""
        self._took.pop(image, None)

    def sized(self, image: str, size_bytes: int) -> None:
        """The image is this large: counted once for each pull, however many pods have waited for it."""
        seconds = self._took.pop(image, None)
        if seconds is not None:
            label = size_label(size_bytes)
            self._metrics.observe("kubelet_image_pull_duration_seconds", seconds, image_size_in_bytes=label)
