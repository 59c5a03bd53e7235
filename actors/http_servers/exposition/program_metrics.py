"""Metrics of the program as a whole: of its processes, its tree, its version."""

from __future__ import annotations

import platform
import resource
import time
from collections.abc import Iterable
from typing import Final

from actors.shared.config.version import MAJOR, MINOR, git_version
from actors.shared.linux.architecture import architecture
from supervision.protocol import MetricSample, Tree

_TREE: Final = (
    ("gauge", "memory_bytes", "memory_bytes"),
    ("gauge", "mailbox_messages", "mailbox"),
    ("gauge", "uptime_seconds", "uptime"),
    ("gauge", "busy_seconds", "busy_seconds"),
    ("gauge", "heartbeat_age_seconds", "heartbeat_age"),
    ("counter", "restarts_total", "restarts"),
    ("counter", "messages_handled_total", "handled"),
    ("counter", "messages_dropped_total", "dropped"),
    ("counter", "dead_letters_total", "dead_letters"),
)
"""Type, end of the metric's name, field of ActorState."""


def tree_samples(tree: Tree) -> Iterable[MetricSample]:
    """The fork server's figures of each actor."""
    for actor in tree.actors:
        labels = {"actor": actor.name}
        yield MetricSample("gauge", "troupelet_actor_up", labels, float(actor.state == "running"))
        for kind, end, field in _TREE:
            yield MetricSample(kind, f"troupelet_actor_{end}", labels, getattr(actor, field))  # type: ignore[arg-type]


class AgentProcesses:
    """Remembers the CPU time of ended processes, so that the sum never decreases."""

    def __init__(self) -> None:
        self._cpu: dict[int, float] = {}
        self._ended = 0.0

    def samples(self, tree: Tree) -> Iterable[MetricSample]:
        """The resource usage of all processes of the agent together."""
        import psutil  # loaded by the first scrape

        cpu: dict[int, float] = {}
        virtual, files = 0, 0
        actors = [actor for actor in tree.actors if actor.kind != "program" and actor.pid]
        for pid in (tree.pid, *(actor.pid for actor in actors)):
            try:
                process = psutil.Process(pid)
                with process.oneshot():
                    times = process.cpu_times()
                    cpu[pid] = times.user + times.system
                    virtual += process.memory_info().vms
                    files += process.num_fds()
            except psutil.Error:
                continue  # it has ended
        self._ended += sum(seconds for pid, seconds in self._cpu.items() if seconds > cpu.get(pid, 0.0))
        self._cpu = cpu
        yield MetricSample("counter", "process_cpu_seconds_total", {}, self._ended + sum(cpu.values()))
        yield MetricSample("gauge", "process_virtual_memory_bytes", {}, virtual)
        yield MetricSample("gauge", "process_resident_memory_bytes", {}, sum(actor.memory_bytes for actor in actors))
        yield MetricSample("gauge", "process_open_fds", {}, files)
        yield MetricSample("gauge", "process_max_fds", {}, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        yield start_sample(tree)


def start_sample(tree: Tree) -> MetricSample:
    """The start time of the agent."""
    return MetricSample("gauge", "process_start_time_seconds", {}, round(time.time() - tree.uptime, 2))


def version_samples() -> Iterable[MetricSample]:
    """The version of the agent; constant."""
    build = {
        "build_date": "", "compiler": platform.python_implementation(), "git_commit": "", "git_tree_state": "",
        "git_version": git_version(), "go_version": "", "major": str(MAJOR), "minor": str(MINOR),
        "platform": f"linux/{architecture()}",
    }  # fmt: skip
    version = f"{MAJOR}.{MINOR}"
    yield MetricSample("gauge", "kubernetes_build_info", build, 1)
    labels = {"binary": version, "component": "kubelet", "emulation": version, "min_compat": f"{MAJOR}.{MINOR - 1}"}
    yield MetricSample("gauge", "version_info", labels, 1)
    yield MetricSample("gauge", "kubelet_metrics_provider", {"provider": "cadvisor"}, 1)
