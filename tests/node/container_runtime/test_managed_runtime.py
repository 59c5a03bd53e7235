"""A containerd of our own: pods run, survive its end, and nothing is left once it is taken away."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.api_clients.heartbeat_client import managed_network
from actors.container_runtime import cleanup, image_import, processes
from actors.container_runtime.errors import RuntimeSetupError
from actors.container_runtime.host_setup import prepare
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError
from actors.shared.cri.model import CriContainerState
from actors.shared.linux import mountinfo
from proto import cri_pb2 as cri
from tests.support.runtime import BUSYBOX_IMAGE, SANDBOX_IMAGE, RealRuntime, runtime_running


def sandbox_config(runtime: RealRuntime, name: str, host_port: int = 0) -> cri.PodSandboxConfig:
    uid = str(uuid.uuid4())
    config = cri.PodSandboxConfig(
        metadata=cri.PodSandboxMetadata(name=name, uid=uid, namespace="default"),
        log_directory=f"{runtime.base}/logs/{name}",
        linux=cri.LinuxPodSandboxConfig(cgroup_parent=f"{runtime.cgroup_parent}/pod{uid}"),
    )
    if host_port:
        config.port_mappings.add(container_port=80, host_port=host_port)
    return config


async def run_pod(
    runtime: RealRuntime, client: CriClient, name: str, script: str, host_port: int = 0
) -> tuple[str, str]:
    """Ids of a sandbox and of the busybox container that runs in it."""
    config = sandbox_config(runtime, name, host_port)
    sandbox = await client.run_pod_sandbox(config)
    container = await client.create_container(
        sandbox,
        cri.ContainerConfig(
            metadata=cri.ContainerMetadata(name="main"),
            image=cri.ImageSpec(image=BUSYBOX_IMAGE),
            command=["sh", "-c", script],
            log_path="main/0.log",
        ),
        config,
    )
    await client.start_container(container)
    return sandbox, container


def iptables() -> str:
    return subprocess.run(["iptables-save", "-t", "nat"], capture_output=True, text=True, check=True, timeout=30).stdout


async def test_both_images_are_there_and_a_pod_runs_with_an_address(real_runtime: RealRuntime) -> None:
    client = CriClient(real_runtime.endpoint)
    names = {name for image in await client.list_images() for name in image.tags}
    assert {SANDBOX_IMAGE, BUSYBOX_IMAGE} <= names
    sandbox, container = await run_pod(real_runtime, client, "answers", "exec httpd -f -p 80 -h /etc")
    status = await client.pod_sandbox_status(sandbox)
    assert status.ready
    assert len(status.ips) == 1
    out = b""
    async with asyncio.timeout(30):
        while not out:  # a container that was started may not listen yet
            fetched = await asyncio.create_subprocess_exec(
                "busybox", "wget", "-qO-", f"http://{status.ips[0]}/group", stdout=subprocess.PIPE
            )
            out, _ = await fetched.communicate()
    assert b"extra:x:2000:app" in out
    assert (await client.container_status(container)).state is CriContainerState.RUNNING
    await client.close()


async def test_the_sandbox_reaps_orphans_and_ends_on_a_signal(real_runtime: RealRuntime) -> None:
    client = CriClient(real_runtime.endpoint)
    config = sandbox_config(real_runtime, "reaps")
    config.linux.security_context.namespace_options.pid = cri.POD
    sandbox = await client.run_pod_sandbox(config)
    container_config = cri.ContainerConfig(
        metadata=cri.ContainerMetadata(name="main"),
        image=cri.ImageSpec(image=BUSYBOX_IMAGE),
        command=["sh", "-c", "(sleep 0.1 & exec true) ; exec sleep 60"],
    )
    container_config.linux.security_context.namespace_options.pid = cri.POD
    container = await client.create_container(sandbox, container_config, config)
    await client.start_container(container)
    async with asyncio.timeout(60):
        while True:
            seen = await client.exec_sync(container, ["sh", "-c", "ps -o pid,stat,args"], 60)
            lines = seen.stdout.decode().splitlines()
            assert any("/pause" in line for line in lines)
            if not any(" Z " in line or "sleep 0.1" in line for line in lines):
                break
            await asyncio.sleep(0.05)
    with contextlib.suppress(CriError):  # the command ends with the process that it tells
        await client.exec_sync(container, ["kill", "-TERM", "1"], 60)
    async with asyncio.timeout(60):
        while (await client.pod_sandbox_status(sandbox)).ready:
            await asyncio.sleep(0.05)
        # The kernel ends the container's processes with those of its sandbox; the shim tells each exit on its own.
        while (await client.container_status(container)).state is CriContainerState.RUNNING:
            await asyncio.sleep(0.05)
    await client.close()


async def test_containers_survive_a_crash_of_containerd(real_runtime: RealRuntime) -> None:
    client = CriClient(real_runtime.endpoint)
    sandbox, container = await run_pod(real_runtime, client, "survives", "echo begun; exec sleep 600")
    before = await client.container_status(container)
    real_runtime.restart()
    await real_runtime.ready()
    after = await client.container_status(container)
    assert (after.state, after.started_ns) == (CriContainerState.RUNNING, before.started_ns)
    assert (await client.pod_sandbox_status(sandbox)).ready
    await client.close()


async def test_images_are_imported_once(real_runtime: RealRuntime) -> None:
    assert await asyncio.to_thread(image_import.ensure_images, real_runtime.instance, real_runtime.host)
    assert not await asyncio.to_thread(image_import.ensure_images, real_runtime.instance, real_runtime.host)


async def test_preparing_again_changes_nothing_under_a_running_containerd(real_runtime: RealRuntime) -> None:
    network = Path(real_runtime.instance.network_file)
    before = network.stat()
    prepare(real_runtime.instance, real_runtime.host)
    assert (network.stat().st_ino, network.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("crashed", [False, True])
def test_nothing_is_left_after_the_purge_of_an_instance_with_pods(crashed: bool) -> None:
    with runtime_running() as runtime:
        instance = runtime.instance

        async def fill() -> None:
            client = CriClient(runtime.endpoint)
            await run_pod(runtime, client, "one", "exec sleep 600", host_port=18080)
            await run_pod(runtime, client, "two", "trap '' TERM; while :; do sleep 1; done")
            await client.close()

        asyncio.run(fill())
        shims = [pid for pid, argv in processes.commands() if instance.socket in argv]
        assert len(shims) == 2
        assert instance.network in iptables()
        results = list(Path(cleanup.RESULTS_DIR).glob(f"{instance.network}-*"))
        sandboxes = [result.name.split("-")[1] for result in results]
        assert len(sandboxes) == 2
        sockets = processes.shim_sockets(instance)
        assert len(sockets) >= 2
        assert all(socket.exists() for socket in sockets)
        if crashed:
            runtime.kill()
        assert runtime.purge() == []
        assert not runtime.base.exists()
    assert not [argv for _, argv in processes.commands() if any(str(runtime.base) in word for word in argv)]
    assert not mountinfo.below(mountinfo.read(), str(runtime.base))
    assert instance.network not in iptables()
    assert not Path("/sys/class/net", instance.network).exists()
    assert not [
        result for result in Path(cleanup.RESULTS_DIR).glob("*") if any(one in result.name for one in sandboxes)
    ]
    assert not list(Path("/sys/fs/cgroup").glob(f"*/{runtime.base.name}"))
    assert not any(socket.exists() for socket in sockets)


@pytest.fixture
def clustered() -> Iterator[RealRuntime]:
    """A containerd of a node in a cluster that has not given it a network yet; it had one of its own before."""
    with runtime_running() as runtime:
        own = Path(runtime.instance.network_file)
        assert own.exists()
        runtime.stop()
        prepare(runtime.instance, runtime.host, cluster=True)
        assert not own.exists()
        runtime.start()
        yield runtime


async def network_ready(client: CriClient, wanted: bool) -> None:
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(CriError):
                status = await client.status()
                if status.runtime_ready and status.network_ready is wanted:
                    return
            await asyncio.sleep(0.05)


async def test_in_a_cluster_pods_have_addresses_of_the_network_that_the_node_was_given(clustered: RealRuntime) -> None:
    client = CriClient(clustered.endpoint)
    await network_ready(client, False)
    await client.update_runtime_config("10.251.7.0/24")
    await network_ready(client, True)
    sandbox, _ = await run_pod(clustered, client, "one", "exec sleep 600")
    (address,) = (await client.pod_sandbox_status(sandbox)).ips
    assert ipaddress.ip_address(address) in ipaddress.ip_network("10.251.7.0/24")
    assert managed_network.read(clustered.instance.root) == ["10.251.7.0/24"]
    await client.close()
    clustered.restart()
    await clustered.ready()
    prepare(clustered.instance, clustered.host)
    assert not Path(clustered.instance.network_file).exists(), "what the cluster gave is kept without it"


async def test_pods_of_an_own_network_are_not_taken_into_a_cluster(real_runtime: RealRuntime) -> None:
    client = CriClient(real_runtime.endpoint)
    await run_pod(real_runtime, client, "old", "exec sleep 600")
    await client.close()
    with pytest.raises(RuntimeSetupError, match="supervise reset"):
        prepare(real_runtime.instance, real_runtime.host, cluster=True)
    with pytest.raises(RuntimeSetupError, match=r"podCIDR is 10\.9\.9\.0/24"):
        prepare(real_runtime.instance, real_runtime.host, pod_cidr="10.9.9.0/24")
