"""Each actor that has a part in it is killed, or hangs, at each step in which a container gets a device and a CPU of
its own.

Steps are held by the plugin, which does not answer, and by stopping the actor that would go on: what is killed has
got exactly so far. Afterwards the pod runs with what the checkpoints say, another pod gets other devices, and when
both are gone nothing is kept of them.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from actors.container_runtime.images import BUSYBOX_IMAGE
from tests.node.device_manager.test_real_devices import SCRIPT, THING, DeviceNode
from tests.support.device_plugin import FakeDevicePlugin
from tests.support.managed import managed_runtime

CPUS: Final = frozenset(os.sched_getaffinity(0))
CONFIGURATION: Final = {
    "cpuManagerPolicy": "static", "reservedSystemCPUs": str(min(CPUS)), "topologyManagerPolicy": "restricted",
}  # fmt: skip
VICTIMS: Final = ("device_manager", "container_manager", "worker", "container_runtime")


class HardwareNode(DeviceNode):
    """The first CPU is reserved; containers get two devices of one plugin, and CPUs of their own."""

    def _configuration(self) -> dict[str, object]:
        return {**super()._configuration(), **CONFIGURATION}

    def ask_for(self, name: str, cpu: str) -> None:
        limits = {THING: "1", "memory": "64Mi", **({"cpu": cpu} if cpu else {})}
        container = {
            "name": "main", "image": BUSYBOX_IMAGE, "imagePullPolicy": "IfNotPresent",
            "command": ["sh", "-c", SCRIPT], "resources": {"limits": limits},
        }  # fmt: skip
        spec = {"terminationGracePeriodSeconds": 1, "containers": [container]}
        metadata = {"name": name, "namespace": "test"}
        self.write(name, json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}))

    # -- what is kept ---------------------------------------------------------------------------------------------
    def recorded(self) -> dict[str, list[str]]:
        """Devices of each pod with any, by its UID, as the checkpoint has them."""
        path = self.home / "root/device-plugins/kubelet_internal_checkpoint"
        found: dict[str, list[str]] = {}
        if not path.exists():
            return found  # nothing was allocated so far
        for entry in json.loads(path.read_text())["Data"]["PodDeviceEntries"] or ():
            found.setdefault(entry["PodUID"], []).extend(entry["DeviceIDs"]["-1"])
        return found

    def cpus(self) -> dict[str, Any]:
        """Those of containers, by UID."""
        found: dict[str, Any] = json.loads((self.home / "root/cpu_manager_state").read_text())
        return dict(found.get("entries", {}))

    def device(self, name: str) -> str:
        """That which the container of this pod has seen when it began; '': it has not begun."""
        uid = self.pod(name).get("metadata", {}).get("uid", "")
        logs = sorted((self.home / "logs").glob(f"test_{name}-*_{uid}/main/*.log")) if uid else []
        try:
            lines = logs[-1].read_text().splitlines() if logs else []
        except FileNotFoundError:
            return ""  # that of a dead instance, removed meanwhile
        return next((line.rpartition(" ")[2] for line in lines if " things " in line), "")

    def wait_device(self, name: str) -> str:
        self.until(lambda: self.device(name) != "", f"{name} with its device")
        self.wait_phase(name, "Running")
        return self.device(name)

    def withdraw_all(self) -> None:
        for manifest in Path(self.manifests).glob("*.yaml"):
            manifest.unlink()

    # -- steps ----------------------------------------------------------------------------------------------------
    def pids(self, victim: str) -> dict[str, tuple[int, int]]:
        """Pid and incarnation by name."""
        own = "pod_workers/worker/" if victim == "worker" else victim
        return {name: (one.pid, one.incarnation) for name, one in self.actors().items() if name.startswith(own)}

    def signal(self, victim: str, number: int) -> None:
        own = "pod_workers/worker/" if victim == "worker" else victim
        self.signal_actors(lambda name: name.startswith(own), number)

    def wait_later(self, victim: str, before: dict[str, tuple[int, int]]) -> None:
        """Until later incarnations of all of them are in service, and everything else is."""

        def replaced() -> bool:
            now = self.pids(victim)
            return all(name in now and now[name][1] > incarnation for name, (_, incarnation) in before.items())

        self.until(replaced, f"{victim} replaced")
        self.wait_whole()


Hold = Callable[[HardwareNode, FakeDevicePlugin], Callable[[], None]]
"""Waits until the step is reached, and answers what lets it go on."""


def asked(node: HardwareNode, plugin: FakeDevicePlugin) -> Callable[[], None]:
    plugin.wait_asked("Allocate")
    return plugin.hanging.clear


def answered(node: HardwareNode, plugin: FakeDevicePlugin) -> Callable[[], None]:
    """The device manager has not read the answer."""
    plugin.wait_asked("Allocate")
    node.signal("device_manager", signal.SIGSTOP)
    plugin.hanging.clear()
    plugin.wait_answered("Allocate")
    return lambda: node.signal("device_manager", signal.SIGCONT)


def recorded(node: HardwareNode, plugin: FakeDevicePlugin) -> Callable[[], None]:
    """The container manager has not read that the device is allocated."""
    plugin.wait_asked("Allocate")
    node.signal("container_manager", signal.SIGSTOP)
    plugin.hanging.clear()
    node.until(lambda: bool(node.recorded()), "it is in the checkpoint")
    return lambda: node.signal("container_manager", signal.SIGCONT)


def prepared(node: HardwareNode, plugin: FakeDevicePlugin) -> Callable[[], None]:
    plugin.hanging.add("PreStartContainer")
    plugin.hanging.discard("Allocate")
    plugin.wait_asked("PreStartContainer")
    return plugin.hanging.clear


def created(node: HardwareNode, plugin: FakeDevicePlugin) -> Callable[[], None]:
    plugin.hanging.clear()
    node.until(lambda: any(one.pod_name.startswith("first-") for one in node.containers()), "the container is created")
    return lambda: None


STEPS: Final[dict[str, Hold]] = {
    "asked": asked, "answered": answered, "recorded": recorded, "prepared": prepared, "created": created,
}  # fmt: skip


HOLDERS: Final = {"answered": "device_manager", "recorded": "container_manager"}
"""Who is stopped for a step, and so cannot hang in it."""
HANGS: Final = [(step, victim) for step in STEPS for victim in VICTIMS[:2] if HOLDERS.get(step) != victim]


@pytest.fixture(scope="module")
def node() -> Iterator[HardwareNode]:
    if len(CPUS) < 2:
        pytest.skip("NOT TESTED with CPUs of their own: this needs two CPUs")
    with managed_runtime() as runtime:
        agent = HardwareNode(runtime)
        try:
            agent.start()
            agent.wait_whole()
            yield agent
        finally:
            agent.remove()


@pytest.fixture(scope="module")
def plugin(node: HardwareNode) -> Iterator[FakeDevicePlugin]:
    found = FakeDevicePlugin(f"{node.home}/root", THING, pre_start=True)
    with found.running():
        found.register()
        node.wait_devices(2)
        yield found


@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_any_step_allocates_no_device_or_cpu_twice_and_loses_none(
    node: HardwareNode, plugin: FakeDevicePlugin, step: str, victim: str
) -> None:
    with first_asks(node, plugin):
        go_on = STEPS[step](node, plugin)
        before = node.pids(victim)
        node.signal(victim, signal.SIGKILL)
        go_on()
        node.wait_later(victim, before)
        check(node)


@pytest.mark.slow
@pytest.mark.parametrize(("step", "victim"), HANGS)
def test_a_hang_at_any_step_allocates_no_device_or_cpu_twice_and_loses_none(
    node: HardwareNode, plugin: FakeDevicePlugin, step: str, victim: str
) -> None:
    """Everybody else goes on, until the supervisor has the actor replaced."""
    with first_asks(node, plugin):
        go_on = STEPS[step](node, plugin)
        before = node.pids(victim)
        node.signal(victim, signal.SIGSTOP)
        go_on()
        node.wait_later(victim, before)
        check(node)


@contextmanager
def first_asks(node: HardwareNode, plugin: FakeDevicePlugin) -> Iterator[None]:
    """The plugin does not answer; afterwards both pods end, and all is free."""
    plugin.calls.clear()
    plugin.answered.clear()
    plugin.hanging.add("Allocate")
    node.ask_for("first", cpu="1")
    try:
        yield
    finally:
        plugin.hanging.clear()
        node.withdraw_all()
    node.wait_gone("first", "second")
    node.until(lambda: node.recorded() == {} and node.cpus() == {}, "all is free")


def check(node: HardwareNode) -> None:
    """The first pod runs with what is recorded, and a second one gets the other device."""
    first = node.wait_device("first")
    node.ask_for("second", cpu="")
    second = node.wait_device("second")
    assert {first, second} == {"d0", "d1"}
    uids = [node.pod(name)["metadata"]["uid"] for name in ("first", "second")]
    assert node.recorded() == {uids[0]: [first], uids[1]: [second]}
    assert list(node.cpus()) == [uids[0]]
    assert node.doubles() == []
