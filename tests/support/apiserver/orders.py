"""/_test/: what a test in another process orders of the server. Administrators only.

GET  requests?since=SECONDS          what was asked, newest last
POST faults      a Fault             GET the orders with how often each was used; DELETE all
POST options     fields of Options   GET all of them
POST compact                         forget the history: older versions are 410
POST end-watches?resource=pods       as a restart of the server does, politely
POST drop-connections                and impolitely
POST grants      a Grant             POST tokens {"token": .., "name": .., "groups": [..]}   POST revoke {"name": ..}
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from .authorizer import Grant
from .errors import StatusError
from .faults import Fault, Seen
from .request import Answer, Reply, Request, User

if TYPE_CHECKING:
    from .request_handler import Handling


class Orders:
    def __init__(self, handling: Handling) -> None:
        self._handling = handling
        self.drop_connections: Callable[[], None] = lambda: None

    async def obey(self, request: Request) -> Reply:
        """Raises StatusError."""
        if not request.user.admin:
            raise StatusError(403, "administrators only")
        name = request.path.removeprefix("/_test/").replace("-", "_")
        found: Callable[[Request], Any] | None = getattr(self, f"_{request.method.lower()}_{name}", None)
        if found is None:
            raise StatusError(404, f"no such order: {request.method} {request.path}")
        return Answer(200, msgspec.json.encode(found(request)))

    def _get_requests(self, request: Request) -> Any:
        since = float(request.query.get("since", 0))
        return [_shown(one) for one in self._handling.book if one.at >= since]

    def _get_faults(self, request: Request) -> Any:
        return self._handling.faults.orders

    def _post_faults(self, request: Request) -> Any:
        return self._handling.faults.add(msgspec.json.decode(request.body, type=Fault))

    def _delete_faults(self, request: Request) -> Any:
        return self._handling.faults.clear()

    def _get_options(self, request: Request) -> Any:
        return self._handling.options

    def _post_options(self, request: Request) -> Any:
        for name, value in request.json().items():
            setattr(self._handling.options, name, value)
        return self._handling.options

    def _post_compact(self, request: Request) -> Any:
        return self._handling.registry.store.compact()

    def _post_end_watches(self, request: Request) -> Any:
        return self._handling.registry.store.end_watches(request.query.get("resource", ""))

    def _post_drop_connections(self, request: Request) -> Any:
        return self.drop_connections()

    def _post_grants(self, request: Request) -> Any:
        self._handling.authorizer.grants.append(msgspec.json.decode(request.body, type=Grant))

    def _post_tokens(self, request: Request) -> Any:
        wanted = request.json()
        groups = (*wanted.get("groups", ()), "system:authenticated")
        self._handling.users.static[wanted["token"]] = User(wanted["name"], groups)

    def _post_revoke(self, request: Request) -> Any:
        self._handling.users.revoked.add(request.json()["name"])


def _shown(seen: Seen) -> dict[str, Any]:
    return {**vars(seen), "agent": seen.agent, "body": seen.body.decode(errors="replace")}
