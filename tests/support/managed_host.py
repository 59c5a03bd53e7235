"""A made-up host for the container manager: cgroup directories without a kernel behind them."""

from __future__ import annotations

import json
import os
from typing import Any

from actors.container_manager.actor import ContainerManager
from actors.container_manager.messages import AdmitPod
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.cri.client import CriClient
from actors.shared.linux.command import CommandRunner
from actors.shared.linux.system_bus import SYSTEMD, BusObject, Call, DBusReply
from supervision.testing.harness import Harness

ASK = "actors.container_manager.cgroups.runtime_cgroup_driver:ask"
V1 = ("cpu,cpuacct", "memory", "pids", "name=systemd")
FILES = {
    "cpu,cpuacct": ("cpu.shares", "cpu.cfs_quota_us", "cpu.cfs_period_us"),
    "memory": ("memory.limit_in_bytes",),
    "pids": ("pids.max",),
}
V2_FILES = ("cgroup.subtree_control", "cpuset.cpus", "memory.low", "memory.max", "memory.min", "pids.max")
CORES = len(os.sched_getaffinity(0))


class Host:
    """A v1 machine with 4 GiB, and one container manager on it at a time."""

    def __init__(self, root):
        self.root, self.commands = root, []
        self.runner: CommandRunner = self.run
        self.calls: list[tuple[str, list[Any]]] = []
        """Method and arguments of each call to systemd."""
        self.runtime: CriClient | None = None
        self.systemd: Call = self.answer
        (root / "proc/self").mkdir(parents=True)
        (root / "proc/meminfo").write_text("MemTotal: 4194304 kB\n")
        lines = []
        for number, options in enumerate(V1):
            point = f"/sys/fs/cgroup/{options.removeprefix('name=')}"
            (root / point.lstrip("/")).mkdir(parents=True)
            lines.append(f"{number + 30} 1 0:{number} / {point} rw - cgroup cgroup rw,{options}\n")
        (root / "proc/self/mountinfo").write_text("".join(lines))

    def unify(self, *cgroups):
        """Become a v2 machine, with the files of the kernel in these cgroups."""
        text = "30 1 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n"
        (self.root / "proc/self/mountinfo").write_text(text)
        for cgroup in ("", *cgroups):
            directory = self.root / "sys/fs/cgroup" / cgroup.lstrip("/")
            directory.mkdir(parents=True, exist_ok=True)
            for name in V2_FILES:
                (directory / name).touch()
            (directory / "cgroup.controllers").write_text("cpu cpuset memory pids")

    def read_unified(self, cgroup, name):
        return (self.root / "sys/fs/cgroup" / cgroup.lstrip("/") / name).read_text()

    def start(self, driver="", answer="", standalone=True, managed=False, incarnation=1, **config):
        config = {"evictionHard": {}, "makeIPTablesUtilChains": False, **config}
        settings = KubeletConfiguration(cgroupDriver=driver or "cgroupfs", **config)
        root_dir = str(self.root / "kubelet")
        context = Agent(
            root_dir=root_dir,
            run_dir=f"{root_dir}/run",
            workers=2,
            config=settings,
            standalone=standalone,
            managed_runtime=managed,
        )
        arguments = {"host": str(self.root), "runner": self.runner, "call": self.systemd, "runtime": self.runtime}
        harness = Harness(
            ContainerManager, name="container_manager", context=context, arguments=arguments, incarnation=incarnation
        )
        harness.disposables[ASK] = answer if isinstance(answer, Exception) or callable(answer) else lambda **_: answer
        return harness

    async def run(self, argv, given=b""):
        self.commands.append(argv)
        return ""

    async def answer(self, target: BusObject, method: str, signature: str, body: list[Any]) -> DBusReply:
        """As a systemd that does all that it is told."""
        assert target == SYSTEMD
        self.calls.append((method, body))
        return DBusReply([], [])

    def dress(self, cgroup):
        """The files that the kernel would put into a cgroup."""
        for hierarchy, names in FILES.items():
            directory = self.root / "sys/fs/cgroup" / hierarchy / cgroup.lstrip("/")
            directory.mkdir(parents=True, exist_ok=True)
            for name in names:
                (directory / name).write_text("")

    def undress(self, cgroup):
        for hierarchy, names in FILES.items():
            for name in names:
                (self.root / "sys/fs/cgroup" / hierarchy / cgroup.lstrip("/") / name).unlink()

    def read(self, cgroup, name):
        hierarchy = next(hierarchy for hierarchy, names in FILES.items() if name in names)
        return (self.root / "sys/fs/cgroup" / hierarchy / cgroup.lstrip("/") / name).read_text()

    def has(self, cgroup):
        return [
            h for h in os.listdir(self.root / "sys/fs/cgroup") if (self.root / "sys/fs/cgroup" / h / cgroup).exists()
        ]


def pod(cpu=None, memory=None, limits=None, ports=(), **spec):
    requests = {name: value for name, value in (("cpu", cpu), ("memory", memory)) if value}
    container = {
        "name": "c",
        "resources": {"requests": requests, "limits": limits or {}},
        "ports": [{"containerPort": port, "hostPort": port} for port in ports],
    }
    return json.dumps({"metadata": {"name": "p"}, "spec": {"containers": [container], **spec}}).encode()


async def admit(manager, uid, data, running=False):
    return await manager.deliver(AdmitPod(uid, data, running))
