"""Pending pulls: one per pod and image, for any number of waiting containers and questions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from .messages import EnsureImage, ImageFailed, ImageReady, PullSecret

Outcome = ImageReady | ImageFailed
Work = Callable[[], Awaitable[Outcome]]


class PullKey(msgspec.Struct, frozen=True):
    """The key of a pull: pod, image, and everything that determines its credentials."""

    uid: str
    namespace: str
    image: str
    runtime_handler: str
    service_account: str
    pull_secrets: tuple[PullSecret, ...]


def pull_key(question: EnsureImage) -> PullKey:
    return PullKey(
        question.uid,
        question.namespace,
        question.image,
        question.runtime_handler,
        question.service_account,
        tuple(question.pull_secrets),
    )


class PendingPulls:
    """A pull continues even without a waiting caller; the next question joins it."""

    def __init__(self) -> None:
        self._tasks: dict[PullKey, asyncio.Task[Outcome]] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    async def outcome(self, key: PullKey, work: Work) -> Outcome | None:
        """Wait for the pending pull, or start one with `work`. Returns its outcome; None: it was cancelled."""
        task = self._tasks.get(key) or self._start_pull(key, work)
        await asyncio.wait((task,))
        return None if task.cancelled() else task.result()

    def cancel(self, keep: Callable[[str], bool]) -> None:
        """Cancel the pulls of removed pods. `keep`: whether the node has the pod with this UID."""
        for key, task in self._tasks.items():
            if not keep(key.uid):
                task.cancel()

    def _start_pull(self, key: PullKey, work: Work) -> asyncio.Task[Outcome]:
        async def run() -> Outcome:
            return await work()

        task = self._tasks[key] = asyncio.get_running_loop().create_task(run())
        task.add_done_callback(lambda done: self._end(key, done))
        return task

    def _end(self, key: PullKey, done: asyncio.Task[Outcome]) -> None:
        self._tasks.pop(key, None)
        if not done.cancelled():
            done.exception()  # retrieve the exception here, because no caller may be waiting
