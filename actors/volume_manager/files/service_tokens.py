"""Service account tokens of this node's pods, kept in memory and requested again before they expire (TokenRequest API).

A token is replaced when less than a fifth of its lifetime is left, or after a day, with jitter, so that not all are
requested at once. When a request fails, the cached token is used until it expires.
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

from actors.api_clients.kube_client.messages import ApiAnswer, ApiCall
from actors.shared.api.permission import when_permitted
from supervision.errors import UNREADABLE

from .content_error import ContentError
from .projections import PodTokenRequest

OLDEST_SECONDS: Final = 24 * 3600.0
JITTER_SECONDS: Final = 10.0
NOT_KNOWN_YET: Final = ("Forbidden", "NotFound")
"""Reasons of a refusal for a new pod: the server looks it up in its own cache, which may not have the pod or its node
yet (admission plugin NodeRestriction)."""
REMAINING_SHARE: Final = 0.2
"""A token is replaced when this share of its lifetime is left."""

Call = Callable[[ApiCall], Awaitable[ApiAnswer]]


class _CachedToken(msgspec.Struct, frozen=True):
    """Times are seconds since 1970."""

    token: str
    requested_at: float
    expires_at: float
    replace_at: float


class _Status(msgspec.Struct):
    token: str
    expirationTimestamp: str


class _Answer(msgspec.Struct):
    status: _Status


class ServiceTokens:
    """The tokens by request."""

    def __init__(
        self,
        call: Call,
        clock: Callable[[], float] = time.time,
        rng: Callable[[], float] = random.random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._call, self._clock, self._rng, self._sleep = call, clock, rng, sleep
        self._cached: dict[PodTokenRequest, _CachedToken] = {}

    async def get(self, request: PodTokenRequest) -> str:
        """The token. Raises ContentError when there is none."""
        return (await self.get_until(request))[0]

    async def get_until(self, request: PodTokenRequest) -> tuple[str, float]:
        """The token and its expiry, seconds since 1970. Raises ContentError when there is none."""
        cached, now = self._cached.get(request), self._clock()
        if cached is not None and cached.requested_at <= now < cached.replace_at:
            return cached.token, cached.expires_at
        try:
            cached = self._cached[request] = await self._fetch(request)
        except ContentError:
            if cached is None or self._clock() >= cached.expires_at:
                raise
        return cached.token, cached.expires_at

    def due(self, request: PodTokenRequest) -> bool:
        """Whether the token is missing or due for replacement."""
        cached, now = self._cached.get(request), self._clock()
        return cached is None or not cached.requested_at <= now < cached.replace_at

    def forget(self, uid: str) -> None:
        """Drop the tokens of a pod."""
        self._cached = {request: cached for request, cached in self._cached.items() if request.uid != uid}

    async def _fetch(self, request: PodTokenRequest) -> _CachedToken:
        requested_at = self._clock()
        answer = await when_permitted(lambda: self._call(token_call(request)), self._sleep, NOT_KNOWN_YET)
        if not answer.ok:
            why = answer.message or f'serviceaccounts "{request.account}": {answer.reason or answer.status}'
            raise ContentError(f"failed to fetch token: {why}")
        try:
            status = msgspec.json.decode(answer.body, type=_Answer).status
            expires_at = datetime.datetime.fromisoformat(status.expirationTimestamp.replace("Z", "+00:00")).timestamp()
        except UNREADABLE as error:
            raise ContentError(f"failed to fetch token: the API server's answer cannot be read: {error}") from None
        replace_at = min(expires_at - REMAINING_SHARE * (expires_at - requested_at), requested_at + OLDEST_SECONDS)
        return _CachedToken(status.token, requested_at, expires_at, replace_at - JITTER_SECONDS * self._rng())


def token_call(request: PodTokenRequest) -> ApiCall:
    body = {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": request.account, "namespace": request.namespace},
        "spec": {
            "audiences": [request.audience] if request.audience else None,
            "expirationSeconds": request.seconds,
            "boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": request.pod, "uid": request.uid},
        },
    }
    namespace, account = quote(request.namespace, safe=""), quote(request.account, safe="")
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    return ApiCall(method="POST", path=path, body=msgspec.json.encode(body))
