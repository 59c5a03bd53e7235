"""How long the container manager takes to admit a pod: with all managers of hardware, and with none, in turn.

One machine is made up, of two NUMA nodes; its cgroups are directories. The device manager is a real one, with a plugin
that answers over its socket. Both run in this process, so what is missing is one round trip between two actors.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from actors.container_manager.messages import AdmitPod, PodAdmitted, ReleasePod
from actors.device_manager.messages import (
    AllocateDevices,
    GetDeviceHints,
    PrepareDevices,
    ReleaseDevices,
    ReserveDevices,
)
from actors.shared.config.fields.groups import MemoryReservation
from actors.shared.kube.codec import encode
from tests.support.device_node import THING
from tests.support.device_node import Node as DeviceNode
from tests.support.fork_server_process import ROOT_DIR
from tests.support.hardware_pods import asking, pod_of
from tests.support.machines import GIB, machine, write_sysfs
from tests.support.managed_host import Host

from .report import Figure, median_of

TIMES: Final = 100
ALL: Final[dict[str, Any]] = {
    "cpuManagerPolicy": "static",
    "memoryManagerPolicy": "Static",
    "topologyManagerPolicy": "single-numa-node",
    "kubeReserved": {"cpu": "500m", "memory": "1Gi"},
    "reservedMemory": [MemoryReservation(0, {"memory": "1Gi"})],
}
_IN_MEMORY: Final = "/dev/shm"
"""Where the run directory is, as on a host with systemd; the root directory is on the disk."""
QUESTIONS: Final = (GetDeviceHints, ReserveDevices, AllocateDevices, PrepareDevices)


def figures() -> list[Figure]:
    """Medians in seconds, beside that of a pod where no manager is on. A pod with a device waits for the plugin, too,
    which is a Python program here: that has no bar. Processor time is what a loaded machine does not change."""
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory(dir=_IN_MEMORY) as in_memory:
        plain, pinned, device = asyncio.run(_measure(Path(directory), in_memory))
    what = "admission with CPUs and memory of its own"
    cpu = [one.cpu for one in pinned], "s", [one.cpu for one in plain]
    floors = [one.elapsed for one in plain]
    return [
        median_of("admission.all", what, [one.elapsed for one in pinned], "s", floors),
        median_of("admission.all.cpu", f"{what}: CPU", *cpu),
        median_of("admission.device", "admission with a device besides", [one.elapsed for one in device], "s", floors),
    ]


class _Taken(NamedTuple):
    """Seconds of one admission."""

    elapsed: float
    cpu: float
    """Of the processor, in this process."""


async def _measure(home: Path, in_memory: str) -> tuple[list[_Taken], list[_Taken], list[_Taken]]:
    """Each admission: with no manager, with all of them, and with a device, too."""
    for name in ("all", "none", "devices"):
        (home / name).mkdir()
    hosts = Host(home / "all"), Host(home / "none")
    write_sysfs(hosts[0].root, machine(sockets=2, nodes=2, cores=2, memory=2 * GIB))
    devices = DeviceNode(home / "devices")
    for host in hosts:
        Path(host.root, "kubelet").mkdir()
        Path(host.root, "kubelet/run").symlink_to(tempfile.mkdtemp(dir=in_memory))
    async with hosts[0].start(**ALL) as whole, hosts[1].start() as plain, devices.harness as manager:
        for question in QUESTIONS:
            whole.answer(question, manager.ask)
        with _plugin(devices.root):
            await devices.reported({THING: 2}, {THING: 2})
            found = list[_Taken](), list[_Taken](), list[_Taken]()
            for number in range(TIMES + 1):
                uid = f"u{number}"
                found[0].append(await _admission(plain, uid))
                found[1].append(await _admission(whole, uid))
                found[2].append(await _admission(whole, uid, **{THING: "1"}))
                await manager.deliver(whole.sent(ReleaseDevices)[-1])
        await devices.kill()
    first, second, third = (one[1:] for one in found)  # the first of each imports
    return first, second, third


@contextmanager
def _plugin(root_dir: str) -> Iterator[None]:
    """A process of its own, as vendors' are: in this one it would take its time from what is measured."""
    command = [sys.executable, "-m", "tests.support.device_plugin", root_dir, THING, "d0@0", "d1@1"]
    process = subprocess.Popen(command, cwd=ROOT_DIR, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()


async def _admission(manager: Any, uid: str, **devices: str) -> _Taken:
    """The pod is gone again afterwards."""
    container = asking("a", "1", "64Mi")
    container["resources"]["limits"].update(devices)
    question = AdmitPod(uid, encode(pod_of(container, uid=uid)))
    started_at, cpu_before = time.perf_counter(), time.process_time()
    answer = await manager.deliver(question)
    taken = _Taken(time.perf_counter() - started_at, time.process_time() - cpu_before)
    assert isinstance(answer, PodAdmitted), answer
    await manager.deliver(ReleasePod(uid))
    return taken
