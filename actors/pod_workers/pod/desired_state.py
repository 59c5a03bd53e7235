"""The desired state of a pod: what its source and orders to end it ask for."""

from __future__ import annotations

import msgspec

from actors.pod_workers.messages import KillPod
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import DEFAULT_GRACE_SECONDS, grace_period


class DesiredState(msgspec.Struct, frozen=True, kw_only=True):
    """The desired state of the pod."""

    pod: Pod | None = None
    """The pod with its allocated resources. None: only the runtime knows the pod."""
    data: bytes = b""
    """The pod as JSON."""
    source: bytes = b""
    """The source's pod as JSON."""
    removed: bool = False
    """No source has the pod; an orphan of the runtime never had one."""
    kill: KillPod | None = None
    """The first order to end it, with the shortest grace period ordered since."""
    again: bytes = b""
    """The pod that a source has again, while this one still terminates."""

    @property
    def deleted(self) -> bool:
        """Whether the API object is deleted and waits for the pod's end."""
        return self.pod is not None and self.pod.metadata.deletionTimestamp is not None

    @property
    def unwanted(self) -> bool:
        """Whether no source has it, or it is deleted."""
        return self.removed or self.pod is None or self.deleted

    @property
    def must_terminate(self) -> bool:
        """Whether it must end: a start under way no longer matters."""
        return self.removed or self.deleted or self.kill is not None

    @property
    def ordered_grace(self) -> int | None:
        """The grace period of an order, if it overrides the pod's."""
        if self.kill is None:
            return None
        deletion = self.pod.metadata.deletionGracePeriodSeconds if self.pod is not None else None
        return self.kill.grace_seconds if deletion is None else min(deletion, self.kill.grace_seconds)

    @property
    def grace_seconds(self) -> int:
        """The grace period of its termination."""
        own = grace_period(self.pod) if self.pod is not None else DEFAULT_GRACE_SECONDS
        return own if self.ordered_grace is None else min(own, self.ordered_grace)
