"""Authorizes callers: SubjectAccessReviews of the node's subresources, or everything (AlwaysAllow)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from .reviews import ReviewFailed, Reviews, UserInfo

VERBS: Final = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Denial(msgspec.Struct, frozen=True):
    """The answer to a caller without access: HTTP status and text."""

    status: int
    text: str


class Authorizer(Protocol):
    async def denial(self, user: UserInfo, method: str, path: str) -> Denial | None:
        """The denial of this request; None if it is allowed."""


class AlwaysAllow:
    """Every authenticated user may do everything."""

    async def denial(self, user: UserInfo, method: str, path: str) -> Denial | None:
        return None


class Webhook:
    """Asks the API server. `subresources` returns the node subresources of a path; permission for any of them is
    enough."""

    def __init__(self, reviews: Reviews, node: str, subresources: Callable[[str], tuple[str, ...]]) -> None:
        self._reviews, self._node, self._subresources = reviews, node, subresources

    async def denial(self, user: UserInfo, method: str, path: str) -> Denial | None:
        verb, over = VERBS.get(method, ""), self._subresources(path)
        what = f"(user={user.name}, verb={verb}, resource=nodes, subresource(s)=[{' '.join(over)}])"
        try:
            for subresource in over:
                if await self._reviews.may(user, verb, subresource, self._node):
                    return None
        except ReviewFailed:
            return Denial(500, f"Authorization error {what}")
        return Denial(403, f"Forbidden {what}\n")
