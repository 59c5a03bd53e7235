"""What containers asked for and were told to ask again for: each finds its own outcome when it does.

A container asks before the credential plug-ins are run, so that neither their time nor a new token begins a new pull.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from .messages import EnsureImage, ImageFailed, ImageReady

KEPT_SECONDS: Final = 30.0
"""So long an outcome waits for who was told to ask again: it does so at once, if it still wants the image."""

Outcome = ImageReady | ImageFailed
Work = Callable[[], Awaitable[Outcome]]


class Wish(msgspec.Struct, frozen=True):
    """What decides with which credentials an image is pulled, and for which pod: no other pod has the same wish."""

    uid: str
    namespace: str
    image: str
    runtime_handler: str
    service_account: str
    pull_secrets: tuple[bytes, ...]


def wish(asked: EnsureImage) -> Wish:
    return Wish(
        asked.uid,
        asked.namespace,
        asked.image,
        asked.runtime_handler,
        asked.service_account,
        tuple(asked.pull_secrets),
    )


Place = tuple[Wish, str, str]
"""A wish, and the container of the pod that has it."""


class _Kept:
    """Shared by the containers that were told of the same work."""

    def __init__(self, task: asyncio.Task[Outcome]) -> None:
        self.task = task
        self.ended: float | None = None


class Asked:
    """Work for wishes: begun once, waited for by containers again and again, its outcome taken by each once."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._going: dict[Wish, _Kept] = {}
        self._told: dict[Place, _Kept] = {}

    @property
    def going(self) -> int:
        """Wishes that are worked on."""
        return len(self._going)

    @property
    def told(self) -> int:
        """Containers that are to ask again."""
        return len(self._told)

    def expected(self, asked: EnsureImage) -> bool:
        """Whether this container was told to ask again, and its outcome is still kept."""
        self._purge()
        return _place(asked) in self._told

    def forget(self, asked: EnsureImage) -> bool:
        """The container has what it wants. Whether it was told to ask again."""
        return self._told.pop(_place(asked), None) is not None

    async def outcome(self, asked: EnsureImage, work: Work, seconds: float) -> Outcome | None:
        """Of the work that the container waited for, else of what goes on for its wish, else of new work.

        None: it goes on after so many seconds, and the container is to ask again."""
        self._purge()
        place = _place(asked)
        kept = self._told.get(place) or self._going.get(place[0]) or self._begin(place[0], work)
        await asyncio.wait((kept.task,), timeout=seconds)
        if not kept.task.done():
            self._told[place] = kept
            return None
        self._told.pop(place, None)  # taken: the next start of the container pulls again
        return None if kept.task.cancelled() else kept.task.result()

    def retain(self, keep: Callable[[str], bool]) -> None:
        """Forget pods that are gone: a pull may hang for good, and nobody of theirs waits for it."""
        for wanted, kept in self._going.items():
            if not keep(wanted.uid):
                kept.task.cancel()
        self._told = {place: kept for place, kept in self._told.items() if keep(place[0].uid)}

    def _begin(self, wanted: Wish, work: Work) -> _Kept:
        async def run() -> Outcome:
            return await work()

        kept = self._going[wanted] = _Kept(asyncio.get_running_loop().create_task(run()))
        kept.task.add_done_callback(lambda done: self._end(wanted, kept, done))
        return kept

    def _end(self, wanted: Wish, kept: _Kept, done: asyncio.Task[Outcome]) -> None:
        self._going.pop(wanted, None)
        kept.ended = self._clock()
        if not done.cancelled():
            done.exception()  # seen: nobody may be waiting any more

    def _purge(self) -> None:
        oldest = self._clock() - KEPT_SECONDS
        for place, kept in list(self._told.items()):
            if kept.ended is not None and kept.ended <= oldest:
                del self._told[place]


def _place(asked: EnsureImage) -> Place:
    return wish(asked), asked.container, asked.field
