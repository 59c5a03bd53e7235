"""The base class of a pod's events."""

from __future__ import annotations

import msgspec

from .state import PodState


class PodEvent(msgspec.Struct, frozen=True):
    """An event of a pod. Times are seconds since 1970."""

    def apply(self, state: PodState) -> PodState:
        """The pod's state after the event; the same object if nothing changes."""
        raise NotImplementedError
