"""Writes the node's status when it has changed or the last report is old."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from actors.shared.kube.times import rfc3339

from .node_status.facts import Json, NodeSettings, NodeStatusInput
from .node_status.report_schedule import ReportSchedule
from .node_status.status import ComputedNode, compute
from .node_writer import NodeWriter


class StatusSyncClocks(msgspec.Struct, frozen=True, kw_only=True):
    monotonic: Callable[[], float]
    wall: Callable[[], float]
    """Seconds since 1970."""
    rng: Callable[[], float]
    """Random numbers in [0, 1), so that nodes do not report at the same time."""


class StatusSync:
    """One write at a time. `facts` returns the current facts; `seen` is called with each Node read from the API."""

    def __init__(
        self,
        writer: NodeWriter,
        settings: NodeSettings,
        clocks: StatusSyncClocks,
        every: float,
        *,
        facts: Callable[[], NodeStatusInput],
        seen: Callable[[Json], None],
    ) -> None:
        """`every`: nodeStatusReportFrequency in seconds."""
        self._writer, self._settings, self._clocks, self._facts, self._seen = writer, settings, clocks, facts, seen
        self._schedule = ReportSchedule(every=every)
        self._writing = asyncio.Lock()

    def compute(self, node: Json) -> ComputedNode:
        """The Node as it should be now."""
        now = rfc3339(self._clocks.wall())
        return compute(node, self._facts(), self._settings, now=now, clock=self._clocks.monotonic())

    async def create(self, node: Json) -> ComputedNode | None:
        """Register the node. None: another client has registered it. Raises ApiError."""
        computed = self.compute(node)
        if not await self._writer.create(computed.node):
            return None
        self._record_report(changed=True)
        return computed

    async def sync(self) -> ComputedNode | None:
        """Write the status if that is due; None when it is not. Raises ApiError."""
        async with self._writing:
            written = await self._writer.update(self._compute_seen, self._is_due)
        if written is None:
            return None
        self._record_report(changed=written.changed)
        return written.computed

    def _compute_seen(self, node: Json) -> ComputedNode:
        self._seen(node)
        return self.compute(node)

    def _is_due(self, changed: bool) -> bool:
        return self._schedule.due(changed, self._clocks.monotonic())

    def _record_report(self, *, changed: bool) -> None:
        self._schedule = self._schedule.reported(changed, self._clocks.monotonic(), self._clocks.rng)
