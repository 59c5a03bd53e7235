"""The resizes that wait for room, in the order in which they get it (KEP-1287). Pure."""

from __future__ import annotations

import msgspec

from actors.shared.admission.request import Demand


class WaitingResize(msgspec.Struct, frozen=True):
    """A pod whose desired resources differ from its allocated ones."""

    before: Demand
    """Allocated."""
    after: Demand
    """Desired."""
    since: float = 0.0
    """When it was first deferred, seconds since 1970; 0.0: not yet."""
    refusal: str = ""
    """Why it waits, as its worker was told last."""

    @property
    def uid(self) -> str:
        return self.after.uid

    @property
    def increases(self) -> bool:
        """Whether it requests more cpu or memory."""
        return any(self.after.requests.get(name, 0) > self.before.requests.get(name, 0) for name in ("cpu", "memory"))


class ResizeQueue:
    """The resizes that wait, at most one for each pod."""

    def __init__(self) -> None:
        self._waiting: dict[str, WaitingResize] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, resize: WaitingResize) -> None:
        """Add it, replacing the pod's earlier one."""
        self._waiting[resize.uid] = resize

    def drop(self, uid: str) -> WaitingResize | None:
        return self._waiting.pop(uid, None)

    def ordered(self) -> list[WaitingResize]:
        """The kubelet's order: pods that request no more come first, then by priority, then Guaranteed pods before
        others, then the longest deferred."""
        return sorted(self._waiting.values(), key=_rank)


def _rank(resize: WaitingResize) -> tuple[bool, int, bool, bool, float]:
    after = resize.after
    return resize.increases, -(after.priority or 0), after.qos != "Guaranteed", not resize.since, resize.since
