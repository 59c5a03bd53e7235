"""The base class of the handlers of the node server and the read-only server, on tornado.

tornado decodes and routes the path once. An endpoint uses a part of it in a file path only after it has found that the
part names a pod of this node.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from contextlib import ExitStack
from typing import Any, Final, TypeVar, cast

from tornado.iostream import StreamClosedError
from tornado.web import HTTPError, RequestHandler

from actors.http_servers.access.authentication import ANONYMOUS
from actors.http_servers.access.authorization import Denial
from actors.http_servers.access.reviews import UserInfo
from supervision.actor import AskError
from supervision.addresses import ActorName
from supervision.message import Message, Question
from supervision.time_scale import scaled

from . import request_spans
from .client_faults import CLIENT_FAULTS
from .endpoint import Endpoint
from .http_error import HttpError
from .server_state import ServerState
from .z_page import Form

ASK_SECONDS = 5.0
STEP_SECONDS = 5.0
"""Seconds that one step may hold the server without counting as a hang: on a busy machine, a page with the figures of
every pod takes long."""
SHOWN_PATH, SHOWN_ERROR = 200, 500
"""The most characters of a path, and of an error, in the log."""
_SERVER_FAULT: Final = 500
R = TypeVar("R", bound=Message)
T = TypeVar("T")


class ServerHandler(RequestHandler):
    """Checks access first; counts, traces and logs requests; answers errors as plain text."""

    state: ServerState
    disconnected = False
    """The client has closed its connection."""
    _check: asyncio.Task[Denial | UserInfo] | None = None
    """The access check of the request."""
    _work: asyncio.Task[Any] | None = None
    """The task that is cancelled when the client disconnects."""
    _spans: ExitStack
    """Closed at the end of the request."""

    def initialize(self, state: ServerState) -> None:
        self.state = state

    async def ask(self, actor: ActorName, question: Question[R]) -> R:
        """Ask another actor. Raises HttpError (503) when it does not answer in time."""
        try:
            return await self.state.actor.ask(actor, question, timeout=ASK_SECONDS)
        except AskError as error:
            raise HttpError(503, f"{actor}: {error}") from None

    async def while_connected(self, work: Coroutine[Any, Any, T]) -> T:
        """Raises StreamClosedError when the client disconnects before the work is done, which is cancelled then."""
        self._work = asyncio.ensure_future(work)
        if self.disconnected:
            self._work.cancel()
        try:
            return cast(T, await self._work)
        except asyncio.CancelledError:
            if not self.disconnected:
                raise
            raise StreamClosedError from None

    def refuse(self, status: int, text: str) -> None:
        """Answer with exactly this text: the API server makes it the message of its own answer."""
        self.set_status(status)
        self.finish(text)

    def finish_json(self, body: bytes) -> None:
        """Answer with this JSON document."""
        self.set_header("Content-Type", "application/json")
        self.finish(body)

    def finish_form(self, form: Form, fields: Mapping[str, Any]) -> None:
        """Answer with this page in the form that was asked for."""
        for name, value in form.headers.items():
            self.set_header(name, value)
        self.finish(form.page(fields))

    def finish(self, chunk: str | bytes | dict[str, Any] | None = None) -> asyncio.Future[None]:
        stream = cast(Any, self.request.connection).stream
        size = sum(map(len, self._write_buffer)) + len(chunk or "")
        written = super().finish(chunk)
        if self.state.connections is not None and stream is not None:
            self.state.connections.answering(stream, size, written)
        return written

    # -- hooks of tornado -------------------------------------------------------------------------------------------
    def on_connection_close(self) -> None:
        self.disconnected = True
        for task in (self._check, self._work):
            if task is not None:
                task.cancel()  # the client is gone

    def set_default_headers(self) -> None:
        self.clear_header("Server")
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.set_header("X-Content-Type-Options", "nosniff")

    async def prepare(self) -> None:
        self._check = asyncio.ensure_future(self.state.access.check(self.request))
        try:
            found = await self._check
        except asyncio.CancelledError:
            if not self.disconnected:
                raise
            self.finish()  # the client is gone, so this only ends the handler
            return
        if isinstance(found, Denial):
            if not self.disconnected:
                self.refuse(found.status, found.text)
            return
        self._trace()
        if self.state.connections is not None and self.request.connection is not None:
            owner = found.name if found != ANONYMOUS else self.request.remote_ip or ""
            self.state.connections.authenticated(cast(Any, self.request.connection).stream, owner)

    def _trace(self) -> None:
        """Begin the span of the request."""
        tracer = self.state.tracer
        labels = self.state.requests.labels(self.request.method or "", self.request.path)
        span = request_spans.start(tracer, self.request, labels["path"], public=self.state.read_only)
        if span is not None:
            self._spans.enter_context(tracer.around(span))
            self._spans.callback(lambda: request_spans.answered(span, self.get_status()))

    async def _execute(self, transforms: Any, *args: bytes, **kwargs: bytes) -> None:
        """Returns after the answer; for a connection that becomes a stream, after the stream."""
        labels = self.state.requests.labels(self.request.method or "", self.request.path)
        self.state.requests.start(labels)
        label = f"request {labels['method']} /{labels['path']}"
        self.state.actor.work_for(label, allowance_seconds=scaled(STEP_SECONDS))
        self._spans = ExitStack()
        try:
            with self._spans:
                if self.request.method not in self.SUPPORTED_METHODS:
                    # tornado refuses an unknown method before it asks who calls
                    self._transforms = transforms
                    await ServerHandler.prepare(self)
                if not self._finished:
                    await super()._execute(transforms, *args, **kwargs)
        finally:
            seconds = self.request.request_time()
            self.state.requests.end(labels, seconds)
            # the query is not logged: it may contain a command
            self.state.actor.log.debug(
                "%s %s %d %.1f ms", labels["method"], labels["path"], self._status_code, 1000 * seconds
            )

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        self.finish({404: "404 page not found\n", 405: "405: Method Not Allowed"}.get(status_code, self._reason + "\n"))

    def log_exception(self, kind: Any, value: Any, trace: Any) -> None:
        """A malformed request needs no access, so its line is one of a limited number, and short."""
        what = f"{self.request.method} {self.request.path[:SHOWN_PATH]}: {str(value)[:SHOWN_ERROR]}"
        if isinstance(value, HTTPError) and value.status_code < _SERVER_FAULT:
            CLIENT_FAULTS.info("%s", what)
        else:
            self.state.actor.log.error("%s", what)

    def compute_etag(self) -> None:
        return None


class EndpointHandler(ServerHandler):
    """Answers for one endpoint."""

    endpoint: Endpoint

    def initialize(self, state: ServerState, endpoint: Endpoint | None = None) -> None:
        super().initialize(state)
        self.endpoint = cast(Endpoint, endpoint)

    async def prepare(self) -> None:
        # load balancers request /healthz without a certificate
        if not (self.endpoint.open_standalone and self.state.access.health_is_open):
            await super().prepare()

    async def _answer(self, **names: str) -> None:
        method = self.request.method or ""
        # tornado sends no body in answer to HEAD
        answer = self.endpoint.answers.get("GET" if method == "HEAD" and self.endpoint.heads else method)
        if answer is None:
            self.set_status(405)
            self.write_error(405)
            return
        try:
            await answer(self, **names)
        except HttpError as error:
            self.refuse(error.status, str(error))

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        if status_code == 405:  # also of a method that tornado does not know
            self.set_header("Allow", ", ".join(sorted(self.endpoint.answers)))
        super().write_error(status_code, **kwargs)

    get = head = post = put = delete = patch = options = _answer


class DisabledHandler(ServerHandler):
    """Answers for an endpoint that is disabled."""

    text: str

    def initialize(self, state: ServerState, text: str = "") -> None:
        super().initialize(state)
        self.text = text

    async def prepare(self) -> None:
        await super().prepare()
        if not self._finished:
            self.refuse(405, self.text)


class NotFoundHandler(ServerHandler):
    """Answers for any other path, after the access check: a caller without access does not learn which paths exist."""

    async def prepare(self) -> None:
        await super().prepare()
        if not self._finished:
            self.refuse(404, "404 page not found\n")
