"""Keeps the limits of the QoS tiers' cgroups in step with the pods that are counted."""

from __future__ import annotations

import asyncio
from typing import Final

from actors.shared.config.feature_gates import enabled
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.linux.cgroup_files import CgroupError
from actors.shared.linux.cgroup_limits import CgroupLimits
from supervision.actor import Actor
from supervision.repeated_warnings import RepeatedWarnings

from ..admission.ledger import Ledger
from .pod_cgroups import PodCgroups
from .pod_limits import BURSTABLE, GUARANTEED, protects_memory
from .qos_limits import tier_limits
from .systemd_slices import SliceError

SETTLE_SECONDS: Final = 0.02
"""Seconds. Pods that come within this time change the tiers' limits once."""


class QosTiers:
    """`memory`: bytes that all pods may have together."""

    def __init__(
        self,
        actor: Actor,
        config: KubeletConfiguration,
        cgroups: PodCgroups,
        ledger: Ledger,
        memory: int,
        warnings: RepeatedWarnings,
    ) -> None:
        self._actor, self._config, self._cgroups, self._ledger = actor, config, cgroups, ledger
        self._memory, self._warnings = memory, warnings
        self._applied: dict[str, CgroupLimits] = {}
        self._scheduled = False
        self._applying = asyncio.Lock()
        """Systemd may answer late: no older limits are set after newer ones."""

    def update(self) -> None:
        """The ledger has changed: the limits follow soon."""
        if not self._scheduled and self._config.cgroupsPerQOS:
            self._scheduled = True
            self._actor.after(SETTLE_SECONDS, self._update)

    async def _update(self) -> None:
        self._scheduled = False
        try:
            await self.apply()
        except (CgroupError, SliceError) as error:
            self._warnings.warn("tiers", f"the QoS tiers keep their old limits: {error}")
        else:
            self._warnings.resolved("tiers")

    async def apply(self, *, again: bool = False) -> None:
        """Set the limits that have changed; with `again` all. Raises CgroupError, SliceError: the first one, after each
        tier was tried."""
        async with self._applying:
            await self._apply(again=again)

    async def _apply(self, *, again: bool) -> None:
        reserved = self._config.qosReserved if enabled("QOSReserved", self._config.featureGates) else {}
        protects = protects_memory(self._config) if self._cgroups.version == 2 else None
        found = tier_limits(self._ledger, self._memory, reserved, protects=protects)
        if enabled("MemoryQoS", self._config.featureGates):
            self._count_protected(protects=bool(protects))
        errors: list[CgroupError | SliceError] = []
        for qos, limits in found.items():
            if again or self._applied.get(qos) != limits:
                try:
                    await self._cgroups.set_tier(qos, limits)
                except (CgroupError, SliceError) as error:
                    errors.append(error)
                else:
                    self._applied[qos] = limits
        if errors:
            raise errors[0]

    def _count_protected(self, *, protects: bool) -> None:
        """The metrics: what the kernel protects for the pods of each class."""
        low = self._ledger.requested_by(BURSTABLE, "memory") if protects else 0
        least = self._ledger.requested_by(GUARANTEED, "memory") if protects else 0
        self._actor.metrics.gauge("kubelet_memory_qos_node_memory_min_bytes", least)
        self._actor.metrics.gauge("kubelet_memory_qos_node_memory_low_bytes", low)
