"""Follows the static pod path: by inotify and by a periodic scan; reads many files in several steps."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Final

from actors.shared.config.agent import Agent
from supervision.actor import Actor
from supervision.backoff import RetrySchedule
from supervision.quarantine import Journal, report_death

from ..manifests.manifest import Origin, StaticPod
from ..validation.errors import ManifestError
from .file_source import READ_SECONDS, FileSource, ManifestFile
from .last_good import LastGoodPods
from .manifest_watch import DirectoryWatch, changes_of

MOST_READERS: Final = 4
"""Large manifests that are read at the same time."""
REPLACED_SECONDS: Final = 0.1
"""Seconds that a manifest may be missing while an editor replaces it."""
SETTLE_SECONDS: Final = 0.3
WATCH_RETRIES: Final = RetrySchedule(1.0, 20.0)
"""The pauses before inotify is tried again."""


class ManifestDirectory:
    """The static pod path: a directory of manifests, or one file. It may appear, disappear and be replaced."""

    def __init__(
        self,
        actor: Actor,
        agent: Agent,
        origin: Callable[[str], Origin],
        parse: Callable[[str], Awaitable[list[StaticPod]]],
        changed: Callable[[], None],
    ) -> None:
        """`parse` reads a large file in a disposable process and raises ManifestError; `changed` is called when a pod
        or an error may have changed."""
        self._actor, self._parse, self._changed = actor, parse, changed
        self.path = agent.config.staticPodPath
        self._frequency = float(agent.config.fileCheckFrequency)
        self._files = FileSource(self.path, origin, self._read_large, _quarantine(actor, agent))
        self._last_good = LastGoodPods(f"{agent.state_dir}/pod_config/kept.json")
        self._watch: DirectoryWatch | None = None
        self._watch_failures = 0
        self._watch_retry_is_due = False
        self._reading_is_due = False
        """A handler that reads waiting files is scheduled."""
        self._readers = asyncio.Semaphore(MOST_READERS)

    def start(self) -> None:
        """Read the first files, within the time of one handler, and follow the path from now on."""
        files = self._files
        files.restore(self._last_good.load())
        self._follow()
        files.scan()
        files.drop_restored()
        self._actor.every(self._frequency, self._scan, jitter=0.05)
        self._read_later()

    # -- contents --------------------------------------------------------------------------------------------------
    @property
    def is_read(self) -> bool:
        """Whether every file was read once."""
        return not self._files.pending and not (self._files.error and not self._files.files)

    def pods(self) -> Iterable[tuple[str, ManifestFile]]:
        return self._files.pods()

    def errors(self) -> list[str]:
        return self._files.errors()

    def save_last_good(self) -> str:
        """Store the last good pods of bad files. Returns the error, or ''."""
        self._last_good.save(self._files.last_good())
        return self._last_good.problem

    # -- looking --------------------------------------------------------------------------------------------------
    def _scan(self) -> None:
        """Look at all files: periodically, and when inotify does not name the changed file."""
        self._follow()
        self._files.scan(time.time_ns())
        if self._files.unsettled:
            self._actor.after(SETTLE_SECONDS, self._scan)
        self._after_reading()

    def _after_reading(self) -> None:
        self._read_later()
        self._changed()

    def _read_later(self) -> None:
        """Read the waiting files in a handler of their own: many files block neither the start nor messages."""
        if self._files.waiting and not self._reading_is_due:
            self._reading_is_due = True
            self._actor.after(0.0, self._read_on)

    def _read_on(self) -> None:
        self._reading_is_due = False
        self._files.read_waiting()
        self._after_reading()

    # -- inotify --------------------------------------------------------------------------------------------------
    def _follow(self) -> None:
        """Watch the directory of the manifests. When inotify fails, it is retried; the scan remains."""
        try:
            if self._watch is None:
                self._watch = DirectoryWatch()
                asyncio.get_running_loop().add_reader(self._watch.fileno(), self._events, self._watch)
            self._watch.follow(self.path)
        except OSError as error:
            self._cannot_watch(error)
            return
        if self._watch_failures:
            self._actor.log.info("%s is watched again", self.path)
        self._watch_failures = 0

    def _cannot_watch(self, error: OSError) -> None:
        """Say so once, and retry; each scan retries too, so only one retry is due at a time."""
        if not self._watch_failures:
            self._actor.log.warning(
                "cannot watch %s: %s; it is scanned each %g s instead (limits: fs.inotify.max_user_instances, "
                "fs.inotify.max_user_watches)", self.path, error.strerror, self._frequency
            )  # fmt: skip
        self._watch_failures += 1
        if not self._watch_retry_is_due:
            self._watch_retry_is_due = True
            self._actor.after(WATCH_RETRIES.pause(self._watch_failures), self._retry_watch)

    def _retry_watch(self) -> None:
        self._watch_retry_is_due = False
        self._follow()

    def _events(self, watch: DirectoryWatch) -> None:
        """Handle the inotify events of the watched directory."""
        changes = changes_of(watch.read())
        if changes.relist or watch.directory != os.path.abspath(self.path):
            self._look_at_path(watch, changes.look | changes.created | changes.moved_out, changes.relist)
            return
        self._files.allow(READ_SECONDS)
        if changes.deleted:
            # the pod of a deleted file ends, and starts again if the file exists again
            for name in changes.deleted:
                self._files.drop(os.path.join(self.path, name))
            self._changed()
        for name in sorted(changes.look):
            self._files.look(os.path.join(self.path, name))
        for name in sorted(changes.created):
            self._files.look(os.path.join(self.path, name), time.time_ns())
        if changes.created and self._files.unsettled:
            self._actor.after(SETTLE_SECONDS, self._scan)
        if changes.moved_out:
            self._actor.after(REPLACED_SECONDS, self._scan)
        self._after_reading()

    def _look_at_path(self, watch: DirectoryWatch, names: set[str], relist: bool) -> None:
        """Handle events when the path is a file, is missing, or was replaced."""
        path = os.path.abspath(self.path)
        if relist:
            watch.lost()
        concerns_path = any(f"{path}/".startswith(os.path.join(watch.directory, name) + "/") for name in names)
        if not (relist or concerns_path):
            return
        if os.path.isfile(path) and not relist:
            self._files.allow(READ_SECONDS)
            self._files.look(self.path)
            self._changed()
        else:
            self._actor.after(REPLACED_SECONDS, self._scan)

    # -- large manifests -------------------------------------------------------------------------------------------
    def _read_large(self, path: str) -> None:
        stamp = self._files.files[path].stamp  # before the task begins, the file may be gone
        self._actor.start_task(self._read_in_disposable(path, stamp), f"read {path}")

    async def _read_in_disposable(self, path: str, stamp: tuple[int, ...]) -> None:
        """Read a large manifest in a disposable process. `stamp`: from when it was deferred."""
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
        """Whether the file still exists, unchanged since it was deferred."""
        known = self._files.files.get(path)
        return known is not None and known.stamp == stamp and path in self._files.pending


def _quarantine(actor: Actor, agent: Agent) -> Journal | None:
    """The quarantine of manifests; None when its directory cannot be created."""
    try:
        journal = Journal(Path(agent.run_dir) / "quarantine" / actor.name, last_end=actor.last_end)
    except OSError as error:
        actor.log.warning("cannot create the quarantine of manifests, they are read without it: %s", error)
        return None
    report_death(actor.tell, journal)
    return journal
