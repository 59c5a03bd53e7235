"""The input and output of a phase."""

from __future__ import annotations

import msgspec

from actors.pod_workers.garbage.container_gc import ContainerGcPolicy
from actors.pod_workers.pod.state import PodState

from .effects import Effect


class StepInput(msgspec.Struct, frozen=True, kw_only=True):
    """The input of a decision besides the pod."""

    now: float
    """Seconds since 1970."""
    maximum_backoff: float = 300.0
    """The maximum seconds between restarts of a failing container."""
    network_ready: bool = True
    network_message: str = ""
    """The error if it is not ready; empty: the runtime has not been asked yet."""
    ends_pods: bool = False
    """Whether the node may have ended the pod: it evicts pods, or terminates them before it shuts down."""
    keeps_volumes: bool = False
    """Whether volumes of a pod that has ended stay mounted until it is deleted or no source has it."""
    cgroup_gone: bool = False
    """Whether the pod's cgroup has been removed under its sandbox: nothing limits the pod then, and every exec
    fails."""
    garbage: ContainerGcPolicy = ContainerGcPolicy()
    """The garbage collection policy of dead containers."""


class Step(msgspec.Struct, frozen=True):
    """The next value of the pod, in the same phase or the next one, and the effects to perform. Without another phase
    and without effects, the pod waits for an event or until it is due."""

    state: PodState
    effects: tuple[Effect, ...] = ()
