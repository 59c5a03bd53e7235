"""The state that the endpoints of one server share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast

from actors.eviction_manager.messages import EVICTION_MANAGER, GetPodDisks
from actors.http_servers.access.access import AccessCheck
from actors.http_servers.exposition.actor_metrics import ActorMetrics
from actors.http_servers.exposition.program_metrics import AgentProcesses
from actors.shared.config.agent import Agent
from actors.shared.stats.pod_disks import MEASURE_SECONDS, driven, put_driver_figures
from actors.shared.stats.volume_figures import VolumeFigures
from actors.shared.tracing.tracer import OFF, Tracer
from actors.volume_manager.messages import FIGURES_SECONDS, VOLUME_MANAGER, GetVolumeFigures
from supervision.actor import Actor, AskError, DisposableError
from supervision.time_scale import scaled

from .connections import BoundedServer
from .http_error import HttpError
from .loop_turns import LoopTurns
from .request_metrics import RequestMetrics
from .sync_loop import SyncLoop

if TYPE_CHECKING:
    from actors.http_servers.container_logs.log_disk import LogDisk
    from actors.shared.cri.client import CriClient
    from actors.shared.stats.collector import Collector


MAX_STREAMS: Final = 512
MAX_STREAMS_OF_POD: Final = 128
"""Usually the API server opens all streams, so that its users cannot be told apart."""


class OpenStreams:
    """The streams of exec, attach and port-forward: a bounded number at a time, and of each pod only a part of them, so
    that the streams of one pod leave some to the others."""

    def __init__(self, most: int = MAX_STREAMS, most_of_pod: int = MAX_STREAMS_OF_POD) -> None:
        self._most, self._most_of_pod = most, most_of_pod
        self._open = Counter[str]()

    @contextmanager
    def one_more(self, pod: str) -> Iterator[None]:
        """Count one stream of `pod` (namespace/name) while the block runs. Raises HttpError when there are too many."""
        if self._open.total() >= self._most:
            raise HttpError(429, f"there are {self._most} streams already")
        if self._open[pod] >= self._most_of_pod:
            raise HttpError(429, f"there are {self._most_of_pod} streams of {pod} already")
        self._open[pod] += 1
        try:
            yield
        finally:
            self._open[pod] -= 1
            self._open += Counter()  # forgets pods without a stream


class ServerState:
    """Members that need memory are created on first use."""

    def __init__(self, actor: Actor, access: AccessCheck, *, read_only: bool = False, tracer: Tracer = OFF) -> None:
        self.actor, self.access, self.read_only, self.tracer = actor, access, read_only, tracer
        self.requests = RequestMetrics(actor.metrics, read_only=read_only)
        self.actor_metrics, self.processes = ActorMetrics(), AgentProcesses()
        self.sync_loop = SyncLoop()
        self.check_results: Counter[tuple[str, str]] = Counter()
        """Results of health checks, by (check, success or error)."""
        self.streams, self.turns = OpenStreams(), LoopTurns()
        self.connections: BoundedServer | None = None
        self.pages: list[str] = []
        """Paths of the pages that can be read."""

    def add_route(self, prefix: str, *, page: str, long_running: bool) -> None:
        """Count requests below this prefix. `page`: the path of its page; empty if none is served."""
        if page:
            self.pages.append(page)
        self.requests.add(prefix, long_running=long_running)

    def reset_check_results(self) -> None:
        self.check_results.clear()

    @property
    def agent(self) -> Agent:
        return cast(Agent, self.actor.context)

    @cached_property
    def runtime(self) -> CriClient:
        from actors.shared.cri.client import CriClient

        seconds = self.agent.config.runtimeRequestTimeout
        return CriClient(
            self.agent.runtime_endpoint, request_seconds=seconds, tracer=self.tracer, metrics=self.actor.metrics
        )

    @cached_property
    def log_disk(self) -> LogDisk:
        from actors.http_servers.container_logs.log_disk import LogDisk

        return LogDisk(self._run_disposable)

    @cached_property
    def collector(self) -> Collector:
        """Collects usage figures."""
        from actors.shared.stats.collector import Collector
        from actors.shared.stats.disk_usage import DiskUsageCollector

        disks = DiskUsageCollector(
            self.agent,
            self.runtime,
            self._run_disposable,
            self._measure_pods,
            self.actor.metrics,
            self.actor.log,
        )
        return Collector(self.agent, self.runtime, disks)

    async def _run_disposable(self, function: str, arguments: dict[str, Any], deadline: float) -> Any:
        return await self.actor.disposable(function, arguments, deadline=deadline)

    async def _measure_pods(self, pods: list[list[str]]) -> dict[str, dict[str, Any]]:
        """By the eviction manager, which measures pods with limits anyway. Raises DisposableError."""
        by_drivers = await self._ask_drivers()
        question = GetPodDisks(pods, driven(by_drivers))
        try:
            answer = await self.actor.ask(EVICTION_MANAGER, question, timeout=scaled(MEASURE_SECONDS) + 2.0)
        except AskError as error:
            raise DisposableError("AskError", str(error)) from None
        if answer.error:
            raise DisposableError("GetPodDisks", answer.error)
        put_driver_figures(answer.pods, by_drivers)
        return answer.pods

    async def _ask_drivers(self) -> list[VolumeFigures]:
        """The usage that CSI drivers measure; empty without an answer."""
        if self.agent.standalone:
            return []
        try:
            timeout = scaled(FIGURES_SECONDS) + 2.0
            return (await self.actor.ask(VOLUME_MANAGER, GetVolumeFigures(), timeout=timeout)).volumes
        except AskError:
            return []
