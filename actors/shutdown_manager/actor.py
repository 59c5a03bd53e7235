"""The shutdown manager: delays the node's shutdown until its pods have ended in good order, each group in its window.

It holds a lock of systemd-logind. When the machine is to go down it has the workers end the pods, says that the node is
not ready, keeps new pods away, and gives the lock back when all have ended and the API server knows, or time is up.
Crash-only: one that is replaced asks logind how things stand, and goes on from there. Without logind it tries again for
as long as it lives, and nothing else of the agent minds.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from typing import Final, cast

from msgspec.structs import replace

from actors.api_clients.messages import EVENT_CLIENT, HEARTBEAT_CLIENT, NodeProblem, node_event
from actors.container_manager.messages import CONTAINER_MANAGER
from actors.pod_workers.messages import KillPod, worker_of
from actors.shared.config.agent import Agent
from actors.shared.config.fields.shutdown_windows import Window, fitted, seconds_in_all, windows
from actors.status_manager.messages import STATUS_MANAGER, GetLivePods, LivePod, LivePods
from supervision.actor import Actor, AskError
from supervision.addresses import ActorName
from supervision.complaints import Complaints

from .logind import DROP_IN_DIR, Logind, LogindError
from .messages import NodeShutdown
from .shutdown_state import Journal, Last, boot_id, seconds, stamp
from .termination_order import REPEAT_SECONDS, Ending

RETRY_SECONDS: Final = 1.0
LOOK_SECONDS: Final = 0.2
LOOK_AGAIN_SECONDS: Final = 5.0
SAY_SECONDS: Final = 5.0
"""So long, once all have ended, the API server may take to hear of it; what it does not is told after the boot."""
PRESUMED_SECONDS: Final = 30.0
EPSILON: Final = 0.001
DELAY_PAUSES: Final = (0.1, 0.2, 0.4, 0.8, 1.6)
"""Between looks whether logind has read its configuration."""
REASON: Final = "Terminated"
MESSAGE: Final = "Pod was terminated in response to imminent node shutdown."
NOT_READY: Final = "node is shutting down"


class ShutdownManager(Actor):
    """Only in the tree when the configuration gives pods time for it."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        drop_in_dir: str = DROP_IN_DIR,
    ) -> None:
        super().__init__()
        self._clock, self._wall, self._drop_in_dir = clock, wall, drop_in_dir
        self._lock = -1
        self._asked = False
        """Logind has said how things stand, or that it does not."""
        self._active = self._presumed = False
        """Presumed: the incarnation before this one was amid a shutdown, and logind has not said yet whether it is."""
        self._ending: asyncio.Task[None] | None = None

    async def on_start(self) -> None:
        self._agent = cast(Agent, self.context)
        self._windows = windows(self._agent.config)
        self._complaints = Complaints(self.log)
        self._journal = Journal(self._agent.root_dir)
        self._journal.load()
        self._boot, last = boot_id(), self._journal.last
        self._presumed = self.incarnation > 1 and bool(last.start) and not last.end and last.boot == self._boot
        if self._presumed:
            self.after(seconds_in_all(self._windows) + PRESUMED_SECONDS, self._presume_no_more)
        self._doubt()
        self._count()
        self._tell()
        self.every(REPEAT_SECONDS, self._settle)
        self.start_task(self._watch(), "logind")

    async def on_hello(self, name: ActorName) -> None:
        self._tell()

    # -- logind -------------------------------------------------------------------------------------------------------
    async def _watch(self) -> None:
        while True:
            logind = Logind(self._drop_in_dir)
            try:
                await logind.connect()
                await self._serve(logind)
            except LogindError as error:
                text = f"a shutdown of the node will not wait for its pods (tried again each second): {error}"
                self._complaints.say("logind", text)
                if not self._asked:
                    self._asked = True
                    self._tell()
            finally:
                logind.close()
            await self.pause(RETRY_SECONDS)

    async def _serve(self, logind: Logind) -> None:
        """Until the connection is lost."""
        held = False
        while True:
            preparing = await logind.preparing()
            self._learn(preparing=preparing)
            if not preparing and not held:
                await self._make_room(logind)
                self._hold(await logind.inhibit())
                if self._complaints.well("logind"):
                    self.log.info("a shutdown of the node waits for its pods")
            held = not preparing
            # a logind that is replaced meanwhile knows of no shutdown, and gives no signal
            await logind.news(LOOK_AGAIN_SECONDS if self._active else None)

    def _learn(self, *, preparing: bool) -> None:
        """How things stand, by logind."""
        asked, self._asked = self._asked, True
        last = self._journal.last
        if preparing and not self._active:
            self._begin()
        elif not preparing and (self._active or self._presumed):
            self._cancel()
        elif not preparing and last.start and not last.end:
            self._finished(None)  # nobody was there to see its end
        elif not asked:
            self._tell()

    async def _make_room(self, logind: Logind) -> None:
        """Have logind wait for as long as the windows are; else they are cut to what it waits."""
        needed, given = seconds_in_all(windows(self._agent.config)), await logind.delay()
        if given < needed - EPSILON:
            try:
                await logind.raise_delay(needed)
                for pause in DELAY_PAUSES:
                    await self.pause(pause)
                    given = await logind.delay()
                    if given >= needed - EPSILON:
                        break
            except LogindError as error:
                self._complaints.say("raise", f"logind is not told to wait for longer: {error}")
        self._windows = fitted(windows(self._agent.config), given)
        if given < needed - EPSILON:
            text = "logind waits %.0f s for the end of pods, not %.0f s: those of low priority have less time, or none"
            self._complaints.say("delay", text % (given, needed))
        else:
            self._complaints.well("delay")

    def _hold(self, lock: int) -> None:
        """The new lock is there before the old one goes."""
        self._let_go()
        self._lock = lock

    def _let_go(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    # -- a shutdown ---------------------------------------------------------------------------------------------------
    def _begin(self) -> None:
        self.log.info("the node is being shut down: its pods end, in at most %.0f s", seconds_in_all(self._windows))
        if not self._presumed:
            self._journal.put(Last(start=stamp(self._wall()), boot=self._boot, pods=self._journal.last.pods))
        self._active, self._presumed = True, False
        self._count()
        self._tell()
        self._record("shutdown")
        self._ending = self.start_task(self._end_pods(self._windows), "shutdown")

    def _cancel(self) -> None:
        """Pods that were told to end do so; the others go on."""
        self.log.info("the shutdown of the node was cancelled")
        self._active = self._presumed = False
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None
        self._finished(None)
        self._record("cancelled")

    def _presume_no_more(self) -> None:
        if self._presumed:
            self._presumed = False
            self._finished(None)

    async def _end_pods(self, given: tuple[Window, ...]) -> None:
        began, ending, late = self._clock(), Ending(given, self._clock()), 0
        end = began + seconds_in_all(given)
        while True:
            found, now = await self._pods(), self._clock()
            orders = ending.step(found.pods, now, complete=found.complete)
            self._owe(order.pod for order in orders)
            for order in orders:
                if order.first:
                    self.log.info("pod %s is ended within %d s", _named(order.pod), order.grace_seconds)
                self._kill(order.pod.uid, order.grace_seconds)
            for pod in ending.late[late:]:
                self.log.warning("pod %s has not ended in its time", _named(pod))
            late = len(ending.late)
            if ending.over:
                end = min(end, now + SAY_SECONDS)
                if now >= end or (found.complete and all(map(_is_said, found.pods))):
                    break
            await self.pause(LOOK_SECONDS)
        self._finished(found)
        self.log.info("the shutdown goes on, %s", "though not all pods have ended" if late else "the pods have ended")
        self._let_go()

    def _kill(self, uid: str, grace_seconds: int) -> None:
        order = KillPod(uid, REASON, MESSAGE, grace_seconds)
        self.tell(worker_of(uid, self._agent.workers), order, deadline=REPEAT_SECONDS)

    async def _pods(self) -> LivePods:
        try:
            found = await self.ask(STATUS_MANAGER, GetLivePods(), timeout=LOOK_SECONDS * 5)
        except AskError as error:
            self._complaints.say("pods", f"it is not known which pods there are: {error}")
            return LivePods([], complete=False)
        self._complaints.well("pods")
        return found

    def _finished(self, found: LivePods | None) -> None:
        owed = self._journal.last.pods if found is None else self._still_owed(found)
        self._journal.put(replace(self._journal.last, end=stamp(self._wall()), pods=owed))
        self._count()
        self._doubt()
        self._tell()

    # -- what outlives it ---------------------------------------------------------------------------------------------
    def _owe(self, pods: Iterable[LivePod]) -> None:
        """Written before anything is done: a machine that comes up again must not begin them. A static pod begins anew
        with the machine, as it should."""
        owed = {*self._journal.last.pods, *(pod.uid for pod in pods if pod.reported and not pod.static)}
        self._put(tuple(sorted(owed)))

    def _still_owed(self, found: LivePods) -> tuple[str, ...]:
        """Without those whose end the API server knows, those that nobody knows any more, and those that run again:
        another agent, or this one under another configuration, knew nothing of it."""
        there, last = {pod.uid: pod for pod in found.pods}, self._journal.last
        return tuple(
            uid
            for uid in last.pods
            if (not _is_settled(there[uid], seconds(last.end)) if uid in there else not found.complete)
        )

    def _put(self, owed: tuple[str, ...]) -> None:
        if owed != self._journal.last.pods:
            self._journal.put(replace(self._journal.last, pods=owed))
            self._doubt()
            self._tell()

    async def _settle(self) -> None:
        """Have ended what the last shutdown has; what the API server was told since then is owed no longer."""
        if self._active or not self._journal.last.pods:
            return
        found = await self._pods()
        self._put(self._still_owed(found))
        for pod in found.pods:
            if pod.uid in self._journal.last.pods and not pod.finished:
                self._kill(pod.uid, pod.grace_seconds)

    # -- what is said -------------------------------------------------------------------------------------------------
    def _tell(self) -> None:
        active = self._active or self._presumed
        if not (active or self._asked):
            return  # nobody acts on what is not known
        self.tell(CONTAINER_MANAGER, NodeShutdown(active, list(self._journal.last.pods)), deadline=30.0)
        self.tell(HEARTBEAT_CLIENT, NodeProblem("shutdown", NOT_READY if active else ""), deadline=30.0)

    def _record(self, what: str) -> None:
        if not self._agent.standalone:
            event = node_event(self._agent.node_name, "Shutdown", f"Shutdown manager detected {what} event")
            self.tell(EVENT_CLIENT, event, deadline=60.0)

    def _count(self) -> None:
        last = self._journal.last
        self.metrics.gauge("kubelet_graceful_shutdown_start_time_seconds", seconds(last.start))
        self.metrics.gauge("kubelet_graceful_shutdown_end_time_seconds", seconds(last.end))

    def _doubt(self) -> None:
        if self._journal.problem:
            self._complaints.say("journal", self._journal.problem)
        else:
            self._complaints.well("journal")


def _named(pod: LivePod) -> str:
    return f"{pod.full_name} ({pod.uid})" if pod.full_name else pod.uid


def _is_settled(pod: LivePod, end: float) -> bool:
    """`end`: of the last shutdown, seconds since 1970; 0.0 if it was not seen."""
    return (pod.finished and pod.status_written) or 0.0 < end < pod.started


def _is_said(pod: LivePod) -> bool:
    """Of static pods the API server need not know: it may be one of them, and they begin anew."""
    return pod.finished and (pod.status_written or pod.static)
