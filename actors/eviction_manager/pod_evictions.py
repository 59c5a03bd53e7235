"""The evictions in progress: each is saved in a file, then its pod is ended, by an order repeated until it has ended.

The file is in the run directory, which is in memory, so it can be written when the disk is full. An eviction is
finished whichever actor dies meanwhile, and no other pod is evicted in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from actors.api_clients.event_client.messages import EVENT_CLIENT, MAX_EVENT_TEXT, RecordEvent, TakeEvent
from actors.pod_workers.messages import KillPod, worker_of
from actors.shared.config.agent import Agent
from actors.shared.config.fields.eviction import Threshold
from actors.shared.repeated_save import RepeatedSave
from actors.status_manager.messages import STATUS_MANAGER, GetLivePods, LivePods
from supervision.actor import Actor, AskError
from supervision.state_file import DamagedError, StateFile

from .resources import RESOURCE_OF

FILE: Final = "evictions"
REPEAT_SECONDS: Final = 1.0
EVICTED: Final = "Evicted"
PREEMPTING: Final = "Preempting"
HARD_GRACE_SECONDS: Final = 1
"""What a pod has to end, of which a hard threshold is met."""
_ASK_SECONDS: Final = 5.0


class PodEviction(msgspec.Struct, frozen=True, kw_only=True):
    """The eviction, or preemption, of one pod."""

    uid: str
    namespace: str
    name: str
    reason: str = EVICTED
    message: str
    grace_seconds: int
    signal: str
    """Label of the metric."""
    disruption: str = ""
    """Message of the condition DisruptionTarget; empty: the pod does not get the condition."""
    annotations: dict[str, str] = {}
    """Annotations of the event."""
    announced: bool = False
    """The event client has the event; the log line and the metric have been written."""


class SavedState(msgspec.Struct, frozen=True, kw_only=True):
    """State that survives a restart of the eviction manager."""

    ending: tuple[PodEviction, ...] = ()
    conditions: tuple[str, ...] = ()
    """The conditions that the node has."""
    watched: tuple[Threshold, ...] = ()
    """The thresholds in force when `conditions` was saved. With other thresholds `conditions` is ignored."""


class Progress(msgspec.Struct, frozen=True):
    """`continuing`: evictions that continue; `kill`: those whose pod still has to be ended."""

    continuing: tuple[PodEviction, ...]
    kill: tuple[PodEviction, ...]


def progress(evictions: Iterable[PodEviction], live: LivePods) -> Progress:
    """An eviction is finished when it is announced, and the pod has ended and its status is written, or the pod does
    not exist. Pure."""
    pods = {pod.uid: pod for pod in live.pods}

    def ends(eviction: PodEviction) -> bool:
        return not pods[eviction.uid].finished if eviction.uid in pods else not live.complete

    def is_over(eviction: PodEviction) -> bool:
        return not ends(eviction) and (eviction.uid not in pods or pods[eviction.uid].status_written)

    continuing = tuple(one for one in evictions if not (one.announced and is_over(one)))
    return Progress(continuing, tuple(one for one in continuing if ends(one)))


def _evicted(evictions: Iterable[PodEviction]) -> frozenset[str]:
    return frozenset(one.uid for one in evictions if one.reason == EVICTED)


class PodEvictions:
    """`changed` is called when an eviction is added or finished."""

    def __init__(self, actor: Actor, agent: Agent, changed: Callable[[], None]) -> None:
        self._actor, self._agent, self._changed = actor, agent, changed
        self._file = StateFile(Path(agent.run_dir) / FILE, SavedState, sync=False)
        self._saved = SavedState()
        self._write = RepeatedSave(actor, lambda: self._file.save(self._saved), "the file of evictions in progress")
        self._stopping: frozenset[str] = frozenset()
        self._given_up: frozenset[str] = frozenset()

    def load(self) -> None:
        try:
            self._saved = self._file.load() or SavedState()
        except (OSError, DamagedError) as error:
            self._actor.log.warning("cannot read the evictions in progress: %s", error)
        for one in self._saved.ending:
            self._start(one)
        self._stopping = _evicted(self._saved.ending)

    @property
    def uids(self) -> frozenset[str]:
        return frozenset(one.uid for one in self._saved.ending)

    @property
    def awaited(self) -> bool:
        """Evicted pods may still use resources of the node, and nobody has given up waiting for them."""
        return bool(self._stopping - self._given_up)

    def give_up(self) -> None:
        """Wait no longer for the pods that are ending now."""
        self._given_up = self._stopping

    @property
    def has_time(self) -> bool:
        """A pod that is waited for has more time to end than a hard threshold gives."""
        return any(one.uid in self._stopping - self._given_up for one in self._unhurried())

    def hasten(self, resource: str) -> bool:
        """Pods that a soft threshold of this resource ends have no more time now than a hard one gives. Whether there
        are any: they are waited for again."""
        slow = [
            one for one in self._unhurried() if one.uid in self._stopping and RESOURCE_OF.get(one.signal) == resource
        ]
        if not slow:
            return False
        hastened = {one.uid: msgspec.structs.replace(one, grace_seconds=HARD_GRACE_SECONDS) for one in slow}
        self._save(ending=tuple(hastened.get(one.uid, one) for one in self._saved.ending))
        self._given_up -= hastened.keys()
        for one in hastened.values():
            self._actor.log.warning("pod %s/%s (%s) has to end at once", one.namespace, one.name, one.uid)
            self._kill(one)
        return True

    def _unhurried(self) -> list[PodEviction]:
        return [one for one in self._saved.ending if one.reason == EVICTED and one.grace_seconds > HARD_GRACE_SECONDS]

    def conditions(self, watched: tuple[Threshold, ...]) -> tuple[str, ...]:
        """The saved conditions, if they were observed with these thresholds."""
        return self._saved.conditions if self._saved.watched == watched else ()

    def save_conditions(self, conditions: Iterable[str], watched: tuple[Threshold, ...]) -> None:
        self._save(conditions=tuple(sorted(conditions)), watched=watched)

    def add(self, eviction: PodEviction) -> None:
        """Evict this pod: save the eviction, announce it, then order the pod's end."""
        if eviction.uid in self.uids:
            return
        self._save(ending=(*self._saved.ending, eviction))
        self._stopping |= _evicted([eviction])
        self._changed()
        self._start(eviction)

    async def look(self) -> None:
        """Repeat the order for pods that have not ended; remove finished evictions."""
        if not self._saved.ending:
            return
        try:
            live = await self._actor.ask(STATUS_MANAGER, GetLivePods(), timeout=_ASK_SECONDS)
        except AskError as error:
            self._actor.log.warning("the progress of the evictions is unknown: %s", error)
            return
        now = progress(self._saved.ending, live)
        self._stopping = _evicted(now.kill)
        for one in now.kill:
            self._kill(one)
        if now.continuing != self._saved.ending:
            self._save(ending=now.continuing)
            self._changed()

    def _start(self, eviction: PodEviction) -> None:
        if not eviction.announced:
            self._announce(eviction)
        self._kill(eviction)

    def _announce(self, eviction: PodEviction) -> None:
        text = "%s pod %s/%s (%s): %s"
        pod = (eviction.namespace, eviction.name, eviction.uid)
        self._actor.log.warning(text, eviction.reason, *pod, eviction.message)
        if eviction.reason == EVICTED:
            self._actor.metrics.count("kubelet_evictions", eviction_signal=eviction.signal)
        else:
            self._actor.metrics.count("kubelet_preemptions", preemption_signal=eviction.signal)
        event = RecordEvent(
            kind="Pod",
            namespace=eviction.namespace,
            name=eviction.name,
            uid=eviction.uid,
            type="Warning",
            reason=eviction.reason,
            message=eviction.message[:MAX_EVENT_TEXT],
            annotations=eviction.annotations,
            instance=eviction.uid,
        )
        self._actor.start_task(self._send(event), f"event {eviction.uid}")

    async def _send(self, event: RecordEvent) -> None:
        """Repeat it until the event client has it: at least once, whoever dies meanwhile."""
        while True:
            try:
                await self._actor.ask(EVENT_CLIENT, TakeEvent(event), timeout=_ASK_SECONDS)
                break
            except AskError:
                await self._actor.pause(REPEAT_SECONDS)
        self._save(
            ending=tuple(
                msgspec.structs.replace(one, announced=True) if one.uid == event.uid else one
                for one in self._saved.ending
            )
        )

    def _kill(self, eviction: PodEviction) -> None:
        order = KillPod(
            eviction.uid,
            eviction.reason,
            eviction.message,
            eviction.grace_seconds,
            disruption=eviction.disruption,
        )
        self._actor.tell(worker_of(eviction.uid, self._agent.workers), order, deadline=REPEAT_SECONDS)

    def _save(self, **changes: object) -> None:
        state = msgspec.structs.replace(self._saved, **changes)
        if state == self._saved:
            return
        self._saved = state
        self._write()
