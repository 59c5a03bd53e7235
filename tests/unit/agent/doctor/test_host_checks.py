"""The doctor looks at this host: kernel, cgroups, swap, disk, ports."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from actors.agent.doctor.finding import Level
from actors.agent.doctor.host_checks import cgroups, kernel, ports, restart, start, static_pods, swap, user
from actors.shared.config.agent import Agent
from actors.shared.config.errors import ConfigProblem
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration

AREAS = "Filename Type Size Used Priority\n/dev/vdb partition 1 0 -2\n"


def host(root: Path, *mounts: str, controllers: str = "", forwards: str = "1\n") -> Path:
    """A made-up host."""
    for path in ("proc/self", "proc/sys/net/ipv4", "sys/fs/cgroup"):
        (root / path).mkdir(parents=True)
    (root / "proc/self/mountinfo").write_text("".join(f"{at} 1 0:{at} / {one}\n" for at, one in enumerate(mounts, 9)))
    (root / "proc/sys/net/ipv4/ip_forward").write_text(forwards)
    if controllers:
        (root / "sys/fs/cgroup/cgroup.controllers").write_text(controllers)
    return root


V2 = "/sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate"
V1 = [f"/sys/fs/cgroup/{name} rw - cgroup cgroup rw,{name}" for name in ("cpu", "cpuacct", "memory", "cpuset", "pids")]


def test_cgroup_v2_with_all_controllers_is_in_order(tmp_path: Path) -> None:
    (found,) = cgroups("cgroupfs", str(host(tmp_path, V2, controllers="cpu memory cpuset pids io")))
    assert (found.level, found.text) == (Level.OK, "v2, driver cgroupfs")


def test_a_missing_controller_is_a_failure_that_names_it(tmp_path: Path) -> None:
    (found,) = cgroups("cgroupfs", str(host(tmp_path, V2, controllers="cpu pids")))
    assert (found.level, found.text) == (Level.FAILURE, "v2 without memory, cpuset: pods cannot be limited")


def test_cgroup_v1_is_a_warning(tmp_path: Path) -> None:
    (found,) = cgroups("cgroupfs", str(host(tmp_path, *V1)))
    assert found.level is Level.WARNING


def test_cgroup_v1_is_a_failure_where_the_configuration_refuses_it(tmp_path: Path) -> None:
    (found,) = cgroups("cgroupfs", str(host(tmp_path, *V1)), refused=True)
    assert (found.level, found.text) == (Level.FAILURE, "v1, and failCgroupV1 is true: the agent does not start")
    assert "failCgroupV1: false" in found.remedy


def test_cgroups_that_are_mounted_read_only_are_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = host(tmp_path, V2, controllers="cpu memory cpuset pids")
    flags = os.statvfs_result((4096, 4096, 1, 1, 1, 0, 0, 0, os.ST_RDONLY, 255))
    monkeypatch.setattr(os, "statvfs", lambda path: flags)
    (found,) = cgroups("cgroupfs", str(root))
    assert (found.level, found.text) == (
        Level.FAILURE, f"v2, mounted read-only: {root}/sys/fs/cgroup: no pod can be limited",
    )  # fmt: skip
    assert found.remedy.startswith(f"mount -o remount,rw {root}/sys/fs/cgroup; ")


def test_a_problem_that_prevents_a_start_is_a_failure_and_reported_once(tmp_path: Path) -> None:
    config = KubeletConfiguration(tlsPrivateKeyFile=f"{tmp_path}/none.key", failCgroupV1=True, cgroupsPerQOS=False)
    agent = Agent(config=config, root_dir=str(tmp_path), run_dir=f"{tmp_path}/run")
    found = [one for one in start(agent, []) if "tlsPrivateKeyFile" in one.text]
    assert [(one.level, one.remedy) for one in found] == [(Level.FAILURE, "supervise config explain tlsPrivateKeyFile")]
    assert "cannot be read: No such file or directory" in found[0].text
    told = [ConfigProblem("tlsPrivateKeyFile", f'"{tmp_path}/none.key"', "cannot be read: No such file or directory")]
    assert not [one for one in start(agent, told) if "tlsPrivateKeyFile" in one.text]
    assert not [one for one in start(agent, []) if "failCgroupV1" in one.text], "the check of cgroups tells it"


def test_no_cgroups_at_all_is_a_failure(tmp_path: Path) -> None:
    (found,) = cgroups("cgroupfs", str(host(tmp_path)))
    assert (found.level, found.text) == (Level.FAILURE, "no cgroup file system is mounted")


@pytest.mark.parametrize(
    ("release", "level"), [("6.1.0-13-amd64", Level.OK), ("4.19.0", Level.OK), ("4.18.0-el8", Level.FAILURE)]
)
def test_an_old_kernel_is_a_failure(tmp_path: Path, release: str, level: Level) -> None:
    assert next(iter(kernel(release, str(host(tmp_path))))).level is level


def test_forwarding_that_is_off_has_its_remedy(tmp_path: Path) -> None:
    found = list(kernel("6.1", str(host(tmp_path, forwards="0\n"))))[1]
    assert (found.level, found.remedy) == (Level.WARNING, "sysctl -w net.ipv4.ip_forward=1")


@pytest.mark.parametrize(
    ("text", "allowed", "level"),
    [("Filename\n", False, Level.OK), (AREAS, False, Level.FAILURE), (AREAS, True, Level.OK)],
)
def test_swap_is_a_failure_where_it_is_not_allowed(text: str, allowed: bool, level: Level) -> None:
    (found,) = swap(text, allowed=allowed)
    assert found.level is level
    assert ("/dev/vdb" in found.text) == (text == AREAS)


def test_a_port_that_is_taken_is_named_with_its_field() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        config = KubeletConfiguration(address="127.0.0.1", port=port, healthzPort=0)
        (found,) = ports(Agent(config=config))
    assert (found.level, found.text) == (Level.FAILURE, f"taken by somebody else: port {port}")
    assert found.remedy.startswith(f"ss -ltnp 'sport = :{port}': ")


def test_a_missing_directory_of_static_pods_is_a_warning(tmp_path: Path) -> None:
    (found,) = static_pods(f"{tmp_path}/manifests")
    assert (found.level, found.remedy.partition(",")[0]) == (Level.WARNING, f"mkdir -p {tmp_path}/manifests")
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    (found,) = static_pods(f"{tmp_path}/link")
    assert found.text == f"staticPodPath: {tmp_path}/link is not there, it leads to {tmp_path}/gone: no static pod runs"
    assert found.remedy.partition(",")[0] == f"mkdir -p {tmp_path}/gone"
    assert list(static_pods(str(tmp_path))) == []
    assert list(static_pods("")) == []


def test_the_cgroup_driver_systemd_needs_systemd(tmp_path: Path) -> None:
    root = host(tmp_path, V2, controllers="cpu memory cpuset pids")
    assert [one.level for one in cgroups("cgroupfs", str(root))] == [Level.OK]
    assert [one.level for one in cgroups("systemd", str(root))] == [Level.OK, Level.WARNING]
    (root / "run/systemd/system").mkdir(parents=True)
    assert [one.level for one in cgroups("systemd", str(root))] == [Level.OK]


def test_a_damaged_state_file_is_removed_once_the_node_is_drained(tmp_path: Path) -> None:
    (tmp_path / "cpu_manager_state").write_text("{")
    (tmp_path / "dra_manager_state").write_text("{")
    agent = Agent(config=KubeletConfiguration(failCgroupV1=False, failSwapOn=False), root_dir=str(tmp_path))
    remedies = [one.remedy for one in start(agent, []) if "drain" in one.text]
    assert sorted(remedies) == [f"drain the node, then rm {tmp_path}/{name}_manager_state" for name in ("cpu", "dra")]


def test_only_root_can_run_pods() -> None:
    assert [found.level for uid in (0, 1000) for found in user(uid)] == [Level.OK, Level.FAILURE]


def test_a_restart_that_this_host_would_refuse_is_a_failure_and_reported_once(tmp_path: Path) -> None:
    config = KubeletConfiguration(kubeReserved={"memory": "900Ti"}, failCgroupV1=False)
    agent = Agent(config=config, root_dir=str(tmp_path))
    (found,) = restart(agent, [])
    assert found.level is Level.FAILURE
    assert found.text.startswith(
        "the agent would not start again: memory: kubeReserved, systemReserved and evictionHard"
    )
    assert not [*restart(Agent(config=KubeletConfiguration(), root_dir=str(tmp_path)), [])]
