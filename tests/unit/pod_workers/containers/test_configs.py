"""Sandbox and container as the runtime is asked for them."""

from __future__ import annotations

import asyncio
import json
import re

import msgspec
import pytest

from actors.pod_workers.containers.container_config import Parts, container_config, stop_signal
from actors.pod_workers.containers.mounts import (
    MountSources,
    absolute,
    expanded_subpath,
    read_only_volumes,
    relabelled_volumes,
    volume_devices,
    volume_mounts,
)
from actors.pod_workers.containers.names import domain, kernel_hostname
from actors.pod_workers.containers.resources import (
    LinuxContainerResources,
    ResourcesHost,
    limits,
    quota,
    shares,
)
from actors.pod_workers.containers.sandbox_config import SandboxContext, sandbox_config
from actors.pod_workers.containers.spec_hash import container_hash
from actors.pod_workers.errors import ConfigError
from actors.pod_workers.phases.actions import Start
from actors.shared.kube.codec import decode_pod, encode
from actors.shared.kube.names import CONTAINER_RESTARTS_IN_A_ROW
from actors.shared.kube.pod import Pod
from actors.shared.linux.resolv_conf import Dns
from proto import cri_pb2 as cri
from tests.support.shard_harness import container, pod

AROUND = SandboxContext(logs_dir="/logs", cgroup_parent="/kubepods/podu", dns=Dns(servers=["192.0.2.53"]))
NO_LIMITS = LinuxContainerResources(cpu_shares=2, cpu_quota=0, cpu_period=100_000, memory_bytes=0, oom_score_adj=1000)
GIB = 1 << 30


def box(wanted: Pod, attempt: int = 0) -> cri.PodSandboxConfig:
    return sandbox_config(wanted, attempt, AROUND)


def made(wanted: Pod, environment: dict[str, str] | None = None, start: Start | None = None) -> cri.ContainerConfig:
    parts = Parts(
        image_ref="sha256:1",
        environment=environment or {},
        mounts=[],
        limits=NO_LIMITS,
        security=cri.LinuxContainerSecurityContext(privileged=True),
        unified={"memory.oom.group": "1"},
    )
    return asyncio.run(container_config(wanted, start or Start(wanted.spec.containers[0], 0), parts))


def test_a_sandbox_carries_the_pods_identity_over_its_own_labels():
    forged = {"labels": {"app": "x", "io.kubernetes.pod.uid": "forged"}, "annotations": {"note": "y"}}
    config = box(pod(metadata=forged), 3)
    assert (config.metadata.uid, config.metadata.attempt, config.log_directory) == ("u", 3, "/logs/default_p_u")
    assert dict(config.labels) == {
        "app": "x",
        "io.kubernetes.pod.name": "p",
        "io.kubernetes.pod.namespace": "default",
        "io.kubernetes.pod.uid": "u",
    }
    assert dict(config.annotations) == {"note": "y"}
    assert (config.hostname, config.linux.cgroup_parent) == ("p", "/kubepods/podu")
    assert list(config.dns_config.servers) == ["192.0.2.53"]


def test_a_sandbox_has_all_ports_of_regular_containers_also_on_the_hosts_network():
    udp = {"containerPort": 80, "hostPort": 8080, "protocol": "UDP", "hostIP": "192.0.2.1"}
    ports = [udp, {"containerPort": 81}, udp, {"containerPort": 81, "protocol": "SCTP"}]
    containers = [container("a", ports=ports), container("b", ports=[{"containerPort": 81}])]
    told = [(one.protocol, one.container_port, one.host_port, one.host_ip) for one in box_ports(containers)]
    tcp = (cri.TCP, 81, 0, "")
    assert told == [(cri.UDP, 80, 8080, "192.0.2.1"), tcp, (cri.SCTP, 81, 0, ""), tcp]
    host = box(pod(containers=containers, hostNetwork=True))
    assert (len(host.port_mappings), host.hostname) == (4, "")


def test_the_first_of_two_ports_with_one_name_is_mapped():
    ports = [{"containerPort": 1, "name": "web"}, {"containerPort": 2, "name": "web"}]
    assert [one.container_port for one in box_ports([container("a", ports=ports)])] == [1]


def box_ports(containers):
    return box(pod(containers=containers)).port_mappings


def test_the_nodes_own_sysctls_are_under_those_of_the_pod_and_never_change_the_node():
    defaults = {"net.ipv4.tcp_syncookies": "0", "net/ipv4/tcp_fin_timeout": "30", "kernel.shm_rmid_forced": "1"}
    around = msgspec.structs.replace(AROUND, pod_sysctls=defaults)
    own = {"sysctls": [{"name": "net.ipv4.tcp_syncookies", "value": "1"}]}
    found = sandbox_config(pod(securityContext=own), 0, around).linux.sysctls
    assert dict(found) == {
        "net.ipv4.tcp_syncookies": "1", "net.ipv4.tcp_fin_timeout": "30", "kernel.shm_rmid_forced": "1"
    }  # fmt: skip
    host = sandbox_config(pod(hostNetwork=True, hostIPC=True), 0, around).linux.sysctls
    assert dict(host) == {}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("net/ipv4/tcp_syncookies", "net.ipv4.tcp_syncookies"),
        ("net/ipv4/conf/eth0.100/forwarding", "net.ipv4.conf.eth0/100.forwarding"),
        ("net.ipv4.conf.eth0/100.forwarding", "net.ipv4.conf.eth0/100.forwarding"),
    ],
)
def test_sysctls_go_by_dots_and_keep_those_of_an_interface(name, told):
    sysctls = [{"name": name, "value": "1"}]
    assert dict(box(pod(securityContext={"sysctls": sysctls})).linux.sysctls) == {told: "1"}


def test_a_volume_is_a_device_that_no_container_writes_to_where_the_pod_only_reads_it():
    device = {"name": "v", "devicePath": "/dev/x"}
    source = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
    wanted = pod(containers=[container("a", volumeDevices=[device])], volumes=[source])
    used = wanted.spec.containers[0]
    paths = {"v": "/pods/u/volumeDevices/d/pv"}
    (found,) = volume_devices(used, paths, ())
    assert (found.host_path, found.container_path, found.permissions) == (paths["v"], "/dev/x", "mrw")
    (read,) = volume_devices(used, paths, {"v"})
    assert read.permissions == "r"
    with pytest.raises(ConfigError, match='cannot find volume "v" to pass into container'):
        volume_devices(used, {}, ())


@pytest.mark.parametrize(
    ("name", "path", "text"),
    [("v", "dev/x", "DevicePath `dev/x` must be an absolute path"), ("w", "/dev/x", '"w" to pass into container "c"')],
)
def test_a_device_that_cannot_be_passed_is_refused(name, path, text):
    wanted = pod(containers=[container("c", volumeDevices=[{"name": name, "devicePath": path}])])
    with pytest.raises(ConfigError, match=re.escape(text)):
        volume_devices(wanted.spec.containers[0], {"v": "/dev/loop0"}, ())


def test_a_container_is_recognised_by_any_incarnation():
    lifecycle = {"preStop": {"exec": {"command": ["bye"]}}}
    wanted = pod(containers=[container("a", lifecycle=lifecycle, ports=[{"containerPort": 80, "name": "web"}])])
    config = made(wanted, start=Start(wanted.spec.containers[0], 4, 2))
    assert (config.metadata.name, config.metadata.attempt, config.log_path) == ("a", 4, "a/4.log")
    assert config.labels["io.kubernetes.container.name"] == "a"
    notes = dict(config.annotations)
    assert notes["io.kubernetes.container.hash"] == container_hash(wanted.spec.containers[0])
    assert (notes["io.kubernetes.container.restartCount"], notes[CONTAINER_RESTARTS_IN_A_ROW]) == ("4", "2")
    assert json.loads(notes["io.kubernetes.container.preStopHandler"]) == {"exec": {"command": ["bye"]}}
    assert json.loads(notes["io.kubernetes.container.ports"])[0]["containerPort"] == 80
    assert notes["io.kubernetes.pod.terminationGracePeriod"] == "30"
    assert "io.kubernetes.pod.deletionGracePeriod" not in notes
    deleted = pod(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 3})
    assert made(deleted).annotations["io.kubernetes.pod.deletionGracePeriod"] == "3"
    assert "io.kubernetes.pod.deletionGracePeriod" not in notes


def test_commands_and_arguments_see_the_environment():
    wanted = pod(containers=[container("a", ["echo", "$(X)"], args=["$$(X)", "$(Y)"])])
    config = made(wanted, {"X": "1"})
    assert (list(config.command), list(config.args)) == (["echo", "1"], ["$(X)", "$(Y)"])
    assert [(env.key, env.value) for env in config.envs] == [("X", b"1")]


def test_limits_and_security_go_into_the_config():
    config = made(pod())
    assert config.linux.security_context.privileged
    assert (config.linux.resources.oom_score_adj, config.linux.resources.cpu_shares) == (1000, 2)
    assert dict(config.linux.resources.unified) == {"memory.oom.group": "1"}


def one_subpath(**mount):
    (found,) = pod(
        containers=[container("a", volumeMounts=[{"name": "v", "mountPath": "/v", **mount}])]
    ).spec.containers
    return expanded_subpath(found.volumeMounts[0], {"NAME": "n", "EVIL": "../../etc", "ABSOLUTE": "/tmp", "EMPTY": ""})


@pytest.mark.parametrize(
    ("mount", "expected"),
    [
        ({"subPath": "a/b"}, "a/b"),
        ({"subPath": "$(NAME)"}, "$(NAME)"),
        ({"subPathExpr": "$(NAME)/x"}, "n/x"),
        ({"subPathExpr": "$$(NAME)"}, "$(NAME)"),
        ({}, ""),
    ],
)
def test_only_a_sub_path_expr_is_expanded(mount, expected):
    assert one_subpath(**mount) == expected


@pytest.mark.parametrize(
    ("mount", "text"),
    [
        ({"subPath": "/etc"}, "error SubPath `/etc` must not be an absolute path"),
        ({"subPathExpr": "$(ABSOLUTE)"}, "error SubPath `/tmp` must not be an absolute path"),
        ({"subPath": "a/../../etc"}, r"unable to provision SubPath `a/../../etc`: must not contain '\.\.'"),
        ({"subPathExpr": "$(EVIL)"}, "unable to provision SubPath `../../etc`"),
        ({"subPathExpr": "$(UNKNOWN)/$(EMPTY)"}, "missing value for EMPTY, UNKNOWN"),
    ],
)
def test_a_sub_path_stays_in_its_volume(mount, text):
    with pytest.raises(ConfigError, match=text):
        one_subpath(**mount)


def mounts(*mounts: dict[str, object]) -> list[cri.Mount]:
    (found,) = pod(containers=[container("a", volumeMounts=list(mounts))]).spec.containers
    return volume_mounts(found, MountSources(paths={"v": "/host/v"}, subpaths={1: "/host/sub"}))


def test_volumes_are_mounted_with_the_options_of_the_spec():
    found = mounts(
        {"name": "v", "mountPath": "/v", "readOnly": True, "mountPropagation": "HostToContainer"},
        {"name": "v", "mountPath": "rel", "subPath": "x"},
    )
    assert [(one.container_path, one.host_path, one.readonly) for one in found] == [
        ("/v", "/host/v", True),
        ("/rel", "/host/sub", False),
    ]
    assert found[0].propagation == cri.PROPAGATION_HOST_TO_CONTAINER


@pytest.mark.parametrize(("path", "mounted"), [("/a", "/a"), ("a", "/a"), ("a/../b", "/b"), ("./a//b", "/a/b")])
def test_a_relative_path_in_a_container_begins_at_its_root(path, mounted):
    assert absolute(path) == mounted


def test_a_failed_mount_is_an_error():
    with pytest.raises(ConfigError, match='cannot find volume "w" to mount into container "'):
        mounts({"name": "w", "mountPath": "/w"})
    with pytest.raises(ConfigError, match="recursive"):
        mounts({"name": "v", "mountPath": "/v", "readOnly": True, "recursiveReadOnly": "Enabled"})


@pytest.mark.parametrize(("milli", "expected"), [(0, 2), (1, 2), (250, 256), (1000, 1024), (10**9, 262_144)])
def test_cpu_shares(milli, expected):
    assert shares(milli) == expected


@pytest.mark.parametrize(("milli", "expected"), [(0, 0), (1, 1000), (500, 50_000), (2000, 200_000)])
def test_cpu_quota(milli, expected):
    assert quota(milli, 100_000) == expected


def sized(**resources: dict[str, str]) -> dict[str, object]:
    return container("a", resources=resources)


def test_no_quota_is_set_when_quotas_are_off():
    wanted = pod(containers=[sized(limits={"cpu": "1", "memory": "1Gi"})])
    enforced = limits(wanted, wanted.spec.containers[0], ResourcesHost(memory=4 * GIB), period_us=100_000)
    assert (enforced.cpu_quota, enforced.cpu_shares, enforced.memory_bytes) == (100_000, 1024, GIB)
    free = limits(wanted, wanted.spec.containers[0], ResourcesHost(memory=4 * GIB), period_us=0)
    assert msgspec.structs.replace(enforced, cpu_quota=0, cpu_period=0) == free


# -- names of hosts ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ({}, "p"),
        ({"hostname": "h"}, "h"),
        ({"hostname": "h", "subdomain": "s"}, "h"),
        ({"hostname": "h", "subdomain": "s", "setHostnameAsFQDN": True}, "h.s.default.svc.cluster.local"),
        ({"setHostnameAsFQDN": True}, "p"),
        ({"hostname": "h", "hostnameOverride": "own.name", "subdomain": "s", "setHostnameAsFQDN": True}, "own.name"),
    ],
)
def test_the_kernel_gets_the_full_hostname_where_the_pod_wants_it(spec, name):
    assert kernel_hostname(pod(**spec), "cluster.local") == name
    around = msgspec.structs.replace(AROUND, cluster_domain="cluster.local")
    assert sandbox_config(pod(**spec), 0, around).hostname == name


def test_a_pod_with_a_subdomain_has_a_full_hostname_also_without_a_cluster_domain():
    wanted = pod(hostname="h", subdomain="s", setHostnameAsFQDN=True)
    assert domain(wanted, "") == "s.default.svc."
    assert kernel_hostname(wanted, "") == "h.s.default.svc."


def test_a_full_hostname_that_is_too_long_for_the_kernel_is_refused():
    wanted = pod(hostname="h" * 50, subdomain="s" * 10, setHostnameAsFQDN=True)
    with pytest.raises(ConfigError, match=r"is too long \(64 characters is the max, 87 characters requested\)"):
        kernel_hostname(wanted, "cluster.local")


def test_the_pods_limit_applies_to_a_container_without_one():
    whole = {"limits": {"cpu": "2", "memory": "1Gi", "hugepages-2Mi": "4Mi"}, "requests": {"memory": "512Mi"}}
    wanted = pod(containers=[sized(), container("b", resources={"limits": {"memory": "256Mi"}})], resources=whole)
    machine = ResourcesHost(memory=GIB, page_sizes=("2MB",))
    a, b = (limits(wanted, one, machine, period_us=100_000) for one in wanted.spec.containers)
    assert (a.memory_bytes, a.cpu_quota, a.cpu_shares, a.huge_pages) == (GIB, 200_000, 2048, {"2MB": 4 << 20})
    assert (b.memory_bytes, b.cpu_quota) == (256 << 20, 200_000)


def test_the_limit_0_of_a_container_leaves_it_to_the_limit_of_the_pod():
    none = container("a", resources={"limits": {"cpu": "0", "memory": "0", "hugepages-2Mi": "0"}})
    wanted = pod(containers=[none], resources={"limits": {"cpu": "2", "memory": "1Gi", "hugepages-2Mi": "4Mi"}})
    machine = ResourcesHost(memory=GIB, page_sizes=("2MB",))
    found = limits(wanted, wanted.spec.containers[0], machine, period_us=100_000)
    assert (found.memory_bytes, found.cpu_quota) == (GIB, 200_000)
    assert found.huge_pages == {"2MB": 0}, "as the kubelet: of huge pages, 0 is a limit"


# -- huge pages, overhead, signals ------------------------------------------------------------------------------------
def test_every_size_of_huge_pages_has_a_limit():
    wanted = pod(containers=[sized(limits={"hugepages-2Mi": "4Mi", "memory": "1Gi", "cpu": "1"})])
    machine = ResourcesHost(memory=GIB, page_sizes=("1GB", "2MB"))
    found = limits(wanted, wanted.spec.containers[0], machine, period_us=100_000)
    assert found.huge_pages == {"1GB": 0, "2MB": 4 << 20}


def test_overhead_is_separate_from_the_resources_of_the_containers():
    wanted = pod(containers=[sized(requests={"cpu": "1"})], overhead={"cpu": "250m", "memory": "64Mi"})
    config = box(wanted)
    assert (config.linux.resources.cpu_shares, config.linux.overhead.cpu_shares) == (1024, 256)
    assert config.linux.overhead.memory_limit_in_bytes == 64 << 20
    assert box(pod()).linux.overhead == cri.LinuxContainerResources()


def test_a_sandbox_has_no_quota_where_a_container_has_cpus_of_its_own():
    wanted = pod(containers=[sized(limits={"cpu": "2"})], overhead={"cpu": "250m"})
    found = sandbox_config(wanted, 0, msgspec.structs.replace(AROUND, exclusive_cpus=True)).linux
    assert (found.resources.cpu_quota, found.overhead.cpu_quota) == (-1, 25_000)
    off = msgspec.structs.replace(AROUND, exclusive_cpus=True, cpu_period_us=0)
    assert sandbox_config(wanted, 0, off).linux.resources.cpu_quota == 0


def test_a_sandbox_is_as_large_as_its_concurrent_containers():
    side = container("s", restartPolicy="Always", resources={"limits": {"cpu": "1", "memory": "1Gi"}})
    first = container("i", resources={"limits": {"cpu": "4", "memory": "1Mi"}})
    wanted = pod(containers=[sized(limits={"cpu": "2", "memory": "2Gi"})], initContainers=[side, first])
    found = box(wanted).linux.resources
    assert (found.cpu_quota, found.memory_limit_in_bytes) == (500_000, 3 * GIB)


def test_a_sandbox_is_as_large_as_the_pod_where_that_has_resources():
    own = {"limits": {"cpu": "3", "memory": "1Gi"}, "requests": {"cpu": "2"}}
    found = box(pod(containers=[container("c")], resources=own)).linux.resources
    assert (found.cpu_shares, found.cpu_quota, found.memory_limit_in_bytes) == (2048, 300_000, GIB)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SIGUSR1", cri.SIGNAL_SIGUSR1),
        ("SIGRTMIN+1", cri.SIGNAL_SIGRTMINPLUS1),
        ("SIGRTMAX-1", cri.SIGNAL_SIGRTMAXMINUS1),
    ],
)
def test_signals_go_by_their_names(name, value):
    assert stop_signal(name) == value
    with pytest.raises(ConfigError, match="unknown stopSignal"):
        stop_signal("SIGNOTHING")


# -- mounts -----------------------------------------------------------------------------------------------------------
def one_mount(supported: bool = True, path: str = "", **mount) -> cri.Mount:
    wanted = pod(containers=[container("a", volumeMounts=[{"name": "v", "mountPath": "/v", **mount}])])
    sources = MountSources(
        paths={"v": "/host/v"},
        images={"i": cri.ImageSpec(image="sha256:2", user_specified_image="repo/i:1")},
        image_paths={0: path},
        recursive_read_only=supported,
    )
    return volume_mounts(wanted.spec.containers[0], sources)[0]


@pytest.mark.parametrize(
    ("mount", "supported", "recursive"),
    [
        ({"readOnly": True}, True, False),
        ({"readOnly": True, "recursiveReadOnly": "Disabled"}, True, False),
        ({"readOnly": True, "recursiveReadOnly": "IfPossible"}, True, True),
        ({"readOnly": True, "recursiveReadOnly": "IfPossible"}, False, False),
        ({"readOnly": True, "recursiveReadOnly": "Enabled", "mountPropagation": "None"}, True, True),
        ({"readOnly": True, "mountPropagation": "HostToContainer"}, True, False),
    ],
)
def test_mounts_below_are_read_only_where_the_runtime_supports_it(mount, supported, recursive):
    assert one_mount(supported, **mount).recursive_read_only is recursive


@pytest.mark.parametrize(
    ("mount", "supported", "text"),
    [
        ({"readOnly": True, "recursiveReadOnly": "Enabled"}, False, "not supported by the runtime"),
        ({"recursiveReadOnly": "Enabled"}, True, "it is not read-only"),
        ({"recursiveReadOnly": "IfPossible"}, True, "it is not read-only"),
        (
            {"readOnly": True, "recursiveReadOnly": "IfPossible", "mountPropagation": "HostToContainer"},
            True,
            'it is not compatible with propagation "HostToContainer"',
        ),
        (
            {"readOnly": True, "recursiveReadOnly": "Enabled", "mountPropagation": "HostToContainer"},
            True,
            "propagation",
        ),
        ({"readOnly": True, "recursiveReadOnly": "Maybe"}, True, "failed to resolve recursive read-only mode: unknown"),
    ],
)
def test_a_required_mode_that_cannot_be_had_is_refused(mount, supported, text):
    with pytest.raises(ConfigError, match=text):
        one_mount(supported, **mount)


def test_volumes_that_the_agent_updates_are_always_read_only():
    claims = {"read": {"claimName": "c", "readOnly": True}, "write": {"claimName": "c"}}
    given = pod(
        volumes=[
            {"name": "secret", "secret": {"secretName": "s"}},
            {"name": "map", "configMap": {"name": "m"}},
            {"name": "down", "downwardAPI": {}},
            {"name": "all", "projected": {}},
            {"name": "empty", "emptyDir": {}},
            {"name": "host", "hostPath": {"path": "/x"}},
            *({"name": name, "persistentVolumeClaim": claim} for name, claim in claims.items()),
        ]
    )
    assert read_only_volumes(given) == {"secret", "map", "down", "all", "read"}
    (found,) = pod(containers=[container("a", volumeMounts=[{"name": "v", "mountPath": "/v"}])]).spec.containers
    (made,) = volume_mounts(found, MountSources(paths={"v": "/host/v"}, read_only=frozenset({"v"})))
    assert made.readonly


def test_an_image_is_mounted_by_the_runtime_and_read_only():
    found = one_mount(path="a/b", name="i", subPathExpr="$(A)/b")
    assert (found.image.image, found.image_sub_path, found.readonly, found.host_path) == ("sha256:2", "a/b", True, "")
    assert found.image.user_specified_image == "repo/i:1"


def test_volumes_of_the_pod_are_relabelled_and_host_paths_never():
    base = "/var/lib/kubelet/pods/u/volumes/kubernetes.io~"
    paths = {
        "empty": f"{base}empty-dir/empty",
        "token": f"{base}projected/token",
        "config": f"{base}configmap/config",
        "host": "/etc",
        "nfs": f"{base}nfs/nfs",
        "disk": f"{base}csi/pv/mount",
        "read": f"{base}csi/other/mount",
        "inline": f"{base}csi/inline/mount",
    }
    volumes = [
        {"name": "empty", "emptyDir": {}},
        {"name": "token", "projected": {"sources": []}},
        {"name": "config", "configMap": {"name": "c"}},
        {"name": "host", "hostPath": {"path": "/etc"}},
        {"name": "nfs", "nfs": {"server": "s", "path": "/"}},
        {"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}},
        {"name": "read", "persistentVolumeClaim": {"claimName": "read", "readOnly": True}},
        {"name": "inline", "csi": {"driver": "d", "readOnly": True}},
    ]
    mounted = [{"name": name, "mountPath": f"/{name}"} for name in paths]
    containers = [{"name": "c", "volumeMounts": mounted}]
    wanted = decode_pod(encode({"spec": {"containers": containers, "volumes": volumes}}))
    relabelled = relabelled_volumes(wanted, paths)

    assert relabelled == {"empty", "token", "config", "disk"}
    made = volume_mounts(wanted.spec.containers[0], MountSources(paths=paths, relabelled=relabelled))
    assert {mount.container_path[1:] for mount in made if mount.selinux_relabel} == relabelled
    assert not any(
        mount.selinux_relabel for mount in volume_mounts(wanted.spec.containers[0], MountSources(paths=paths))
    )
