"""A node that is new, and one that is there already."""

from __future__ import annotations

import copy
from typing import Any

from actors.api_clients.heartbeat_client.node_status.machine import read_machine
from actors.api_clients.heartbeat_client.node_status.patch import node_patch
from actors.api_clients.heartbeat_client.registered_node import (
    KEEP_VOLUMES,
    RETRIES,
    UNINITIALIZED,
    RegistrationPlan,
    new_node,
    reconciled,
)
from actors.shared.linux.architecture import architecture

ATTACH = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}


def plan(**more: Any) -> RegistrationPlan:
    return RegistrationPlan(name="n1", **more)


def existing(**status: Any) -> dict[str, Any]:
    return {**new_node(plan()), "status": status}


def test_a_new_node_has_default_labels_and_those_of_the_flags_win():
    node = new_node(plan(labels={"role": "db", "kubernetes.io/hostname": "other"}, provider_id="x://1"))
    arch = architecture()
    assert node["metadata"]["labels"] == {
        "beta.kubernetes.io/arch": arch,
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": arch,
        "kubernetes.io/hostname": "other",
        "kubernetes.io/os": "linux",
        "role": "db",
    }
    assert node["metadata"]["annotations"] == ATTACH
    assert node["spec"] == {"providerID": "x://1"}


def test_taints_are_those_of_the_configuration_and_of_an_external_cloud():
    node = new_node(plan(taints=(("k", "v", "NoExecute"), ("e", "", "NoSchedule")), external_cloud=True))
    assert node["spec"]["taints"] == [
        {"key": "k", "value": "v", "effect": "NoExecute"},
        {"key": "e", "effect": "NoSchedule"},
        {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"},
    ]


def test_the_taint_of_an_external_cloud_is_given_once():
    node = new_node(plan(taints=(tuple(UNINITIALIZED.values()),), external_cloud=True))
    assert node["spec"]["taints"] == [UNINITIALIZED]


def test_a_node_that_is_as_it_should_be_needs_no_write():
    assert node_patch(existing(), reconciled(existing(), plan())) == {}


def test_labels_that_are_the_agents_are_put_right_and_no_others():
    node = existing()
    node["metadata"]["labels"] |= {"kubernetes.io/os": "windows", "role": "web"}
    wanted = plan(labels={"role": "db", "topology.kubernetes.io/zone": "z1"})
    patch = node_patch(node, reconciled(node, wanted))
    assert patch == {"metadata": {"labels": {"kubernetes.io/os": "linux", "topology.kubernetes.io/zone": "z1"}}}


def test_a_label_that_the_flags_leave_empty_is_taken_from_the_node():
    node = existing()
    node["metadata"]["labels"] |= {"topology.kubernetes.io/zone": "z1", "role": "web"}
    wanted = plan(labels={"role": "", "topology.kubernetes.io/zone": "", "topology.kubernetes.io/region": ""})
    patch = node_patch(node, reconciled(node, wanted))
    assert patch == {"metadata": {"labels": {"topology.kubernetes.io/zone": None}}}


def test_the_attach_annotation_follows_the_configuration():
    node = existing()
    patch = node_patch(node, reconciled(node, plan(controller_attaches=False)))
    assert patch == {"metadata": {"annotations": dict.fromkeys(ATTACH)}}
    node["metadata"]["annotations"] = {}
    assert node_patch(node, reconciled(node, plan())) == {"metadata": {"annotations": ATTACH}}


def test_keeping_volumes_of_ended_pods_is_an_annotation_of_the_node():
    assert KEEP_VOLUMES not in new_node(plan())["metadata"]["annotations"]
    assert new_node(plan(keep_volumes=True))["metadata"]["annotations"] == {**ATTACH, KEEP_VOLUMES: "true"}


def test_devices_of_an_earlier_life_are_gone_unless_there_is_a_checkpoint():
    amounts = {"cpu": "2", "example.com/gpu": "4", "hugepages-2Mi": "0"}
    node = existing(capacity=amounts, allocatable=dict(amounts))
    kept = copy.deepcopy(node)
    gone = {"capacity": {"example.com/gpu": "0"}, "allocatable": {"example.com/gpu": "0"}}
    assert node_patch(node, reconciled(node, plan())) == {"status": gone}
    assert node_patch(node, reconciled(node, plan(reset_devices=False))) == {}
    assert node == kept


def test_pauses_double_up_to_seven_seconds():
    pauses = [round(RETRIES.pause(failures), 3) for failures in range(1, 10)]
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 7.0, 7.0]


def test_a_machine_is_read_from_its_files(tmp_path):
    for path, text in {
        "etc/machine-id": "abc\n",
        "etc/os-release": 'NAME=x\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
        "proc/sys/kernel/random/boot_id": "b-1\n",
        "proc/meminfo": "MemTotal: 8 kB\nSwapTotal:       2048 kB\n",
        "sys/class/dmi/id/product_uuid": "S-1\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    machine = read_machine(str(tmp_path))
    assert (machine.machine_id, machine.system_uuid, machine.boot_id) == ("abc", "S-1", "b-1")
    assert (machine.os_image, machine.swap_bytes) == ("Debian GNU/Linux 12 (bookworm)", 2 << 20)
    assert machine.kernel


def test_a_machine_without_readable_files_has_default_values(tmp_path):
    machine = read_machine(str(tmp_path))
    assert (machine.machine_id, machine.boot_id, machine.os_image, machine.swap_bytes) == ("", "", "Linux", 0)
