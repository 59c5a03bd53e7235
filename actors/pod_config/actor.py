"""Reads static pods from a path and a URL, takes the API server's, and tells each pod's worker what is wanted of it.

Crash-only: files, URL and API server are read again. Until every configured source has been seen, nothing that is
missing is said to be gone. At run time a source that fails, or a file that goes bad, keeps the pods it gave before.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from actors.api_clients.messages import EVENT_CLIENT, RecordEvent
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
from actors.shared.kube.names import SOURCE_API, SOURCE_FILE, SOURCE_HTTP
from actors.shared.kube.pods import grace_period
from supervision.actor import Actor, Address, DisposableError, on
from supervision.addresses import ActorName
from supervision.quarantine import Journal

from .api_source import ApiSource, Unreadable
from .errors import ManifestError, whole
from .file_source import READ_SECONDS as HANDLER_SECONDS
from .file_source import FileSource
from .handover import Handover
from .http_source import FetchError, UrlSource, fetch
from .kept import KeptPods
from .manifest import Origin, StaticPod, from_process, read_in_process, read_manifest
from .merge import Candidate, choose, operations
from .messages import GetSources, PodPoisons, SourcePod, SourcePods, Sources, SourceState
from .seen import SeenTimes
from .watching import DirectoryWatch, changes_of

LARGE_BYTES = 64 << 10
PARSE_SECONDS = 60.0
"""How long a large manifest may be read in a process of its own."""
MOST_READERS = 4
"""Large manifests that are read at once."""
DOUBT_SECONDS = 0.1
"""How long a manifest may be away while its editor replaces it."""
SETTLE_SECONDS = 0.3
WATCH_BACKOFF = (1.0, 20.0)
END_SLACK_SECONDS = 30.0
"""Beyond its grace period, how long the end of an old pod is waited for before the new one of its name starts."""
QUIET_AFTER = 3
"""Errors of the URL in a row after which they are logged for debugging only."""


class PodConfig(Actor):
    """The desired pods of this node."""

    def __init__(self) -> None:
        super().__init__()
        self._files: FileSource | None = None
        self._kept: KeptPods | None = None
        self._url: UrlSource | None = None
        self._seen = SeenTimes()
        self._api = ApiSource(self._seen.api)
        self._watch: DirectoryWatch | None = None
        self._watch_delay = WATCH_BACKOFF[0]
        self._chosen: dict[str, Candidate] = {}
        self._parked: dict[str, tuple[bytes, str]] = {}
        """By UID: the manifest that ended its worker, and what is said of it."""
        self._errors: list[str] = []
        self._handover = Handover()
        self._ready = False
        self._reads_on = False
        """A handler that reads the files that wait is due."""
        self._readers = asyncio.Semaphore(MOST_READERS)

    @property
    def agent(self) -> Agent:
        return cast(Agent, self.context)

    # -- start ----------------------------------------------------------------------------------------------------
    async def on_start(self) -> None:
        config = self.agent.config
        if config.staticPodPath:
            self._files = FileSource(config.staticPodPath, self._file_origin, self._read_large)
            self._kept = KeptPods(f"{self.agent.state_dir}/pod_config/kept.json")
            self._files.quarantine = self._journal()
            self._files.restored = self._kept.load()
            self._follow()
            self._files.scan()
            self._files.restored = {
                path: kept for path, kept in self._files.restored.items() if path in self._files.pending
            }
            self.every(config.fileCheckFrequency, self._list, jitter=0.05)
            self._read_later()
        if config.staticPodURL:
            self._url = UrlSource(config.staticPodURL)
            self.every(config.httpCheckFrequency, self._fetch, immediately=True)
        self._update()

    def _journal(self) -> Journal | None:
        """The quarantine of manifests; without its directory, they are read as they are."""
        try:
            return Journal(Path(self.agent.run_dir) / "quarantine" / self.name)
        except OSError as error:
            self.log.warning("manifests have no quarantine: %s", error)
            return None

    def _origin(self, source: str, place: str) -> Origin:
        return Origin(source, place, self.agent.node_name, not self.agent.gate("PreventStaticPodAPIReferences"))

    def _file_origin(self, path: str) -> Origin:
        return self._origin(SOURCE_FILE, path)

    # -- files ----------------------------------------------------------------------------------------------------
    def _list(self) -> None:
        """Look at all files: periodically, and when inotify cannot say which."""
        if self._files is None:
            return
        self._follow()
        self._files.scan(time.time_ns())
        if self._files.unsettled:
            self.after(SETTLE_SECONDS, self._list)
        self._read_later()
        self._update()

    def _read_later(self) -> None:
        """Read on in a moment: many files hold up neither the start nor messages."""
        if self._files is not None and self._files.waiting and not self._reads_on:
            self._reads_on = True
            self.after(0.0, self._read_on)

    def _read_on(self) -> None:
        assert self._files is not None  # noqa: S101 - who calls it has looked
        self._reads_on = False
        self._files.read_waiting()
        self._read_later()
        self._update()

    def _follow(self) -> None:
        """Watch where the manifests are. Without inotify there is still the list; tried again later and later."""
        path = self.agent.config.staticPodPath
        try:
            if self._watch is None:
                self._watch = DirectoryWatch()
                asyncio.get_running_loop().add_reader(self._watch.fileno(), self._events)
            self._watch.follow(path)
            self._watch_delay = WATCH_BACKOFF[0]
        except OSError as error:
            self.log.warning("cannot watch %s: %s; it is listed instead", path, error.strerror)
            self.after(self._watch_delay, self._follow)
            self._watch_delay = min(2 * self._watch_delay, WATCH_BACKOFF[1])

    def _events(self) -> None:
        """Something happened in the watched directory."""
        assert self._watch is not None and self._files is not None  # noqa: S101, PT018 - the reader is theirs
        changes = changes_of(self._watch.read())
        path = self.agent.config.staticPodPath
        if changes.relist or self._watch.directory != os.path.abspath(path):
            self._elsewhere(changes.look | changes.created | changes.doubtful, changes.relist)
            return
        self._files.allow(HANDLER_SECONDS)
        if changes.deleted:
            # a pod whose file was deleted ends, and starts again if the file is there again
            for name in changes.deleted:
                self._files.drop(os.path.join(path, name))
            self._update()
        for name in sorted(changes.look):
            self._files.look(os.path.join(path, name))
        for name in sorted(changes.created):
            self._files.look(os.path.join(path, name), time.time_ns())
        if changes.created and self._files.unsettled:
            self.after(SETTLE_SECONDS, self._list)
        if changes.doubtful:
            self.after(DOUBT_SECONDS, self._list)
        self._read_later()
        self._update()

    def _elsewhere(self, names: set[str], relist: bool) -> None:
        """The path is a single file, is not there, or was replaced."""
        assert self._watch is not None and self._files is not None  # noqa: S101, PT018
        path = os.path.abspath(self.agent.config.staticPodPath)
        if relist:
            self._watch.lost()
        on_the_way = any(f"{path}/".startswith(os.path.join(self._watch.directory, name) + "/") for name in names)
        if not (relist or on_the_way):
            return
        if os.path.isfile(path) and not relist:
            self._files.allow(HANDLER_SECONDS)
            self._files.look(self.agent.config.staticPodPath)
            self._update()
        else:
            self.after(DOUBT_SECONDS, self._list)

    def _read_large(self, path: str) -> None:
        self.start_task(self._read_elsewhere(path), f"read {path}")

    async def _read_elsewhere(self, path: str) -> None:
        """Read a large manifest in a process of its own."""
        files = self._files
        assert files is not None  # noqa: S101
        stamp = files.files[path].stamp
        try:
            async with self._readers:
                pods = await self._parse(path, b"", self._file_origin(path))
        except ManifestError as error:
            if self._still(files, path, stamp):
                files.failed(path, error)
        else:
            if self._still(files, path, stamp):
                files.loaded(path, pods[0])
        self._update()

    @staticmethod
    def _still(files: FileSource, path: str, stamp: tuple[int, ...]) -> bool:
        """Whether the file is there and has not changed since it was deferred."""
        known = files.files.get(path)
        return known is not None and known.stamp == stamp and path in files.pending

    async def _parse(self, path: str, data: bytes, origin: Origin) -> list[StaticPod]:
        """Raises ManifestError."""
        fields = [origin.source, origin.place, origin.node, origin.allow_references]
        arguments: dict[str, Any] = {"path": path, "data": data, "origin": fields}
        try:
            function = f"{read_in_process.__module__}:{read_in_process.__name__}"
            return from_process(await self.disposable(function, arguments, deadline=PARSE_SECONDS))
        except DisposableError as error:
            raise whole(f"cannot be read: {error}") from None

    # -- URL ------------------------------------------------------------------------------------------------------
    async def _fetch(self) -> None:
        """Ask the URL once."""
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
            say = self.log.warning if url.failures <= QUIET_AFTER else self.log.debug
            say("static pods from a URL: %s", "; ".join(url.errors))
        self._update()

    async def _url_pods(self, body: bytes) -> list[StaticPod]:
        origin = self._origin(SOURCE_HTTP, self.agent.config.staticPodURL)
        if len(body) > LARGE_BYTES:
            return await self._parse("", body, origin)
        return read_manifest(body, origin) if body else []

    # -- API server -----------------------------------------------------------------------------------------------
    @on(SourcePods)
    def on_source_pods(self, message: SourcePods, sender: Address) -> None:
        """All that the API server has for this node."""
        for each in self._api.full(message.pods):
            self._cannot_be_read(each)
        self._update()

    @on(SourcePod)
    def on_source_pod(self, message: SourcePod, sender: Address) -> None:
        """One of them was added, changed or deleted; most changes are what this node itself wrote of it."""
        news = self._api.change(message.uid, message.pod)
        if isinstance(news, Unreadable):
            self._cannot_be_read(news)
        elif news:
            self._update()

    def _cannot_be_read(self, pod: Unreadable) -> None:
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

    # -- poison ---------------------------------------------------------------------------------------------------
    @on(PodPoisons)
    def on_pod_poisons(self, message: PodPoisons, sender: Address) -> None:
        """The worker has parked the pod, and leaves it alone until its manifest changes: shown until then."""
        pod = self._chosen.get(message.uid)
        if pod is None:
            return
        text = (
            f"{pod.place}: pod {pod.full_name} ended its worker {message.crashes} times and is parked until it changes"
        )
        if message.uid not in self._parked:
            self.log.error("%s", text)
        self._parked[message.uid] = (pod.data, text)
        self.metrics.gauge("pod_config_parked_pods", len(self._parked))

    # -- what is told ---------------------------------------------------------------------------------------------
    def _update(self) -> None:
        """Merge the sources and tell the workers what became of it."""
        sources = [self._from_files(), self._from_url(), self._api.candidates]
        chosen = choose(sources, self._chosen)
        before, self._chosen = self._chosen, chosen.pods
        self._report(chosen.errors)
        self._seen.keep(chosen.pods)
        for uid in [uid for uid, (data, _) in self._parked.items() if self._data_of(uid) != data]:
            del self._parked[uid]
        was_ready, self._ready = self._ready, all(state.ready for state in self._states())
        said = self._handover.pass_on(operations(before, chosen.pods), before, chosen.pods)
        for uid in self._handover.newly_ending():
            self._wait_for_end(uid, before[uid])
        if self._ready and not was_ready:
            for worker in pod_workers(self.agent.workers):
                self._tell_all(worker)
        else:
            self._order(said)

    def _order(self, said: Iterable[PodOperation]) -> None:
        for operation in said:
            # before every source was seen nothing is gone: another may have it
            if operation.op == "set" or self._ready:
                self.tell(worker_of(operation.uid, self.agent.workers), operation)

    def _wait_for_end(self, uid: str, pod: Candidate) -> None:
        """Its grace period and some more; a worker that never tells must not hold up the new pod for ever."""
        seconds = grace_period(codec.decode_pod(pod.data)) + END_SLACK_SECONDS
        self.after(seconds, lambda: self._order(self._handover.give_up(uid)))

    @on(KnownPods)
    def on_known_pods(self, message: KnownPods, sender: Address) -> None:
        """A worker's pods that may have something on the node: when an old one is off it, its successor starts."""
        self._order(self._handover.told(message.worker, message.uids))

    def _data_of(self, uid: str) -> bytes | None:
        pod = self._chosen.get(uid)
        return None if pod is None else pod.data

    def _from_files(self) -> list[Candidate]:
        if self._files is None:
            return []
        found = []
        for path, file in self._files.pods():
            assert file.pod is not None  # noqa: S101 - pods() has only those
            found.append(self._candidate(file.pod, path, file.changed_ns))
        return found

    def _from_url(self) -> list[Candidate]:
        if self._url is None:
            return []
        return [self._candidate(pod, self._url.url, time.time_ns()) for pod in self._url.pods]

    def _candidate(self, pod: StaticPod, place: str, changed_ns: int) -> Candidate:
        return Candidate(pod.uid, pod.full_name, place, self._seen.static(pod.uid, pod.data, changed_ns))

    async def on_hello(self, name: ActorName) -> None:
        if is_pod_worker(name):
            self._tell_all(name)

    def _tell_all(self, worker: ActorName) -> None:
        """All that this worker is to run."""
        workers = self.agent.workers
        mine = [pod for pod in self._chosen.values() if worker_of(pod.uid, workers) == worker]
        pods = [WantedPod(pod.uid, pod.data) for pod in mine if not self._handover.is_held(pod.uid)]
        self.tell(worker, DesiredPods(pods, self._ready))

    # -- what is asked --------------------------------------------------------------------------------------------
    @on(GetSources)
    def on_get_sources(self, message: GetSources, sender: Address) -> Sources:
        return Sources(self._states(), self._ready)

    def _states(self) -> list[SourceState]:
        states = []
        parked = [text for _, text in self._parked.values()]
        if self._files is not None:
            files = self._files
            ready = not files.pending and not (files.error and not files.files)
            states.append(
                SourceState(SOURCE_FILE, files.path, ready or self._ready, len(files.pods()), files.errors() + parked)
            )
        if self._url is not None:
            url = self._url
            states.append(SourceState(SOURCE_HTTP, url.url, url.seen, len(url.pods), url.errors))
        if not self.agent.standalone:
            api = self._api
            states.append(SourceState(SOURCE_API, "", api.synced, len(api.candidates), api.errors()))
        return states

    def _report(self, duplicates: list[str]) -> None:
        """Log what is newly wrong; count what is wrong."""
        errors = (self._files.errors() if self._files else []) + duplicates
        if self._kept is not None and self._files is not None:
            self._kept.save(self._files.kept())
            errors += [self._kept.problem] if self._kept.problem else []
        for text in errors:
            if text not in self._errors:
                self.log.error("static pod: %s", text)
        self._errors = errors
        self.metrics.gauge("pod_config_manifest_errors", len(errors))
