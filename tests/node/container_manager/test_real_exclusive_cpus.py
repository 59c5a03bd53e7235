"""The static CPU policy with real containers on this machine: where their processes run, whatever is killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.shared.linux.cpu_list import format_cpu_list
from tests.bench.pods import manifest
from tests.support.faulty_node import FaultyNode
from tests.support.runtime import RealRuntime

CPUS = frozenset(os.sched_getaffinity(0))
FIRST = min(CPUS)
POLICY = {"cpuManagerPolicy": "static", "reservedSystemCPUs": str(FIRST), "cpuManagerReconcilePeriod": "500ms"}
BURSTABLE = "      requests: {cpu: 5m, memory: 16Mi}\n      limits: {cpu: 200m, memory: 64Mi}\n"
BEST_EFFORT = "      limits: {}\n"
GUARANTEED = '      limits: {cpu: "1", memory: 64Mi}\n'


class StaticNode(FaultyNode):
    """The first CPU is reserved."""

    def _configuration(self) -> dict[str, object]:
        return {**super()._configuration(), **POLICY}

    def add_with(self, name: str, resources: str) -> None:
        text = manifest(name)
        assert BURSTABLE in text
        self.write(name, text.replace(BURSTABLE, resources))

    def cpus(self, name: str) -> str:
        """Where the container's process may run, as the kernel has it."""
        container, _ = self.running()[name]
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if container in (process / "cgroup").read_text():
                    status = (process / "status").read_text()
                    return next(one for one in status.splitlines() if one.startswith("Cpus_allowed_list:")).split()[1]
            except OSError:
                continue  # it has ended
        return ""

    def kept(self) -> dict[str, object]:
        found: dict[str, object] = json.loads((self.home / "root/cpu_manager_state").read_text())
        return found


@pytest.fixture
def node(real_runtime: RealRuntime) -> Iterator[StaticNode]:
    if len(CPUS) < 2:
        pytest.skip("NOT TESTED with CPUs of their own: this needs two CPUs")
    agent = StaticNode(real_runtime)
    try:
        agent.start()
        agent.wait_whole()
        yield agent
        for one in agent.manifests.glob("*.yaml"):
            one.unlink()
        agent.until(lambda: not agent.running(), "every pod gone")
    finally:
        agent.remove()
        shutil.rmtree(agent.home)


def test_a_guaranteed_pod_has_a_cpu_for_itself_through_kills_and_others_leave_it(node: StaticNode) -> None:
    node.add_with("shared", BEST_EFFORT)
    node.wait_running("shared")
    node.until(lambda: node.cpus("shared") == format_cpu_list(CPUS), "all CPUs are shared")
    node.add_with("own", GUARANTEED)
    node.wait_running("own")
    own = node.cpus("own")
    assert own.isdigit()
    assert int(own) != FIRST
    rest = format_cpu_list(CPUS - {int(own)})
    node.until(lambda: node.cpus("shared") == rest, "the shared pod leaves the CPU")
    before, kept = node.running(), node.kept()
    for name in ("container_manager", "pod_workers/worker/0"):
        actor = node.actors()[name]
        os.kill(actor.pid, signal.SIGKILL)
        node.wait_replaced(name, actor.incarnation)
    assert node.running() == before
    assert node.kept() == kept
    assert (node.cpus("own"), node.cpus("shared")) == (own, rest)
    node.kill_fork_server_and_start()
    node.wait_whole()
    node.add_with("late", BEST_EFFORT)
    node.wait_running("late")
    assert node.cpus("late") == rest
    assert node.running().items() >= before.items()
    assert node.kept() == kept
    (node.manifests / "own.yaml").unlink()
    node.wait_gone("own")
    node.until(lambda: node.cpus("shared") == format_cpu_list(CPUS), "the CPU is shared again")
    assert "entries" not in node.kept()
