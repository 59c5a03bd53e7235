"""An in-place resize of a pod (KEP-1287): its request, and how far it is."""

from __future__ import annotations

import msgspec

from actors.pod_workers.containers.allocation import Allocated
from actors.shared.kube.container import ResourceRequirements
from actors.shared.kube.pod import Pod
from actors.status_manager.messages import Resize


class ResizeProgress(msgspec.Struct, frozen=True, kw_only=True):
    """An in-place resize (KEP-1287): the allocated and the desired resources, and its progress."""

    allocated: Allocated | None = None
    """None: no resources, or not admitted yet."""
    desired: Pod | None = None
    """The pod with its spec's resources, while these differ from the allocated ones."""
    actuated: dict[str, ResourceRequirements] = {}
    """The actuated resources, by ids of resized containers; of containers that a kubelet made, by their names.
    By POD_LEVEL, those of the pod until its resize is complete."""
    pending: tuple[str, str] = ("", "")
    """Reason (Deferred, Infeasible) and message."""
    pending_generation: int = 0
    """metadata.generation of the request that is pending."""
    deferred_at: float = 0.0
    """When it was first deferred, seconds since 1970; 0.0: it is not."""
    not_before: float = 0.0
    """When the container manager is asked again by itself, seconds since 1970."""
    in_progress: bool = False
    generation: int = 0
    """metadata.generation of the request that is in progress; 0: an earlier incarnation started it."""
    retry_at: float = 0.0
    """When a resize that has failed is tried again, seconds since 1970."""
    unconfirmed: bool = False
    """An earlier incarnation died during a resize: the containers' resources are not known."""
    error: str = ""

    def status(self) -> Resize | None:
        """The resize for the pod's status; None if there is none."""
        if not (self.pending[0] or self.in_progress):
            return None
        return Resize(*self.pending, in_progress=self.in_progress, error=self.error, generation=self.generation)


def without_request(resizing: ResizeProgress) -> ResizeProgress:
    """The resize is complete, or the spec no longer asks for one."""
    return msgspec.structs.replace(
        resizing, desired=None, pending=("", ""), pending_generation=0, deferred_at=0.0, not_before=0.0
    )
