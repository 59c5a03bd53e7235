"""The pages of usage figures, made of one sample: held against Prometheus' own reader, and the kubelet's names."""

from __future__ import annotations

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from actors.http_servers.usage import cadvisor_metrics, resource_metrics
from actors.http_servers.usage.stats_fields import swap_stats
from actors.http_servers.usage.summary import summary
from actors.shared.cri.model import CriContainer, CriContainerState, Sandbox
from actors.shared.cri.stats import FileSystem
from actors.shared.kube.times import rfc3339
from actors.shared.linux.psi import Pressure, Psi
from actors.shared.metrics.usage import CADVISOR, RESOURCE
from actors.shared.stats.cgroup_usage import CgroupUsage
from actors.shared.stats.disk_io import DeviceIo, DiskIo, IoCost
from actors.shared.stats.host import HostStats, Interface, MachineInfo
from actors.shared.stats.processes import ProcessStats
from actors.shared.stats.sample import CgroupSample, ContainerSample, Network, PodSample, UsageSample

NOW = 1_800_000_000.0
ETH = Interface(
    name="eth0", rx_bytes=1, rx_packets=2, rx_errors=3, rx_drops=4, tx_bytes=5, tx_packets=6, tx_errors=7, tx_drops=8
)
USAGE = CgroupUsage(
    at=NOW, cpu_ns=2 * 10**9, user_ns=10**9, system_ns=10**9, periods=1, throttled_periods=1, throttled_ns=10**9,
    burst_periods=2, burst_ns=3 * 10**9, cpu_shares=2, cpu_quota_us=100, cpu_period_us=1000, memory_bytes=100,
    working_set_bytes=90, rss_bytes=80, cache_bytes=10, mapped_bytes=5, active_file_bytes=4, inactive_file_bytes=6,
    max_bytes=120, swap_bytes=7, kernel_bytes=11, reserved_bytes=12, failures=1, page_faults=20, major_page_faults=2,
    own_page_faults=15, own_major_page_faults=1,
    oom_kills=1, memory_limit_bytes=200, swap_limit_bytes=50, processes=3, tasks_limit=100,
    io={"8:0": DiskIo(1000, 2000, 10, 20, IoCost(10**6, 0, 0, 0))},
    psi={name: Psi() for name in ("cpu", "memory", "io")},
)  # fmt: skip
CONTAINER = CriContainer(
    id="c1", name="main", pod_uid="u", state=CriContainerState.RUNNING, image="busybox", started_ns=int(NOW * 1e9)
)
SAMPLE = UsageSample(
    at=NOW,
    host=HostStats(
        at=NOW, boot=NOW - 1000, memory={"MemTotal": 1000, "MemFree": 400, "SwapTotal": 100, "SwapFree": 60},
        interfaces=[ETH], default_interface="eth0", max_pid=1, processes=1, psi={},
        devices={"8:1": DeviceIo(10, 1, 80, 500, 20, 2, 160, 6, 1, 9, 11), "8:2": DeviceIo(*range(11))},
    ),
    root=CgroupSample("/", USAGE),
    tiers=[CgroupSample("/kubepods", USAGE)],
    system={"kubelet": CgroupSample("/kubelet", USAGE)},
    pods=[
        PodSample(
            sandbox=Sandbox(id="s1", pod_uid="u", pod_name="p", pod_namespace="n", created_ns=int(NOW * 1e9)),
            measured=CgroupSample("/kubepods/podu", USAGE),
            sandbox_measured=CgroupSample("/kubepods/podu/s1", USAGE),
            containers=[
                ContainerSample(
                    CONTAINER, CgroupSample("/kubepods/podu/c1", USAGE),
                    FileSystem(at_ns=1, mountpoint="/", used_bytes=77, inodes_used=1),
                )
            ],
            network=Network([ETH], "eth0"),
        )
    ],
    node_fs={"capacity_bytes": 9, "used_bytes": 8, "available_bytes": 1, "inodes": 5, "inodes_free": 4, "device": 2049},
    container_fs={"capacity_bytes": 9, "used_bytes": 8, "inodes": 5, "inodes_free": 4, "device": 2049},
    image_fs={"capacity_bytes": 90, "used_bytes": 80, "inodes": 50, "inodes_free": 40, "device": 50, "source": "tmpfs"},
)  # fmt: skip
MACHINE = MachineInfo(
    machine_id="m", system_uuid="s", boot_id="b", kernel="6", os_image="os", cores=2, physical_cores=1, sockets=1,
    disks={"8:0": "/dev/sda", "8:1": "/dev/sda1", "8:2": "/dev/sda2"},
)  # fmt: skip
OF_MAIN = {"namespace": "n", "pod": "p", "container": "main"}


def test_a_pod_uses_the_nodes_disk_by_volumes_there_layers_logs_and_files_of_the_agent():
    local, elsewhere = ({"used_bytes": 100, "inodes_used": 10, "device": device} for device in (2049, 7))
    disk = {
        "volumes": {"local": local, "elsewhere": elsewhere},
        "logs": {"main": {"used_bytes": 5, "inodes_used": 2}},
        "own": {"used_bytes": 3, "inodes_used": 1},
    }
    (pod,) = summary(msgspec.structs.replace(SAMPLE, disks={"u": disk}), "n1")["pods"]
    used = pod["ephemeral-storage"]
    assert (used["usedBytes"], used["inodesUsed"]) == (100 + 77 + 5 + 3, 10 + 1 + 2 + 1)


def test_a_container_has_the_figures_of_its_layer_and_of_its_logs_on_their_file_systems():
    disk = {
        "volumes": {},
        "logs": {"main": {"used_bytes": 5, "inodes_used": 2}},
        "own": {"used_bytes": 0, "inodes_used": 0},
    }
    found = msgspec.structs.replace(SAMPLE, disks={"u": disk}, disks_at=NOW - 60)
    (container,) = summary(found, "n1")["pods"][0]["containers"]
    whole = {"capacityBytes": 9, "inodes": 5, "inodesFree": 4}
    assert container["rootfs"] == {"time": rfc3339(0), "usedBytes": 77, "inodesUsed": 1, **whole}
    logs = {"time": rfc3339(NOW - 60), "usedBytes": 5, "inodesUsed": 2, "availableBytes": 1, **whole}
    assert container["logs"] == logs


def test_a_container_whose_layer_and_logs_are_not_known_has_no_figures_of_them():
    (pod,) = SAMPLE.pods
    pod = msgspec.structs.replace(pod, containers=[msgspec.structs.replace(pod.containers[0], layer=None)])
    (container,) = summary(msgspec.structs.replace(SAMPLE, pods=[pod], disks={}), "n1")["pods"][0]["containers"]
    assert not container.keys() & {"rootfs", "logs"}


def test_lists_without_an_entry_are_left_out_of_the_summary():
    bare = msgspec.structs.replace(SAMPLE, tiers=[], system={}, disks={})
    found = summary(bare, "n1")
    assert "systemContainers" not in found["node"]
    assert "volume" not in found["pods"][0]


def cadvisor() -> str:
    processes = {"/kubepods/podu/c1": ProcessStats(3, 12, 4, 1024), "/kubepods/podu/s1": ProcessStats(1, 2, 0, None)}
    chunks = cadvisor_metrics.chunks(SAMPLE, MACHINE, processes, {"s1": "pause:3.9"})
    return "".join(chunks) + cadvisor_metrics.errors(failed=False)


def resource() -> str:
    return resource_metrics.text(SAMPLE) + resource_metrics.error(failed=False)


@pytest.mark.parametrize(("page", "declared"), [(cadvisor, CADVISOR), (resource, RESOURCE)])
def test_a_page_has_every_metric_that_is_declared_for_it_as_declared(page, declared):
    text = f"\n{page()}"
    samples: dict[str, list[set[str]]] = {}
    kinds = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            # the reader gives every counter an ending that not all of them have
            name = sample.name if f"\n{sample.name}" in text else sample.name.removesuffix("_total")
            kinds[name] = family.type
            samples.setdefault(name, []).append(set(sample.labels))
    assert set(samples) == {metric.name for metric in declared}
    for metric in declared:
        assert all(labels == metric.labels for labels in samples[metric.name]), metric.name
        assert kinds[metric.name] == metric.kind


def value(name: str, **labels: str) -> float:
    (found,) = [
        float(sample.value)
        for family in text_string_to_metric_families(cadvisor())
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    ]
    return found


@pytest.mark.parametrize(
    ("name", "labels", "expected"),
    [
        ("container_fs_reads_bytes_total", {"device": "/dev/sda"}, 1000),
        ("container_fs_writes_total", {"device": "/dev/sda"}, 20),
        ("container_blkio_device_usage_total", {"operation": "Write", "major": "8", "minor": "0"}, 2000),
        ("container_fs_usage_bytes", {"device": "/dev/sda1"}, 77),
        ("container_fs_limit_bytes", {"device": "/dev/sda1"}, 9),
        ("container_fs_inodes_free", {"device": "/dev/sda1"}, 4),
        ("container_fs_io_cost_usage_seconds_total", {"device": "/dev/sda"}, 1),
        ("container_processes", {}, 3),
        ("container_file_descriptors", {}, 12),
        ("container_sockets", {}, 4),
        ("container_ulimits_soft", {"ulimit": "max_open_files"}, 1024),
        ("container_memory_kernel_usage", {}, 11),
        ("container_memory_failures_total", {"scope": "hierarchy", "failure_type": "pgfault"}, 20),
        ("container_memory_failures_total", {"scope": "container", "failure_type": "pgfault"}, 15),
        ("container_cpu_cfs_burst_seconds_total", {}, 3),
    ],
)
def test_a_container_has_its_figures(name, labels, expected):
    assert value(name, **OF_MAIN, **labels) == expected


@pytest.mark.parametrize(
    ("name", "device", "expected"),
    [
        ("container_fs_usage_bytes", "/dev/sda1", 8),
        ("container_fs_usage_bytes", "tmpfs", 80),
        ("container_fs_limit_bytes", "tmpfs", 90),
        ("container_fs_reads_bytes_total", "/dev/sda1", 80 * 512),
        ("container_fs_writes_total", "/dev/sda1", 20),
        ("container_fs_reads_merged_total", "/dev/sda1", 1),
        ("container_fs_read_seconds_total", "/dev/sda1", 0.5),
        ("container_fs_io_current", "/dev/sda1", 1),
        ("container_fs_io_time_weighted_seconds_total", "/dev/sda1", 0.011),
    ],
)
def test_the_node_has_the_figures_of_its_disks(name, device, expected):
    assert value(name, id="/", device=device) == pytest.approx(expected)


def test_the_limit_of_the_node_is_its_memory():
    assert value("container_spec_memory_limit_bytes", id="/") == 1000


def test_a_container_without_a_limit_of_open_files_has_minus_one():
    processes = {"/kubepods/podu/c1": ProcessStats(1, 1, 0, None)}
    page = "".join(cadvisor_metrics.chunks(SAMPLE, MACHINE, processes, {}))
    assert [line.split()[1] for line in page.splitlines() if line.startswith("container_ulimits_soft{")] == ["-1"]


@pytest.mark.parametrize(("used", "available"), [(7, 43), (50, 0), (51, 0)])
def test_the_swap_that_is_left_is_never_negative(used, available):
    stats = swap_stats(msgspec.structs.replace(USAGE, swap_bytes=used))
    assert stats is not None
    assert (stats["swapAvailableBytes"], stats["swapUsageBytes"]) == (available, used)


@pytest.mark.parametrize("name", ["container_threads_max", "container_spec_memory_swap_limit_bytes"])
def test_no_limit_is_zero(name):
    unlimited = msgspec.structs.replace(USAGE, tasks_limit=None, swap_limit_bytes=None)
    pod = msgspec.structs.replace(SAMPLE.pods[0], measured=CgroupSample("/kubepods/podu", unlimited))
    sample = msgspec.structs.replace(SAMPLE, pods=[pod])
    page = "".join(cadvisor_metrics.chunks(sample, MACHINE, {}, {}))
    assert [line.split()[1] for line in page.splitlines() if line.startswith(name) and 'podu"' in line] == ["0"]


@pytest.mark.parametrize(("word", "seconds"), [("waiting", "3"), ("stalled", "1")])
def test_some_tasks_wait_and_all_are_stalled(word, seconds):
    stalled = msgspec.structs.replace(USAGE, psi={"io": Psi(some=Pressure(3_000_000), full=Pressure(1_000_000))})
    pod = msgspec.structs.replace(SAMPLE.pods[0], measured=CgroupSample("/kubepods/podu", stalled))
    page = "".join(cadvisor_metrics.chunks(msgspec.structs.replace(SAMPLE, pods=[pod]), MACHINE, {}, {}))
    name = f"container_pressure_io_{word}_seconds_total"
    assert [line.split()[1] for line in page.splitlines() if line.startswith(name) and 'podu"' in line] == [seconds]


@pytest.mark.parametrize("name", ["", "POD"])
def test_a_sandbox_has_its_image_and_the_name_that_the_runtime_gives_it(name):
    """Queries without sandboxes leave out rows without the name of a container (containerd) or named POD (CRI-O)."""
    labels = {"io.kubernetes.container.name": name} if name else {}
    box = msgspec.structs.replace(SAMPLE.pods[0].sandbox, labels=labels)
    sample = msgspec.structs.replace(SAMPLE, pods=[msgspec.structs.replace(SAMPLE.pods[0], sandbox=box)])
    page = "".join(cadvisor_metrics.chunks(sample, MACHINE, {}, {"s1": "pause:3.9"}))
    wanted = f'{{container="{name}",id="/kubepods/podu/s1",image="pause:3.9",name="s1",namespace="n",pod="p"'
    assert f"container_memory_rss{wanted}}} 80 " in page
    assert f'container_network_receive_bytes_total{wanted},interface="eth0"}} 1 ' in page


def test_limits_and_the_time_of_the_start_have_no_time_of_their_own():
    """So that Prometheus ends the series with its container, and not five minutes later."""
    timed = [line.split("{")[0] for line in cadvisor().splitlines() if line.rpartition("} ")[2].count(" ")]
    assert "container_memory_rss" in timed
    assert not [name for name in timed if name.startswith(("container_spec_", "container_start_time_"))]


def test_only_a_cgroup_with_a_cpu_limit_has_figures_of_it():
    unlimited = msgspec.structs.replace(USAGE, cpu_quota_us=None)
    pod = msgspec.structs.replace(SAMPLE.pods[0], measured=CgroupSample("/kubepods/podu", unlimited))
    page = "".join(cadvisor_metrics.chunks(msgspec.structs.replace(SAMPLE, pods=[pod]), MACHINE, {}, {}))
    rows = [line for line in page.splitlines() if line.startswith("container_cpu_cfs_")]
    assert len([line for line in rows if 'podu/c1"' in line]) == 5
    assert not [line for line in rows if 'podu"' in line]


def test_disks_on_which_nothing_of_the_node_is_are_left_out():
    assert 'device="/dev/sda2"' not in cadvisor()


def test_no_series_is_there_twice():
    rows = [line.rpartition("}")[0] for line in cadvisor().splitlines() if "{" in line]
    assert len(rows) == len(set(rows))


def test_the_summary_has_io_and_swap_of_system_containers():
    for one in summary(SAMPLE, "node")["node"]["systemContainers"]:
        assert {"cpu", "memory", "io", "swap"} <= set(one), one["name"]


def test_system_containers_start_when_the_agent_or_their_cgroup_did():
    runtime = msgspec.structs.replace(SAMPLE.system["kubelet"], created=200.0)
    sample = msgspec.structs.replace(SAMPLE, system={**SAMPLE.system, "runtime": runtime})
    times = {
        one["name"]: one["startTime"] for one in summary(sample, "n", agent_started=300.0)["node"]["systemContainers"]
    }
    assert times["kubelet"] == rfc3339(300.0)
    assert times["runtime"] == rfc3339(200.0)
    assert times["pods"] == rfc3339(SAMPLE.host.boot), "that of its cgroup is not known"


def test_the_summary_counts_processes_and_not_their_threads():
    (pod,) = summary(SAMPLE, "node", {SAMPLE.pods[0].sandbox.pod_uid: 2})["pods"]
    assert pod["process_stats"] == {"process_count": 2}


def test_a_pod_without_a_cgroup_uses_what_its_containers_use_together():
    (pod,) = SAMPLE.pods
    one = msgspec.structs.replace(pod.containers[0], measured=CgroupSample("/c1", USAGE, nano_cores=30))
    other = msgspec.structs.replace(one, measured=CgroupSample("/c2", CgroupUsage(at=NOW + 5, cpu_ns=1), nano_cores=4))
    pod = msgspec.structs.replace(pod, measured=None, containers=[one, other])
    (found,) = summary(msgspec.structs.replace(SAMPLE, pods=[pod]), "n1")["pods"]
    assert found["cpu"] == {
        "time": rfc3339(NOW + 5),
        "usageNanoCores": 34,
        "usageCoreNanoSeconds": 2 * 10**9 + 1,
    }
    assert (found["memory"]["workingSetBytes"], found["swap"]["swapUsageBytes"]) == (90, 7)
    page = resource_metrics.text(msgspec.structs.replace(SAMPLE, pods=[pod]))
    assert f'pod_memory_working_set_bytes{{namespace="n",pod="p"}} 90 {int(NOW * 1000)}\n' in page
    (bare,) = summary(msgspec.structs.replace(SAMPLE, pods=[msgspec.structs.replace(pod, containers=[])]), "n1")["pods"]
    assert "cpu" not in bare


def test_the_short_summary_has_cpu_memory_and_swap_only():
    found = summary(SAMPLE, "node", only_cpu_and_memory=True)
    assert set(found["node"]) == {"nodeName", "systemContainers", "startTime", "cpu", "memory", "swap"}
    (pod,) = found["pods"]
    assert set(pod) == {"podRef", "startTime", "containers", "cpu", "memory", "swap"}
    assert set(pod["containers"][0]) == {"name", "startTime", "cpu", "memory", "swap"}
    assert pod["swap"]["swapUsageBytes"] == 7
