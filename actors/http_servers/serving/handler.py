"""What the node and the read-only server answer, path by path, on tornado.

The path is decoded and routed once, by the library; a handler never joins a part of it into a file path before it was
found to name a pod that this node has.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, cast

from tornado.iostream import StreamClosedError
from tornado.web import Application, RequestHandler

from actors.config_controller.messages import CONFIG_CONTROLLER, Configz, GetConfigz
from actors.http_servers.access.gates import Gate
from actors.http_servers.container_logs.log_file import LogPlace, LogRefused, find_log
from actors.http_servers.container_logs.query import LogQuery, QueryError, parse_query
from actors.http_servers.container_logs.reader import LogUnavailable, open_beneath, read_log
from actors.http_servers.exposition import actor_numbers
from actors.shared.config.agent import Agent
from actors.shared.kube.codec import ObjectError, decode
from actors.shared.kube.pod import Pod, PodStatus
from actors.shared.stats import disk
from actors.shared.tracing.tracer import OFF, Tracer
from actors.status_manager.messages import STATUS_MANAGER, GetPods, GetPodStatus, Pods, PodStatusFound
from supervision.actor import Actor, AskError
from supervision.addresses import ActorName
from supervision.protocol import FORK_SERVER, GetMetrics, GetTree, MetricsSnapshot, Tree

from . import health_checks, request_spans
from .request_metrics import READ_ONLY, READ_WRITE, Counting

ASK_SECONDS = 5.0
SCRAPE_SECONDS = 1.0


class Handler(RequestHandler):
    """Base: refuses before anything else, plain texts, no server banner."""

    actor: Actor
    gate: Gate

    def initialize(self, actor: Actor, gate: Gate) -> None:
        self.actor, self.gate = actor, gate

    _gone = False
    _spans: ExitStack
    """Left when the request has ended."""

    def on_connection_close(self) -> None:
        """The client has gone while its answer is on the way."""
        self._gone = True

    def set_default_headers(self) -> None:
        self.clear_header("Server")
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.set_header("X-Content-Type-Options", "nosniff")

    async def prepare(self) -> None:
        refusal = await self.gate.check(self.request)
        if refusal is None:
            self._trace()
        elif not self._gone:
            self.refuse(refusal.status, refusal.text)
        server = self.application.settings.get("server")
        if refusal is None and server is not None and self.request.connection is not None:
            server.known(cast(Any, self.request.connection).stream)

    def _trace(self) -> None:
        """The rest of the request is a span."""
        settings = self.application.settings
        tracer, counting = cast(Tracer, settings["tracer"]), cast(Counting, settings["counting"])
        labels = counting.labels(self.request.method or "", self.request.path)
        span = request_spans.begin(tracer, self.request, labels["path"], public=counting.kind == READ_ONLY)
        if span is not None:
            self._spans.enter_context(tracer.around(span))
            self._spans.callback(lambda: request_spans.answered(span, self.get_status()))

    async def _execute(self, transforms: Any, *args: bytes, **kwargs: bytes) -> None:
        """tornado's; ends with the answer, and where the connection becomes a stream with that."""
        counting: Counting = self.application.settings["counting"]
        labels = counting.labels(self.request.method or "", self.request.path)
        counting.begin(labels)
        self._spans = ExitStack()
        try:
            with self._spans:
                await super()._execute(transforms, *args, **kwargs)
        finally:
            seconds = self.request.request_time()
            counting.end(labels, seconds)
            # the query is not logged: it may hold a command
            self.actor.log.debug(
                "%s %s %d %.1f ms", labels["method"], labels["path"], self._status_code, 1000 * seconds
            )

    def refuse(self, status: int, text: str) -> None:
        self.set_status(status)
        self.finish(text + "\n")

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        self.finish(
            {404: "404 page not found\n", 405: "405 method not allowed\n"}.get(status_code, self._reason + "\n")
        )

    def log_exception(self, kind: Any, value: Any, trace: Any) -> None:
        self.actor.log.error("%s %s: %s", self.request.method, self.request.path, value)

    def compute_etag(self) -> None:
        return None


class NotFound(Handler):
    """Any other path: refused as the others, then 404."""

    async def prepare(self) -> None:
        await super().prepare()
        if not self._finished:
            self.refuse(404, "404 page not found")


class DebuggingOff(Handler):
    """In place of the debugging paths when they are switched off."""

    async def prepare(self) -> None:
        await super().prepare()
        if not self._finished:
            self.refuse(405, "Debug endpoints are disabled.")


class Healthz(Handler):
    """All checks, or the one named in the path."""

    async def prepare(self) -> None:
        """Standing alone open to everybody, as load balancers without a certificate ask it too."""
        if self.gate.guards_healthz:
            await super().prepare()

    async def get(self, name: str | None = None) -> None:
        tree = await find_tree(self.actor)
        results = health_checks.results(tree)
        if name is not None and name not in results:
            self.refuse(404, "404 page not found")
            return
        chosen = results if name is None else {name: results[name]}
        excluded = self.get_query_arguments("exclude")
        well, text = health_checks.report(
            chosen, excluded, verbose="verbose" in self.request.query_arguments or _bare(self)
        )
        self.set_status(200 if well else 500)
        self.finish(text)


def _bare(handler: Handler) -> bool:
    return "verbose" in str(handler.request.query).split("&")


class PodList(Handler):
    """/pods: every pod that is wanted here, as its source gave it, with its status."""

    async def get(self) -> None:
        try:
            pods = await self.actor.ask(STATUS_MANAGER, GetPods(), Pods, timeout=ASK_SECONDS)
        except AskError as error:
            self.refuse(503, f"status_manager: {error}")
            return
        self.set_header("Content-Type", "application/json")
        self.finish(pods.data)


class ConfigzPage(Handler):
    """/configz: the effective configuration, nothing else."""

    async def get(self) -> None:
        try:
            configz = await self.actor.ask(CONFIG_CONTROLLER, GetConfigz(), Configz, timeout=ASK_SECONDS)
        except AskError as error:
            self.refuse(503, f"config_controller: {error}")
            return
        self.set_header("Content-Type", "application/json")
        self.finish(configz.body)


class MetricsPage(Handler):
    """/metrics: the numbers of all actors; of one that does not answer in time, its last."""

    async def get(self) -> None:
        numbers: actor_numbers.Numbers = self.application.settings["numbers"]
        samples = await scrape(self.actor, numbers)
        self.set_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.write(actor_numbers.text(samples))
        await self.finish(await self._volumes())

    async def _volumes(self) -> str:
        """Of claims; where no pod has one, nobody is asked and nothing is loaded."""
        if not disk.has_claims(cast(Agent, self.actor.context).pods_dir):
            return ""
        from actors.http_servers.usage.pages import volumes

        return await volumes(self)


async def scrape(actor: Actor, numbers: actor_numbers.Numbers) -> list[Any]:
    """Ask every running actor at once for its numbers."""
    import asyncio

    tree = await find_tree(actor)
    if tree is None:
        return list(numbers.samples())
    names = [
        ActorName(state.name)
        for state in tree.actors
        if state.state == "running" and state.kind != "program" and state.name != actor.name
    ]

    async def one(name: ActorName) -> None:
        try:
            numbers.take(await actor.ask(name, GetMetrics(), MetricsSnapshot, timeout=SCRAPE_SECONDS))
        except AskError:
            actor.metrics.count("troupelet_scrape_failures_total", actor=name)

    await asyncio.gather(*map(one, names))
    numbers.take(actor.metrics.snapshot(actor.name, actor.incarnation))
    return [*numbers.samples(), *actor_numbers.tree_samples(tree)]


async def find_tree(actor: Actor) -> Tree | None:
    """None: the fork server does not answer."""
    try:
        return await actor.ask(FORK_SERVER, GetTree(), Tree, timeout=SCRAPE_SECONDS)
    except AskError:
        return None


async def find_pod(actor: Actor, namespace: str, name: str) -> tuple[Pod, PodStatus]:
    """Raises LogRefused, AskError."""
    question = GetPodStatus(namespace=namespace, name=name)
    found = await actor.ask(STATUS_MANAGER, question, PodStatusFound, timeout=ASK_SECONDS)
    if not found.pod:
        raise LogRefused(404, f'pod "{name}" does not exist')
    try:
        return decode(found.pod, Pod), decode(found.status or b"{}", PodStatus)
    except ObjectError as error:
        raise LogRefused(500, str(error)) from None


class ContainerLogs(Handler):
    """/containerLogs/{namespace}/{pod}/{container}, streamed as fast as the client reads."""

    async def get(self, namespace: str, name: str, container: str) -> None:
        values = {key: self.get_query_argument(key) for key in self.request.query_arguments}
        if "tail" in values and values["tail"] != "all":
            values.setdefault("tailLines", values["tail"])
        try:
            query = parse_query(values, time.time())
            pod, status = await find_pod(self.actor, namespace, name)
            where = find_log(pod, status, container, previous=query.previous)
        except QueryError as error:
            self.refuse(422, str(error))
            return
        except LogRefused as error:
            self.refuse(error.status, str(error))
            return
        except AskError as error:
            self.refuse(503, f"status_manager: {error}")
            return
        await self._stream(pod, where, query)

    async def _stream(self, pod: Pod, where: LogPlace, query: LogQuery) -> None:
        directory = self.actor.context.pod_logs_dir

        async def running() -> bool:
            if self._gone:
                raise StreamClosedError
            try:
                _, status = await find_pod(self.actor, pod.metadata.namespace, pod.metadata.name)
            except AskError:
                return True  # the status manager is being replaced: a stream outlives that
            except LogRefused:
                return False
            return where.runs_in(status)

        self.actor.metrics.count("kubelet_http_container_logs_total")
        try:
            async for block in read_log(lambda: open_beneath(directory, where.path), query, running):
                self.write(block)
                await self.flush()
            self.finish()
        except LogUnavailable as error:
            self.refuse(404 if query.previous else 400, f"the log of {where.container} cannot be read: {error}")
        except StreamClosedError:
            return


Routes = Sequence[tuple[str, type[Handler]]]


def application(
    actor: Actor,
    gate: Gate,
    *,
    main: bool,
    debugging: bool,
    both: Routes = (),
    more: Routes = (),
    tracer: Tracer = OFF,
    **settings: Any,
) -> Application:
    """The paths of the main (or the read-only) server. `both`: paths of other modules on both servers; `more`: their
    debugging paths; and their settings."""
    given = {"actor": actor, "gate": gate}
    name = r"([^/]+)"
    paths: list[tuple[str, type[Handler], dict[str, Any]]] = [
        (r"/healthz/?", Healthz, given),
        (rf"/healthz/{name}", Healthz, given),
        (r"/pods/?", PodList, given),
        (r"/metrics/?", MetricsPage, given),
        *((path, handler, given) for path, handler in both),
    ]
    if main and debugging:
        paths += [
            (r"/configz/?", ConfigzPage, given),
            (rf"/containerLogs/{name}/{name}/{name}", ContainerLogs, given),
            *((path, handler, given) for path, handler in more),
        ]
    else:
        paths += [(rf"/{prefix}/.*", DebuggingOff, given) for prefix in DEBUGGING_PREFIXES]
    words = {_words(path) for path, *_ in paths}
    return Application(
        paths,
        default_handler_class=NotFound,
        default_handler_args=given,
        log_function=lambda handler: None,
        counting=Counting(actor.metrics, READ_WRITE if main else READ_ONLY, words),
        tracer=tracer,
        numbers=actor_numbers.Numbers(),
        **settings,
    )


def _words(pattern: str) -> str:
    """The plain words that a path begins with: `metrics/cadvisor` of `/metrics/cadvisor/?`."""
    words = _PLAIN.match(pattern)
    found = words[0].strip("/") if words else ""
    return found if found.startswith("metrics/") else found.partition("/")[0]


_PLAIN = re.compile(r"[A-Za-z/]*")
DEBUGGING_PREFIXES: Sequence[str] = (
    "run",
    "exec",
    "attach",
    "portForward",
    "containerLogs",
    "runningpods",
    "debug/pprof",
    "logs",
)
