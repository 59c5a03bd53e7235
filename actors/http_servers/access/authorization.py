"""What a caller may do: SubjectAccessReviews of the node's subresources, or everything (AlwaysAllow)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from .reviews import ReviewFailed, Reviews, User

VERBS: Final = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Refusal(msgspec.Struct, frozen=True):
    """HTTP status and text."""

    status: int
    text: str


class Authorizer(Protocol):
    async def refusal(self, user: User, method: str, path: str) -> Refusal | None:
        """Why the user may not do that; None: it may."""


class AlwaysAllow:
    """Whoever is known may do everything."""

    async def refusal(self, user: User, method: str, path: str) -> Refusal | None:
        return None


class Webhook:
    """Asks the API server. `subresources`: those of a path, any of which is enough."""

    def __init__(self, reviews: Reviews, node: str, subresources: Callable[[str], tuple[str, ...]]) -> None:
        self._reviews, self._node, self._subresources = reviews, node, subresources

    async def refusal(self, user: User, method: str, path: str) -> Refusal | None:
        verb, over = VERBS.get(method, ""), self._subresources(path)
        what = f"(user={user.name}, verb={verb}, resource=nodes, subresource(s)=[{' '.join(over)}])"
        try:
            for subresource in over:
                if await self._reviews.may(user, verb, subresource, self._node):
                    return None
        except ReviewFailed:
            return Refusal(500, f"Authorization error {what}")
        return Refusal(403, f"Forbidden {what}")
