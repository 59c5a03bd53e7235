"""Merges the pod sources (static pod path, static pod URL, API server) and sends each pod worker its pods.

Crash-only: after a restart it reads all sources again. It removes no pod of the API server until it has read every
configured source, and no static pod until it has read the sources of static pods: a control plane's own static pods
must follow their manifests while the API server, which needs them, does not answer.
At run time a source that fails, or a file that becomes invalid, keeps its last good pods.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import partial
from typing import cast

from actors.pod_workers.messages import (
    DesiredPods,
    PodOperation,
    ShardPods,
    WantedPod,
    is_pod_worker,
    pod_workers,
    worker_of,
)
from actors.shared.config.agent import Agent
from actors.shared.kube import codec
from actors.shared.kube.names import SOURCE_API, SOURCE_FILE, SOURCE_HTTP
from actors.shared.kube.pods import grace_period
from actors.shared.lists_in_parts import ListsInParts
from supervision.actor import Actor, Address, on
from supervision.addresses import ActorName

from .manifests.manifest import StaticPod
from .manifests.manifest_reader import ManifestReader
from .messages import GetSources, PodQuarantined, PodSources, SourcePod, SourcePods, SourceState
from .pods.config_seen import SeenTimes
from .pods.merged_pods import DuplicatePod, PodCandidate, choose, operations
from .pods.name_conflict import NameConflicts
from .sources.api_source import ApiSource
from .sources.http_source import UrlSource
from .sources.manifest_directory import ManifestDirectory
from .sources.quarantined_manifests import QuarantinedManifests
from .sources.source_states import Sources, source_states
from .sources.url_polling import UrlPolling
from .sources.validation_events import ValidationEvents

END_SLACK_SECONDS = 30.0
"""A new pod waits for the end of the old pod with its name for the grace period and this time."""


class PodConfig(Actor):
    """The desired pods of this node."""

    def __init__(self) -> None:
        super().__init__()
        self._files: ManifestDirectory | None = None
        self._url: UrlSource | None = None
        self._seen_times = SeenTimes(self._gate)
        self._api = ApiSource(self._seen_times.api)
        self._chosen: dict[str, PodCandidate] = {}
        self._quarantined = QuarantinedManifests()
        self._validation_events = ValidationEvents(self)
        self._errors: list[str] = []
        self._duplicates: list[DuplicatePod] = []
        self._conflicts = NameConflicts()
        self._ready = False
        self._static_ready = False
        self._lists = ListsInParts(self)

    @property
    def agent(self) -> Agent:
        return cast(Agent, self.context)

    def _gate(self, name: str) -> bool:
        return self.agent.gate(name)

    # -- start ----------------------------------------------------------------------------------------------------
    async def on_start(self) -> None:
        config = self.agent.config
        reader = ManifestReader(self, self.agent)
        if config.staticPodPath:
            self._files = ManifestDirectory(self, self.agent, reader.file_origin, reader.read_large_file, self._update)
            self._files.start()
        if config.staticPodURL:
            self._url = UrlSource(config.staticPodURL)
            UrlPolling(self, self.agent, self._url, reader, self._update).start()
        self._update()

    # -- API server -----------------------------------------------------------------------------------------------
    @on(SourcePods)
    def on_source_pods(self, message: SourcePods, sender: Address) -> None:
        """The full list of the node's pods from the API server, or a part of it."""
        for each in self._api.listed(message.pods, message.others, more=message.more):
            self._validation_events.invalid(each)
        self._update()

    @on(SourcePod)
    def on_source_pod(self, message: SourcePod, sender: Address) -> None:
        """A pod was added, changed or deleted; most changes are status updates of this node."""
        change = self._api.update(message.uid, message.pod)
        if change.invalid is not None:
            self._validation_events.invalid(change.invalid)
        if change.needed:
            self._update()

    # -- quarantine -----------------------------------------------------------------------------------------------
    @on(PodQuarantined)
    def on_pod_quarantined(self, message: PodQuarantined, sender: Address) -> None:
        """The worker does not handle the pod until its manifest changes; until then the source reports an error."""
        pod = self._chosen.get(message.uid)
        if pod is None:
            return
        reason = f"ended its worker {message.crashes} times and is in quarantine until it changes"
        text = f"{pod.place}: pod {pod.full_name} {reason}"
        if self._quarantined.add(pod.uid, pod.data, text, from_api=pod.place == SOURCE_API):
            self.log.error("%s", text)
        self._count_quarantined()

    def _count_quarantined(self) -> None:
        self.metrics.gauge("pod_config_quarantined_pods", len(self._quarantined))

    # -- updates for the pod workers -------------------------------------------------------------------------------
    def _update(self) -> None:
        """Merge the sources and send the pod workers the changes."""
        sources = {
            SOURCE_FILE: self._from_files(),
            SOURCE_HTTP: self._from_url(),
            SOURCE_API: self._api.candidates,
        }
        chosen = choose(sources, self._chosen)
        before, self._chosen = self._chosen, chosen.pods
        self._duplicates = chosen.duplicates
        self._report(chosen.duplicates)
        self._validation_events.name_conflicts(chosen.name_conflicts)
        self._seen_times.keep(chosen.pods)
        self._quarantined.forget_changed(self._data_of)
        self._count_quarantined()
        was_ready = self._ready, self._static_ready
        states = self._states()
        self._ready = all(state.ready for state in states)
        self._static_ready = all(state.ready for state in states if state.name != SOURCE_API)
        passed = self._conflicts.pass_on(operations(before, chosen.pods), before, chosen.pods)
        # the API server may have a pod that it has not listed yet
        orders = [one for one in passed if one.op == "set" or self._ready or before[one.uid].place != SOURCE_API]
        for uid in self._conflicts.newly_ending():
            self._wait_for_end(uid, before[uid])
        has_read_more = (self._ready, self._static_ready) > was_ready
        if has_read_more:
            for worker in pod_workers(self.agent.workers):
                self._send_all(worker)
        else:
            self._send(orders)

    def _send(self, orders: Iterable[PodOperation]) -> None:
        for operation in orders:
            self.tell(worker_of(operation.uid, self.agent.workers), operation)

    def _wait_for_end(self, uid: str, pod: PodCandidate) -> None:
        """Wait for the grace period and some more: a worker that never answers must not block the new pod for ever."""
        seconds = grace_period(codec.decode_pod(pod.data)) + END_SLACK_SECONDS
        self.after(seconds, lambda: self._send(self._conflicts.give_up(uid)))

    @on(ShardPods)
    def on_shard_pods(self, message: ShardPods, sender: Address) -> None:
        """The pod inventory of a worker. When it no longer has an old pod, the new pod with its name starts."""
        self._send(self._conflicts.inventory_reported(message.worker, message.uids))

    def _data_of(self, uid: str) -> bytes | None:
        pod = self._chosen.get(uid)
        return None if pod is None else pod.data

    def _from_files(self) -> list[PodCandidate]:
        if self._files is None:
            return []
        candidates = []
        for path, file in self._files.pods():
            assert file.pod is not None  # noqa: S101 - pods() has only those
            candidates.append(self._candidate(file.pod, path, file.changed_ns))
        return candidates

    def _from_url(self) -> list[PodCandidate]:
        if self._url is None:
            return []
        return [self._candidate(pod, self._url.shown_url, time.time_ns()) for pod in self._url.pods]

    def _candidate(self, pod: StaticPod, place: str, changed_ns: int) -> PodCandidate:
        return PodCandidate(pod.uid, pod.full_name, place, self._seen_times.static(pod.uid, pod.data, changed_ns))

    async def on_hello(self, name: ActorName) -> None:
        if is_pod_worker(name):
            self._send_all(name)

    def _send_all(self, worker: ActorName) -> None:
        """Send a worker all its pods."""
        sizes = {uid: len(pod.data) for uid, pod in self._assigned(worker).items()}
        self._lists.send(worker, sizes, partial(self._desired, worker))

    def _assigned(self, worker: ActorName) -> dict[str, PodCandidate]:
        """The pods that the worker is to have, by UID."""
        workers = self.agent.workers
        own = (pod for pod in self._chosen.values() if worker_of(pod.uid, workers) == worker)
        return {pod.uid: pod for pod in own if not self._conflicts.is_waiting(pod.uid)}

    def _desired(self, worker: ActorName, keys: list[str], *, more: bool) -> DesiredPods:
        assigned = self._assigned(worker)
        pods = [WantedPod(uid, assigned[uid].data) for uid in keys if uid in assigned]
        others = [] if more else sorted(assigned.keys() - set(keys))
        return DesiredPods(pods, self._ready, others, more, self._static_ready)

    # -- questions -------------------------------------------------------------------------------------------------
    @on(GetSources)
    def on_get_sources(self, message: GetSources, sender: Address) -> PodSources:
        return PodSources(self._states(), self._ready)

    def _states(self) -> list[SourceState]:
        sources = Sources(self._files, self._url, None if self.agent.standalone else self._api)
        return source_states(sources, self._duplicates, self._quarantined, was_ready=self._ready)

    def _report(self, duplicates: list[DuplicatePod]) -> None:
        """Log new errors; count all errors."""
        errors = [*(self._files.errors() if self._files else []), *map(str, duplicates)]
        if self._files is not None and (problem := self._files.save_last_good()):
            errors.append(problem)
        for text in errors:
            if text not in self._errors:
                self.log.error("static pod: %s", text)
        self._errors = errors
        self.metrics.gauge("pod_config_manifest_errors", len(errors))
