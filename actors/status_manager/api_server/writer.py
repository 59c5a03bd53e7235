"""Decides when each pod's next step at the API server is performed: a few at a time, urgent ones first, with retries.

`steps.next_step` is called right before the step is performed, so a step that is no longer needed is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from actors.api_clients.kube_client.messages import ApiAnswer
from supervision.actor import Actor, Timer

from ..pods.pod_table import PodTable
from ..times import PodStatusClocks
from .api_calls import NODE_MISSING, ApiCalls
from .backlog import POD_POLICY, REFUSED_POLICY, Pause, StatusBacklog
from .steps import CreateMirror, PatchStatus, Step, next_step

NODE_SECONDS: Final = 0.5
"""Seconds; a node that is about to register soon exists."""
MAX_SECONDS: Final = 60.0
UNREACHABLE: Final = (0, 401, 429, 502, 503, 504)
"""Statuses of no answer, or of an answer that does not concern the pod: all writes wait."""


class StatusWriter:
    """Exists once in a status manager with an API server."""

    def __init__(
        self,
        actor: Actor,
        table: PodTable,
        node_name: str,
        clocks: PodStatusClocks,
        recompute: Callable[[str], None],
    ) -> None:
        """`recompute`: see `ApiCalls`."""
        self._actor, self._table, self._clocks = actor, table, clocks
        self._calls = ApiCalls(actor, table, node_name, recompute)
        self.backlog = StatusBacklog()
        self._timer: Timer | None = None
        self._unsynced_since: dict[str, float] = {}
        """By key: since when the status differs from the API server's, on the monotonic clock."""
        self._last_errors: dict[str, str] = {}
        """By key, '' for all: the last logged failure, so that it is logged once."""

    def consider_all(self, keys: Iterable[str]) -> None:
        """These pods have changed, here or at the API server: queue the next step of each, and look once at what is
        due: that takes time for each pod that waits."""
        for key in keys:
            self._queue(key)
        self._pump()

    def _queue(self, key: str) -> None:
        step = next_step(self._table, key)
        if step is None:
            self._drop(key)
            return
        if self._table.get(key) is not None:
            self._unsynced_since.setdefault(key, self._now())
        self.backlog.add(key, step.priority, self._now())

    def server_is_back(self) -> None:
        """End all pauses."""
        self.backlog.server_is_back()
        self._pump()

    def _now(self) -> float:
        return self._clocks.monotonic()

    def _pump(self) -> None:
        """Start the writes that are due, and set the timer for the next one."""
        while (key := self.backlog.take(self._now())) is not None:
            self._actor.start_task(self._write(key), f"status of {key}")
        self._actor.metrics.gauge("status_manager_unwritten_pods", len(self.backlog))
        due = self.backlog.next_due()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if due is not None and due > self._now():
            self._timer = self._actor.after(due - self._now(), self._pump)

    async def _write(self, key: str) -> None:
        step = next_step(self._table, key)
        failure = await self._calls.perform(step) if step is not None else None
        after = next_step(self._table, key)
        if step is None or failure is None:
            self.backlog.succeeded(key)
            for each in (key, ""):
                self._last_errors.pop(each, None)
            written = isinstance(step, PatchStatus) and self._table.api.get(step.pod.uid) is not None
            if written and not isinstance(after, PatchStatus):
                self._measure(key)
        else:
            self._schedule_retry(key, step, failure)
        if after is None:
            self._drop(key)
        else:
            self.backlog.add(key, after.priority, self._now())
        self._pump()

    def _measure(self, key: str) -> None:
        """Measure the latency: the API server has the current status."""
        since = self._unsynced_since.pop(key, None)
        if since is not None:
            seconds = self._now() - since
            self._actor.metrics.observe("kubelet_pod_status_sync_duration_seconds", seconds)

    def _drop(self, key: str) -> None:
        """There is nothing to write for this pod: forget since when its status differed, and its failures."""
        self.backlog.drop(key)
        self._last_errors.pop(key, None)
        self._unsynced_since.pop(key, None)

    def _schedule_retry(self, key: str, step: Step, answer: ApiAnswer) -> None:
        at_most = NODE_SECONDS if answer.reason == NODE_MISSING else MAX_SECONDS
        refused = isinstance(step, CreateMirror) and 400 <= answer.status < 500
        policy = REFUSED_POLICY if refused else POD_POLICY
        pause = Pause(self._clocks.random, answer.retry_after, at_most, policy)
        if answer.status in UNREACHABLE and answer.reason != NODE_MISSING:
            seconds = self.backlog.server_failed(key, step.priority, self._now(), pause)
            key = ""
        else:
            seconds = self.backlog.failed(key, step.priority, self._now(), pause)
        text = f"{type(step).__name__} {answer.status} {answer.reason}: {answer.message}"
        if self._last_errors.get(key) != text:
            self._last_errors[key] = text
            tracked = self._table.get(key)
            subject = f"pod {tracked.full_name if tracked is not None else key}" if key else "all pods"
            self._actor.log.info("%s: the API server is asked again in %.1f s: %s", subject, seconds, text)
