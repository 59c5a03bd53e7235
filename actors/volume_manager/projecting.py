"""Fills the volumes whose files come from elsewhere (objects of the API, tokens, the pod's own fields), and knows which
are to be filled again when something of that has changed.

Crash-only: what a volume has is on disk; the workers tell of their pods again when the volume manager is new.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import msgspec

from actors.api_clients.messages import KUBE_CLIENT, ApiAnswer, ApiCall, GetObject, ObjectRef, ObjectState
from actors.shared.kube.pod import Pod
from actors.shared.kube.quantity import QuantityError
from actors.shared.linux.beneath import UnsafePathError
from supervision.actor import Actor, AskError

from . import atomic, content, making, plan
from .content import ContentError, Given, TokenWanted
from .downward import DownwardError
from .service_tokens import ServiceTokens

OBJECT_SECONDS: Final = 5.0
CALL_SECONDS: Final = 15.0
_ANYBODY: Final = 0o777


class _Followed(msgspec.Struct, frozen=True):
    pod: bytes
    objects: frozenset[ObjectRef]
    tokens: frozenset[TokenWanted]


class Projecting:
    """For the volume manager: `mount_memory` has a tmpfs made, '' or the error's text."""

    def __init__(
        self,
        actor: Actor,
        mount_memory: Callable[[plan.Projected], Awaitable[str]],
        allocatable: Callable[[], Awaitable[dict[str, int]]],
        stamp: Callable[[], str],
        tokens: ServiceTokens | None = None,
    ) -> None:
        self._actor, self._mount_memory, self._allocatable, self._stamp = actor, mount_memory, allocatable, stamp
        self.tokens = tokens or ServiceTokens(self._call)
        self._followed: dict[str, _Followed] = {}
        self._mounted: set[str] = set()

    # -- which pods ---------------------------------------------------------------------------------------------------
    def follow(self, uid: str, pod: Pod, data: bytes, steps: Iterable[plan.Step]) -> None:
        projected = [step for step in steps if isinstance(step, plan.Projected)]
        if not projected:
            self._followed.pop(uid, None)
            return
        sources = [source for step in projected for source in step.sources]
        objects = frozenset(content.objects_wanted(pod.metadata.namespace, sources))
        self._followed[uid] = _Followed(data, objects, frozenset(content.tokens_wanted(pod, sources)))

    def forget(self, uid: str, pod_dir: str) -> None:
        """Its volumes are gone."""
        self._followed.pop(uid, None)
        self.tokens.forget(uid)
        self._mounted = {path for path in self._mounted if not path.startswith(f"{pod_dir}/")}

    def data(self, uid: str) -> bytes:
        """The pod as it was last told; empty when it is not followed."""
        followed = self._followed.get(uid)
        return followed.pod if followed is not None else b""

    def having(self, ref: ObjectRef) -> list[str]:
        """UIDs of the pods with a volume made of that object."""
        return [uid for uid, followed in self._followed.items() if ref in followed.objects]

    def due(self) -> list[str]:
        """UIDs of the pods with a token that is to be had anew."""
        return [uid for uid, followed in self._followed.items() if any(map(self.tokens.due, followed.tokens))]

    @staticmethod
    def filled(step: plan.Projected) -> bool:
        """Whether the volume has files, of now or of before."""
        return os.path.isdir(f"{step.path}/{atomic.DATA}")

    # -- filling ------------------------------------------------------------------------------------------------------
    async def fill(self, pod: Pod, step: plan.Projected) -> str:
        """Bring the volume's files up to date. '' or the error's text."""
        try:
            files = content.files(pod, step.sources, step.mode, await self._gather(pod, step))
        except (ContentError, DownwardError, QuantityError) as error:
            return str(error)
        if step.size is not None and step.path not in self._mounted:
            if complaint := await self._mount_memory(step):
                return complaint
            self._mounted.add(step.path)
        try:
            if step.size is None:
                making.make_directory(step.path, _ANYBODY, step.group)
            atomic.write(step.path, files, f"..{self._stamp()}", step.group)
        except (OSError, UnsafePathError) as error:
            return str(error)
        return ""

    async def _gather(self, pod: Pod, step: plan.Projected) -> Given:
        refs = content.objects_wanted(pod.metadata.namespace, step.sources)
        wanted = content.tokens_wanted(pod, step.sources)
        objects, tokens = await asyncio.gather(
            asyncio.gather(*map(self._object, refs)), asyncio.gather(*map(self.tokens.get, wanted))
        )
        own = any(source.downwardAPI is not None for source in step.sources)
        return Given(
            dict(zip(refs, objects, strict=True)),
            dict(zip(wanted, tokens, strict=True)),
            await self._allocatable() if own else {},
        )

    async def _object(self, ref: ObjectRef) -> ObjectState:
        question = GetObject(ref, OBJECT_SECONDS)
        try:
            return await self._actor.ask(KUBE_CLIENT, question, ObjectState, timeout=OBJECT_SECONDS + 5.0)
        except AskError as error:
            return ObjectState(ref, reason="Unreachable", message=f"{KUBE_CLIENT}: {error}")

    async def _call(self, call: ApiCall) -> ApiAnswer:
        try:
            return await self._actor.ask(KUBE_CLIENT, call, ApiAnswer, timeout=CALL_SECONDS)
        except AskError as error:
            return ApiAnswer(status=0, reason="Unreachable", message=f"{KUBE_CLIENT}: {error}")
