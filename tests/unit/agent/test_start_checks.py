"""What forbids the start of an agent that is to join, and what does not."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import msgspec
import pytest

from actors.agent.start_checks import missing_cgroups, problems, warnings
from actors.container_manager.node_resources import capacity
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from tests.support.machines import machine, write_sysfs

KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "https://127.0.0.1:6443"}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
current-context: c
users: [{{name: u, user: {{client-certificate: {cert}, client-key: {cert}}}}}]
"""


@pytest.mark.parametrize("content", [None, "", "half a certif"])
@pytest.mark.parametrize(("folder", "forbids"), [("pki", False), ("elsewhere", True)])
def test_a_damaged_pair_of_our_own_store_forbids_no_start_as_it_may_be_replaced(tmp_path, folder, forbids, content):
    pem = tmp_path / folder / "kubelet-client-current.pem"
    pem.parent.mkdir()
    if content is not None:
        pem.write_text(content)
    path = Path(tmp_path, "kubelet.conf")
    path.write_text(KUBECONFIG.format(cert=pem))
    agent = Agent(standalone=False, kubeconfig=str(path), cert_dir=str(tmp_path / "pki"))
    found = list(problems(agent))
    assert bool(found) is forbids
    assert all(str(pem) in str(problem) for problem in found)


@pytest.mark.parametrize(("root", "forbidden"), [("/busy/pods", True), ("/busy", True), ("/free", False), ("/", False)])
def test_on_cgroup_v2_a_cgroup_root_below_one_with_processes_forbids_the_start_by_name(tmp_path, root, forbidden):
    cgroups = tmp_path / "sys/fs/cgroup"
    (cgroups / "busy").mkdir(parents=True)
    (cgroups / "busy/cgroup.procs").write_text("7\n")
    (cgroups / "cgroup.controllers").write_text("cpu memory\n")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text("30 1 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    config = KubeletConfiguration(cgroupRoot=root, cgroupDriver="cgroupfs")
    found = [str(problem) for problem in problems(Agent(config=config), str(tmp_path))]
    assert [("cgroupRoot" in text, "/busy has some" in text) for text in found] == [(True, True)] * forbidden


@pytest.mark.parametrize(
    ("threshold", "flags", "forbids"),
    [("10%", {}, False), ("60%", {}, True), ("60%", {"experimental-allocatable-ignore-eviction": True}, False)],
)
def test_reservations_and_hard_thresholds_together_do_not_exceed_the_capacity(tmp_path, threshold, flags, forbids):
    half = capacity(KubeletConfiguration(), str(tmp_path))["memory"] // 2
    config = KubeletConfiguration(kubeReserved={"memory": str(half)}, evictionHard={"memory.available": threshold})
    agent = Agent(config=config, root_dir=str(tmp_path), flags=flags)
    assert any("together, this host has" in str(problem) for problem in problems(agent)) is forbids


@pytest.mark.parametrize(("enforced", "forbids"), [((), False), (("system-reserved",), True), (("pods",), False)])
def test_a_reservation_is_enforced_only_on_a_cgroup_that_exists(tmp_path, enforced, forbids):
    cgroups = tmp_path / "sys/fs/cgroup"
    (cgroups / "system").mkdir(parents=True)
    (cgroups / "cgroup.controllers").write_text("cpu memory\n")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text("30 1 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")

    def found(name: str) -> list[str]:
        config = KubeletConfiguration(
            cgroupDriver="cgroupfs", systemReservedCgroup=name, enforceNodeAllocatable=list(enforced)
        )
        said = [str(problem) for problem in problems(Agent(config=config), str(tmp_path))]
        return [text for text in said if "systemReservedCgroup" in text]

    assert found("/system") == []
    assert bool(found("/missing")) is forbids


def test_only_a_runtime_that_is_not_managed_and_does_not_answer_has_a_warning(tmp_path):
    missing = f"unix://{tmp_path}/none.sock"
    (text,) = warnings(Agent(runtime_endpoint=missing))
    assert text.startswith(f"containerRuntimeEndpoint: {tmp_path}/none.sock: there is no container runtime")
    assert not [*warnings(Agent(runtime_endpoint=missing, managed_runtime=True))]


def _said(tmp_path: Path, **config: object) -> list[str]:
    """The problems of an agent on a machine with two NUMA nodes of four CPUs."""
    write_sysfs(tmp_path, machine(sockets=2, nodes=2, cores=4))
    settings = msgspec.convert({"cgroupsPerQOS": True, **config}, KubeletConfiguration)
    agent = Agent(config=settings, root_dir=str(tmp_path))
    return [str(one) for one in problems(agent, str(tmp_path)) if "ManagerPolicy" in one.path]


@pytest.mark.parametrize("name", ["allocated_pods_state", "actuated_pods_state"])
def test_a_damaged_file_of_the_pods_resources_forbids_the_start_in_the_kubelets_words(tmp_path, name):
    path = tmp_path / name
    path.write_text('{"data":"{}","checksum":1}')
    (problem,) = problems(Agent(config=KubeletConfiguration(), root_dir=str(tmp_path)), str(tmp_path))
    assert str(problem) == (
        "could not restore state from checkpoint: checkpoint is corrupted, please drain this node and delete pod "
        f'resource information checkpoint file "{path}" before restarting Kubelet'
    )


STATIC = {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "1"}}
STATES = {
    "none": '{"policyName":"none","defaultCpuSet":"","checksum":0}',
    "damaged": '{"policyName":"static","defaultCpuSet":"0-7","checksum":1}',
    "larger": '{"policyName":"static","defaultCpuSet":"0-8","checksum":0}',
}


@pytest.mark.parametrize(
    ("config", "kept", "text"),
    [
        (STATIC, "", ""),
        ({}, "none", ""),
        ({"cpuManagerPolicy": "static"}, "", "the static policy requires systemreserved.cpu + kubereserved.cpu"),
        (
            STATIC,
            "none",
            'could not restore state from checkpoint: configured policy "static" differs from state checkpoint policy '
            '"none", please drain this node and delete the CPU manager checkpoint file "{path}" before restarting '
            "Kubelet",
        ),
        ({}, "larger", 'configured policy "none" differs from state checkpoint policy "static", please drain'),
        (STATIC, "damaged", "could not restore state from checkpoint: checkpoint is corrupted, please drain this node"),
        (
            STATIC,
            "larger",
            'current set of available CPUs "0-7" doesn\'t match with CPUs in state "0-8": please drain node and remove '
            'policy state file "{path}"',
        ),
        (
            {"cpuManagerPolicyOptions": {"full-pcpus-only": "true"}},
            "",
            "None policy: received unsupported options=map[full-pcpus-only:true]",
        ),
        (
            {
                **STATIC,
                "cpuManagerPolicyOptions": {
                    "prefer-align-cpus-by-uncorecache": "true",
                    "distribute-cpus-across-numa": "true",
                },
            },
            "",
            "static policy options prefer-align-cpus-by-uncorecache and distribute-cpus-across-numa can not be used",
        ),
    ],
)
def test_a_cpu_policy_that_cannot_continue_prevents_the_start_with_the_kubelets_message(tmp_path, config, kept, text):
    path = tmp_path / "cpu_manager_state"
    if kept:
        path.write_text(STATES[kept])
    found = _said(tmp_path, **config)
    assert len(found) == bool(text)
    assert not found or text.format(path=path) in found[0]
    assert path.exists() is bool(kept)


def test_a_topology_policy_on_too_many_nodes_prevents_the_start(tmp_path):
    write_sysfs(tmp_path, machine(sockets=1, nodes=9, cores=1))
    config = KubeletConfiguration(topologyManagerPolicy="restricted")
    found = [str(one) for one in problems(Agent(config=config, root_dir=str(tmp_path)), str(tmp_path))]
    assert found == ["topologyManagerPolicy = restricted: unsupported on machines with more than 8 NUMA Nodes"]
    more = KubeletConfiguration(
        topologyManagerPolicy="restricted", topologyManagerPolicyOptions={"max-allowable-numa-nodes": "9"}
    )
    assert list(problems(Agent(config=more, root_dir=str(tmp_path)), str(tmp_path))) == []


MEMORY = {
    "memoryManagerPolicy": "Static",
    "kubeReserved": {"memory": "1Gi"},
    "evictionHard": {"memory.available": "100Mi"},
}


def _reserves(*sizes: str, first: int = 0) -> list[dict[str, object]]:
    return [{"numaNode": number, "limits": {"memory": size}} for number, size in enumerate(sizes, first)]


@pytest.mark.parametrize(
    ("reserves", "text"),
    [
        (_reserves("1024Mi", "100Mi"), ""),
        ([], 'the total amount "0" of type "memory" is not equal to the value "1124Mi" determined by Node Allocatable'),
        (
            _reserves("1Gi"),
            'the total amount "1Gi" of type "memory" is not equal to the value "1124Mi" determined by Node Allocatable',
        ),
        (
            _reserves("1124Mi", first=2),
            "the reserved memory configuration references a NUMA node 2 that does not exist on this machine",
        ),
    ],
)
def test_a_memory_reservation_that_differs_from_the_nodes_prevents_the_start(tmp_path, reserves, text):
    found = _said(tmp_path, **MEMORY, reservedMemory=reserves)
    assert len(found) == bool(text)
    assert not found or text in found[0]


def test_a_memory_policy_without_reserved_memory_prevents_the_start(tmp_path):
    (found,) = _said(tmp_path, memoryManagerPolicy="Static", evictionHard={"memory.available": "0%"})
    assert found == "memoryManagerPolicy = Static: [memorymanager] you should specify the system reserved memory"


def test_a_memory_state_of_another_policy_prevents_the_start_with_a_remedy(tmp_path):
    path = tmp_path / "memory_manager_state"
    path.write_text('{"policyName":"None","machineState":{},"checksum":4236770233}')
    (found,) = _said(tmp_path, **MEMORY, reservedMemory=_reserves("1024Mi", "100Mi"))
    assert found == (
        "memoryManagerPolicy = Static: could not restore state from checkpoint: [memorymanager] configured policy "
        '"Static" differs from state checkpoint policy "None", please drain this node and delete the memory manager '
        f'checkpoint file "{path}" before restarting Kubelet'
    )


@pytest.mark.parametrize(
    "name", ["allocated_pods_state", "cpu_manager_state", "memory_manager_state", "dra_manager_state"]
)
def test_an_unreadable_state_file_gets_no_advice_to_delete_it(tmp_path, monkeypatch, name):
    def refused(path: str, flags: int, mode: int = 0o777) -> int:
        if str(path).endswith(name):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return opened(path, flags, mode)

    opened = os.open
    monkeypatch.setattr(os, "open", refused)
    Path(tmp_path, name).write_text("")
    write_sysfs(tmp_path, machine(sockets=2, nodes=2, cores=4))
    config = msgspec.convert(
        {"cgroupsPerQOS": True, **STATIC, **MEMORY, "reservedMemory": _reserves("1024Mi", "100Mi")},
        KubeletConfiguration,
    )
    found = [str(one) for one in problems(Agent(config=config, root_dir=str(tmp_path)), str(tmp_path))]
    [said] = [one for one in found if name in one]
    assert said.endswith(f"{tmp_path}/{name}: Permission denied")


@pytest.mark.parametrize(
    ("content", "why"), [('{"Data":"{}","Checksum":1}', "checkpoint is corrupted"), ("", "Input data was truncated")]
)
def test_a_damaged_file_of_resource_claims_forbids_the_start_and_names_a_way_out(tmp_path, content, why):
    path = tmp_path / "dra_manager_state"
    agent = Agent(root_dir=str(tmp_path))
    assert list(problems(agent)) == []
    path.write_text(content)
    [found] = map(str, problems(agent))
    assert why in found
    assert f'delete the file "{path}" before restarting' in found


def test_cgroups_that_a_start_will_make_are_known_before_it(tmp_path, monkeypatch):
    one, two = tmp_path / "cpu", tmp_path / "memory"
    monkeypatch.setattr("actors.container_runtime.processes.hierarchies", lambda: [str(one), str(two)])
    (one / "a/b").mkdir(parents=True)
    (two / "a").mkdir(parents=True)
    missing = missing_cgroups(Agent(config=KubeletConfiguration(cgroupRoot="/a/b/c", cgroupDriver="cgroupfs")))
    assert missing == [f"{one}/a/b/c", f"{two}/a/b", f"{two}/a/b/c"]
    assert missing_cgroups(Agent(config=KubeletConfiguration(cgroupDriver="cgroupfs"))) == []
    slices = Agent(config=KubeletConfiguration(cgroupRoot="/x-y.slice", cgroupDriver="systemd"))
    assert missing_cgroups(slices)[:2] == [f"{one}/x.slice", f"{one}/x.slice/x-y.slice"]
    own = Agent(config=KubeletConfiguration(kubeletCgroups="/agents", cgroupDriver="cgroupfs"))
    assert missing_cgroups(own) == [f"{one}/agents", f"{two}/agents"]
    wrong = Agent(config=KubeletConfiguration(kubeletCgroups="/a/../b", cgroupRoot="/a/b/c", cgroupDriver="cgroupfs"))
    assert missing_cgroups(wrong) == missing, "what refuses it comes later"


def test_a_mount_table_that_cannot_be_read_ends_no_start(monkeypatch):
    def unreadable() -> list[str]:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("actors.container_runtime.processes.hierarchies", unreadable)
    assert missing_cgroups(Agent(config=KubeletConfiguration(cgroupRoot="/a", cgroupDriver="cgroupfs"))) == []
