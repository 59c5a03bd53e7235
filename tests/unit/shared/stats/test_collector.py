"""What the collector of usage figures remembers from one sample to the next."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from actors.shared.config.agent import Agent
from actors.shared.config.fields.duration import Duration
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.cri.client import CriClient
from actors.shared.cri.model import CriContainer, CriContainerState, Sandbox
from actors.shared.cri.stats import ContainerStats, CpuUsage
from actors.shared.linux.cgroup_hierarchy import Hierarchy
from actors.shared.linux.cgroup_tree import CgroupTree
from actors.shared.stats import collector as stats_collector
from actors.shared.stats.collector import Collector
from actors.shared.stats.disk_usage import DiskUsageCollector
from actors.shared.stats.own_cgroup import own_cgroup
from supervision.actor import DisposableError
from supervision.metrics import Metrics

CONTROLLERS = frozenset({"cpu", "memory", "pids", "io"})
CPU = "usage_usec 5000\nuser_usec 3000\nsystem_usec 2000"


class Runtime:
    """Lists what the test puts into it; no store of images has a disk."""

    def __init__(self) -> None:
        self.sandboxes: list[Sandbox] = []
        self.containers: list[CriContainer] = []
        self.stats: list[ContainerStats] = []

    def add_pod(self, uid: str) -> None:
        box, inner = sandbox_id(uid), container_id(uid)
        self.sandboxes.append(Sandbox(id=box, pod_uid=uid, pod_name=uid, pod_namespace="default", ready=True))
        running = CriContainer(id=inner, name="main", pod_uid=uid, sandbox_id=box, state=CriContainerState.RUNNING)
        self.containers.append(running)

    async def list_pod_sandboxes(self) -> list[Sandbox]:
        return list(self.sandboxes)

    async def list_containers(self) -> list[CriContainer]:
        return list(self.containers)

    async def list_container_stats(self) -> list[ContainerStats]:
        return list(self.stats)

    async def image_fs_info(self) -> Any:
        class Nothing:
            images: list[Any] = []
            containers: list[Any] = []

        return Nothing()


class Disks:
    """Answers with a larger file system each time."""

    def __init__(self) -> None:
        self.looks = self.walks = 0

    async def measure_pods(self, pods: list[list[str]]) -> dict[str, dict[str, Any]]:
        self.walks += 1
        return {uid: {"volumes": {}, "walk": self.walks} for uid, *_ in pods}

    async def __call__(self, function: str, arguments: dict[str, Any], deadline: float) -> Any:
        self.looks += 1
        return {path: {"used_bytes": self.looks} for path in arguments["paths"]}


def sandbox_id(uid: str) -> str:
    return f"5a4db0c5{uid:0>12}"


def container_id(uid: str) -> str:
    return f"c047a14e{uid:0>12}"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, period: str = "1m", clock: Callable[[], float] = time.monotonic
) -> tuple[Collector, Runtime, Disks]:
    monkeypatch.setattr(stats_collector, "FIRST_RATE_SECONDS", 0.001)
    runtime, disks = Runtime(), Disks()
    config = KubeletConfiguration(volumeStatsAggPeriod=Duration.parse(period), kubeletCgroups="/kubepods")
    agent, client = Agent(config=config), cast(CriClient, runtime)
    usage = DiskUsageCollector(agent, client, disks, disks.measure_pods, Metrics(), logging.getLogger("test"), clock)
    collector = Collector(agent, client, usage, clock)
    collector._tree = CgroupTree((Hierarchy(str(tmp_path), CONTROLLERS, True),))
    (tmp_path / "cpu.stat").write_text(CPU)
    return collector, runtime, disks


def put_cgroups(tmp_path: Path, uid: str) -> None:
    pod = tmp_path / "kubepods" / f"pod{uid}"
    for place in (tmp_path / "kubepods", pod, pod / sandbox_id(uid), pod / container_id(uid)):
        place.mkdir(exist_ok=True)
        (place / "cpu.stat").write_text(CPU)


def test_every_sample_has_the_rate_of_the_node_and_of_the_groups_of_pods(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector, _, _ = make(tmp_path, monkeypatch)
    put_cgroups(tmp_path, "one")

    async def rates() -> list[list[int | None]]:
        found = []
        for _ in range(4):
            sample = await collector.sample(-1, disks=False)
            found.append([one.nano_cores for one in (sample.root, *sample.tiers, *sample.system.values())])
        return found

    assert asyncio.run(rates()) == [[0, 0, 0]] * 4


def test_a_pod_that_is_seen_for_the_first_time_has_a_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collector, runtime, _ = make(tmp_path, monkeypatch)

    async def rates() -> list[int | None]:
        put_cgroups(tmp_path, "old")
        runtime.add_pod("old")
        await collector.sample(-1, disks=False)
        put_cgroups(tmp_path, "new")
        runtime.add_pod("new")
        _, pod = (await collector.sample(-1, disks=False)).pods
        assert pod.measured is not None
        return [pod.measured.nano_cores, *(one.measured.nano_cores for one in pod.containers)]

    assert asyncio.run(rates()) == [0, 0]


def test_the_processes_of_a_pod_are_those_of_its_containers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collector, runtime, _ = make(tmp_path, monkeypatch)
    put_cgroups(tmp_path, "one")
    runtime.add_pod("one")
    pod = tmp_path / "kubepods" / "podone"
    (pod / sandbox_id("one") / "cgroup.procs").write_text("11\n")
    (pod / container_id("one") / "cgroup.procs").write_text("12\n13\n")

    async def counts() -> dict[str, int]:
        return collector.process_count(await collector.sample(-1, disks=False))

    assert asyncio.run(counts()) == {"one": 2}


def test_the_network_of_a_sandbox_without_a_process_is_that_of_its_containers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with CRI-O, which gives the sandbox a cgroup all the same."""
    collector, runtime, _ = make(tmp_path, monkeypatch)
    put_cgroups(tmp_path, "one")
    runtime.add_pod("one")
    (tmp_path / "kubepods" / "podone" / container_id("one") / "cgroup.procs").write_text("12\n")
    monkeypatch.setattr("os.readlink", lambda path: path)
    monkeypatch.setattr("actors.shared.stats.collector.host.network_of", lambda pid: ([], f"of {pid}"))
    (pod,) = asyncio.run(collector.sample(-1, disks=False)).pods
    assert pod.network is not None
    assert pod.network.default == "of 12"


def test_figures_that_the_runtime_has_not_renewed_are_no_rate_of_zero(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector, runtime, _ = make(tmp_path, monkeypatch)
    runtime.add_pod("vm")

    def tell(at: int, used: int) -> None:
        cpu = CpuUsage(at_ns=at * 10**9, usage_core_ns=used * 10**9)
        runtime.stats = [ContainerStats(id=container_id("vm"), name="main", cpu=cpu)]

    async def rate() -> int | None:
        ((pod,),) = [(await collector.sample(-1, disks=False)).pods]
        return pod.containers[0].measured.nano_cores

    async def rates() -> list[int | None]:
        now = int(time.time())
        tell(now - 10, 1)
        first = await rate()
        tell(now, 6)
        return [first, await rate(), await rate()]

    assert asyncio.run(rates()) == [None, 500_000_000, 500_000_000]


@pytest.mark.parametrize("period", ["1m", "-1s"])
def test_a_late_reader_of_the_disk_usage_gets_no_old_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, period: str
) -> None:
    clock = Clock()
    collector, _, _ = make(tmp_path, monkeypatch, period, clock)

    async def used() -> list[int]:
        found = []
        for _ in range(2):
            found.append((await collector.sample(-1)).node_fs["used_bytes"])
            clock.now += 1000.0
        return found

    assert asyncio.run(used()) == [1, 2]


@pytest.mark.parametrize(("period", "seconds", "walks"), [("20s", 20.0, 2), ("0s", 60.0, 2), ("-1s", 60.0, 0)])
def test_disks_are_measured_once_in_the_configured_period_and_volumes_not_with_a_negative_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, period: str, seconds: float, walks: int
) -> None:
    clock = Clock()
    collector, runtime, disks = make(tmp_path, monkeypatch, period, clock)
    runtime.add_pod("one")

    async def looks() -> list[int]:
        found = []
        for wait in (0.0, seconds - 1, seconds + 1):
            clock.now += wait
            await collector.sample(-1)
            found.append(disks.looks)
        return found

    assert asyncio.run(looks()) == [1, 1, 2]
    assert disks.walks == walks


def test_a_pod_that_started_since_the_last_sample_is_in_the_next_with_its_disks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector, runtime, disks = make(tmp_path, monkeypatch, clock=Clock())
    runtime.add_pod("one")

    async def walks() -> list[dict[str, Any]]:
        found = [await collector.sample()]
        runtime.add_pod("two")
        found += [await collector.sample(), await collector.sample()]
        return [{uid: disk["walk"] for uid, disk in sample.disks.items()} for sample in found]

    first, second = {"one": 1}, {"one": 1, "two": 2}
    assert asyncio.run(walks()) == [first, second, second]
    assert disks.looks == 1, "the file systems are not looked at again"


def test_a_pod_that_started_while_another_reader_takes_a_sample_is_in_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector, runtime, _ = make(tmp_path, monkeypatch, clock=Clock())
    runtime.add_pod("one")
    stats, took = runtime.list_container_stats, list[str]()

    async def scenario() -> None:
        listed = asyncio.Event()

        async def slow() -> list[ContainerStats]:
            took.append("sample")
            await listed.wait()
            return await stats()

        monkeypatch.setattr(runtime, "list_container_stats", slow)
        readers = [asyncio.create_task(collector.sample(disks=False))]
        while not took:
            await asyncio.sleep(0)
        runtime.add_pod("two")
        readers += [asyncio.create_task(collector.sample(disks=False)) for _ in range(2)]
        for _ in range(10):
            await asyncio.sleep(0)
        listed.set()
        first, *others = await asyncio.gather(*readers)
        assert [pod.sandbox.pod_uid for pod in first.pods] == ["one"]
        assert [[pod.sandbox.pod_uid for pod in sample.pods] for sample in others] == [["one", "two"]] * 2
        assert len(took) == 2, "those who wait share the next one"

    asyncio.run(scenario())


def test_a_restarted_container_is_in_the_next_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collector, runtime, _ = make(tmp_path, monkeypatch, clock=Clock())
    runtime.add_pod("one")

    async def ids() -> list[str]:
        await collector.sample()
        runtime.containers = [msgspec.structs.replace(one, id="restarted") for one in runtime.containers]
        return [one.container.id for pod in (await collector.sample()).pods for one in pod.containers]

    assert asyncio.run(ids()) == ["restarted"]


def test_pods_are_not_measured_again_before_the_period_when_their_measurement_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector, runtime, _ = make(tmp_path, monkeypatch, clock=Clock())

    async def walks() -> int:
        await collector.sample()
        runtime.add_pod("one")
        monkeypatch.setattr(collector._disks, "_measure_pods", fail)
        await collector.sample()
        await collector.sample()
        return len(failed)

    failed: list[Any] = []

    async def fail(pods: list[list[str]]) -> Any:
        failed.append(pods)
        raise DisposableError("measure_pods", "it hangs")

    assert asyncio.run(walks()) == 1


def test_an_early_second_reader_of_the_disk_usage_does_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector, _, disks = make(tmp_path, monkeypatch)

    async def looks() -> int:
        for _ in range(3):
            await collector.sample(-1)
        return disks.looks

    assert asyncio.run(looks()) == 1


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("0::/system.slice/agent.service", "/system.slice/agent.service"),
        (
            "4:memory:/system.slice/agent.service\n3:cpu,cpuacct:/system.slice/agent.service\n0::/",
            "/system.slice/agent.service",
        ),
        ("4:memory:/somebody\n3:cpu,cpuacct:/\n0::/", ""),
        ("4:memory:/somebody\n0::/", ""),
    ],
)
def test_the_agents_cgroup_is_that_of_both_its_cpu_and_its_memory(tmp_path, lines, found):
    (tmp_path / "self").mkdir()
    (tmp_path / "self/cgroup").write_text(f"{lines}\n")
    assert own_cgroup(str(tmp_path)) == found


def test_a_runtime_that_does_not_tell_of_its_containers_is_waited_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One shim that hangs keeps containerd from answering for all."""
    collector, runtime, _ = make(tmp_path, monkeypatch)
    put_cgroups(tmp_path, "one")
    runtime.add_pod("one")
    asked = []

    async def scenario() -> None:
        answered = asyncio.Event()

        async def silent() -> list[ContainerStats]:
            asked.append(True)
            await answered.wait()
            return []

        monkeypatch.setattr(runtime, "list_container_stats", silent)
        monkeypatch.setattr(stats_collector, "STATS_SECONDS", 0.01)
        for _ in range(3):
            sample = await collector.sample(-1, disks=False)
            assert sample.pods[0].containers[0].measured.usage.cpu_ns is not None
            assert sample.pods[0].containers[0].layer is None
        assert len(asked) == 1
        answered.set()
        await asyncio.sleep(0)
        await collector.sample(-1, disks=False)
        assert len(asked) == 2

    asyncio.run(scenario())
