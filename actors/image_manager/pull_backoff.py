"""Backoffs of failed pulls, for each image of each pod: 10 s, doubling to 300 s, as in the kubelet. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from supervision.backoff import Backoff, BackoffPolicy, Rng

POLICY: Final = BackoffPolicy(first=10.0, maximum=300.0, jitter=0.0, reset_after=600.0, free=0)


class FailedPull(msgspec.Struct, frozen=True):
    """The last failure of one image of one pod. Times are seconds of a monotonic clock."""

    backoff: Backoff
    until: float
    reason: str
    text: str


class PullBackoffs:
    """The backoffs of pulls, by pod UID and image, as the kubelet keeps them (imageBackOff). What differs from a plain
    Backoff: the text of the last failure is reported while the pause lasts."""

    def __init__(self) -> None:
        self._failed: dict[tuple[str, str], FailedPull] = {}

    def failed(self, uid: str, image: str, reason: str, text: str, now: float, rng: Rng) -> float:
        """Record a failure. Returns the pause in seconds."""
        last = self._failed.get((uid, image))
        backoff = (last.backoff if last else Backoff()).failed(POLICY, max(0.0, now - last.until) if last else 0.0)
        pause = backoff.pause(POLICY, rng)
        self._failed[uid, image] = FailedPull(backoff, now + pause, reason, text)
        return pause

    def succeeded(self, uid: str, image: str) -> None:
        self._failed.pop((uid, image), None)

    def current(self, uid: str, image: str, now: float) -> FailedPull | None:
        """The last failure, while its pause lasts."""
        found = self._failed.get((uid, image))
        return found if found is not None and now < found.until else None

    def retain(self, keep: Callable[[str], bool]) -> None:
        """Forget the pods that are gone. `keep`: whether the node has the pod of this UID."""
        self._failed = {key: failed for key, failed in self._failed.items() if keep(key[0])}
