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
from collections.abc import Callable
from typing import Final, cast

from actors.api_clients.messages import NodeProblem, RecordEvent
from actors.config.agent import Agent
from actors.config.shutdown_windows import Window, fitted, seconds_in_all, windows
from actors.kube.pods import worker_of
from actors.pod_workers.messages import KillPod
from actors.status_manager.messages import GetLivePods, LivePod, LivePods
from supervision.actor import Actor, AskError
from supervision.complaints import Complaints

from .journal import Journal, Last, seconds, stamp
from .logind import DROP_IN_DIR, Logind, LogindError
from .messages import NodeShutdown
from .sequence import REPEAT_SECONDS, Ending

RETRY_SECONDS: Final = 1.0
LOOK_SECONDS: Final = 0.2
DELAY_PAUSES: Final = (0.1, 0.2, 0.4, 0.8, 1.6)
"""Between looks whether logind has read its configuration."""
REASON: Final = "Terminated"
MESSAGE: Final = "Pod was terminated in response to imminent node shutdown."
NOT_READY: Final = "node is shutting down"
HEARTBEAT: Final = "api_clients/heartbeat_client"
MANAGER: Final = "container_manager"


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
        self._active = False
        self._ending: asyncio.Task[None] | None = None

    async def on_start(self) -> None:
        self._agent = cast(Agent, self.context)
        self._windows = windows(self._agent.config)
        self._complaints = Complaints(self.log)
        self._journal = Journal(self._agent.root_dir)
        self._journal.load()
        self._doubt()
        self._count()
        self._tell()
        self.every(REPEAT_SECONDS, self._settle)
        self.start_task(self._watch(), "logind")

    async def on_hello(self, name: str) -> None:
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
            finally:
                logind.close()
            await self._pause(RETRY_SECONDS)

    async def _serve(self, logind: Logind) -> None:
        """Until the connection is lost."""
        await self._make_room(logind)
        held = False
        while True:
            preparing = await logind.preparing()
            if not preparing and not held:
                self._hold(await logind.inhibit())
                if self._complaints.well("logind"):
                    self.log.info("a shutdown of the node waits for its pods")
            held = not preparing
            if preparing and not self._active:
                self._begin()
            elif self._active and not preparing:
                self._cancel()
            await logind.news()

    async def _make_room(self, logind: Logind) -> None:
        """Have logind wait for as long as the windows are; else they are cut to what it waits."""
        needed, given = seconds_in_all(windows(self._agent.config)), await logind.delay()
        if given < needed:
            try:
                await logind.raise_delay(needed)
                for pause in DELAY_PAUSES:
                    await self._pause(pause)
                    given = await logind.delay()
                    if given >= needed:
                        break
            except LogindError as error:
                self._complaints.say("raise", f"logind is not told to wait for longer: {error}")
        self._windows = fitted(windows(self._agent.config), given)
        if given < needed:
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
        self._active = True
        self.log.info("the node is being shut down: its pods end, in at most %.0f s", seconds_in_all(self._windows))
        last = self._journal.last
        if self.incarnation == 1 or not last.start or last.end:  # else its last incarnation has begun it
            self._journal.put(Last(start=stamp(self._wall()), pods=last.pods))
        self._count()
        self._tell()
        self._record("shutdown")
        self._ending = self.start_task(self._end_pods(self._windows), "shutdown")

    def _cancel(self) -> None:
        """Pods that were told to end do so; the others go on."""
        self._active = False
        self.log.info("the shutdown of the node was cancelled")
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None
        self._finished()
        self._tell()
        self._record("cancelled")

    async def _end_pods(self, given: tuple[Window, ...]) -> None:
        began = self._clock()
        ending, late = Ending(given, began), 0
        while True:
            now, pods = self._clock(), await self._pods()
            for order in ending.step(pods, now):
                if order.first:
                    self.log.info("pod %s is ended within %d s", _named(order.pod), order.grace_seconds)
                self._kill(order.pod.uid, order.grace_seconds)
            self._remember(pods, ending.ordered)
            for pod in ending.late[late:]:
                self.log.warning("pod %s has not ended in its time", _named(pod))
            late = len(ending.late)
            if now >= began + seconds_in_all(given) or (ending.over and _all_is_said(pods)):
                break
            await self._pause(LOOK_SECONDS)
        self._finished()
        self.log.info("the pods have ended: the shutdown goes on")
        self._let_go()

    def _kill(self, uid: str, grace_seconds: int) -> None:
        order = KillPod(uid, REASON, MESSAGE, grace_seconds)
        self.tell(worker_of(uid, self._agent.workers), order, deadline=REPEAT_SECONDS)

    async def _pods(self) -> list[LivePod] | None:
        """None: it is not known which there are."""
        try:
            found = await self.ask("status_manager", GetLivePods(), LivePods, timeout=LOOK_SECONDS * 5)
        except AskError as error:
            self._complaints.say("pods", f"it is not known which pods there are: {error}")
            return None
        self._complaints.well("pods")
        return found.pods if found.complete else None

    def _finished(self) -> None:
        self._journal.put(Last(start=self._journal.last.start, end=stamp(self._wall()), pods=self._journal.last.pods))
        self._count()
        self._doubt()

    # -- what outlives it ---------------------------------------------------------------------------------------------
    def _remember(self, pods: list[LivePod] | None, ordered: frozenset[str]) -> None:
        """Write down whose end the API server does not know yet: a machine that comes up again must not begin them."""
        if pods is None:
            return
        there = {pod.uid: pod for pod in pods}
        before = {uid for uid in self._journal.last.pods if uid in there}
        ours = {uid for uid in before | ordered if uid in there and not there[uid].static}
        owed = tuple(sorted(uid for uid in ours if not (there[uid].finished and there[uid].told)))
        last = self._journal.last
        self._journal.put(Last(start=last.start, end=last.end, pods=owed))
        self._doubt()

    async def _settle(self) -> None:
        """Have ended what the last shutdown has; what the API server was told since then is owed no longer."""
        before = self._journal.last.pods
        if self._active or not before:
            return
        pods = await self._pods()
        self._remember(pods, frozenset())
        for pod in pods or ():
            if pod.uid in before and not pod.finished:
                self._kill(pod.uid, pod.grace_seconds)
        if self._journal.last.pods != before:
            self._tell()

    # -- what is said -------------------------------------------------------------------------------------------------
    def _tell(self) -> None:
        shutdown = NodeShutdown(self._active, list(self._journal.last.pods))
        self.tell(MANAGER, shutdown, deadline=30.0)
        self.tell(HEARTBEAT, NodeProblem("shutdown", NOT_READY if self._active else ""), deadline=30.0)

    def _record(self, what: str) -> None:
        if not self._agent.standalone:
            name, text = self._agent.node_name, f"Shutdown manager detected {what} event"
            event = RecordEvent(kind="Node", name=name, uid=name, type="Normal", reason="Shutdown", message=text)
            self.tell("api_clients/event_client", event, deadline=60.0)

    def _count(self) -> None:
        last = self._journal.last
        self.metrics.gauge("kubelet_graceful_shutdown_start_time_seconds", seconds(last.start))
        self.metrics.gauge("kubelet_graceful_shutdown_end_time_seconds", seconds(last.end))

    def _doubt(self) -> None:
        if self._journal.problem:
            self._complaints.say("journal", self._journal.problem)
        else:
            self._complaints.well("journal")

    async def _pause(self, length: float) -> None:
        over = asyncio.Event()
        timer = self.after(length, over.set)
        try:
            await over.wait()
        finally:
            timer.cancel()


def _named(pod: LivePod) -> str:
    return f"{pod.full_name} ({pod.uid})"


def _all_is_said(pods: list[LivePod] | None) -> bool:
    return pods is not None and all(pod.finished and pod.told for pod in pods)
