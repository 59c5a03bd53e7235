"""The HTTP server of `supervise observe`. The agent is asked in a thread, because it may hang."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec
import tornado.web

from supervision.cli.command import CommandError
from supervision.errors import UNREADABLE, error_text
from supervision.protocol import Inject

from .access import SessionAccess, host_allowed, origin_allowed
from .queries import AgentQueries

PAGE: Final = Path(__file__).parent / "page"
_FILES: Final = {
    "": ("index.html", "text/html"),
    "observe.css": ("observe.css", "text/css"),
    **{name: (name, "text/javascript") for name in ("observe.js", "elements.js", "charts.js", "flow.js", "views.js")},
}
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
KEY_HEADER: Final = "X-Observe-Key"
_OPEN: Final = "Open The Link That supervise observe Has Printed"
_SPENT: Final = "This Link Has Opened A Browser Already: End supervise observe, And Start It Again For A New Link"
MAX_BODY: Final = 4096
Order = Callable[[Inject], str]
"""Injects a fault; returns what happened. Raises CommandError."""


class _Handler(tornado.web.RequestHandler):
    """Base of all handlers: access, and the form of errors."""

    def initialize(self, access: SessionAccess, cookie: str, **more: Any) -> None:
        self.access, self.cookie = access, cookie

    def set_default_headers(self) -> None:
        self.clear_header("Server")
        for name, value in _HEADERS.items():
            self.set_header(name, value)

    def prepare(self) -> None:
        if not host_allowed(self.request.host):
            raise tornado.web.HTTPError(421, reason="Not A Name Of Loopback")
        if not self.access.admits(self.get_cookie(self.cookie, "") or ""):
            raise tornado.web.HTTPError(403, reason=_OPEN)

    def write_error(self, status_code: int, **more: Any) -> None:
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(f"{status_code}: {self._reason}\n")


class _Page(_Handler):
    """The page and its files; the link with the token opens the session."""

    def prepare(self) -> None:
        token = self.get_query_argument("token", "")
        # a preview or a proxy that asks for the head of the link, or for its methods, opens no session
        opens = self.request.method == "GET" and self.request.path == "/" and host_allowed(self.request.host)
        if opens and (session := self.access.open(token)):
            self.set_cookie(self.cookie, session, httponly=True, samesite="Strict", path="/")
            self.redirect(f"/#{self.access.key}")
            return
        if self.access.is_spent(token) and not self.access.admits(self.get_cookie(self.cookie, "") or ""):
            raise tornado.web.HTTPError(403, reason=_SPENT)
        super().prepare()

    def get(self, name: str) -> None:
        if self._finished:
            return
        if name not in _FILES:
            raise tornado.web.HTTPError(404)
        file, kind = _FILES[name]
        self.set_header("Content-Type", f"{kind}; charset=utf-8")
        self.finish((PAGE / file).read_bytes())


class _Data(_Handler):
    """One question, as JSON: `{"error": text}` with 503 when the agent does not answer."""

    def initialize(self, access: SessionAccess, cookie: str, **more: Any) -> None:
        super().initialize(access, cookie)
        self.question: Callable[[], Any] = more["question"]

    def prepare(self) -> None:
        super().prepare()
        if not self.access.has_key(self.request.headers.get(KEY_HEADER, "")):
            raise tornado.web.HTTPError(403, reason=_OPEN)

    async def get(self) -> None:
        await self.answer(self.question)

    async def answer(self, question: Callable[[], Any]) -> None:
        """Send what `question` returns."""
        self.set_header("Content-Type", "application/json")
        try:
            found = await asyncio.to_thread(question)
        except (CommandError, OSError) as error:
            self.set_status(503)
            found = {"error": error_text(error)}
        self.finish(json.dumps(msgspec.to_builtins(found)))


class _Faults(_Data):
    """The order to inject a fault."""

    def initialize(self, access: SessionAccess, cookie: str, **more: Any) -> None:
        super().initialize(access, cookie, question=dict)
        self.order: Order | None = more["order"]

    async def get(self) -> None:
        raise tornado.web.HTTPError(405)

    async def post(self) -> None:
        if not origin_allowed(self.request.headers.get("Origin", ""), self.request.host):
            raise tornado.web.HTTPError(403, reason="Not An Order Of This Page")
        order = self.order
        if order is None:
            raise tornado.web.HTTPError(403, reason="This Page Is Read-Only")
        try:
            fault = msgspec.json.decode(self.request.body, type=Inject)
        except UNREADABLE as error:
            self.set_status(400)
            self.finish({"error": str(error)})
            return
        await self.answer(lambda: {"done": order(fault)})


def application(
    access: SessionAccess, cookie: str, queries: AgentQueries, order: Order | None
) -> tornado.web.Application:
    """All paths. `cookie`: its name, which differs for two servers on one machine; `order`: None for read-only."""
    common = {"access": access, "cookie": cookie}
    questions = {
        "tree": queries.tree,
        "health": queries.health,
        "messages": queries.messages,
        "incidents": queries.incidents,
        "pods": queries.pods,
        "events": queries.events,
    }
    return tornado.web.Application(
        [
            *((f"/data/{name}", _Data, {**common, "question": question}) for name, question in questions.items()),
            ("/inject", _Faults, {**common, "order": order}),
            ("/([a-z.]*)", _Page, common),
        ],
        log_function=_no_log,
        default_handler_class=_NotFound,
        default_handler_args=common,
    )


class _NotFound(_Handler):
    def get(self) -> None:
        raise tornado.web.HTTPError(404)


def _no_log(handler: Any) -> None:
    """Requests are not logged, because the request that opens the session contains the token."""
