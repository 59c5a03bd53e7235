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
from typing import Any, Final

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
QUESTIONS: Final = (GetDeviceHints, ReserveDevices, AllocateDevices, PrepareDevices)


def figures() -> list[Figure]:
    """Medians in seconds, beside that of a pod where no manager is on. A pod with a device waits for the plugin, too,
    which is a Python program here: that has no bar."""
    with tempfile.TemporaryDirectory() as directory:
        plain, pinned, device = asyncio.run(_measure(Path(directory)))
    return [
        median_of("admission.all", "admission with CPUs and memory of its own", pinned, "s", plain),
        median_of("admission.device", "admission with a device besides", device, "s", plain),
    ]


async def _measure(home: Path) -> tuple[list[float], list[float], list[float]]:
    """Seconds of each admission: with no manager, with all of them, and with a device, too."""
    for name in ("all", "none", "devices"):
        (home / name).mkdir()
    hosts = Host(home / "all"), Host(home / "none")
    write_sysfs(hosts[0].root, machine(sockets=2, nodes=2, cores=2, memory=2 * GIB))
    devices = DeviceNode(home / "devices")
    async with hosts[0].start(**ALL) as whole, hosts[1].start() as plain, devices.harness as manager:
        for question in QUESTIONS:
            whole.answer(question, manager.ask)
        with _plugin(devices.root):
            await devices.reported({THING: 2}, {THING: 2})
            found = list[float](), list[float](), list[float]()
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


async def _admission(manager: Any, uid: str, **devices: str) -> float:
    """Seconds; the pod is gone again afterwards."""
    container = asking("a", "1", "64Mi")
    container["resources"]["limits"].update(devices)
    question = AdmitPod(uid, encode(pod_of(container, uid=uid)))
    started_at = time.perf_counter()
    answer = await manager.deliver(question)
    seconds = time.perf_counter() - started_at
    assert isinstance(answer, PodAdmitted), answer
    await manager.deliver(ReleasePod(uid))
    return seconds
