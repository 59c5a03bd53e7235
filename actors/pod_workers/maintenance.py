"""The periodic work of a shard: log rotation, removal of logs without a pod, the node's limit of dead containers."""

from __future__ import annotations

from typing import Final, cast

from supervision.actor import DisposableError

from .executor.services import ExecutorContext
from .garbage import node_limit
from .logs import orphans
from .logs.rotation import COMPRESS_SECONDS, LogRotation, limits_of
from .worker_table import PodWorkers

SWEEP_SECONDS: Final = 60.0
SWEEP_LOGS: Final = "actors.pod_workers.logs.orphans:sweep"


class ShardMaintenance:
    """Does the work for the pods of one shard. Failures are logged and retried in the next round."""

    def __init__(self, services: ExecutorContext, workers: PodWorkers) -> None:
        self._services, self._workers = services, workers
        self._actor, self._agent = services.actor, services.agent
        limits = limits_of(self._agent.config)
        self._rotation = LogRotation(services.client, self._agent.pod_logs_dir, limits, self._compress)

    def start(self) -> None:
        self._actor.every(SWEEP_SECONDS, self._sweep_logs, jitter=0.2)
        self._actor.every(float(self._agent.config.containerLogMonitorInterval), self._rotate_logs, jitter=0.1)
        if node_limit.is_needed(self._services.garbage):
            self._actor.every(node_limit.SECONDS, self._enforce_node_limit, jitter=0.1)

    async def _sweep_logs(self) -> None:
        """Remove the logs of unknown pods, once the sources and the runtime have reported."""
        known = self._workers.inventory()
        if known is None or not orphans.owns_log_directory(self._agent):
            return
        arguments = {
            "logs": self._agent.pod_logs_dir,
            "links": self._agent.container_logs_dir,
            "known": sorted(known),
            "shard": self._actor.name,
            "workers": self._agent.workers,
            "now": self._services.clock(),
        }
        try:
            found = await self._actor.disposable(SWEEP_LOGS, arguments, deadline=SWEEP_SECONDS)
        except DisposableError as error:
            self._actor.log.warning("logs of pods that are gone stay: %s", error)
            return
        for path in cast("list[str]", found):
            self._actor.log.info("removed the logs of a pod that is gone: %s", path)

    async def _rotate_logs(self) -> None:
        states = (worker.state for worker in self._workers.by_uid.values())
        pods = [state.runtime for state in states if state.runtime is not None]
        for problem in await self._rotation.round(pods, self._services.clock()):
            self._actor.log.warning("%s", problem)

    async def _compress(self, path: str) -> None:
        try:
            target = "actors.pod_workers.logs.rotation:compress"
            arguments = {"logs_dir": self._agent.pod_logs_dir, "path": path}
            await self._actor.disposable(target, arguments, deadline=COMPRESS_SECONDS)
        except DisposableError as error:
            self._actor.log.warning("%s is not compressed: %s", path, error)

    async def _enforce_node_limit(self) -> None:
        known = {uid: worker.state.wanted.pod for uid, worker in self._workers.by_uid.items()}
        await node_limit.enforce(self._services, {uid: pod for uid, pod in known.items() if pod is not None})
