"""Objects and service account tokens of the API server, through kube_client."""

from __future__ import annotations

import asyncio
from typing import Final

from actors.api_clients.messages import KUBE_CLIENT, ApiAnswer, ApiCall, GetObject, ObjectRef, ObjectState
from actors.volume_manager.files.service_tokens import ServiceTokens
from supervision.actor import Actor, AskError

OBJECT_SECONDS: Final = 5.0
CALL_SECONDS: Final = 15.0
AT_ONCE: Final = 4
"""The most objects that are on their way: each may have a megabyte, and a volume names any number."""


class VolumeObjects:
    """When kube_client does not answer, the answer has the reason Unreachable."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._permits = asyncio.Semaphore(AT_ONCE)
        self.tokens = ServiceTokens(self.call)

    async def object(self, ref: ObjectRef) -> ObjectState:
        question = GetObject(ref, OBJECT_SECONDS)
        try:
            async with self._permits:
                return await self._actor.ask(KUBE_CLIENT, question, timeout=OBJECT_SECONDS + 5.0)
        except AskError as error:
            return ObjectState(ref, reason="Unreachable", message=f"{KUBE_CLIENT}: {error}")

    async def call(self, call: ApiCall) -> ApiAnswer:
        try:
            return await self._actor.ask(KUBE_CLIENT, call, timeout=CALL_SECONDS)
        except AskError as error:
            return ApiAnswer(status=0, reason="Unreachable", message=f"{KUBE_CLIENT}: {error}")
