"""Follows the static pod path: inotify, a list from time to time, and reads that wait for their turn."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Final

from actors.shared.config.agent import Agent
from supervision.actor import Actor
from supervision.quarantine import Journal

from .errors import ManifestError
from .file_source import READ_SECONDS, FileSource, ManifestFile
from .kept import KeptPods
from .manifest import Origin, StaticPod
from .watching import DirectoryWatch, changes_of

MOST_READERS: Final = 4
"""Large manifests that are read at once."""
REPLACED_SECONDS: Final = 0.1
"""How long a manifest may be away while its editor replaces it."""
SETTLE_SECONDS: Final = 0.3
WATCH_BACKOFF: Final = (1.0, 20.0)
"""First and longest pause before inotify is tried again, seconds."""


class ManifestDirectory:
    """The path is a directory of manifests, or one file; it may come, go and be replaced."""

    def __init__(
        self,
        actor: Actor,
        agent: Agent,
        origin: Callable[[str], Origin],
        parse: Callable[[str], Awaitable[list[StaticPod]]],
        changed: Callable[[], None],
    ) -> None:
        """`parse` reads a large file in a process of its own and raises ManifestError; `changed` is called when a pod
        or an error may be another."""
        self._actor, self._parse, self._changed = actor, parse, changed
        self.path = agent.config.staticPodPath
        self._frequency = float(agent.config.fileCheckFrequency)
        self._files = FileSource(self.path, origin, self._read_large)
        self._files.quarantine = _quarantine(actor, agent)
        self._kept = KeptPods(f"{agent.state_dir}/pod_config/kept.json")
        self._watch: DirectoryWatch | None = None
        self._watch_delay = WATCH_BACKOFF[0]
        self._reads_on = False
        """A handler that reads the files that wait is due."""
        self._readers = asyncio.Semaphore(MOST_READERS)

    def start(self) -> None:
        """Read the first files, for as long as a handler may, and follow the path from now on."""
        files = self._files
        files.restored = self._kept.load()
        self._follow()
        files.scan()
        files.restored = {path: kept for path, kept in files.restored.items() if path in files.pending}
        self._actor.every(self._frequency, self._list, jitter=0.05)
        self._read_later()

    # -- what there is --------------------------------------------------------------------------------------------
    @property
    def is_read(self) -> bool:
        """Every file was read once."""
        return not self._files.pending and not (self._files.error and not self._files.files)

    def pods(self) -> Iterable[tuple[str, ManifestFile]]:
        return self._files.pods()

    def errors(self) -> list[str]:
        return self._files.errors()

    def keep(self) -> str:
        """Write down the pods of bad files. Gives the reason why they cannot be kept, or ''."""
        self._kept.save(self._files.kept())
        return self._kept.problem

    # -- looking --------------------------------------------------------------------------------------------------
    def _list(self) -> None:
        """Look at all files: periodically, and when inotify cannot say which."""
        self._follow()
        self._files.scan(time.time_ns())
        if self._files.unsettled:
            self._actor.after(SETTLE_SECONDS, self._list)
        self._looked()

    def _looked(self) -> None:
        self._read_later()
        self._changed()

    def _read_later(self) -> None:
        """Read on in a moment: many files hold up neither the start nor messages."""
        if self._files.waiting and not self._reads_on:
            self._reads_on = True
            self._actor.after(0.0, self._read_on)

    def _read_on(self) -> None:
        self._reads_on = False
        self._files.read_waiting()
        self._looked()

    # -- inotify --------------------------------------------------------------------------------------------------
    def _follow(self) -> None:
        """Watch where the manifests are. Without inotify there is still the list; inotify is tried again later."""
        try:
            if self._watch is None:
                self._watch = DirectoryWatch()
                asyncio.get_running_loop().add_reader(self._watch.fileno(), self._events, self._watch)
            self._watch.follow(self.path)
            self._watch_delay = WATCH_BACKOFF[0]
        except OSError as error:
            self._actor.log.warning("cannot watch %s: %s; it is listed instead", self.path, error.strerror)
            self._actor.after(self._watch_delay, self._follow)
            self._watch_delay = min(2 * self._watch_delay, WATCH_BACKOFF[1])

    def _events(self, watch: DirectoryWatch) -> None:
        """Something happened in the watched directory."""
        changes = changes_of(watch.read())
        if changes.relist or watch.directory != os.path.abspath(self.path):
            self._elsewhere(watch, changes.look | changes.created | changes.doubtful, changes.relist)
            return
        self._files.allow(READ_SECONDS)
        if changes.deleted:
            # a pod whose file was deleted ends, and starts again if the file is there again
            for name in changes.deleted:
                self._files.drop(os.path.join(self.path, name))
            self._changed()
        for name in sorted(changes.look):
            self._files.look(os.path.join(self.path, name))
        for name in sorted(changes.created):
            self._files.look(os.path.join(self.path, name), time.time_ns())
        if changes.created and self._files.unsettled:
            self._actor.after(SETTLE_SECONDS, self._list)
        if changes.doubtful:
            self._actor.after(REPLACED_SECONDS, self._list)
        self._looked()

    def _elsewhere(self, watch: DirectoryWatch, names: set[str], relist: bool) -> None:
        """The path is a single file, is not there, or was replaced."""
        path = os.path.abspath(self.path)
        if relist:
            watch.lost()
        on_the_way = any(f"{path}/".startswith(os.path.join(watch.directory, name) + "/") for name in names)
        if not (relist or on_the_way):
            return
        if os.path.isfile(path) and not relist:
            self._files.allow(READ_SECONDS)
            self._files.look(self.path)
            self._changed()
        else:
            self._actor.after(REPLACED_SECONDS, self._list)

    # -- large manifests ------------------------------------------------------------------------------------------
    def _read_large(self, path: str) -> None:
        self._actor.start_task(self._read_elsewhere(path), f"read {path}")

    async def _read_elsewhere(self, path: str) -> None:
        """Read a large manifest in a process of its own."""
        stamp = self._files.files[path].stamp
        try:
            async with self._readers:
                pods = await self._parse(path)
        except ManifestError as error:
            if self._is_still(path, stamp):
                self._files.failed(path, error)
        else:
            if self._is_still(path, stamp):
                self._files.loaded(path, pods[0])
        self._changed()

    def _is_still(self, path: str, stamp: tuple[int, ...]) -> bool:
        """Whether the file is there and has not changed since it was deferred."""
        known = self._files.files.get(path)
        return known is not None and known.stamp == stamp and path in self._files.pending


def _quarantine(actor: Actor, agent: Agent) -> Journal | None:
    """That of manifests; without its directory, they are read as they are."""
    try:
        return Journal(Path(agent.run_dir) / "quarantine" / actor.name)
    except OSError as error:
        actor.log.warning("manifests have no quarantine: %s", error)
        return None
