"""Merges the pod sources (static pod path, static pod URL, API server) and sends each pod worker its pods.

Crash-only: after a restart it reads all sources again, and removes no pod until it has read every configured source.
At run time a source that fails, or a file that becomes invalid, keeps its last good pods.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, cast

from actors.api_clients.messages import EVENT_CLIENT, RecordEvent, pod_event
from actors.pod_workers.messages import (
    DesiredPods,
    KnownPods,
    PodOperation,
    WantedPod,
    is_pod_worker,
    pod_workers,
    worker_of,
)
from actors.shared.config.agent import Agent
from actors.shared.kube import codec
from actors.shared.kube.names import CONFIG_SOURCE, SOURCE_API, SOURCE_FILE, SOURCE_HTTP
from actors.shared.kube.pods import grace_period
from supervision.actor import Actor, Address, DisposableError, on
from supervision.addresses import ActorName

from .api_source import ApiSource, InvalidPod
from .config_seen import SeenTimes
from .errors import ManifestError, document_error
from .http_source import FetchError, UrlSource, fetch
from .manifest import Origin, StaticPod, from_process, read_in_process, read_manifest
from .manifest_directory import ManifestDirectory
from .merged_pods import PodCandidate, choose, operations
from .messages import GetSources, PodQuarantined, PodSources, SourcePod, SourcePods, SourceState
from .name_conflict import NameConflicts

LARGE_BYTES = 64 << 10
PARSE_SECONDS = 60.0
"""The deadline of a disposable process that reads a large manifest."""
END_SLACK_SECONDS = 30.0
"""A new pod waits for the end of the old pod with its name for the grace period and this time."""
QUIET_AFTER = 3
"""The number of consecutive errors after which errors of the URL are logged at debug level."""


class PodConfig(Actor):
    """The desired pods of this node."""

    def __init__(self) -> None:
        super().__init__()
        self._files: ManifestDirectory | None = None
        self._url: UrlSource | None = None
        self._seen_times = SeenTimes(self._gate)
        self._api = ApiSource(self._seen_times.api)
        self._chosen: dict[str, PodCandidate] = {}
        self._quarantined: dict[str, tuple[bytes, str]] = {}
        """By UID: the manifest on which the worker died, and the error to report."""
        self._errors: list[str] = []
        self._duplicates: list[str] = []
        """An error for each pod that was not chosen."""
        self._ignored: set[str] = set()
        """The UIDs of pods with the name of another one, which their events tell already."""
        self._conflicts = NameConflicts()
        self._ready = False

    @property
    def agent(self) -> Agent:
        return cast(Agent, self.context)

    def _gate(self, name: str) -> bool:
        return self.agent.gate(name)

    # -- start ----------------------------------------------------------------------------------------------------
    async def on_start(self) -> None:
        config = self.agent.config
        if config.staticPodPath:
            self._files = ManifestDirectory(self, self.agent, self._file_origin, self._parse_file, self._update)
            self._files.start()
        if config.staticPodURL:
            self._url = UrlSource(config.staticPodURL)
            self.every(config.httpCheckFrequency, self._fetch, immediately=True)
        self._update()

    def _origin(self, source: str, place: str) -> Origin:
        return Origin(source, place, self.agent.node_name, not self.agent.gate("PreventStaticPodAPIReferences"))

    def _file_origin(self, path: str) -> Origin:
        return self._origin(SOURCE_FILE, path)

    # -- large manifests -------------------------------------------------------------------------------------------
    async def _parse_file(self, path: str) -> list[StaticPod]:
        """Raises ManifestError."""
        return await self._parse(path, b"", self._file_origin(path))

    async def _parse(self, path: str, data: bytes, origin: Origin) -> list[StaticPod]:
        """Raises ManifestError."""
        fields = [origin.source, origin.place, origin.node, origin.allow_references]
        arguments: dict[str, Any] = {"path": path, "data": data, "origin": fields}
        try:
            function = f"{read_in_process.__module__}:{read_in_process.__name__}"
            return from_process(await self.disposable(function, arguments, deadline=PARSE_SECONDS))
        except DisposableError as error:
            raise document_error(f"cannot be read: {error}") from None

    # -- URL ------------------------------------------------------------------------------------------------------
    async def _fetch(self) -> None:
        """Fetch the manifests from the URL once."""
        url, config = self._url, self.agent.config
        assert url is not None  # noqa: S101
        try:
            body = await fetch(config.staticPodURL, config.staticPodURLHeader)
            if url.is_new(body):
                url.answered(body, await self._url_pods(body))
            else:
                url.unchanged()
        except (FetchError, ManifestError) as error:
            url.failed(error)
            log = self.log.warning if url.failures <= QUIET_AFTER else self.log.debug
            log("static pods from a URL: %s", "; ".join(url.errors))
        self._update()

    async def _url_pods(self, body: bytes) -> list[StaticPod]:
        origin = self._origin(SOURCE_HTTP, self.agent.config.staticPodURL)
        if len(body) > LARGE_BYTES:
            return await self._parse("", body, origin)
        return read_manifest(body, origin) if body else []

    # -- API server -----------------------------------------------------------------------------------------------
    @on(SourcePods)
    def on_source_pods(self, message: SourcePods, sender: Address) -> None:
        """The full list of the node's pods from the API server."""
        for each in self._api.replace_all(message.pods):
            self._report_invalid(each)
        self._update()

    @on(SourcePod)
    def on_source_pod(self, message: SourcePod, sender: Address) -> None:
        """One pod was added, changed or deleted; most changes are status updates of this node."""
        change = self._api.update(message.uid, message.pod)
        if isinstance(change, InvalidPod):
            self._report_invalid(change)
        elif change:
            self._update()

    def _report_invalid(self, pod: InvalidPod) -> None:
        self.log.error("%s", pod.text)
        self.tell(
            EVENT_CLIENT,
            RecordEvent(
                kind="Pod",
                namespace=pod.namespace,
                name=pod.name,
                uid=pod.uid,
                type="Warning",
                reason="FailedValidation",
                message=pod.text,
            ),
        )

    # -- quarantine -----------------------------------------------------------------------------------------------
    @on(PodQuarantined)
    def on_pod_quarantined(self, message: PodQuarantined, sender: Address) -> None:
        """The worker does not handle the pod until its manifest changes; until then the source reports an error."""
        pod = self._chosen.get(message.uid)
        if pod is None:
            return
        reason = f"ended its worker {message.crashes} times and is in quarantine until it changes"
        text = f"{pod.place}: pod {pod.full_name} {reason}"
        if message.uid not in self._quarantined:
            self.log.error("%s", text)
        self._quarantined[message.uid] = (pod.data, text)
        self.metrics.gauge("pod_config_quarantined_pods", len(self._quarantined))

    # -- updates for the pod workers -------------------------------------------------------------------------------
    def _update(self) -> None:
        """Merge the sources and send the pod workers the changes."""
        sources = [self._from_files(), self._from_url(), self._api.candidates]
        chosen = choose(sources, self._chosen)
        before, self._chosen = self._chosen, chosen.pods
        self._duplicates = chosen.errors
        self._report(chosen.errors)
        self._tell_namesakes(chosen.namesakes)
        self._seen_times.keep(chosen.pods)
        for uid in [uid for uid, (data, _) in self._quarantined.items() if self._data_of(uid) != data]:
            del self._quarantined[uid]
        was_ready, self._ready = self._ready, all(state.ready for state in self._states())
        orders = self._conflicts.pass_on(operations(before, chosen.pods), before, chosen.pods)
        for uid in self._conflicts.newly_ending():
            self._wait_for_end(uid, before[uid])
        if self._ready and not was_ready:
            for worker in pod_workers(self.agent.workers):
                self._send_all(worker)
        else:
            self._send(orders)

    def _tell_namesakes(self, ignored: list[PodCandidate]) -> None:
        """An event for each pod that is ignored since the last call."""
        for one in ignored:
            if one.uid not in self._ignored:
                meta = codec.decode_pod(one.data).metadata
                source, whole = meta.annotations.get(CONFIG_SOURCE, ""), f"{one.full_name}({one.uid})"
                text = f'Error validating pod {whole} from {source} due to duplicate pod name "{meta.name}", ignoring'
                self.tell(EVENT_CLIENT, pod_event(meta, "Warning", "FailedValidation", text))
        self._ignored = {one.uid for one in ignored}

    def _send(self, orders: Iterable[PodOperation]) -> None:
        for operation in orders:
            # no removal before every source is read: another source may have the pod
            if operation.op == "set" or self._ready:
                self.tell(worker_of(operation.uid, self.agent.workers), operation)

    def _wait_for_end(self, uid: str, pod: PodCandidate) -> None:
        """Wait for the grace period and some more: a worker that never answers must not block the new pod for ever."""
        seconds = grace_period(codec.decode_pod(pod.data)) + END_SLACK_SECONDS
        self.after(seconds, lambda: self._send(self._conflicts.give_up(uid)))

    @on(KnownPods)
    def on_known_pods(self, message: KnownPods, sender: Address) -> None:
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
        return [self._candidate(pod, self._url.url, time.time_ns()) for pod in self._url.pods]

    def _candidate(self, pod: StaticPod, place: str, changed_ns: int) -> PodCandidate:
        return PodCandidate(pod.uid, pod.full_name, place, self._seen_times.static(pod.uid, pod.data, changed_ns))

    async def on_hello(self, name: ActorName) -> None:
        if is_pod_worker(name):
            self._send_all(name)

    def _send_all(self, worker: ActorName) -> None:
        """Send a worker all its pods."""
        workers = self.agent.workers
        assigned = [pod for pod in self._chosen.values() if worker_of(pod.uid, workers) == worker]
        pods = [WantedPod(pod.uid, pod.data) for pod in assigned if not self._conflicts.is_waiting(pod.uid)]
        self.tell(worker, DesiredPods(pods, self._ready))

    # -- questions -------------------------------------------------------------------------------------------------
    @on(GetSources)
    def on_get_sources(self, message: GetSources, sender: Address) -> PodSources:
        return PodSources(self._states(), self._ready)

    def _states(self) -> list[SourceState]:
        states, duplicates = [], self._duplicates_by_source()
        quarantined: dict[bool, list[str]] = {True: [], False: []}
        for uid, (_, text) in self._quarantined.items():
            quarantined[uid in self._chosen and self._chosen[uid].place == SOURCE_API].append(text)
        if self._files is not None:
            files, pods = self._files, len(list(self._files.pods()))
            ready = files.is_read or self._ready
            wrong = [*files.errors(), *duplicates[SOURCE_FILE], *quarantined[False]]
            states.append(SourceState(SOURCE_FILE, files.path, ready, pods, wrong))
        if self._url is not None:
            url = self._url
            wrong = [*url.errors, *duplicates[SOURCE_HTTP]]
            states.append(SourceState(SOURCE_HTTP, url.url, url.synced, len(url.pods), wrong))
        if not self.agent.standalone:
            api, wrong = self._api, [*self._api.errors(), *duplicates[SOURCE_API], *quarantined[True]]
            states.append(SourceState(SOURCE_API, "", api.synced, len(api.candidates), wrong))
        return states

    def _duplicates_by_source(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {SOURCE_FILE: [], SOURCE_HTTP: [], SOURCE_API: []}
        places = {SOURCE_API: SOURCE_API}
        if self._url is not None:
            places[self._url.url] = SOURCE_HTTP
        for text in self._duplicates:
            source = next((one for place, one in places.items() if text.startswith(f"{place}: ")), SOURCE_FILE)
            found[source].append(text)
        return found

    def _report(self, duplicates: list[str]) -> None:
        """Log new errors; count all errors."""
        errors = (self._files.errors() if self._files else []) + duplicates
        if self._files is not None and (problem := self._files.save_last_good()):
            errors.append(problem)
        for text in errors:
            if text not in self._errors:
                self.log.error("static pod: %s", text)
        self._errors = errors
        self.metrics.gauge("pod_config_manifest_errors", len(errors))
