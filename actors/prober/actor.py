"""Probes the containers of all pods; results go to the pod's worker and to the status manager.

Crash-only: on start it says Hello to the workers, which send their pods again, and to the status manager, which sends
their addresses again; it reports nothing of a container before it has probed it. Each run of a probe is a task of its
own: a target that hangs delays no other.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import cast

import msgspec

from actors.api_clients.event_client.messages import EVENT_CLIENT, MAX_EVENT_TEXT
from actors.pod_workers.messages import ProbeVerdict, ShardPods, worker_of
from actors.shared.config.agent import Agent
from actors.shared.cri.client import CriClient
from actors.shared.input_quarantine import InputQuarantine, label_of
from actors.shared.tracing.start import start_tracer
from actors.status_manager.messages import STATUS_MANAGER, ProbeResult
from supervision.actor import Actor, Address, on
from supervision.addresses import ActorName
from supervision.task_context import InputRecord

from . import probe_reports
from .messages import PodAddress, ProbedPod
from .outcome import ProbeOutcome
from .probe_type import Key, ProbeTools, Runtime, Subject
from .probe_types import ProbeTypes
from .probed_pods import PodProbes, ProbeState, must_notify, probed, replaced, updated
from .schedule import Schedule


class Prober(Actor):
    """Messages, timers and events; `probed_pods` and `thresholds` decide, the probe types probe."""

    def __init__(
        self,
        runtime: Runtime | None = None,
        rng: random.Random | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """`clock`: seconds, never set back; None: the monotonic clock."""
        super().__init__()
        self._pods: dict[str, PodProbes] = {}
        self._addresses: dict[str, str] = {}
        """status.podIP by UID, of all pods: an address may come before its pod."""
        self._runtime = runtime
        self._rng = rng or random.Random()  # noqa: S311 - spreads load
        self._clock = clock or time.monotonic
        self._started_at = self._clock()
        self._types = ProbeTypes(ProbeTools(self._cri))
        self._schedule = Schedule(self, self._probe, self._input_record)
        self._quarantined_pods: dict[str, bytes] = {}
        """JSON by UID, of pods in quarantine."""

    @property
    def agent(self) -> Agent:
        return cast(Agent, self.context)

    async def on_start(self) -> None:
        self._quarantine = InputQuarantine(self, self.agent.run_dir, "probes")

    def _input_record(self, key: Key) -> InputRecord | None:
        return self._quarantine.record(key[0], self._pods[key[0]].message.pod)

    def _cri(self) -> Runtime:
        """The client of the runtime, made when the first exec probe runs."""
        if self._runtime is None:
            config = self.agent.config
            tracer = start_tracer(self, config.tracing, self.agent.node_name)
            self._runtime = CriClient(
                self.agent.runtime_endpoint, "", config.runtimeRequestTimeout, tracer, self.metrics
            )
        return self._runtime

    # -- what there is to probe -----------------------------------------------------------------------------------
    @on(ProbedPod)
    def on_probed_pod(self, message: ProbedPod, sender: Address) -> None:
        before = self._pods.get(message.uid)
        if message.gone:
            self._quarantined_pods.pop(message.uid, None)
            self._forget(message.uid)
            return
        if self._refuses(message):
            return
        with self._quarantine.handling(message.uid, message.pod):
            after = updated(before, message, self._clock())
        for key in replaced(before, after):
            self._schedule.end(key)
        if after.probes:
            self._pods[message.uid] = after
        else:
            self._pods.pop(message.uid, None)
        for key, state in after.probes.items():
            if before is None or key not in before.probes or before.probes[key].facts.id != state.facts.id:
                self._schedule.unset(key)
            self._arrange(key)
        self.metrics.gauge("prober_pods", len(self._pods))
        self._repeat_verdicts(after)

    def _refuses(self, message: ProbedPod) -> bool:
        """Whether this version of the pod is in quarantine: it is not probed, which is logged once."""
        refusal = self._quarantine.refusal(message.uid, message.pod)
        if not refusal:
            self._quarantined_pods.pop(message.uid, None)
            return False
        if self._quarantined_pods.get(message.uid) != message.pod:
            self.log.error("%s is not probed: %s", label_of(message.uid, message.pod), refusal)
        self._quarantined_pods[message.uid] = message.pod
        self._forget(message.uid)
        return True

    @on(PodAddress)
    def on_pod_address(self, message: PodAddress, sender: Address) -> None:
        if message.ip:
            self._addresses[message.uid] = message.ip
        else:
            self._addresses.pop(message.uid, None)
        known = self._pods.get(message.uid)
        for key in known.probes if known is not None else ():
            self._arrange(key)

    @on(ShardPods)
    def on_shard_pods(self, message: ShardPods, sender: Address) -> None:
        """A pod that was withdrawn while its worker was away is forgotten: the next incarnation no longer reports it.

        A pod that this incarnation has sent stays until it reports the removal, because its list may be older.
        """
        listed = set(message.uids)
        for uid in [uid for uid, known in self._pods.items() if not known.confirmed and uid not in listed]:
            if worker_of(uid, message.workers) == message.worker:
                self._forget(uid)

    def _forget(self, uid: str) -> None:
        known = self._pods.pop(uid, None)
        for key in known.probes if known is not None else ():
            self._schedule.end(key)
        if known is not None:
            self.metrics.forget(namespace=known.pod.metadata.namespace, pod=known.pod.metadata.name)
        self.metrics.gauge("prober_pods", len(self._pods))

    def _arrange(self, key: Key, *, delay: float | None = None) -> None:
        """Set the probe's timer, or none. `delay`: seconds; None: at once, or when the first one is due."""
        known = self._pods.get(key[0])
        if known is None or key not in known.probes:
            return
        state = known.probes[key]
        if not known.active(key) or (key[0] not in self._addresses and self._types.needs_pod_ip(state.probe)):
            self._schedule.unset(key)
            return
        if delay is None:
            delay = self._first_delay(state) if state.streak.last is None else 0.0
        self._schedule.set(key, delay)

    def _first_delay(self, state: ProbeState) -> float:
        now = self._clock()
        return state.first_delay(time.time_ns(), now, now - self._started_at, self._rng.random())

    # -- probing --------------------------------------------------------------------------------------------------
    async def _probe(self, key: Key) -> None:
        """Run one probe, take its outcome, and set its next timer."""
        state = self._pods[key[0]].probes[key]
        started_at = time.monotonic()
        address = self._addresses.get(key[0], "")
        subject = Subject(key, state.container, state.facts.id, address, state.timeout)
        outcome = await self._types.run(state.probe, subject)
        took = time.monotonic() - started_at
        self._schedule.ran(key)
        known = self._pods.get(key[0])
        if known is None or key not in known.probes:
            return
        if outcome.result != "error":
            self._count(known, state, outcome, took)
        if known.probes[key].facts.id != state.facts.id:
            self._arrange(key)
            return
        before = known.probes[key].streak
        now = self._pods[key[0]] = probed(known, key, outcome)
        after = now.probes[key]
        event = probe_reports.event_of(now, after, outcome)
        if event is not None:
            self.tell(EVENT_CLIENT, event)
        if must_notify(before, after.streak):
            self._tell_status(key[0], after)
            self._tell_worker(key[0], after, outcome.text)
        delay = after.next_delay(float(self.agent.config.syncFrequency), self._rng.random())
        self._arrange(key, delay=max(0.0, delay - took))
        if state.kind == "startup" and after.streak.result:
            for other in now.probes:
                self._arrange(other)

    def _count(self, known: PodProbes, state: ProbeState, outcome: ProbeOutcome, took: float) -> None:
        labels = probe_reports.labels_of(known, state)
        result, uid = probe_reports.counted_result(outcome), known.pod.metadata.uid
        self.metrics.count("prober_probe_total", result=result, pod_uid=uid, **labels)
        if outcome.result != "failure":
            self.metrics.observe("prober_probe_duration_seconds", took, **labels)

    # -- results --------------------------------------------------------------------------------------------------
    def _tell_status(self, uid: str, state: ProbeState) -> None:
        if state.streak.result is not None:
            result = ProbeResult(uid, state.container.name, state.facts.id, state.kind, state.streak.result)
            self.tell(STATUS_MANAGER, result)

    def _tell_worker(self, uid: str, state: ProbeState, text: str = "") -> None:
        """A worker acts on liveness and startup only."""
        if state.streak.result is not None and state.kind != "readiness":
            verdict = ProbeVerdict(
                uid, state.container.name, state.facts.id, state.kind, state.streak.result, text[:MAX_EVENT_TEXT]
            )
            self.tell(worker_of(uid, self.agent.workers), verdict)

    def _repeat_verdicts(self, known: PodProbes) -> None:
        """A probe on hold does not run again: a new worker that dropped its verdict, as it did not know the pod yet,
        gets it again."""
        for state in known.probes.values():
            passed = state.kind == "startup" and state.facts.started
            if state.streak.on_hold and state.facts.running and not passed:
                self._tell_worker(known.message.uid, state)

    async def on_hello(self, name: ActorName) -> None:
        if name == STATUS_MANAGER:  # its new incarnation sends all addresses again
            self._addresses = {uid: ip for uid, ip in self._addresses.items() if uid in self._pods}
        for uid, known in list(self._pods.items()):
            own = name == worker_of(uid, self.agent.workers)
            if own:
                self._pods[uid] = msgspec.structs.replace(known, confirmed=False)
            for state in known.probes.values():
                if name == STATUS_MANAGER:
                    self._tell_status(uid, state)
                elif own:
                    self._tell_worker(uid, state)
