"""The state files of the CPU and the memory manager with real containers, while whoever writes them is killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec.structs import replace

from actors.container_manager.cpu.state import StateError
from actors.container_manager.memory.state import decode, encode
from actors.container_manager.topology.machine import MEMORY, read_machine
from actors.container_runtime.images import BUSYBOX_IMAGE
from tests.bench.node import NotInTime
from tests.support.faulty_node import FaultyNode
from tests.support.runtime import RealRuntime

CPUS: Final = frozenset(os.sched_getaffinity(0))
NUMA: Final = Path("/sys/devices/system/node/node0/meminfo")
MIB: Final = 1 << 20
RESERVED: Final = 200 * MIB
POLICIES: Final[dict[str, object]] = {
    "cpuManagerPolicy": "static",
    "reservedSystemCPUs": str(min(CPUS)),
    "memoryManagerPolicy": "Static",
    "kubeReserved": {"memory": "100Mi"},
    "evictionHard": {"memory.available": "100Mi"},
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "200Mi"}}],
}
WAITS: Final = "trap 'exit 0' TERM; while :; do sleep 0.1; done"


def container(name: str, command: str, memory: str, cpu: str) -> dict[str, Any]:
    return {
        "name": name, "image": BUSYBOX_IMAGE, "imagePullPolicy": "IfNotPresent", "command": ["sh", "-c", command],
        "resources": {"limits": {"cpu": cpu, "memory": memory}},
    }  # fmt: skip


class PinnedNode(FaultyNode):
    """The first CPU is reserved; memory comes from the one NUMA node of this machine."""

    def _configuration(self) -> dict[str, object]:
        return {**super()._configuration(), **POLICIES}

    def start(self) -> float:
        self._fit_memory()
        return super().start()

    def _fit_memory(self) -> None:
        """Write the present size of the NUMA node into the state file. A virtual machine gets and loses memory at any
        time, and an agent that starts then refuses the file as another machine's."""
        path = self.home / "root/memory_manager_state"
        with suppress(FileNotFoundError, StateError):
            state = decode(path.read_bytes())
            node, now = state.machine[0], read_machine().nodes[0].memory[MEMORY]
            table = node.memoryMap[MEMORY]
            more = now - table.total
            if more:
                grown = replace(table, total=now, allocatable=table.allocatable + more, free=table.free + more)
                node = replace(node, memoryMap={**node.memoryMap, MEMORY: grown})
                path.write_bytes(encode(replace(state, machine={**state.machine, 0: node})))

    def ask_for(self, name: str, *containers: dict[str, Any], init: tuple[dict[str, Any], ...] = ()) -> None:
        spec = {"containers": list(containers), "initContainers": list(init), "terminationGracePeriodSeconds": 1}
        metadata = {"name": name, "namespace": "default"}
        self.write(name, json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}))

    def uid(self, name: str) -> str:
        return next(one.pod_uid for one in self.containers() if one.pod_name.startswith(name))

    def kept(self, file: str) -> dict[str, Any]:
        """Raises NotInTime before the file is there."""
        try:
            found: dict[str, Any] = json.loads((self.home / "root" / file).read_text())
        except FileNotFoundError as error:
            raise NotInTime(str(error)) from None
        return found

    def memory(self) -> dict[str, dict[str, int]]:
        """Bytes of each container, by UID of its pod."""
        entries = self.kept("memory_manager_state").get("entries", {})
        return {
            uid: {name: sum(one["size"] for one in blocks) for name, blocks in containers.items()}
            for uid, containers in entries.items()
        }

    def table(self) -> dict[str, int]:
        """Memory of the NUMA node."""
        found: dict[str, int] = self.kept("memory_manager_state")["machineState"]["0"]["memoryMap"]["memory"]
        return found

    def kill(self, victim: str) -> None:
        """And wait for the next incarnation."""
        if victim == "agent":
            self.kill_fork_server_and_start()
            return
        for name, one in self.actors().items():
            if name.startswith(victim) and one.pid:
                with suppress(ProcessLookupError):
                    os.kill(one.pid, signal.SIGKILL)
                self.wait_replaced(name, one.incarnation)


@pytest.fixture
def node(real_runtime: RealRuntime) -> Iterator[PinnedNode]:
    if len(CPUS) < 2 or not NUMA.exists():
        pytest.skip("NOT TESTED with CPUs and memory of their own: this needs two CPUs and a NUMA node")
    agent = PinnedNode(real_runtime)
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


@pytest.mark.parametrize("victim", ["container_manager", "pod_workers/worker/", "agent"])
def test_memory_of_an_ended_init_container_is_freed_once_despite_kills_while_the_next_one_starts(
    node: PinnedNode, victim: str
) -> None:
    node.ask_for(
        "two-steps", container("main", WAITS, "32Mi", "100m"), init=(container("init", "sleep 2", "512Mi", "100m"),)
    )
    node.until(lambda: any(one.name == "init" for one in node.containers()), "the init container is there")
    uid = node.uid("two-steps")
    assert "init" in node.memory()[uid]
    started_at = lambda: any(one.name == "main" for one in node.containers())  # noqa: E731
    for _ in range(5):
        if started_at():
            break
        node.kill(victim)
    node.wait_running("two-steps")
    node.until(lambda: node.memory() == {uid: {"main": 32 * MIB}}, "the memory of the init container is free")
    assert node.table()["reserved"] == 32 * MIB
    assert node.kept("memory_manager_state")["machineState"]["0"]["numberOfAssignments"] == 1
    assert node.doubles() == []
    node.kill(victim)
    node.wait_whole()
    assert node.memory() == {uid: {"main": 32 * MIB}}
    still_requested = 512 - 32  # by the rules of the scheduler, a pod requests what its largest init container does
    free = node.table()["free"] // MIB - still_requested
    node.ask_for("all-of-it", container("main", WAITS, f"{free}Mi", "100m"))
    node.wait_running("all-of-it")
    assert node.memory()[node.uid("all-of-it")] == {"main": free * MIB}


def test_a_cpu_manager_state_from_before_1_18_is_translated_despite_a_kill(
    node: PinnedNode, real_runtime: RealRuntime
) -> None:
    node.ask_for("own", container("main", WAITS, "32Mi", "1"))
    node.wait_running("own")
    uid, before, kept = node.uid("own"), node.running(), node.kept("cpu_manager_state")
    (ran,) = (one for one in node.containers() if one.pod_uid == uid)
    node.stop()
    earlier = {**kept, "entries": {ran.id: kept["entries"][uid]["main"]}, "checksum": 0}
    Path(node.home, "root/cpu_manager_state").write_text(json.dumps(earlier))
    assert real_runtime.process is not None
    runtime = real_runtime.process.pid
    os.kill(runtime, signal.SIGSTOP)
    try:
        with suppress(NotInTime):  # the runtime is waited for
            node.start()
        for _ in range(2):
            manager = node.actors()["container_manager"]
            if manager.pid:
                os.kill(manager.pid, signal.SIGKILL)
            node.until(lambda: node.actors()["container_manager"].incarnation > manager.incarnation, "the next one")  # noqa: B023
        assert node.kept("cpu_manager_state") == earlier
    finally:
        os.kill(runtime, signal.SIGCONT)
    node.wait_whole()
    node.until(lambda: node.kept("cpu_manager_state") == kept, "translated")
    assert node.running() == before
    node.ask_for("shared", {**container("main", WAITS, "", ""), "resources": {}})
    node.wait_running("shared")
    assert node.kept("cpu_manager_state") == kept


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("cpu_manager_state", "delete the CPU manager checkpoint file"),
        ("memory_manager_state", "delete the memory manager checkpoint file"),
        ("allocated_pods_state", "delete pod resource information checkpoint file"),
        ("actuated_pods_state", "delete pod resource information checkpoint file"),
    ],
)
def test_a_damaged_file_is_written_again_while_the_agent_runs_and_named_by_an_agent_that_starts(
    node: PinnedNode, file: str, text: str
) -> None:
    node.ask_for("own", container("main", WAITS, "32Mi", "1"))
    node.wait_running("own")
    path, uid, before = node.home / "root" / file, node.uid("own"), node.running()
    node.until(path.exists, "what was actuated is written, once the container runs")
    cpus, memory, intact = node.kept("cpu_manager_state"), node.memory(), path.read_bytes()
    damaged = '{"policyName":"sta'
    path.write_text(damaged)
    node.kill("container_manager")
    node.wait_whole()
    node.until(lambda: path.read_bytes() == intact, "the file is written again")
    assert (
        f"{path} has been changed while the agent runs, or cannot be read: it is written again" in node.log.read_text()
    )
    assert node.running() == before
    node.stop()
    path.write_text(damaged)
    with suppress(NotInTime):  # it does not start
        node.start()
    node.until(lambda: f'{text} "{path}"' in node.log.read_text().replace("\\", ""), "the file is named")
    path.write_bytes(intact)
    node.start()
    node.wait_whole()
    assert (node.kept("cpu_manager_state"), node.memory()) == (cpus, memory)
    assert list(cpus["entries"]) == [uid]
    assert node.running() == before
    assert node.doubles() == []
