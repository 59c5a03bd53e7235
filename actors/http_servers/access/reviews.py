"""TokenReviews (which user has this token) and SubjectAccessReviews (what a user may do) of the API server."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import msgspec

from actors.api_clients.kube_client.messages import ApiAnswer, ApiCall
from supervision.errors import UNREADABLE

from .answer_cache import AnswerCache

T = TypeVar("T")
Call = Callable[[ApiCall], Awaitable[ApiAnswer]]
_RETRIES: Final = 5
_FIRST_SECONDS, _FACTOR, _JITTER = 0.5, 1.5, 0.2
_CALL_SECONDS: Final = 10.0
MAX_CALLS: Final = 8
"""The most concurrent reviews. All requests of the node share one rate limit of the API client, and callers with
invented tokens must not use it up."""


class UserInfo(msgspec.Struct, frozen=True):
    """An authenticated caller."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: dict[str, list[str]] = {}


class ReviewFailed(Exception):
    """The API server gave no usable answer: access is denied."""


class _UserInfo(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: list[str] = []
    extra: dict[str, list[str]] = {}


class _TokenStatus(msgspec.Struct):
    authenticated: bool = False
    user: _UserInfo = msgspec.field(default_factory=_UserInfo)


class _TokenReview(msgspec.Struct):
    status: _TokenStatus = msgspec.field(default_factory=_TokenStatus)


class _AccessStatus(msgspec.Struct):
    allowed: bool = False


class _AccessReview(msgspec.Struct):
    status: _AccessStatus = msgspec.field(default_factory=_AccessStatus)


class Reviews:
    """`call` sends a request to the API server. The durations, in seconds: how long an answer is cached."""

    def __init__(
        self,
        call: Call,
        *,
        token_seconds: float,
        allowed_seconds: float,
        denied_seconds: float,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._call, self._pause, self._salt = call, pause, os.urandom(16)
        self._permits = asyncio.Semaphore(MAX_CALLS)
        self._users: AnswerCache[UserInfo | None] = AnswerCache(lambda user: token_seconds)
        self._permissions: AnswerCache[bool] = AnswerCache(
            lambda allowed: allowed_seconds if allowed else denied_seconds
        )

    async def user_of(self, token: str) -> UserInfo | None:
        """The token's user; None for an invalid token. Raises ReviewFailed."""
        # the cache key is a hash, so that a memory dump shows no token
        key = hashlib.blake2b(token.encode(errors="surrogateescape"), key=self._salt).digest()
        return await self._users.get(key, lambda: self._review_token(token))

    async def _review_token(self, token: str) -> UserInfo | None:
        body = {"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "spec": {"token": token}}
        review = await self._post("/apis/authentication.k8s.io/v1/tokenreviews", body, _TokenReview)
        found = review.status.user
        if not review.status.authenticated or not found.username:
            return None
        return UserInfo(found.username, tuple(found.groups), found.uid, found.extra)

    async def may(self, user: UserInfo, verb: str, subresource: str, node: str) -> bool:
        """Whether the user may do this with the node. Raises ReviewFailed."""
        attributes = {"verb": verb, "version": "v1", "resource": "nodes", "subresource": subresource, "name": node}
        key = (user.name, user.groups, user.uid, msgspec.json.encode(user.extra), verb, subresource)
        return await self._permissions.get(key, lambda: self._review_access(user, attributes))

    async def _review_access(self, user: UserInfo, attributes: dict[str, str]) -> bool:
        spec = {
            "resourceAttributes": attributes,
            "user": user.name,
            "groups": user.groups,
            "uid": user.uid,
            "extra": user.extra,
        }
        body = {"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "spec": spec}
        review = await self._post("/apis/authorization.k8s.io/v1/subjectaccessreviews", body, _AccessReview)
        return review.status.allowed

    async def _post(self, path: str, body: dict[str, Any], kind: type[T]) -> T:
        call = ApiCall(method="POST", path=path, body=msgspec.json.encode(body), timeout=_CALL_SECONDS)
        pause = _FIRST_SECONDS
        for attempt in range(_RETRIES):
            async with self._permits:
                answer = await self._call(call)
            if answer.ok:
                try:
                    return msgspec.json.decode(answer.body, type=kind)
                except UNREADABLE as error:
                    raise ReviewFailed(f"{path}: the answer cannot be read: {error}") from None
            if (answer.status and answer.status < 500 and answer.status != 429) or attempt == _RETRIES - 1:
                break
            await self._pause(pause * (1 + _JITTER * random.random()))  # noqa: S311 - no secret
            pause *= _FACTOR
        raise ReviewFailed(f"{path}: {answer.reason or answer.status}: {answer.message}")
