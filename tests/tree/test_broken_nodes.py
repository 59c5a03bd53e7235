"""Broken nodes: `status` or `doctor` names the cause of each, and what mends it, within one screen."""

from __future__ import annotations

import asyncio
import base64
import functools
import json
import os
import signal
import socket
import time
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from pathlib import Path
from unittest import mock

import pytest

from actors.shared.cri.remedies import RuntimeRemedies
from actors.shared.linux.services import set_clock
from tests.support.apiserver import ApiServer
from tests.support.broken_node import NODE, BrokenNode, broken_node
from tests.support.fake_cri import Fault

pytestmark = [pytest.mark.tree, pytest.mark.slow]
SCREEN = 24
START = "start the runtime that listens there, "
RESTART = RuntimeRemedies("").silent
SYSTEMD_WANTED = (
    'expected cgroupsPath to be of format "slice:prefix:name" for systemd cgroups, got "/kubepods/x" instead'
)


def alone(story: Callable[[BrokenNode], Awaitable[None]]) -> Callable[[Path], None]:
    """A node without a cluster, with one static pod, `web`."""

    @functools.wraps(story)
    def test(tmp_path: Path) -> None:
        async def run() -> None:
            async with broken_node(tmp_path) as node:
                node.manifest()
                await story(node)

        asyncio.run(run())

    del test.__wrapped__
    test.__annotations__ = {"tmp_path": Path}
    return test


def joined(story: Callable[[BrokenNode, ApiServer], Awaitable[None]]) -> Callable[[Path], None]:
    """A node that is not started yet, and an API server."""

    @functools.wraps(story)
    def test(tmp_path: Path) -> None:
        async def run() -> None:
            async with ApiServer(tmp_path / "api") as server, broken_node(tmp_path) as node:
                await story(node, server)

        asyncio.run(run())

    del test.__wrapped__
    test.__annotations__ = {"tmp_path": Path}
    return test


async def doctor_says(node: BrokenNode, *wanted: str) -> str:
    """Until one finding has the first of `wanted` and its remedy, or that of those below it, the others; all in one
    screen."""

    def right(text: str) -> bool:
        lines = text.splitlines()
        found = [
            f"{line} {next((below for below in lines[number:] if below.startswith('      -> ')), '')}"
            for number, line in enumerate(lines)
            if line.startswith(("FAIL", "WARN"))
        ]
        return any(all(part in one for part in wanted) for one in found)

    text = await node.until(right, "doctor")
    assert len(text.splitlines()) <= SCREEN, text
    return text


async def status_says(node: BrokenNode, wanted: str, remedy: str) -> None:
    """Until a reason begins with `wanted`, and what mends it with `remedy`."""

    def right(text: str) -> bool:
        after = text.partition(f"\n  {wanted}")[2]
        return after.partition("\n      -> ")[2].startswith(remedy)

    text = await node.until(right, "status")
    assert text.startswith("degraded: "), text
    assert f"supervise doctor --root-dir {node.root}" in text
    assert len(text.splitlines()) <= SCREEN, text


@alone
async def test_no_runtime(node: BrokenNode) -> None:
    node.fake.faults.add("*", Fault(error="UNAVAILABLE"))
    await node.start(f"--container-runtime-endpoint=unix://{node.directory}/none.sock")
    await status_says(
        node, f"container runtime: unix://{node.directory}/none.sock cannot be reached: No such file", START
    )
    await doctor_says(node, "FAIL  container runtime: ", "there is no container runtime", "start the runtime")
    await node.until(
        lambda text: "Last error: " in text and "none.sock: connect: no such file" in text, "describe", "pod", "web"
    )


@alone
async def test_a_runtime_that_hangs(node: BrokenNode) -> None:
    await node.start()
    node.fake.faults.add("*", Fault(hang=True))
    await status_says(node, f"container runtime: unix://{node.directory}/cri.sock does not answer", RESTART)
    await doctor_says(node, "FAIL  container runtime: ", "does not answer", RESTART)


@alone
async def test_no_pod_network(node: BrokenNode) -> None:
    node.fake.network_ready = False
    await node.start()
    await status_says(node, "pod network: not ready: ", "ls /etc/cni/net.d /opt/cni/bin: ")
    await doctor_says(node, "FAIL  pod network: not ready", "network plugin", "ls /etc/cni/net.d")
    await doctor_says(
        node, "WARN  pods: default/web-n1: ContainerCreating", "NetworkNotReady", "what mends the pod network"
    )
    node.fake.network_ready = True
    await node.until(lambda text: text.startswith("ready: "), "status")
    await node.until(lambda text: "Running" in text, "pods")


@alone
async def test_the_other_cgroup_driver(node: BrokenNode) -> None:
    node.fake.faults.add("RunPodSandbox", Fault(error="UNKNOWN", details=SYSTEMD_WANTED))
    await node.start()
    await doctor_says(node, "WARN  pods: default/web-n1: ", "expected cgroupsPath", "-> cgroupDriver: systemd")
    await node.until(lambda text: "FailedCreatePodSandBox" in text, "describe", "pod", "web")


@alone
async def test_an_image_that_does_not_exist(node: BrokenNode) -> None:
    node.manifest(image="nginx:nope")
    await node.start()
    await doctor_says(
        node, "default/web-n1: ", "nginx:nope: not found", "-> correct the image in the pod", "nginx:nope"
    )
    await node.until(lambda text: "ImagePullBackOff" in text, "pods")
    await node.until(lambda text: "Failed to pull image" in text, "events")


@alone
async def test_a_manifest_that_is_refused(node: BrokenNode) -> None:
    (node.pods / "bad.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: bad}\nspec: {containerz: []}\n")
    await node.start()
    await status_says(node, f"manifest: {node.pods}/bad.yaml: line 4: spec.containerz: unknown field", "mend the file")
    await doctor_says(node, "WARN  manifests: ", "bad.yaml: line 4: spec.containerz", "-> mend the file")
    said = await node.says("describe", "pod", "bad")
    assert "there is no pod bad on this node, because it is refused" in said
    assert f"{node.pods}/bad.yaml: line 4: spec.containerz: unknown field" in said


@alone
async def test_a_port_that_is_taken(node: BrokenNode) -> None:
    with socket.socket() as other:
        other.bind(("0.0.0.0", 0))
        other.listen()
        port = other.getsockname()[1]
        await node.start(f"--port={port}")
        await status_says(
            node, f"port: cannot listen on 0.0.0.0:{port}: Address already in use", f"ss -ltnp 'sport = :{port}'"
        )
        await doctor_says(node, "FAIL  ports: port: cannot listen", f"-> ss -ltnp 'sport = :{port}'")


@alone
async def test_an_actor_that_is_stopped(node: BrokenNode) -> None:
    await node.start()
    assert node.agent is not None
    pid = node.agent.tree()["prober"].pid
    os.kill(pid, signal.SIGSTOP)
    said = await node.says("status")
    assert "prober: stopped by a signal" in said
    assert f"-> kill -CONT {pid}, or wait: its supervisor replaces it" in said
    await doctor_says(node, "WARN  agent: prober was replaced ", "cause: hang", "supervise incidents prober --full")


@alone
async def test_an_actor_that_hangs(node: BrokenNode) -> None:
    await node.start()
    await node.says("inject", "prober", "hang")
    await status_says(
        node, "prober: hangs: no heartbeat for ", "wait until it is replaced; supervise incidents prober --full"
    )
    await doctor_says(node, "WARN  agent: prober was replaced ", "cause: hang", "supervise incidents prober --full")


@joined
async def test_a_wrong_clock(node: BrokenNode, server: ApiServer) -> None:
    def earlier(usegmt: bool) -> str:
        return formatdate(time.time() - 310, usegmt=usegmt)

    with mock.patch("tests.support.apiserver.http.formatdate", earlier):
        await node.start(f"--kubeconfig={server.node_kubeconfig(NODE)}")
        await doctor_says(node, "FAIL  clock: ", " s ahead of the API server", f"-> {set_clock()}")


@joined
async def test_an_expired_client_certificate(node: BrokenNode, server: ApiServer) -> None:
    kubeconfig = server.node_kubeconfig(NODE, seconds=-60)
    await node.start(f"--kubeconfig={kubeconfig}")
    found = await doctor_says(node, "FAIL  client certificate: ", f"{kubeconfig} expired on", "kubeadm token create")
    assert "Unauthorized" not in found, "the certificate says why"
    await status_says(node, "API server: the node's lease is not renewed: ", "kubeadm token create")


@joined
async def test_the_ca_of_another_cluster(node: BrokenNode, server: ApiServer) -> None:
    kubeconfig = Path(server.node_kubeconfig(NODE))
    async with ApiServer(node.directory / "other") as other:
        foreign = base64.b64encode(other.authority.pem).decode()
    document = json.loads(kubeconfig.read_text())
    document["clusters"][0]["cluster"]["certificate-authority-data"] = foreign
    kubeconfig.write_text(json.dumps(document))
    await node.start(f"--kubeconfig={kubeconfig}")
    await doctor_says(
        node, "FAIL  API server: ", "certificate verify failed", "-> certificate-authority in the kubeconfig must be"
    )
    await status_says(
        node, "API server: the node's lease is not renewed: ", "certificate-authority in the kubeconfig must be"
    )


@joined
async def test_no_rights(node: BrokenNode, server: ApiServer) -> None:
    await node.start(f"--kubeconfig={server.kubeconfig('jane', 'developers')}")
    await doctor_says(node, "FAIL  rights: ", "patch nodes/status", "kubectl create clusterrolebinding")
    await status_says(
        node,
        "API server: the node's lease is not renewed: ",
        "kubectl create clusterrolebinding node-n1 --clusterrole=system:node --user=jane",
    )


@joined
async def test_a_certificate_without_the_group_of_nodes(node: BrokenNode, server: ApiServer) -> None:
    await node.start(f"--kubeconfig={server.kubeconfig(f'system:node:{NODE}', 'developers')}")
    await doctor_says(node, "FAIL  identity: ", "is not in the group system:nodes", "O=system:nodes")


@joined
async def test_an_api_server_that_is_away(node: BrokenNode, server: ApiServer) -> None:
    kubeconfig = server.node_kubeconfig(NODE)
    await server.stop()
    await node.start(f"--kubeconfig={kubeconfig}")
    await doctor_says(node, "FAIL  API server: ", "Connection refused", "-> start the API server, or correct `server`")
    await status_says(node, "API server: the node's lease is not renewed: ", "start the API server, ")
