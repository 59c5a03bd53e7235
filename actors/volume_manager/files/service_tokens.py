"""Service account tokens of this node's pods, kept in memory and requested again before they expire (TokenRequest API).

A token is replaced when less than a fifth of its life is left, or after a day; each a little earlier by chance, so that
all do not come at once. When that fails, the old one is good as long as it is good.
"""

from __future__ import annotations

import asyncio
import datetime
import random
import time
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import quote

import msgspec

from actors.api_clients.messages import ApiAnswer, ApiCall
from supervision.errors import UNREADABLE

from .projections import ContentError, PodTokenRequest

OLDEST_SECONDS: Final = 24 * 3600.0
JITTER_SECONDS: Final = 10.0
LEFT: Final = 0.2
"""Share of its life that a token has left when it is replaced."""
FORBIDDEN_PAUSES: Final = (0.1, 0.4)
"""Seconds before a refused request is repeated: the server may not know yet that the pod is on this node."""

Call = Callable[[ApiCall], Awaitable[ApiAnswer]]


class _Kept(msgspec.Struct, frozen=True):
    token: str
    asked: float
    ends: float
    renew: float
    """Seconds since 1970, all."""


class _Status(msgspec.Struct):
    token: str
    expirationTimestamp: str


class _Answer(msgspec.Struct):
    status: _Status


class ServiceTokens:
    """By request."""

    def __init__(
        self,
        call: Call,
        clock: Callable[[], float] = time.time,
        rng: Callable[[], float] = random.random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._call, self._clock, self._rng, self._sleep = call, clock, rng, sleep
        self._kept: dict[PodTokenRequest, _Kept] = {}

    async def get(self, wanted: PodTokenRequest) -> str:
        """Raises ContentError when there is none."""
        return (await self.get_until(wanted))[0]

    async def get_until(self, wanted: PodTokenRequest) -> tuple[str, float]:
        """With its expiry, seconds since 1970. Raises ContentError when there is none."""
        kept, now = self._kept.get(wanted), self._clock()
        if kept is not None and kept.asked <= now < kept.renew:
            return kept.token, kept.ends
        try:
            kept = self._kept[wanted] = await self._ask(wanted)
        except ContentError:
            if kept is None or self._clock() >= kept.ends:
                raise
        return kept.token, kept.ends

    def due(self, wanted: PodTokenRequest) -> bool:
        """Whether the token is missing or due for replacement."""
        kept, now = self._kept.get(wanted), self._clock()
        return kept is None or not kept.asked <= now < kept.renew

    def forget(self, uid: str) -> None:
        """The pod is gone."""
        self._kept = {wanted: kept for wanted, kept in self._kept.items() if wanted.uid != uid}

    async def _ask(self, wanted: PodTokenRequest) -> _Kept:
        asked = self._clock()
        answer = await self._call(request(wanted))
        for pause in FORBIDDEN_PAUSES:
            if answer.ok or answer.reason != "Forbidden":
                break
            await self._sleep(pause)
            answer = await self._call(request(wanted))
        if not answer.ok:
            why = answer.message or f'serviceaccounts "{wanted.account}": {answer.reason or answer.status}'
            raise ContentError(f"failed to fetch token: {why}")
        try:
            status = msgspec.json.decode(answer.body, type=_Answer).status
            ends = datetime.datetime.fromisoformat(status.expirationTimestamp.replace("Z", "+00:00")).timestamp()
        except UNREADABLE as error:
            raise ContentError(f"failed to fetch token: the API server's answer cannot be read: {error}") from None
        life = min(ends - LEFT * (ends - asked), asked + OLDEST_SECONDS)
        return _Kept(status.token, asked, ends, life - JITTER_SECONDS * self._rng())


def request(wanted: PodTokenRequest) -> ApiCall:
    body = {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": wanted.account, "namespace": wanted.namespace},
        "spec": {
            "audiences": [wanted.audience] if wanted.audience else None,
            "expirationSeconds": wanted.seconds,
            "boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": wanted.pod, "uid": wanted.uid},
        },
    }
    namespace, account = quote(wanted.namespace, safe=""), quote(wanted.account, safe="")
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    return ApiCall(method="POST", path=path, body=msgspec.json.encode(body))
