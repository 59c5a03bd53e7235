"""The routes of a server, derived from the endpoints and the configuration."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tornado.httputil import HTTPServerRequest
from tornado.web import Application

from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration

from .endpoint import Availability, Endpoint, availability, disabled_text, pattern
from .handler import DisabledHandler, EndpointHandler, NotFoundHandler, ServerHandler
from .paths import cleaned, of_target, unescaped
from .server_state import ServerState


def application(state: ServerState, endpoints: Iterable[Endpoint], config: KubeletConfiguration) -> Application:
    """The application for tornado."""
    given = {"state": state}
    routes: list[tuple[str, Any, dict[str, Any]]] = []
    known = list(endpoints)
    for endpoint in known:
        available = availability(endpoint, config, read_only=state.read_only)
        if available is Availability.SERVED:
            for path in endpoint.paths:
                found = pattern(path, exact=endpoint.exact)
                routes.append((found, EndpointHandler, {**given, "endpoint": endpoint}))
        elif available is Availability.DISABLED:
            below = "" if endpoint.exact else "(?:/.*)?"
            text = disabled_text(endpoint, config, read_only=state.read_only)
            routes.append((re.escape(endpoint.prefix) + below, DisabledHandler, {**given, "text": text}))
        else:
            continue
        page = endpoint.page if available is Availability.SERVED else ""
        state.add_route(endpoint.prefix, page=page, long_running=endpoint.long_running)
    return _Routes(
        routes,
        default_handler_class=NotFoundHandler,
        default_handler_args=given,
        log_function=lambda handler: None,
    )


class CleanedPathHandler(ServerHandler):
    """Answers for a path with empty segments or dots."""

    path: str

    def initialize(self, state: ServerState, path: str = "") -> None:
        super().initialize(state)
        self.path = path

    async def prepare(self) -> None:
        await super().prepare()
        if not self._finished:
            query = f"?{self.request.query}" if self.request.query else ""
            self.redirect(self.path + query, status=307)


class _Routes(Application):
    """Paths that differ in needless escapes are the same; one with empty segments or dots is redirected, as by Go."""

    def find_handler(self, request: HTTPServerRequest, **given: Any) -> Any:
        request.path = unescaped(of_target(request.path))
        path = cleaned(request.path)
        if path == request.path:
            return super().find_handler(request, **given)
        known = self.settings["default_handler_args"]
        return self.get_handler_delegate(request, CleanedPathHandler, {**known, "path": path})
