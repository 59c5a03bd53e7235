"""Usage figures of volumes, measured by their drivers (NodeGetVolumeStats)."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from actors.api_clients.event_client.messages import EVENT_CLIENT, pod_event
from actors.shared.kube.meta import ObjectMeta
from actors.shared.kube.pod import Pod
from actors.shared.stats.volume_figures import VolumeFigures
from supervision.actor import Actor
from supervision.time_scale import scaled

from ..messages import FIGURES_SECONDS
from .drivers import CsiDrivers
from .errors import CsiError
from .model import PLUGIN, CsiMount, Driver

if TYPE_CHECKING:
    from proto import csi_pb2 as csi

    from .connection import CsiConnection

CALLS: Final = 8
"""Most calls to one driver at the same time."""
_FIGURES: Final = {1: ("capacity_bytes", "available_bytes", "used_bytes"), 2: ("inodes", "inodes_free", "inodes_used")}
"""By the unit of a usage (csi.proto): total, available, used."""


class _Used(msgspec.Struct, frozen=True):
    meta: ObjectMeta
    step: CsiMount


class DriverMeasurements:
    """The volumes in use, with the last figures of each. A driver that hangs gets at most CALLS calls, and its volumes
    have no figures.
    """

    def __init__(
        self, actor: Actor, drivers: CsiDrivers, clock: Callable[[], float], *, period: float, health: bool
    ) -> None:
        """`period`: seconds, the kubelet's volumeStatsAggPeriod; `health`: the gate CSIVolumeHealth."""
        self._actor, self._drivers, self._clock = actor, drivers, clock
        self._period, self._health = period, health
        self._used: dict[str, _Used] = {}
        """By path."""
        self._latest: dict[str, VolumeFigures] = {}
        self._call_started_at: dict[str, float] = {}
        self._calls: dict[str, asyncio.Task[None]] = {}
        self._limits: dict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(CALLS))
        """By driver."""

    def in_use(self, pod: Pod, step: CsiMount) -> None:
        """The volume is published to the pod."""
        self._used[step.path] = _Used(pod.metadata, step)

    def unused(self, path: str) -> None:
        for known in (self._used, self._latest, self._call_started_at):
            known.pop(path, None)
        if (call := self._calls.pop(path, None)) is not None:
            call.cancel()

    async def measure(self) -> list[VolumeFigures]:
        """Figures of every volume in use whose driver measures. A call that takes longer than FIGURES_SECONDS
        continues, and its figures are in the next answer.
        """
        found: dict[str, VolumeFigures] = {}
        now, waiting = self._clock(), []
        for path, used in self._used.items():
            try:
                driver, connection = self._drivers.get(used.step.source.driver)
            except CsiError:
                continue
            if not driver.measures:
                continue
            found[path] = _unknown_figures(used)
            if path not in self._calls and now - self._call_started_at.get(path, float("-inf")) >= self._period / 2:
                self._call_started_at[path] = now
                call = self._ask(path, used, driver, connection)
                self._calls[path] = self._actor.start_task(call, f"measure {used.step.source.handle}")
            if path in self._calls:
                waiting.append(self._calls[path])
        if waiting:
            await asyncio.wait(waiting, timeout=scaled(FIGURES_SECONDS))
        return [self._latest.get(path, one) for path, one in found.items()]

    async def _ask(self, path: str, used: _Used, driver: Driver, connection: CsiConnection) -> None:
        try:
            async with self._limits[driver.name]:
                started_at = self._clock()
                answer = await connection.stats(used.step.source.handle, used.step.path)
                self._note(path, used, driver, answer, self._clock() - started_at)
        except CsiError as error:
            self._latest.pop(path, None)
            self._actor.log.debug("volume at %s is not measured: %s", path, error)
        finally:
            if self._calls.get(path) is asyncio.current_task():
                del self._calls[path]

    def _note(
        self, path: str, used: _Used, driver: Driver, answer: csi.NodeGetVolumeStatsResponse, seconds: float
    ) -> None:
        has_condition = self._health and driver.conditions and answer.HasField("volume_condition")
        abnormal = answer.volume_condition.abnormal if has_condition else None
        self._latest[path] = msgspec.structs.replace(
            _unknown_figures(used), figures=figures_of(answer), abnormal=abnormal, seconds=seconds
        )
        if abnormal:
            text = f"Volume {used.step.volume}: {answer.volume_condition.message}"
            event = pod_event(used.meta, "Warning", "VolumeConditionAbnormal", text)
            self._actor.tell(EVENT_CLIENT, event, deadline=60.0)


def figures_of(answer: csi.NodeGetVolumeStatsResponse) -> dict[str, int]:
    """Raises CsiError for an answer without figures."""
    found: dict[str, int] = {}
    for usage in answer.usage:
        names = _FIGURES.get(usage.unit)
        if names is not None:
            found |= zip(names, (max(0, usage.total), max(0, usage.available), max(0, usage.used)), strict=True)
    if not found:
        raise CsiError("failed to get usage from response. usage is nil")
    return found


def _unknown_figures(used: _Used) -> VolumeFigures:
    step = used.step
    return VolumeFigures(
        uid=used.meta.uid,
        folder=f"{PLUGIN}/{step.source.name}",
        volume=step.volume,
        claim=step.claim,
        driver=step.source.driver,
    )
