"""Keeps the API status of every pod, computed from what the workers observe and what the prober finds.

Crash-only: on start it says Hello to the workers and the prober, which send all they know again; only what the probes
said of each container is in a file, so that a restart of the whole agent changes no readiness.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, cast

import msgspec

from actors.config.agent import Agent
from actors.cri.model import Container as Runtime
from actors.kube import codec
from actors.kube.container import Container
from actors.kube.pod import Pod, PodStatus
from actors.kube.pods import full_name
from supervision.actor import Actor, Address, on
from supervision.protocol import Hello

from .container_status import Readiness
from .memory import ProbeMemory
from .messages import GetPods, GetPodStatus, PodObserved, Pods, PodStatusFound, ProbeResult
from .node_addresses import node_ips
from .pod_status import Node, Observation, compute

OLD_NS = 10_000_000_000
"""A container that started this long before the agent keeps its readiness until it is probed."""
SAVE_SECONDS = 0.5
STRANGER_SECONDS = 600.0
"""After this long, what is remembered of pods that nobody told of is forgotten."""


class _Known:
    """One pod."""

    def __init__(self, seen: PodObserved, pod: Pod) -> None:
        self.seen, self.pod = seen, pod
        self.status: PodStatus | None = None


class StatusManager(Actor):
    """Answers what /pods shows."""

    def __init__(self, clock_ns: Callable[[], int] = time.time_ns) -> None:
        super().__init__()
        self._clock_ns = clock_ns
        self._born_ns = clock_ns()
        self._pods: dict[str, _Known] = {}
        self._probes: dict[str, dict[tuple[str, str], ProbeResult]] = {}
        """By pod UID, then container name and kind."""
        self._node = Node([])
        self._memory = ProbeMemory("")
        self._saving = False

    @property
    def agent(self) -> Agent:
        return cast(Agent, self.context)

    async def on_start(self) -> None:
        agent = self.agent
        runtime = "cri-o" if "crio" in agent.runtime_endpoint else "containerd"
        self._node = Node(node_ips(agent.node_ip), runtime)
        self._memory = ProbeMemory(f"{agent.state_dir}/status_manager/probes.json")
        self._memory.load()
        if self._memory.problem:
            self.log.warning("probe results of before: %s", self._memory.problem)
        hello = Hello(self.name, self.incarnation)
        for feeder in (*(f"pod_workers/worker/{index}" for index in range(agent.workers)), "prober"):
            self.tell(feeder, hello)
        self.after(STRANGER_SECONDS, self._forget_strangers)

    # -- what is told ---------------------------------------------------------------------------------------------
    @on(PodObserved)
    def on_pod_observed(self, message: PodObserved, sender: Address) -> None:
        if message.gone:
            self._forget(message.uid)
            return
        known = self._pods.get(message.uid)
        if known is None and not message.pod:
            # left over in the runtime, and no source has ever told of it: there is nothing to show
            return
        if known is None:
            known = self._pods[message.uid] = _Known(message, codec.decode_pod(message.pod))
        elif not self._take(known, message):
            self.metrics.count("status_manager_outdated_observations_total")
            return
        if known.seen.runtime is not None:
            self._memory.keep_containers(message.uid, {each.id for each in known.seen.runtime.containers})
        self._compute(known)

    @staticmethod
    def _take(known: _Known, message: PodObserved) -> bool:
        """Take a newer observation; one of an older look at the runtime is not."""
        before = known.seen
        if not message.pod:
            message = msgspec.structs.replace(message, pod=before.pod)
        if message.runtime is None:
            message = msgspec.structs.replace(message, runtime=before.runtime)
        elif before.runtime is not None and message.runtime.at < before.runtime.at:
            return False
        if message.pod != before.pod:
            known.pod = codec.decode_pod(message.pod)
        known.seen = message
        return True

    @on(ProbeResult)
    def on_probe_result(self, message: ProbeResult, sender: Address) -> None:
        self._probes.setdefault(message.uid, {})[message.container, message.kind] = message
        known = self._pods.get(message.uid)
        if known is not None:
            self._compute(known)

    def _forget(self, uid: str) -> None:
        self._pods.pop(uid, None)
        self._probes.pop(uid, None)
        self._memory.keep_containers(uid, ())
        self._save_soon()

    # -- status ---------------------------------------------------------------------------------------------------
    def _compute(self, known: _Known) -> None:
        observation = Observation(known.seen, known.pod, self._readiness(known.seen.uid), self._clock_ns())
        status = compute(observation, self._node, known.status)
        if status != known.status:
            self._measure(known, status)
        known.status = status

    def _measure(self, known: _Known, status: PodStatus) -> None:
        if known.status is None or known.status.phase != status.phase:
            self.log.debug("pod %s: %s", full_name(known.pod), status.phase)
        self.metrics.count("status_manager_status_changes_total")

    def _readiness(self, uid: str) -> Callable[[Container, Runtime], Readiness]:
        results = self._probes.get(uid, {})

        def of(container: Container, runtime: Runtime) -> Readiness:
            before = self._memory.get(uid, runtime.id)
            if before is None:
                old = 0 < runtime.started_ns < self._born_ns - OLD_NS
                before = Readiness(old, old)
            started = container.startupProbe is None or _result(results, container, runtime, "startup", before.started)
            ready = container.readinessProbe is None or _result(results, container, runtime, "readiness", before.ready)
            found = Readiness(started, started and ready)
            if container.startupProbe is not None or container.readinessProbe is not None:
                self._memory.put(uid, runtime.id, found)
                self._save_soon()
            return found

        return of

    def _forget_strangers(self) -> None:
        """By now every worker has told its pods."""
        self._memory.keep_pods(self._pods)
        self._save_soon()

    def _save_soon(self) -> None:
        if not self._saving:
            self._saving = True
            self.after(SAVE_SECONDS, self._save)

    def _save(self) -> None:
        self._saving = False
        problem = self._memory.problem
        self._memory.save()
        if self._memory.problem and self._memory.problem != problem:
            self.log.warning("probe results cannot be kept: %s", self._memory.problem)

    # -- what is asked --------------------------------------------------------------------------------------------
    @on(GetPods)
    def on_get_pods(self, message: GetPods, sender: Address) -> Pods:
        items = [raw for known in self._sorted() if (raw := _with_status(known)) is not None]
        listed = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}
        return Pods(codec.encode(listed))

    def _sorted(self) -> Iterator[_Known]:
        yield from sorted(self._pods.values(), key=lambda known: full_name(known.pod))

    @on(GetPodStatus)
    def on_get_pod_status(self, message: GetPodStatus, sender: Address) -> PodStatusFound:
        known = self._pods.get(message.uid) or next(filter(lambda each: _is(each, message), self._sorted()), None)
        if known is None:
            return PodStatusFound(message.uid, b"", b"")
        return PodStatusFound(known.seen.uid, known.seen.pod, codec.encode(known.status))


def _is(known: _Known, wanted: GetPodStatus) -> bool:
    meta = known.pod.metadata
    return bool(wanted.name) and (meta.namespace, meta.name) == (wanted.namespace, wanted.name)


def _result(
    results: dict[tuple[str, str], ProbeResult], container: Container, runtime: Runtime, kind: str, before: bool
) -> bool:
    """What the probe found of this very container; without any result what was known before."""
    found = results.get((container.name, kind))
    return found.success if found is not None and found.container_id == runtime.id else before


def _with_status(known: _Known) -> dict[str, Any]:
    """The pod as its source gave it, with the status of now."""
    raw: dict[str, Any] = msgspec.json.decode(known.seen.pod)
    raw["status"] = msgspec.to_builtins(known.status)
    return raw
