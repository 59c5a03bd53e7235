"""What is measured in one run, in which order, and the figures that become of it."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.support.runtime import RealRuntime

from . import admission, configuration, engine, faults, footprint, pod_lifecycle
from .baseline import Times, floor
from .node import Node
from .report import Figure, median_of, percentile

SECTIONS = ("start", "pods", "kill", "idle", "hang", "joined", "config", "admission", "eviction", "managers", "engine")
ENGINE = (
    ("ask_us_p50", "round trip of a question, p50", "us"),
    ("ask_us_p99", "round trip of a question, p99", "us"),
    ("asks_per_second", "questions answered", "/s"),
    ("ping_pongs_per_second", "messages answered by messages", "/s"),
    ("start_to_ready_ms", "start to 20 actors in service", "ms"),
    ("fork_to_ready_ms", "of that, forking them", "ms"),
    ("kill_to_answering_ms_p50", "killed to answering, p50", "ms"),
    ("kill_to_answering_ms_max", "killed to answering, slowest", "ms"),
    ("pss_kib_per_actor", "PSS of an actor", "KiB"),
    ("idle_cpu_percent", "CPU of 20 idle actors", "%"),
    ("stop_ms", "orderly stop", "ms"),
)
"""Key in what the engine's own bench measures, what it is, unit."""
AT_ONCE = 4
"""The floor's concurrency where there are several pods."""
OFTEN = 3
"""Single pods in a round."""
SETTLE_SECONDS = 8.0
DETAILED_PODS = 10


@dataclass(frozen=True)
class Plan:
    sections: tuple[str, ...]
    sizes: tuple[int, ...]
    rounds: int
    idle_seconds: float
    idle_pods: tuple[int, ...]

    def rounds_of(self, pods: int) -> int:
        """Many pods at once are many measurements already."""
        return self.rounds if pods <= 10 else max(1, self.rounds // 3) if pods <= 50 else 1


@dataclass
class Sample:
    """All rounds of one number of pods."""

    bare: list[Times] = field(default_factory=list)
    agent: list[Times] = field(default_factory=list)


class Session:
    """One runtime, one agent that is started again in each round."""

    def __init__(self, runtime: RealRuntime, plan: Plan, say: Callable[[str], None]) -> None:
        self._runtime, self._plan, self._say = runtime, plan, say
        self.node = Node(runtime)
        self._samples = {size: Sample() for size in plan.sizes}
        self._healthz: list[float] = []
        self._whole: list[float] = []
        self._stops: list[float] = []
        self._kills: dict[str, list[float]] = {}

    def run(self) -> list[Figure]:
        """Raises NotInTime."""
        wanted = self._plan.sections
        if {"start", "pods", "kill"} & set(wanted):
            for number in range(self._plan.rounds):
                self._say(f"round {number + 1} of {self._plan.rounds}")
                self._round(number)
        figures = [*self._start_figures(), *self._pod_figures(), *self._kill_figures()]
        if "idle" in wanted:
            figures += self._idle()
        if "hang" in wanted:
            figures += self._hang()
        if "joined" in wanted:
            figures += self._joined()
        if "config" in wanted:
            figures += configuration.figures()
        if "admission" in wanted:
            figures += admission.figures()
        if "eviction" in wanted:
            figures += self._evictions()
        if "managers" in wanted:
            figures += self._managers()
        if "engine" in wanted:
            self._say("the engine alone")
            figures += self._engine()
        return figures

    def _joined(self) -> list[Figure]:
        from .joined import JoinedBench  # which is above this module

        return JoinedBench(self._runtime, self._plan, self._say).run()

    def _evictions(self) -> list[Figure]:
        from . import eviction  # which is above this module

        self._say("evictions")
        return eviction.figures(self._runtime, self._plan.rounds)

    def _managers(self) -> list[Figure]:
        from . import managers

        plan = self._plan
        pods = max(plan.idle_pods)
        return managers.figures(self._runtime, pods, min(plan.rounds, 3), plan.idle_seconds, self._say)

    @staticmethod
    def _engine() -> list[Figure]:
        measured = engine.measure()
        return [
            Figure(f"engine.{key}", f"engine alone, {what}", measured[key], unit)
            for key, what, unit in ENGINE
            if key in measured
        ]

    # -- a round --------------------------------------------------------------------------------------------------
    def _round(self, number: int) -> None:
        sizes = [size for size in self._plan.sizes if number < self._plan.rounds_of(size)]
        if "pods" in self._plan.sections:
            for size in sizes:
                for _ in range(OFTEN if size == 1 else 1):
                    at_once = 1 if size == 1 else AT_ONCE
                    self._samples[size].bare.append(asyncio.run(floor(self._runtime, size, at_once)))
        self._start()
        if "pods" in self._plan.sections:
            for size in sizes:
                for _ in range(OFTEN if size == 1 else 1):
                    self._samples[size].agent.append(asyncio.run(pod_lifecycle.pods_through(self.node, size)))
        if "kill" in self._plan.sections:
            for name, seconds in faults.kill_each(self.node).items():
                self._kills.setdefault(name, []).append(seconds)
            self.node.wait_whole()
        self._stops.append(self.node.stop())

    def _start(self) -> None:
        started_at = time.perf_counter()
        healthz = self.node.start()
        self.node.wait_whole()
        if self._whole or self._plan.rounds == 1:
            self._healthz.append(healthz)
            self._whole.append(time.perf_counter() - started_at)
        else:  # the first one may have compiled what it imported
            self._whole.append(0.0)

    # -- figures --------------------------------------------------------------------------------------------------
    def _start_figures(self) -> list[Figure]:
        if not self._healthz:
            return []
        whole = [seconds for seconds in self._whole if seconds]
        return [
            median_of("start.healthz", "start to /healthz ok", self._healthz, "s"),
            median_of("start.whole", "start to every actor in service", whole, "s"),
            median_of("start.stop", "orderly stop", self._stops, "s"),
        ]

    def _pod_figures(self) -> list[Figure]:
        figures = []
        for size, sample in self._samples.items():
            if not sample.agent:
                continue
            name = f"{size} pod{'s' if size > 1 else ''}"
            bare = [seconds for times in sample.bare for seconds in times.started]
            agent = [seconds for times in sample.agent for seconds in times.started]
            for label, share in (("p50", 0.5), ("p99", 0.99)):
                value, least = percentile(agent, share), percentile(bare, share)
                figures.append(
                    Figure(
                        f"pods.{size}.{label}", f"{name}, manifest to running, {label}", value, "s", least, len(agent)
                    )
                )
            if size > 1:
                figures.append(self._last(f"pods.{size}.last", f"{name}, last one running", sample, "started"))
            figures.append(self._last(f"pods.{size}.gone", f"{name}, deleted to all gone", sample, "gone"))
        return figures

    def _last(self, key: str, what: str, sample: Sample, attribute: str) -> Figure:
        agent, bare = ([getattr(times, attribute)[-1] for times in side] for side in (sample.agent, sample.bare))
        return median_of(key, what, agent, "s", bare)

    def _kill_figures(self) -> list[Figure]:
        if not self._kills:
            return []
        medians = {name: statistics.median(times) for name, times in self._kills.items()}
        figures = [
            median_of("kill.median", "killed to back in service, median of all", list(medians.values()), "s"),
            Figure("kill.worst", "killed to back in service, slowest actor", max(medians.values()), "s"),
        ]
        return figures + [median_of(f"kill/{name}", f"  {name}", times, "s") for name, times in self._kills.items()]

    # -- once -----------------------------------------------------------------------------------------------------
    def _idle(self) -> list[Figure]:
        figures = []
        for pods in self._plan.idle_pods:
            self._say(f"idle with {pods} pods, {self._plan.idle_seconds:g} s")
            self.node.start()
            self.node.wait_whole()
            names = list(asyncio.run(pod_lifecycle.start_pods(self.node, pods))) if pods else []
            time.sleep(SETTLE_SECONDS)
            cpu = footprint.cpu_percent(self.node, self._plan.idle_seconds)
            pss = footprint.pss_mib(self.node)
            if names:
                asyncio.run(pod_lifecycle.remove_pods(self.node, names))
            self.node.stop()
            figures += [
                Figure(f"idle.{pods}.cpu", f"idle, {pods} pods: CPU", sum(cpu.values()), "%"),
                Figure(f"idle.{pods}.pss", f"idle, {pods} pods: PSS", sum(pss.values()), "MiB"),
            ]
            if pods == DETAILED_PODS:
                figures += [Figure(f"idle/{pods}/cpu/{name}", f"  {name}: CPU", cpu[name], "%") for name in cpu]
                figures += [Figure(f"idle/{pods}/pss/{name}", f"  {name}: PSS", pss[name], "MiB") for name in pss]
        return figures

    def _hang(self) -> list[Figure]:
        self._say("hung actors")
        self.node.start()
        times = faults.hang_some(self.node)
        self.node.stop()
        figures = [Figure("hang.replaced", "hung to replaced, slowest", max(times.values()), "s", count=len(times))]
        return figures + [Figure(f"hang/{name}", f"  {name}", seconds, "s") for name, seconds in times.items()]
