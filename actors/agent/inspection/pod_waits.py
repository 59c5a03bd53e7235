"""What a pod waits for: an answer of the runtime, or the pull of an image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from actors.image_manager.messages import IMAGE_MANAGER, GetPendingImages, PendingImage, PendingImages
from actors.status_manager.messages import STATUS_MANAGER, GetPodStatus, PodStatusFound
from supervision.cli.answers import Answers

from . import pod_rows


class PodWaits(msgspec.Struct, frozen=True):
    """What the actors know of it."""

    report: PodStatusFound | None = None
    """None: the status manager does not answer, or does not have the pod."""
    images: Sequence[PendingImage] = ()
    """Those that are pulled, or are to be."""

    def texts(self, now: float) -> Iterator[str]:
        """What it waits for. `now`: seconds since 1970."""
        if self.report is not None and self.report.slow_call:
            since = pod_rows.whole_seconds(now - self.report.slow_since)
            yield f"the runtime, which has not answered {self.report.slow_call} for {since}"
        for image in self.images:
            yield _pull(image, pod_rows.whole_seconds(now - image.since))


NOTHING = PodWaits()


def of_pod(answers: Answers, pod: dict[str, Any], *, by_runtime: bool = False) -> PodWaits:
    """Ask for it. `by_runtime`: only the runtime has the pod."""
    uid, report, images = pod["metadata"].get("uid", ""), None, None
    if not by_runtime:
        missing = "what its worker does is not shown"
        report = answers.get(STATUS_MANAGER, GetPodStatus(uid=uid), PodStatusFound, missing)
    if _has_waiting(pod):
        images = answers.get(IMAGE_MANAGER, GetPendingImages(uid), PendingImages, "pulls are not shown")
    return PodWaits(report, images.images if images is not None else ())


def _has_waiting(pod: dict[str, Any]) -> bool:
    """Whether a container has not begun."""
    fields = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
    statuses = [one for field in fields for one in pod.get("status", {}).get(field) or []]
    return any("waiting" in (one.get("state") or {}) for one in statuses)


def _pull(image: PendingImage, since: str) -> str:
    if image.before is None:
        return f"the pull of {image.name}, which has run for {since}"
    others = "another one" if image.before == 1 else f"{image.before} others"
    behind = f" behind {others}" if image.before else ""
    return f"the pull of {image.name}, which has waited for {since}{behind}"
