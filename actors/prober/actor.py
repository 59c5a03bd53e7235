"""Probes the containers of all pods, and says what counts: to the pod's worker, and to the status manager.

Crash-only: on start it says Hello to the workers, which send their pods again, and reports nothing of a container
before it has probed it. Each probe is a coroutine of its own: a target that hangs delays nobody else.
"""

from __future__ import annotations

import random
import time
from typing import TypedDict, cast

from actors.api_clients.messages import EVENT_CLIENT, RecordEvent
from actors.pod_workers.messages import KnownPods, ProbeVerdict, pod_workers, worker_of
from actors.shared.config.agent import Agent
from actors.shared.cri.client import CriClient
from actors.shared.kube import codec
from actors.shared.kube.pod import Pod
from actors.shared.tracing.start import begin
from actors.status_manager.messages import STATUS_MANAGER, ProbeResult
from supervision.actor import Actor, Address, on
from supervision.addresses import ActorName
from supervision.protocol import Hello

from .exec_probe import ExecProbes, Runtime
from .grpc_probe import probe_grpc
from .http_probe import probe_http
from .messages import ProbedContainer, ProbedPod
from .outcome import Outcome, error
from .targets import TargetError, command_of, http_target, port_of, probes_of
from .tcp_probe import probe_tcp
from .thresholds import Kind, Streak, decide
from .track import Key, Track

TRIES = 3
"""At once, when the probe itself errs."""
_TYPES = {"readiness": "Readiness", "liveness": "Liveness", "startup": "Startup"}
_RESULTS = {"success": "successful", "failure": "failed", "error": "unknown"}


class Labels(TypedDict):
    """Whose probe it is, in metrics."""

    container: str
    pod: str
    namespace: str
    pod_uid: str


class _Known:
    """One pod that has probes."""

    def __init__(self, message: ProbedPod, pod: Pod) -> None:
        self.message, self.pod = message, pod
        self.named = True
        """By the present incarnation of its worker."""
        self.tracks = {(message.uid, c.name, kind): Track(c, kind, probe) for c, kind, probe in probes_of(pod)}


class Prober(Actor):
    """Liveness, readiness and startup probes."""

    def __init__(self, runtime: Runtime | None = None, rng: random.Random | None = None) -> None:
        super().__init__()
        self._pods: dict[str, _Known] = {}
        self._runtime = runtime
        self._rng = rng or random.Random()  # noqa: S311 - spreads load
        self._born = time.monotonic()
        self._execs: ExecProbes | None = None

    @property
    def agent(self) -> Agent:
        return cast(Agent, self.context)

    async def on_start(self) -> None:
        hello = Hello(self.name, self.incarnation)
        for worker in pod_workers(self.agent.workers):
            self.tell(worker, hello)

    # -- what there is to probe -----------------------------------------------------------------------------------
    @on(ProbedPod)
    def on_probed_pod(self, message: ProbedPod, sender: Address) -> None:
        known = self._pods.get(message.uid)
        if message.gone:
            self._forget(message.uid)
            return
        if known is None or known.message.pod != message.pod:
            known = self._learn(message, known)
        known.message, known.named = message, True
        containers = {container.name: container for container in message.containers}
        for key, track in list(known.tracks.items()):
            if message.deleting and track.kind != "readiness":
                self._end(known.tracks.pop(key))
            else:
                self._renew(known, key, containers.get(track.container.name))
        if known.tracks:
            self._pods[message.uid] = known
        else:
            self._pods.pop(message.uid, None)
        self.metrics.gauge("prober_pods", len(self._pods))
        self._tell_worker_again(known)

    @on(KnownPods)
    def on_known_pods(self, message: KnownPods, sender: Address) -> None:
        """What was withdrawn while its worker was away is forgotten: the next one says nothing else of it.

        A pod that this worker has named itself stays until it says that it is gone: its list may be older than that.
        """
        listed = set(message.uids)
        for uid in [uid for uid, known in self._pods.items() if not known.named and uid not in listed]:
            if worker_of(uid, message.workers) == message.worker:
                self._forget(uid)

    def _learn(self, message: ProbedPod, before: _Known | None) -> _Known:
        """The pod anew; probes that are the same go on where they were."""
        known = _Known(message, codec.decode_pod(message.pod))
        for key, track in (before.tracks if before is not None else {}).items():
            fresh = known.tracks.get(key)
            if fresh is not None and fresh.probe == track.probe:
                track.container = fresh.container
                known.tracks[key] = track
            else:
                self._end(track)
        return known

    def _renew(self, known: _Known, key: Key, facts: ProbedContainer | None) -> None:
        track = known.tracks[key]
        if track.renew(facts or ProbedContainer(track.container.name, "", False, 0)):
            track.unschedule()
        self._arrange(known, key)

    def _arrange(self, known: _Known, key: Key) -> None:
        """Set its timer, or none."""
        track = known.tracks[key]
        if not track.open(started=_started(known, track)):
            track.unschedule()
            return
        delay = 0.0
        if track.streak.last is None:
            uptime = time.monotonic() - self._born
            delay = track.first_delay(time.time_ns(), uptime, self._rng.random())
        track.schedule(delay, self.after, lambda: self._due(known.message.uid, key))

    def _forget(self, uid: str) -> None:
        known = self._pods.pop(uid, None)
        for track in known.tracks.values() if known is not None else ():
            self._end(track)
        self.metrics.forget(pod_uid=uid)
        self.metrics.gauge("prober_pods", len(self._pods))

    @staticmethod
    def _end(track: Track) -> None:
        track.unschedule()
        if track.task is not None:
            track.task.cancel()

    # -- probing --------------------------------------------------------------------------------------------------
    def _due(self, uid: str, key: Key) -> None:
        known = self._pods.get(uid)
        track = known.tracks.get(key) if known is not None else None
        if known is None or track is None:
            return
        track.timer = None
        track.task = self.start_task(self._probe(known, key, track), "probe " + "/".join(key))

    async def _probe(self, known: _Known, key: Key, track: Track) -> None:
        """Probe once, take the outcome, and set the next timer."""
        begin = time.monotonic()
        container_id = track.facts.id
        outcome = await self._attempt(known, key, track)
        took = time.monotonic() - begin
        track.task = None
        current = self._pods.get(key[0])
        if current is None or current.tracks.get(key) is not track:
            return
        known = current
        self._count(known, track, outcome, took)
        if track.facts.id != container_id:
            self._arrange(known, key)
            return
        before, track.streak = track.streak, decide(track.streak, outcome, track.kind, track.probe)
        if outcome.result == "failure":
            self._record(known, track, "Unhealthy", f"probe failed: {outcome.text}")
        elif outcome.warning:
            self._record(known, track, "ProbeWarning", f"probe warning: {outcome.text}")
        if track.streak.result is not before.result or track.streak.held is not before.held:
            self._report(known, track, outcome.text)
        if track.open(started=_started(known, track)):
            track.schedule(max(0.0, track.period - took), self.after, lambda: self._due(key[0], key))
        if track.kind == "startup" and track.streak.result:
            for other in known.tracks:
                self._arrange(known, other)

    async def _attempt(self, known: _Known, key: Key, track: Track) -> Outcome:
        """The outcome; when the probe itself errs it is tried again at once."""
        outcome = error("not tried")
        for _ in range(TRIES):
            outcome = await self._once(known, key, track)
            if outcome.result != "error":
                break
        return outcome

    async def _once(self, known: _Known, key: Key, track: Track) -> Outcome:
        probe, container, timeout = track.probe, track.container, track.timeout
        known = self._pods.get(key[0], known)
        ip = known.message.ip
        try:
            if probe.exec is not None:
                command = command_of(probe.exec.command, container)
                return await self._exec().probe((*key, track.facts.id), track.facts.id, command, timeout)
            if probe.httpGet is not None:
                return await probe_http(http_target(probe.httpGet, container, ip), timeout)
            if probe.tcpSocket is not None:
                host = probe.tcpSocket.host or ip
                return await probe_tcp(host, port_of(probe.tcpSocket.port, container), timeout)
            if probe.grpc is not None:
                return await probe_grpc(ip, probe.grpc.port, probe.grpc.service or "", timeout)
        except TargetError as problem:
            return error(str(problem))
        return error("missing probe handler")

    def _exec(self) -> ExecProbes:
        if self._execs is None:
            config = self.agent.config
            tracer = begin(self, config.tracing, self.agent.node_name)
            runtime = self._runtime or CriClient(self.agent.runtime_endpoint, "", config.runtimeRequestTimeout, tracer)
            self._execs = ExecProbes(runtime, self.start_task)
        return self._execs

    def _count(self, known: _Known, track: Track, outcome: Outcome, took: float) -> None:
        meta, kind, name = known.pod.metadata, _TYPES[track.kind], track.container.name
        result = _RESULTS[outcome.result]
        whose = Labels(container=name, pod=meta.name, namespace=meta.namespace, pod_uid=meta.uid)
        self.metrics.count("prober_probe_total", result=result, probe_type=kind, **whose)
        self.metrics.observe("prober_probe_duration_seconds", took, probe_type=kind, **whose)

    def _record(self, known: _Known, track: Track, reason: str, text: str) -> None:
        """An event each time, as the reference; the event client joins those that are alike."""
        meta, name = known.pod.metadata, track.container.name
        lists = (("initContainers", known.pod.spec.initContainers), ("containers", known.pod.spec.containers))
        kind = next(kind for kind, containers in lists if any(each.name == name for each in containers))
        event = RecordEvent(
            kind="Pod", namespace=meta.namespace, name=meta.name, uid=meta.uid, type="Warning", reason=reason,
            message=f"{_TYPES[track.kind]} {text}"[:1024], field=f"spec.{kind}{{{name}}}",
        )  # fmt: skip
        self.tell(EVENT_CLIENT, event)

    # -- what is told ---------------------------------------------------------------------------------------------
    def _report(self, known: _Known, track: Track, text: str = "") -> None:
        """What counts now of this container."""
        if track.streak.result is None:
            return
        self._tell_status(known.message.uid, track, track.streak)
        self._tell_worker(known.message.uid, track, track.streak, text)

    def _tell_status(self, uid: str, track: Track, streak: Streak) -> None:
        if streak.result is not None:
            self.tell(STATUS_MANAGER, ProbeResult(uid, track.container.name, track.facts.id, track.kind, streak.result))

    def _tell_worker(self, uid: str, track: Track, streak: Streak, text: str = "") -> None:
        if streak.result is not None and track.kind != "readiness":
            worker = worker_of(uid, self.agent.workers)
            message = ProbeVerdict(uid, track.container.name, track.facts.id, track.kind, streak.result, text[:1024])
            self.tell(worker, message)

    def _tell_worker_again(self, known: _Known) -> None:
        """What is not probed again is said again: it may have come to a new worker before the pod, which drops it."""
        for track in known.tracks.values():
            if track.streak.held and track.facts.running and not (track.kind == "startup" and track.facts.started):
                self._tell_worker(known.message.uid, track, track.streak)

    async def on_hello(self, name: ActorName) -> None:
        for uid, known in self._pods.items():
            if name == worker_of(uid, self.agent.workers):
                known.named = False
            for track in known.tracks.values():
                if name == STATUS_MANAGER:
                    self._tell_status(uid, track, track.streak)
                elif name == worker_of(uid, self.agent.workers):
                    self._tell_worker(uid, track, track.streak)


def _started(known: _Known, track: Track) -> bool:
    """Whether the container's startup probe, if it has one, has passed."""
    startup: tuple[str, str, Kind] = (known.message.uid, track.container.name, "startup")
    probe = known.tracks.get(startup)
    return probe is None or track.facts.started or probe.streak.result is True
