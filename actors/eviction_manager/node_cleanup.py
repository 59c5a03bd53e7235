"""Frees resources of the node before a pod is evicted: removes dead containers and unused images."""

from __future__ import annotations

import asyncio
from typing import Final

from actors.image_manager.messages import IMAGE_MANAGER, RemoveUnusedImages
from actors.pod_workers.messages import RemoveDeadContainers, pod_workers
from supervision.actor import Actor, AskError
from supervision.addresses import ActorName
from supervision.message import Message, Question

from .resources import Reclaim

SECONDS: Final = 120.0
"""Deadline of one removal."""


class NodeCleanup:
    def __init__(self, actor: Actor, workers: int) -> None:
        self._actor, self._workers = actor, workers
        self._removals: dict[Reclaim, asyncio.Task[None]] = {}

    def remove(self, what: Reclaim) -> asyncio.Task[None]:
        """A removal that fails is logged; one that is under way is not begun again."""
        removal = self._removals.get(what)
        if removal is None or removal.done():
            removal = self._removals[what] = self._actor.start_task(self._remove(what), f"removal {what}")
        return removal

    async def _remove(self, what: Reclaim) -> None:
        if what is Reclaim.CONTAINERS:
            removals = [self._ask(name, RemoveDeadContainers()) for name in pod_workers(self._workers)]
            await asyncio.gather(*removals)
        else:
            await self._ask(IMAGE_MANAGER, RemoveUnusedImages())

    async def _ask(self, name: ActorName, question: Question[Message]) -> None:
        try:
            await self._actor.ask(name, question, timeout=SECONDS)
        except AskError as error:
            self._actor.log.warning("%s", error)
