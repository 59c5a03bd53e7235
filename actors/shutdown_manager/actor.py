"""The shutdown manager: delays the node's shutdown until its pods have ended, by priority, each group in its window.

It holds an inhibitor lock of systemd-logind. When the machine shuts down it orders the pods to end, makes the node not
ready, keeps new pods away, and releases the lock when all have ended and the API server knows, or when the time is up.
Crash-only: after a restart it asks logind whether a shutdown is in progress, and continues from there. Without logind
it tries again for as long as it lives, and no other part of the agent is affected.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, cast

from msgspec.structs import replace

from actors.api_clients.event_client.messages import EVENT_CLIENT, node_event
from actors.api_clients.heartbeat_client.messages import HEARTBEAT_CLIENT, NodeProblem
from actors.container_manager.messages import CONTAINER_MANAGER
from actors.pod_workers.messages import KillPod, worker_of
from actors.shared.config.agent import Agent
from actors.shared.config.fields.shutdown_windows import Window, seconds_in_all, windows
from actors.shared.kube.times import micro_time
from actors.shared.linux import kernel_files
from actors.shared.repeated_save import RepeatedSave
from actors.status_manager.messages import STATUS_MANAGER, GetLivePods, LivePod, LivePods
from supervision.actor import Actor, AskError
from supervision.addresses import ActorName
from supervision.repeated_warnings import RepeatedWarnings

from .inhibitor_lock import InhibitorLock
from .logind import DROP_IN_DIR, Logind, LogindError
from .messages import NodeShutdown
from .phases import ShutdownEffect, ShutdownEvent, ShutdownPhase, decide
from .shutdown_state import ShutdownRecord, ShutdownStateFile, seconds
from .termination_order import REPEAT_SECONDS, TerminationOrder
from .unreported_pods import is_reported, unreported, with_ended

RETRY_SECONDS: Final = 1.0
POLL_SECONDS: Final = 0.2
CANCEL_POLL_SECONDS: Final = 5.0
STATUS_SECONDS: Final = 5.0
"""Seconds to wait for the API server to get the last statuses, once all pods have ended; the rest is sent after the
boot."""
PRESUMED_SECONDS: Final = 30.0
"""How much longer than its windows a shutdown is presumed to last while logind cannot be asked."""
REASON: Final = "Terminated"
MESSAGE: Final = "Pod was terminated in response to imminent node shutdown."
NOT_READY: Final = "node is shutting down"


class ShutdownManager(Actor):
    """Ends pods when the node shuts down. In the tree only when the configuration gives pods time to end."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        drop_in_dir: str = DROP_IN_DIR,
    ) -> None:
        super().__init__()
        self._clock, self._wall, self._drop_in_dir = clock, wall, drop_in_dir
        self._phase = ShutdownPhase.UNKNOWN
        self._task: asyncio.Task[None] | None = None
        self._effects: dict[ShutdownEffect, Callable[[], None]] = {
            ShutdownEffect.RECORD_START: self._record_start,
            ShutdownEffect.RECORD_END: self._record_end,
            ShutdownEffect.RECORD_MISSED_END: self._record_missed_end,
            ShutdownEffect.END_PODS: self._start_ending_pods,
            ShutdownEffect.STOP_ENDING_PODS: self._stop_ending_pods,
            ShutdownEffect.PUBLISH: self._publish,
            ShutdownEffect.EMIT_START: partial(self._emit, "shutdown event"),
            ShutdownEffect.EMIT_CANCELLATION: partial(self._emit, "shutdown cancellation"),
        }

    async def on_start(self) -> None:
        self._agent = cast(Agent, self.context)
        self._warnings = RepeatedWarnings(self.log)
        self._inhibition = InhibitorLock(windows(self._agent.config), self.pause, self._warnings)
        self._state = ShutdownStateFile(self._agent.root_dir)
        self._save = RepeatedSave(self, self._state.write, self._state.path)
        self._state.load()
        if self._state.problem:
            self.log.warning("%s", self._state.problem)
        self._boot, last = kernel_files.boot_id(), self._state.last
        if self.incarnation > 1 and last.is_open and last.boot == self._boot:
            self._phase = ShutdownPhase.PRESUMED
            self.after(
                seconds_in_all(self._inhibition.windows) + PRESUMED_SECONDS, partial(self._step, ShutdownEvent.EXPIRED)
            )
        self._measure()
        self._publish()
        self.every(REPEAT_SECONDS, self._end_unreported)
        self.start_task(self._watch(), "logind")

    async def on_hello(self, name: ActorName) -> None:
        self._publish()

    # -- logind -------------------------------------------------------------------------------------------------------
    async def _watch(self) -> None:
        while True:
            logind = Logind(self._drop_in_dir)
            try:
                await logind.connect()
                await self._serve(logind)
            except LogindError as error:
                text = f"a shutdown of the node will not wait for its pods (tried again each second): {error}"
                self._warnings.warn("logind", text)
                self._step(ShutdownEvent.UNREACHABLE)
            finally:
                logind.close()
            await self.pause(RETRY_SECONDS)

    async def _serve(self, logind: Logind) -> None:
        """Serve until the connection is lost."""
        inhibits = False
        while True:
            preparing = await logind.preparing()
            self._step(ShutdownEvent.PREPARING if preparing else ShutdownEvent.NOT_PREPARING)
            if not preparing and not inhibits:
                await self._inhibition.start(logind)
                if self._warnings.resolved("logind"):
                    self.log.info("a shutdown of the node waits for its pods")
            inhibits = not preparing
            # a logind that is restarted meanwhile knows of no shutdown, and sends no signal
            await logind.wait_for_signal(CANCEL_POLL_SECONDS if preparing else None)

    def _step(self, event: ShutdownEvent) -> None:
        self._phase, effects = decide(self._phase, event)
        for effect in effects:
            self._effects[effect]()

    # -- a shutdown ---------------------------------------------------------------------------------------------------
    def _start_ending_pods(self) -> None:
        given = self._inhibition.windows
        self.log.info("the node is shutting down: its pods end within %.0f s", seconds_in_all(given))
        self._task = self.start_task(self._end_pods(given), "shutdown")

    def _stop_ending_pods(self) -> None:
        self.log.info("the shutdown of the node was cancelled")
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _end_pods(self, given: tuple[Window, ...]) -> None:
        started_at, ending, late = self._clock(), TerminationOrder(given, self._clock()), 0
        end = started_at + seconds_in_all(given)
        while True:
            found, now = await self._pods(), self._clock()
            orders = ending.step(found.pods, now, complete=found.complete)
            self._remember(order.pod for order in orders)
            for order in orders:
                if order.first:
                    self.log.info("pod %s ends within %d s", _pod_text(order.pod), order.grace_seconds)
                self._kill(order.pod.uid, order.grace_seconds)
            for pod in ending.late[late:]:
                self.log.warning("pod %s has not ended in time", _pod_text(pod))
            late = len(ending.late)
            if ending.over:
                end = min(end, now + STATUS_SECONDS)
                if now >= end or (found.complete and all(map(is_reported, found.pods))):
                    break
            await self.pause(POLL_SECONDS)
        self._record_end(unreported(self._state.last, found))
        self._publish()
        self.log.info("the shutdown goes on, %s", "though not all pods have ended" if late else "the pods have ended")
        self._inhibition.release()

    def _kill(self, uid: str, grace_seconds: int) -> None:
        order = KillPod(uid, REASON, MESSAGE, grace_seconds, disruption=MESSAGE)
        self.tell(worker_of(uid, self._agent.workers), order, deadline=REPEAT_SECONDS)

    async def _pods(self) -> LivePods:
        try:
            found = await self.ask(STATUS_MANAGER, GetLivePods(), timeout=POLL_SECONDS * 5)
        except AskError as error:
            self._warnings.warn("pods", f"the pods of the node are not known: {error}")
            return LivePods([], complete=False)
        self._warnings.resolved("pods")
        return found

    # -- what outlives the shutdown -----------------------------------------------------------------------------------
    def _record_start(self) -> None:
        self._record(ShutdownRecord(start=micro_time(self._wall()), boot=self._boot, pods=self._state.last.pods))

    def _record_end(self, pods: tuple[str, ...] | None = None) -> None:
        """`pods`: None leaves them as they are."""
        last = self._state.last
        self._record(replace(last, end=micro_time(self._wall()), pods=last.pods if pods is None else pods))

    def _record_missed_end(self) -> None:
        if self._state.last.is_open:
            self._record_end()

    def _record(self, record: ShutdownRecord) -> None:
        if self._state.put(record):
            self._save()
        self._measure()

    def _remember(self, pods: Iterable[LivePod]) -> None:
        """Record the pods that end, before they do: the next boot must not start them."""
        self._put(with_ended(self._state.last, pods))

    def _put(self, pods: tuple[str, ...]) -> None:
        if self._state.put(replace(self._state.last, pods=pods)):
            self._save()
            self._publish()

    def _is_shutting_down(self) -> bool:
        return self._phase is ShutdownPhase.SHUTTING_DOWN

    async def _end_unreported(self) -> None:
        """After a shutdown, end its pods again until the API server has their statuses."""
        if self._is_shutting_down() or not self._state.last.pods:
            return
        found = await self._pods()
        if self._is_shutting_down():  # since then: it records and ends the pods itself
            return
        self._put(unreported(self._state.last, found))
        for pod in found.pods:
            if pod.uid in self._state.last.pods and not pod.finished:
                self._kill(pod.uid, pod.grace_seconds)

    # -- reports ------------------------------------------------------------------------------------------------------
    def _publish(self) -> None:
        if self._phase is ShutdownPhase.UNKNOWN:
            return
        active = self._phase.refuses_pods
        self.tell(CONTAINER_MANAGER, NodeShutdown(active, list(self._state.last.pods)), deadline=30.0)
        if not self._agent.standalone:
            self.tell(HEARTBEAT_CLIENT, NodeProblem("shutdown", NOT_READY if active else ""), deadline=30.0)

    def _emit(self, what: str) -> None:
        if not self._agent.standalone:
            event = node_event(self._agent.node_name, "Shutdown", f"Shutdown manager detected {what}")
            self.tell(EVENT_CLIENT, event, deadline=60.0)

    def _measure(self) -> None:
        last = self._state.last
        self.metrics.gauge("kubelet_graceful_shutdown_start_time_seconds", seconds(last.start))
        self.metrics.gauge("kubelet_graceful_shutdown_end_time_seconds", seconds(last.end))


def _pod_text(pod: LivePod) -> str:
    return f"{pod.full_name} ({pod.uid})" if pod.full_name else pod.uid
