"""The pods that the eviction manager ends: who they are is kept in a file, and ordered until it is done.

The file is in the run directory, which is in memory: a full disk does not keep it from being written. So an eviction is
finished, and nobody else is evicted in its place, whichever actor dies meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from actors.api_clients.messages import EVENT_CLIENT, RecordEvent
from actors.pod_workers.messages import KillPod, worker_of
from actors.shared.config.agent import Agent
from actors.shared.config.fields.eviction import Threshold
from actors.status_manager.messages import STATUS_MANAGER, GetLivePods, LivePods
from supervision.actor import Actor, AskError
from supervision.state_file import DamagedError, StateFile

FILE: Final = "evictions"
REPEAT_SECONDS: Final = 1.0
EVICTED: Final = "Evicted"
PREEMPTING: Final = "Preempting"
_ASK_SECONDS: Final = 5.0
_MOST_TEXT: Final = 1024


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """One pod that is evicted, or preempted."""

    uid: str
    namespace: str
    name: str
    reason: str = EVICTED
    message: str
    grace_seconds: int
    signal: str
    """For the metric."""
    disruption: str = ""
    """Message of the condition DisruptionTarget; empty: it gets none."""
    annotations: dict[str, str] = {}
    """Of the event."""
    announced: bool = False
    """Users have been told."""


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What outlives the eviction manager."""

    ending: tuple[Ending, ...] = ()
    conditions: tuple[str, ...] = ()
    """Those that hold."""
    watched: tuple[Threshold, ...] = ()
    """By which thresholds; others begin anew."""


class Progress(msgspec.Struct, frozen=True):
    """How far the evictions are: `left` are those that go on; `kill` those that are to be ordered (again)."""

    left: tuple[Ending, ...]
    kill: tuple[Ending, ...]


def progress(ending: Iterable[Ending], found: LivePods) -> Progress:
    """An eviction is done when the pod has ended and the API server knows, or when there is no such pod. Pure."""
    there = {pod.uid: pod for pod in found.pods}
    left = [one for one in ending if one.uid in there or not found.complete]
    left = [
        one for one in left if one.uid not in there or not (there[one.uid].finished and there[one.uid].status_written)
    ]
    return Progress(tuple(left), tuple(one for one in left if one.uid not in there or not there[one.uid].finished))


def _evicted(ending: Iterable[Ending]) -> frozenset[str]:
    return frozenset(one.uid for one in ending if one.reason == EVICTED)


class EndingPods:
    """`changed` is called when there is another one, or one less."""

    def __init__(self, actor: Actor, agent: Agent, changed: Callable[[], None]) -> None:
        self._actor, self._agent, self._changed = actor, agent, changed
        self._file = StateFile(Path(agent.run_dir) / FILE, Kept, sync=False)
        self._kept = Kept()
        self._stopping: frozenset[str] = frozenset()

    def load(self) -> None:
        try:
            self._kept = self._file.load() or Kept()
        except (OSError, DamagedError) as error:
            self._actor.log.warning("evictions that were under way are not known: %s", error)
        for one in self._kept.ending:
            self._begin(one)
        self._stopping = _evicted(self._kept.ending)

    @property
    def uids(self) -> frozenset[str]:
        return frozenset(one.uid for one in self._kept.ending)

    @property
    def stopping(self) -> frozenset[str]:
        """UIDs of the evicted pods that may still use something of the node."""
        return self._stopping

    def conditions(self, watched: tuple[Threshold, ...]) -> tuple[str, ...]:
        """Those that held last, by these thresholds."""
        return self._kept.conditions if self._kept.watched == watched else ()

    def keep_conditions(self, conditions: Iterable[str], watched: tuple[Threshold, ...]) -> None:
        self._keep(conditions=tuple(sorted(conditions)), watched=watched)

    def add(self, ending: Ending) -> None:
        """Evict this pod: kept first, then told and ordered."""
        if ending.uid in self.uids:
            return
        self._keep(ending=(*self._kept.ending, ending))
        self._stopping |= _evicted([ending])
        self._changed()
        self._begin(ending)

    async def look(self) -> None:
        """Order again what has not come about, and forget what has."""
        if not self._kept.ending:
            return
        try:
            found = await self._actor.ask(STATUS_MANAGER, GetLivePods(), timeout=_ASK_SECONDS)
        except AskError as error:
            self._actor.log.warning("how far evictions are is not known: %s", error)
            return
        now = progress(self._kept.ending, found)
        self._stopping = _evicted(now.kill)
        for one in now.kill:
            self._kill(one)
        if now.left != self._kept.ending:
            self._keep(ending=now.left)
            self._changed()

    def _begin(self, ending: Ending) -> None:
        if not ending.announced:
            self._announce(ending)
            rest = [msgspec.structs.replace(one, announced=True) if one == ending else one for one in self._kept.ending]
            self._keep(ending=tuple(rest))
        self._kill(ending)

    def _announce(self, ending: Ending) -> None:
        text = "%s pod %s/%s (%s): %s"
        self._actor.log.warning(text, ending.reason, ending.namespace, ending.name, ending.uid, ending.message)
        if ending.reason == EVICTED:
            self._actor.metrics.count("kubelet_evictions", eviction_signal=ending.signal)
        else:
            self._actor.metrics.count("kubelet_preemptions", preemption_signal=ending.signal)
        event = RecordEvent(
            kind="Pod",
            namespace=ending.namespace,
            name=ending.name,
            uid=ending.uid,
            type="Warning",
            reason=ending.reason,
            message=ending.message[:_MOST_TEXT],
            annotations=ending.annotations,
        )
        self._actor.tell(EVENT_CLIENT, event, deadline=60.0)

    def _kill(self, ending: Ending) -> None:
        order = KillPod(ending.uid, ending.reason, ending.message, ending.grace_seconds, disruption=ending.disruption)
        self._actor.tell(worker_of(ending.uid, self._agent.workers), order, deadline=REPEAT_SECONDS)

    def _keep(self, **changes: object) -> None:
        kept = msgspec.structs.replace(self._kept, **changes)
        if kept == self._kept:
            return
        self._kept = kept
        try:
            self._file.save(kept)
        except OSError as error:
            self._actor.log.warning("what is evicted is not kept: %s", error)
