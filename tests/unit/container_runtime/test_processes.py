"""Which cgroup goes with a container."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.container_runtime.instance import ManagedRuntime
from actors.container_runtime.processes import cgroups_of, remove_cgroups, shim_sockets, with_pod


@pytest.mark.parametrize(
    ("group", "goes"),
    [
        ("kubepods/burstable/pod12ab-34/c0ffee", "kubepods/burstable/pod12ab-34"),
        (
            "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod12_ab.slice/cri-containerd-c0ffee.scope",
            "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod12_ab.slice",
        ),
        ("kubepods/c0ffee", "kubepods/c0ffee"),
        ("k8s.io/c0ffee", "k8s.io/c0ffee"),
        ("podman/c0ffee", "podman/c0ffee"),
        ("c0ffee", "c0ffee"),
    ],
)
def test_the_pods_cgroup_goes_with_its_containers_and_never_one_that_others_share(group: str, goes: str) -> None:
    assert with_pod(group) == goes


def test_a_process_that_is_gone_has_no_cgroups() -> None:
    assert cgroups_of(0) == set()
    assert cgroups_of(2**22 + 1) == set()


def test_the_root_cgroup_is_never_removed() -> None:
    assert remove_cgroups(["", "troupelet-no-such-cgroup"]) == []


def test_the_socket_that_the_containers_of_a_pod_share_is_named_once(tmp_path: Path) -> None:
    instance = ManagedRuntime(root=str(tmp_path / "root"), state=str(tmp_path / "state"))
    for task in ("sandbox", "container"):
        (Path(instance.tasks) / task).mkdir(parents=True)
        (Path(instance.tasks) / task / "address").write_text("unix:///run/containerd/s/abc")
    assert shim_sockets(instance) == [Path("/run/containerd/s/abc")]
