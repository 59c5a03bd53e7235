"""The agent as a node of a cluster, measured at the API server: joining, pods until Running and until gone, restarts.

The API server is that of tests/support/apiserver, in a process of its own, which costs some milliseconds a request.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from tests.support.api_connection import ApiConnection
from tests.support.joined import NODE, NODES, Joined, JoinedNode, cluster_running, is_ready, pod, status
from tests.support.runtime import RealRuntime

from . import footprint
from .baseline import floor
from .report import Figure, median_of
from .session import AT_ONCE, OFTEN, SETTLE_SECONDS, Plan

RESTART_PODS = 50
WAIT_SECONDS = 180.0


class JoinedBench:
    """One cluster, one node that is started again in each round."""

    def __init__(self, runtime: RealRuntime, plan: Plan, say: Callable[[str], None]) -> None:
        self._runtime, self._plan, self._say = runtime, plan, say
        self._ready: list[float] = []
        self._last: dict[int, list[float]] = {}
        self._gone: dict[int, list[float]] = {}
        self._floors: dict[int, list[tuple[float, float]]] = {}

    def run(self) -> list[Figure]:
        """Raises NotInTime, AssertionError."""
        with cluster_running(self._runtime.base / "api") as cluster, ApiConnection(cluster.admin) as api:
            node = JoinedNode(self._runtime, cluster, nodeStatusUpdateFrequency="10s")
            found = Joined(cluster, node, api)
            try:
                for number in range(self._plan.rounds):
                    self._say(f"joined: round {number + 1} of {self._plan.rounds}")
                    self._round(found, number)
                figures = [*self._figures(), *self._restart(found)]
                for pods in (size for size in self._plan.idle_pods if size):
                    figures += self._idle(found, pods)
            finally:
                node.remove()
        return figures

    def _round(self, found: Joined, number: int) -> None:
        sizes = [size for size in self._plan.sizes if number < self._plan.rounds_of(size)]
        for size in sizes:  # before there is an agent: it removes sandboxes that are nobody's
            bare = asyncio.run(floor(self._runtime, size, 1 if size == 1 else AT_ONCE))
            self._floors.setdefault(size, []).append((bare.started[-1], bare.gone[-1]))
        seen = len(found.nodes.events)
        started_at = time.time()
        found.node.start()
        ready = self._node_ready(found, seen)
        if number or self._plan.rounds == 1:  # the first one may have compiled what it imported
            self._ready.append(ready - started_at)
        found.node.wait_whole()
        for size in sizes:
            for _ in range(OFTEN if size == 1 else 1):
                self._pods(found, size)
        found.node.stop()
        found.api.call("DELETE", f"{NODES}/{NODE}")
        found.nodes.until(lambda: not found.nodes.now, "the node gone", 10)

    @staticmethod
    def _node_ready(found: Joined, seen: int) -> float:
        """When the API said so."""

        def told() -> list[float]:
            return [one.at for one in found.nodes.events[seen:] if is_ready(one.obj)]

        found.nodes.until(told, "the node Ready", 30)
        return told()[0]

    def _pods(self, found: Joined, number: int) -> None:
        names = [f"pod{n}" for n in range(number)]
        created = {}
        seen = len(found.pods.events)
        for name in names:
            created[name] = time.time()
            found.create(pod(name))
        running = self._running(found, seen, names)
        self._last.setdefault(number, []).append(max(running[name] - created[name] for name in names))
        started_at = time.time()
        for name in names:
            found.delete(name)
        found.wait_no_pod(*names, seconds=WAIT_SECONDS)
        self._gone.setdefault(number, []).append(time.time() - started_at)

    @staticmethod
    def _running(found: Joined, seen: int, names: list[str]) -> dict[str, float]:
        """When the API first said so of each."""

        def told() -> dict[str, float]:
            first: dict[str, float] = {}
            for one in found.pods.events[seen:]:
                if status(one.obj).get("phase") == "Running":
                    first.setdefault(one.name, one.at)
            return first

        found.pods.until(lambda: set(names) <= set(told()), "all Running", WAIT_SECONDS)
        return told()

    def _figures(self) -> list[Figure]:
        figures = [median_of("joined.ready", "start to Ready at the API", self._ready, "s")]
        for size in self._last:
            name = f"{size} pod{'s' if size > 1 else ''}"
            started, gone = zip(*self._floors[size], strict=True)
            what = "create to Running at the API" + (", last" if size > 1 else "")
            figures.append(median_of(f"joined.{size}.last", f"{name}, {what}", self._last[size], "s", started))
            figures.append(median_of(f"joined.{size}.gone", f"{name}, delete to gone", self._gone[size], "s", gone))
        return figures

    def _restart(self, found: Joined) -> list[Figure]:
        """kill -9 of the whole agent with many pods, one of which ends meanwhile."""
        if RESTART_PODS not in self._plan.sizes:
            return []
        self._say(f"joined: killed with {RESTART_PODS} pods")
        found.node.start()
        names = found.create(*(pod(f"many{n}") for n in range(RESTART_PODS)))
        found.wait_pods_ready(*names, seconds=WAIT_SECONDS)
        ids, seen = found.running_ids(), len(found.nodes.events)
        found.node.kill_fork_server()
        victim = next(one for one in found.node.containers() if one.pod_name == "many7")
        found.node.ask_runtime(lambda client: client.stop_container(victim.id, 0))
        found.node.start()
        started_at = time.time()
        found.pods.until(lambda: found.restarts()["default/many7"] == 1, "what ended meanwhile is told", 60)
        current = time.time() - started_at
        found.wait_pods_ready(*names, seconds=60)
        now = found.running_ids()
        changed = sum(now.get(key) != ids[key] for key in ids if not key.startswith("many7/"))
        left = sum(not is_ready(one.obj) for one in found.nodes.events[seen:])
        found.clear()
        found.node.stop()
        with_pods = f"killed with {RESTART_PODS} pods"
        return [
            Figure("joined.restart.current", f"{with_pods}: status current", current, "s"),
            Figure("joined.restart.containers", f"{with_pods}: containers restarted", changed, ""),
            Figure("joined.restart.not_ready", f"{with_pods}: times the node was not Ready", left, ""),
        ]

    def _idle(self, found: Joined, pods: int) -> list[Figure]:
        self._say(f"joined: idle with {pods} pods, {self._plan.idle_seconds:g} s")
        found.node.start()
        found.node.wait_whole()
        names = found.create(*(pod(f"idle{n}") for n in range(pods)))
        found.wait_pods_ready(*names, seconds=WAIT_SECONDS)
        time.sleep(SETTLE_SECONDS)
        cpu = sum(footprint.cpu_percent(found.node, self._plan.idle_seconds).values())
        pss = sum(footprint.pss_mib(found.node).values())
        for name in names:
            found.delete(name, grace=1)
        found.wait_no_pod(*names, seconds=WAIT_SECONDS)
        found.node.stop()
        return [
            Figure(f"joined.{pods}.cpu", f"joined, {pods} pods idle: CPU", cpu, "%"),
            Figure(f"joined.{pods}.pss", f"joined, {pods} pods idle: PSS", pss, "MiB"),
        ]
