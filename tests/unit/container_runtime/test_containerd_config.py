"""containerd's configuration, read back as TOML."""

from __future__ import annotations

import tomllib
from typing import Any

import msgspec
import pytest

from actors.container_runtime.containerd_config import render
from actors.container_runtime.host import RuntimeHost
from actors.container_runtime.instance import ManagedRuntime

INSTANCE = ManagedRuntime(root='/var/lib/a "b"/containerd', state="/run/a")
HOST = RuntimeHost(
    containerd="/usr/bin/containerd", runc="/usr/bin/runc", ctr="/usr/bin/ctr", plugin_dir="/usr/lib/cni"
)
CRI = "io.containerd.grpc.v1.cri"
RUNTIME = "io.containerd.cri.v1.runtime"
IMAGES = "io.containerd.cri.v1.images"


def config(instance: ManagedRuntime = INSTANCE, **facts: Any) -> dict[str, Any]:
    return tomllib.loads(render(instance, msgspec.structs.replace(HOST, **facts)))


def runtime_of(read: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = read["plugins"].get(RUNTIME) or read["plugins"][CRI]
    return found


VERSIONS = pytest.mark.parametrize("version", [(1, 6), (1, 7), (2, 0), (2, 1)])


@VERSIONS
def test_everything_is_kept_in_the_directories_of_the_instance(version: tuple[int, int]) -> None:
    read = config(version=version)
    for path in (
        read["root"],
        read["plugins"]["io.containerd.internal.v1.opt"]["path"],
        runtime_of(read)["cni"]["conf_dir"],
    ):
        assert path.startswith(f"{INSTANCE.root}/")
    options = runtime_of(read)["containerd"]["runtimes"]["runc"]["options"]
    for path in (read["state"], read["grpc"]["address"], read["ttrpc"]["address"], options["Root"]):
        assert path.startswith(f"{INSTANCE.state}/")
    assert runtime_of(read)["netns_mounts_under_state_dir"] is True


def test_version_2_is_for_containerd_1_and_version_3_for_containerd_2() -> None:
    assert [config(version=version)["version"] for version in ((1, 6), (1, 7), (2, 0))] == [2, 2, 3]
    assert CRI in config(version=(1, 7))["plugins"]
    assert {RUNTIME, IMAGES, CRI} <= set(config(version=(2, 1))["plugins"])


def test_the_sandbox_image_is_ours_in_both() -> None:
    old = config(version=(1, 6))["plugins"][CRI]["sandbox_image"]
    assert old == config(version=(2, 1))["plugins"][IMAGES]["pinned_images"]["sandbox"] == "registry.k8s.io/pause:3.9"


@VERSIONS
def test_without_the_capability_no_oom_score_is_lowered(version: tuple[int, int]) -> None:
    without = config(version=version, lowers_oom_score=False)
    assert runtime_of(without)["restrict_oom_score_adj"] is True
    assert without["oom_score"] == 0
    with_it = config(version=version, lowers_oom_score=True)
    assert runtime_of(with_it)["restrict_oom_score_adj"] is False
    assert with_it["oom_score"] < 0


@VERSIONS
def test_features_that_the_kernel_lacks_are_disabled(version: tuple[int, int]) -> None:
    shortage = runtime_of(config(version=version))
    assert shortage["disable_apparmor"] is True
    assert shortage["enable_selinux"] is False
    assert shortage["disable_hugetlb_controller"] is True
    having = runtime_of(config(version=version, apparmor=True, selinux=True, hugetlb=True))
    assert having["disable_apparmor"] is False
    assert having["enable_selinux"] is True
    assert having["disable_hugetlb_controller"] is False


@VERSIONS
def test_the_cgroup_driver_is_the_agents(version: tuple[int, int]) -> None:
    systemd = msgspec.structs.replace(INSTANCE, cgroup_driver="systemd")
    for instance, wanted in ((INSTANCE, False), (systemd, True)):
        read = runtime_of(config(instance, version=version))
        assert read["containerd"]["runtimes"]["runc"]["options"]["SystemdCgroup"] is wanted


@pytest.mark.parametrize(
    ("version", "name", "value"),
    [
        ((1, 7), "bin_dir", "/usr/lib/cni"),
        ((2, 0), "bin_dir", "/usr/lib/cni"),
        ((2, 1), "bin_dirs", ["/usr/lib/cni"]),
        ((2, 2), "bin_dirs", ["/usr/lib/cni"]),
    ],
)
def test_the_plugin_directory_has_the_field_of_the_containerd_version(version, name, value) -> None:
    network = runtime_of(config(version=version))["cni"]
    assert {key: network[key] for key in network if key.startswith("bin_dir")} == {name: value}


def test_where_overlayfs_cannot_be_used_files_are_copied() -> None:
    assert config(overlay=False)["plugins"][CRI]["containerd"]["snapshotter"] == "native"
    assert config(overlay=True, version=(2, 1))["plugins"][IMAGES]["snapshotter"] == "overlayfs"


@VERSIONS
def test_streams_are_served_on_the_loopback_only(version: tuple[int, int]) -> None:
    cri = config(version=version)["plugins"][CRI]
    assert (cri["stream_server_address"], cri["stream_server_port"]) == ("127.0.0.1", "0")


def test_devices_that_drivers_name_are_known_from_1_7_on() -> None:
    """Later ones know them by themselves."""
    asked = {version: runtime_of(config(version=version)).get("enable_cdi") for version in ((1, 6), (1, 7), (2, 1))}
    assert asked == {(1, 6): None, (1, 7): True, (2, 1): None}
