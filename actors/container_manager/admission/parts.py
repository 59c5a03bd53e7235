"""The parts that admit a pod and provide what it needs."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from ..cgroups.cgroup_manager import CgroupManager
from ..cgroups.pod_limits import Rules
from ..topology.pod_hardware import PodHardware
from .admission_gate import AdmissionGate
from .preemption import Preemption


@dataclass(frozen=True)
class AdmissionParts:
    """One value for each part of the container manager that admits, counts or resizes pods."""

    log: logging.Logger
    rules: Rules
    gate: AdmissionGate
    preemption: Preemption
    cgroups: CgroupManager
    hardware: PodHardware
