"""The input of the container statuses of one pod."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from actors.shared.cri.model import CriContainer, PodRuntime
from actors.shared.kube.container import Container, ResourceRequirements
from actors.shared.kube.pod import Pod

from ..messages import Waiting
from .claim_health import Claims, Devices


class Readiness(msgspec.Struct, frozen=True):
    """The results of the probes of a running container."""

    started: bool
    ready: bool


class ContainerStatusInput(msgspec.Struct, frozen=True):
    """The input of the container statuses of one pod."""

    pod: Pod
    runtime: PodRuntime | None
    waiting: Mapping[str, Waiting]
    ended: bool
    """No container runs, and none will start."""
    initialized: bool
    """A regular container has run, so an init container that the runtime no longer has is completed."""
    runtime_name: str
    readiness: Callable[[Container, CriContainer], Readiness]
    actual_resources: Mapping[str, ResourceRequirements] = {}
    """As PodObserved.actual_resources."""
    claims: Claims | None = None
    """The devices of the pod's resource claims; None: not known."""
    devices: Mapping[str, Devices] | None = None
    """The devices of plugins by container; None: not known."""
    stop_signals: bool = False
    """The gate ContainerStopSignals."""

    @property
    def deleting(self) -> bool:
        """No container that has ended is started again."""
        return self.pod.metadata.deletionTimestamp is not None
