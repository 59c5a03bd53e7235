"""Objects, trust bundles and service account tokens of the API server, through kube_client."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Final

from actors.api_clients.kube_client.messages import (
    KUBE_CLIENT,
    ApiAnswer,
    ApiCall,
    GetObject,
    GetTrustBundles,
    ObjectRef,
    ObjectState,
    TrustBundles,
)
from actors.shared.kube.credential_sources import NO_TRUST_BUNDLES, TRUST_BUNDLE_GATE
from actors.volume_manager.files.content_error import ContentError
from actors.volume_manager.files.service_tokens import ServiceTokens
from actors.volume_manager.files.trust_anchors import BundleQuery
from supervision.actor import Actor, AskError

OBJECT_SECONDS: Final = 5.0
CALL_SECONDS: Final = 15.0
GATE_OFF: Final = f"{NO_TRUST_BUNDLES} (the feature gate {TRUST_BUNDLE_GATE} is off)"
AT_ONCE: Final = 4
"""The most objects that are on their way: each may have a megabyte, and a volume names any number."""
MOST_BYTES: Final = 24 << 20
"""The most for the objects of one volume, which are in memory twice while its files are written."""
MANY: Final = 4
"""A volume of more objects than these counts as one of many."""
OF_MANY_AT_ONCE: Final = 2
"""Volumes of many objects whose files are written at once."""


class VolumeObjects:
    """When kube_client does not answer, the answer has the reason Unreachable."""

    def __init__(self, actor: Actor, gate: Callable[[str], bool]) -> None:
        """`gate`: whether a feature gate is on."""
        self._actor, self._gate = actor, gate
        self.order = os.urandom(16)
        """Decides the order of trust anchors: the same until the next start, as in the kubelet."""
        self._permits, self._volumes_of_many = asyncio.Semaphore(AT_ONCE), asyncio.Semaphore(OF_MANY_AT_ONCE)
        self.tokens = ServiceTokens(self.call)

    async def object(self, ref: ObjectRef) -> ObjectState:
        question = GetObject(ref, OBJECT_SECONDS)
        try:
            async with self._permits:
                return await self._actor.ask(KUBE_CLIENT, question, timeout=OBJECT_SECONDS + 5.0)
        except AskError as error:
            return ObjectState(ref, reason="Unreachable", message=f"{KUBE_CLIENT}: {error}")

    def room(self, refs: Collection[ObjectRef]) -> AbstractAsyncContextManager[None]:
        """To be held from the question for a volume's objects until its files are written."""
        return self._volumes_of_many if len(refs) > MANY else nullcontext()

    async def all_of(self, refs: Sequence[ObjectRef]) -> dict[ObjectRef, ObjectState]:
        """Raises ContentError, and asks for no more of them, when they are too large together."""
        found: dict[ObjectRef, ObjectState] = {}
        size = 0
        for at in range(0, len(refs), AT_ONCE):
            few = refs[at : at + AT_ONCE]
            for ref, state in zip(few, await asyncio.gather(*map(self.object, few)), strict=True):
                size += len(state.body)
                found[ref] = state
            if size > MOST_BYTES:
                raise ContentError(f"its secrets and config maps have more than {MOST_BYTES >> 20} MiB in all")
        return found

    async def trust_bundles(self, query: BundleQuery) -> TrustBundles:
        if not self._gate(TRUST_BUNDLE_GATE):
            return TrustBundles(error=GATE_OFF)
        question = GetTrustBundles(query.name, query.signer, OBJECT_SECONDS)
        try:
            async with self._permits:
                return await self._actor.ask(KUBE_CLIENT, question, timeout=2 * OBJECT_SECONDS + 5.0)
        except AskError as error:
            return TrustBundles(error=f"{KUBE_CLIENT}: {error}")

    async def call(self, call: ApiCall) -> ApiAnswer:
        try:
            return await self._actor.ask(KUBE_CLIENT, call, timeout=CALL_SECONDS)
        except AskError as error:
            return ApiAnswer(status=0, reason="Unreachable", message=f"{KUBE_CLIENT}: {error}")
