"""What a cgroup's files say."""

from __future__ import annotations

import json
import os
import resource
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.linux.cgroup_hierarchy import Hierarchy
from actors.shared.linux.cgroup_tree import CgroupTree
from actors.shared.linux.psi import Pressure, psi_of
from actors.shared.stats import disk, host, pod_cgroups
from actors.shared.stats.cgroup_usage import read
from actors.shared.stats.collector import Collector
from actors.shared.stats.processes import count_of, processes_of

PSI = "some avg10=1.50 avg60=0.25 avg300=0.00 total=1234\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=12"
V2 = {
    "cpu.stat": "usage_usec 5000\nuser_usec 3000\nsystem_usec 2000\nnr_periods 7\nnr_throttled 2\nthrottled_usec 9",
    "cpu.max": "20000 100000",
    "cpu.weight": "8",
    "memory.current": "1000000",
    "memory.stat": "anon 300000\nfile 500000\ninactive_file 400000\nactive_file 100000\npgfault 11\npgmajfault 1",
    "memory.events": "low 0\nmax 3\noom 1\noom_kill 1",
    "memory.max": "max",
    "memory.swap.max": "4096",
    "memory.swap.current": "0",
    "pids.current": "4",
    "pids.max": "max",
    "memory.pressure": PSI,
}
V1 = {
    "cpuacct.usage": "5000000",
    "cpuacct.stat": "user 300\nsystem 200",
    "cpu.stat": "nr_periods 7\nnr_throttled 2\nthrottled_time 9000",
    "cpu.shares": "204",
    "cpu.cfs_quota_us": "-1",
    "cpu.cfs_period_us": "100000",
    "memory.usage_in_bytes": "1000000",
    "memory.limit_in_bytes": "2000000",
    "memory.memsw.limit_in_bytes": "2500000",
    "memory.stat": "rss 1\ntotal_rss 300000\ntotal_inactive_file 400000\ntotal_swap 8\npgfault 3\ntotal_pgfault 11",
    "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 5",
}
CONTROLLERS = frozenset({"cpu", "cpuacct", "memory", "pids", "io"})


UNUSED: Any = None
"""What a collector of cgroups does not call."""


def tree(root: Path, files: dict[str, str], *, unified: bool) -> CgroupTree:
    (root / "c").mkdir()
    for name, text in files.items():
        (root / "c" / name).write_text(text + "\n")
    return CgroupTree((Hierarchy(str(root), CONTROLLERS, unified),))


def test_v2(tmp_path):
    found = read(tree(tmp_path, V2, unified=True), "/c", lambda: 5.0)
    assert (found.at, found.cpu_ns, found.user_ns, found.system_ns) == (5.0, 5_000_000, 3_000_000, 2_000_000)
    assert (found.periods, found.throttled_periods, found.throttled_ns) == (7, 2, 9000)
    assert (found.cpu_quota_us, found.cpu_period_us, found.cpu_shares) == (20000, 100000, 185)
    assert (found.memory_bytes, found.working_set_bytes, found.rss_bytes) == (1_000_000, 600_000, 300_000)
    assert (found.memory_limit_bytes, found.swap_limit_bytes, found.failures, found.oom_kills) == (None, 4096, 3, 1)
    assert (found.processes, found.tasks_limit) == (4, None)
    assert (found.own_page_faults, found.page_faults) == (11, 11)
    assert found.psi["memory"].some == Pressure(1234, 1.5, 0.25, 0.0)


def test_v1(tmp_path):
    found = read(tree(tmp_path, V1, unified=False), "/c", lambda: 5.0)
    assert (found.cpu_ns, found.user_ns, found.system_ns) == (5_000_000, 3_000_000_000, 2_000_000_000)
    assert (found.throttled_ns, found.cpu_shares, found.cpu_quota_us) == (9000, 204, None)
    assert (found.own_page_faults, found.page_faults) == (3, 11)
    assert (found.working_set_bytes, found.rss_bytes, found.swap_bytes) == (600_000, 300_000, 8)
    assert (found.memory_limit_bytes, found.swap_limit_bytes, found.oom_kills) == (2_000_000, 500_000, 5)


@pytest.mark.parametrize("unified", [True, False])
def test_a_missing_cgroup_has_no_figures(tmp_path, unified):
    found = read(tree(tmp_path, {}, unified=unified), "/gone", lambda: 5.0)
    assert (found.cpu_ns, found.memory_bytes, found.working_set_bytes, found.psi) == (None, None, None, {})


@given(st.text(alphabet="sofmeull avg10=.-nit\n", max_size=80))
def test_any_text_is_pressure_or_none(text):
    assert psi_of(text) is None or text.strip()


def test_cgroups_of_pods_are_found_for_both_drivers(tmp_path):
    ids = ["0123456789abcdef" * 4, "fedcba9876543210" * 4]
    (tmp_path / f"kubepods/burstable/pod1-a/{ids[0]}").mkdir(parents=True)
    (tmp_path / "kubepods/pod2").mkdir()
    slices = "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod3_b.slice"
    (tmp_path / f"{slices}/cri-containerd-{ids[1]}.scope").mkdir(parents=True)
    found = pod_cgroups.find(CgroupTree((Hierarchy(str(tmp_path), CONTROLLERS, True),)), "")
    assert sorted(found.pods) == ["1-a", "2", "3-b"]
    assert found.pods["1-a"].containers == {ids[0]: f"/kubepods/burstable/pod1-a/{ids[0]}"}
    assert found.pods["3-b"].containers == {ids[1]: f"/{slices}/cri-containerd-{ids[1]}.scope"}
    assert found.tiers == [
        "/kubepods",
        "/kubepods/burstable",
        "/kubepods.slice",
        "/kubepods.slice/kubepods-besteffort.slice",
    ]


def test_conmon_of_cri_o_is_not_mistaken_for_its_container(tmp_path):
    container = "0c" * 32
    parent = "kubepods.slice/kubepods-pod1.slice"
    for name in (f"crio-{container}.scope/container", f"crio-conmon-{container}.scope"):
        (tmp_path / parent / name).mkdir(parents=True)
    tree = CgroupTree((Hierarchy(str(tmp_path), CONTROLLERS, True),))
    (found,) = pod_cgroups.find(tree, "").pods.values()

    assert found.containers == {container: f"/{parent}/crio-{container}.scope"}


@pytest.mark.parametrize(
    ("files", "pid"),
    [
        ({"cgroup.procs": "41\n42\n"}, 41),
        ({"cgroup.procs": "", "container/cgroup.procs": "43\n"}, 43),
        ({"cgroup.procs": ""}, 0),
        ({}, 0),
    ],
)
def test_a_process_of_a_container_is_found_where_runc_and_where_crun_put_it(tmp_path, files, pid):
    for name, text in files.items():
        file = tmp_path / "one" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    assert pod_cgroups.first_process(CgroupTree((Hierarchy(str(tmp_path), CONTROLLERS, True),)), "/one") == pid


def test_a_disk_is_measured_with_each_file_once(tmp_path):
    data = tmp_path / "pods/u/volumes/kubernetes.io~empty-dir/data"
    data.mkdir(parents=True)
    (data / "one").write_bytes(b"x" * 10000)
    (data / "two").hardlink_to(data / "one")
    (data / "out").symlink_to("/")
    (tmp_path / "logs/main").mkdir(parents=True)
    (tmp_path / "logs/main/0.log").write_text("log\n" * 2000)
    found = disk.measure_pods([["u", str(tmp_path / "pods/u"), str(tmp_path / "logs")], ["v", "/nowhere", "/nowhere"]])
    without = disk.measure_pods([["u", str(tmp_path / "pods/u"), str(tmp_path / "logs")]], volumes=False)["u"]
    assert without == {**found["u"], "volumes": {}, "mounted": []}
    volume = found["u"]["volumes"]["data"]
    assert volume["inodes_used"] == 3
    assert 10000 <= volume["used_bytes"] < 30000
    assert volume["capacity_bytes"] > volume["available_bytes"] > 0
    assert found["u"]["logs"]["main"]["used_bytes"] >= 8000
    assert found["v"]["volumes"] == {}


def test_what_containers_write_to_their_hosts_and_termination_messages_is_measured(tmp_path):
    pod = tmp_path / "pods/u"
    (pod / "containers/main").mkdir(parents=True)
    (pod / "etc-hosts").write_bytes(b"x" * 10000)
    for instance in ("00000000", "00000001"):
        (pod / "containers/main" / instance).write_bytes(b"x" * 50000)
    own = disk.measure_pods([["u", str(pod), str(tmp_path / "logs")]])["u"]["own"]
    assert 110000 <= own["used_bytes"] < 150000
    assert own["inodes_used"] == 3


def test_a_link_in_place_of_the_logs_of_a_pod_names_and_measures_nothing_of_others(tmp_path):
    (tmp_path / "others" / "secret-name").mkdir(parents=True)
    (tmp_path / "logs").symlink_to(tmp_path / "others")
    assert disk.measure_pods([["u", str(tmp_path / "pods/u"), str(tmp_path / "logs")]])["u"]["logs"] == {}


def test_interfaces_are_listed_with_the_default_one():
    text = "Inter-| Receive\n face |bytes\n    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
    text += "  eth0: 100 2 3 4 5 6 7 8 900 10 11 12 13 14 15 16\n  bad: x\n"
    (found,) = host.interfaces(text)
    assert (found.name, found.rx_bytes, found.rx_drops, found.tx_bytes, found.tx_errors) == ("eth0", 100, 4, 900, 11)
    routes = "Iface\tDestination\tGateway\neth1\t0000000A\t0\neth0\t00000000\t0102A8C0\n"
    assert host.default_interface(routes) == "eth0"
    assert host.default_interface("") == ""


def test_loopback_and_the_hosts_ends_of_containers_are_no_interfaces_of_the_node():
    names = ("lo", "eth0", "veth1a2b", "Docker0", "nerdctl0", "cni0", "lom1")
    text = "".join(f"  {name}: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n" for name in names)
    assert [one.name for one in host.interfaces(text)] == ["eth0", "cni0", "lom1"]


@pytest.mark.parametrize(
    ("limits", "most"),
    [
        ({"pid_max": "4194304", "threads-max": "31270"}, 31270),
        ({"pid_max": "32768", "threads-max": "63000"}, 32768),
        ({"pid_max": "32768"}, 32768),
        ({}, None),
    ],
)
def test_the_lower_limit_of_tasks_is_that_of_the_node(tmp_path, limits, most):
    (tmp_path / "sys/kernel").mkdir(parents=True)
    for name, limit in limits.items():
        (tmp_path / "sys/kernel" / name).write_text(f"{limit}\n")
    assert host.read(1.0, str(tmp_path)).max_pid == most


def test_a_volume_of_a_driver_goes_by_the_name_that_its_pod_has_for_it_and_by_its_claim(tmp_path):
    folder = tmp_path / "pods/u/volumes/kubernetes.io~csi/pv-1"
    (folder / "mount").mkdir(parents=True)
    (folder / "vol_data.json").write_text('{"volume": "data", "claim": "disk"}')

    found = disk.measure_pods([["u", str(tmp_path / "pods/u"), str(tmp_path / "logs")]])["u"]["volumes"]

    assert list(found) == ["data"]
    assert found["data"]["claim"] == "disk"


@pytest.mark.parametrize("plugin", [f"kubernetes.io~{name}" for name in ("nfs", "local-volume", "iscsi", "fc")])
def test_a_claim_on_the_network_or_the_node_has_figures_by_its_name_in_the_pod(tmp_path, plugin):
    (tmp_path / "pods/u/volumes" / plugin / "pv-1").mkdir(parents=True)
    (tmp_path / "pods/u/volumes" / plugin / "inline").mkdir()
    (tmp_path / "pods/u/plugins").mkdir()
    saved = {"data": {"metadata": {"name": "pv-1"}, "spec": {"claimRef": {"name": "disk", "uid": "x"}}}}
    (tmp_path / "pods/u/plugins/persistent_volumes.json").write_text(json.dumps(saved))

    found = disk.measure_pods([["u", str(tmp_path / "pods/u"), str(tmp_path / "logs")]])["u"]["volumes"]

    assert set(found) == {"data", "inline"}
    assert (found["data"]["claim"], found["data"]["metric_source"]) == ("disk", "statfs")
    assert "claim" not in found["inline"]
    assert "device" not in found["data"], "counted as the pod's use of the node's disk"


@pytest.mark.parametrize("text", ["", "[]", '{"data": []}', '{"data": {"metadata": {"name": "pv-1"}}}', "\xff"])
def test_a_file_of_claims_that_cannot_be_read_leaves_all_figures(tmp_path, text):
    (tmp_path / "pods/u/volumes/kubernetes.io~nfs/pv-1").mkdir(parents=True)
    (tmp_path / "pods/u/plugins").mkdir()
    (tmp_path / "pods/u/plugins/persistent_volumes.json").write_text(text, encoding="latin-1")

    found = disk.measure_pods([["u", str(tmp_path / "pods/u"), str(tmp_path / "logs")]])["u"]["volumes"]

    assert set(found) == {"pv-1"}


def test_the_size_of_a_device_is_reported(tmp_path):
    (tmp_path / "pods/u/volumeDevices/kubernetes.io~local-volume").mkdir(parents=True)
    (tmp_path / "disk").write_bytes(bytes(4096))
    link = tmp_path / "pods/u/volumeDevices/kubernetes.io~local-volume/pv-1"
    link.symlink_to(tmp_path / "disk")
    found = disk.measure_pods([["u", str(tmp_path / "pods/u"), str(tmp_path / "logs")]])["u"]
    assert (found["volumes"], found["mounted"]) == ({}, [str(link)]), "a disk may hang"
    measured = disk.measure_volumes([str(link)])[str(link)]
    assert (measured["capacity_bytes"], measured["metric_source"]) == (4096, "block")
    assert "used_bytes" not in measured


@pytest.mark.parametrize("place", ["kubernetes.io~nfs/n", "kubernetes.io~csi/n/mount"])
def test_a_network_volume_is_measured_by_its_file_system_alone(tmp_path, place):
    volume = tmp_path / "pods/u/volumes" / place
    volume.mkdir(parents=True)
    os.mkfifo(volume / "what")

    (found,) = disk.measure_pods([["u", str(tmp_path / "pods/u"), str(tmp_path / "logs")]])["u"]["volumes"].values()

    whole = os.statvfs(volume)
    assert "claim" not in found
    assert found["capacity_bytes"] == whole.f_blocks * whole.f_frsize
    assert found["inodes_used"] > 2, "counted file by file"


@pytest.mark.parametrize(
    ("given", "found"), [("/c/", {"runtime"}), ("c", {"runtime"}), ("/nowhere", set()), ("", set())]
)
def test_the_cgroup_of_the_runtime_is_measured_if_it_is_configured(tmp_path, given, found):
    collector = Collector(Agent(flags={"runtime-cgroups": given}), UNUSED, UNUSED)
    collector._tree = tree(tmp_path, V2, unified=True)

    system = collector._system()

    assert set(system) - {"kubelet"} == found
    assert [one.usage.memory_bytes for name, one in system.items() if name == "runtime"] == [1_000_000] * len(found)


def test_the_system_cgroup_is_measured_as_misc(tmp_path):
    collector = Collector(Agent(config=KubeletConfiguration(systemCgroups="/c", kubeletCgroups="/c")), UNUSED, UNUSED)
    collector._tree = tree(tmp_path, V2, unified=True)

    assert set(collector._system()) == {"kubelet", "misc"}


def test_the_processes_of_a_container_are_counted_with_what_they_have_open(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "cgroup.procs").write_text(f"{os.getpid()}\n{2**22 + 1}\n")
    cgroups = CgroupTree((Hierarchy(str(tmp_path), CONTROLLERS, True),))
    with socket.socket():
        found = processes_of(cgroups, "/one")
    assert (found.count, found.descriptors > found.sockets >= 1) == (2, True)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert found.open_files_limit == (None if soft == resource.RLIM_INFINITY else soft)
    assert count_of(cgroups, "/one") == found.count
    assert processes_of(cgroups, "/nowhere").count == count_of(cgroups, "/nowhere") == 0


@pytest.mark.parametrize(("written", "quota"), [("0", None), ("1", 1), ("50000", 50000)])
def test_a_quota_of_v1_is_above_zero(tmp_path, written, quota):
    found = read(tree(tmp_path, {**V1, "cpu.cfs_quota_us": written}, unified=False), "/c", lambda: 5.0)
    assert found.cpu_quota_us == quota


@pytest.mark.parametrize(
    ("changed", "most"),
    [
        ({"memory.memsw.limit_in_bytes": "9223372036854771712"}, None),
        ({"memory.memsw.limit_in_bytes": "2000000"}, 0),
        ({"memory.limit_in_bytes": "9223372036854771712"}, None),
    ],
)
def test_swap_of_v1_is_limited_by_what_the_sum_leaves(tmp_path, changed, most):
    found = read(tree(tmp_path, {**V1, **changed}, unified=False), "/c", lambda: 5.0)
    assert found.swap_limit_bytes == most
