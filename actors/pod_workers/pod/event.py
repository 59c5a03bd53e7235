"""What all events of a pod have in common."""

from __future__ import annotations

import msgspec

from .state import PodState


class PodEvent(msgspec.Struct, frozen=True):
    """Something that happened to a pod. Times are seconds since 1970."""

    def apply(self, state: PodState) -> PodState:
        """What is known of the pod after it; the same object where it changes nothing."""
        raise NotImplementedError
