"""The input of the status of one pod."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from actors.shared.cri.model import CriContainer
from actors.shared.kube.container import Container
from actors.shared.kube.pod import Pod

from ..containers.claim_health import Claims, Devices
from ..containers.container_status_input import Readiness
from ..messages import PodObserved

ENDED: Final = ("terminated", "rejected")
SHUTDOWN: Final = "Terminated"
"""The reason of a pod that a shutdown of the node ended: a job that was cut short has not succeeded."""
DEADLINE_EXCEEDED: Final = "DeadlineExceeded"
"""The reason of a pod that was active for longer than activeDeadlineSeconds."""


class PodStatusNode(msgspec.Struct, frozen=True):
    """The facts of the node that a status repeats."""

    ips: list[str]
    """At most one of each family; the node's first family first."""
    runtime_name: str = "containerd"
    given: str = ""
    """--node-ip."""
    stop_signals: bool = False
    """The gate ContainerStopSignals."""
    pod_resources: bool = True
    """The gate InPlacePodLevelResourcesVerticalScaling."""
    ready_to_start: bool = True
    """The gate PodReadyToStartContainersCondition."""


class PodStatusInput(msgspec.Struct, frozen=True):
    """The input of a status."""

    seen: PodObserved
    pod: Pod
    readiness: Callable[[Container, CriContainer], Readiness]
    now_ns: int
    """Nanoseconds since 1970."""
    claims: Claims | None = None
    """The devices of its resource claims; None: not known."""
    devices: Mapping[str, Devices] | None = None
    """The devices of plugins by container; None: not known."""
