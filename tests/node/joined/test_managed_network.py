"""Two nodes with runtimes of their own in one cluster: pods have addresses of their node's podCIDR, or it says why."""

from __future__ import annotations

import ipaddress
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.agent_command import SOURCES, START, AgentCommand
from tests.support.api_connection import ApiConnection, Obj
from tests.support.api_process import ApiProcess
from tests.support.joined import NODES, PODS, condition, container, is_ready, pod, status
from tests.support.tcp_ports import free_port

pytestmark = [pytest.mark.node, pytest.mark.slow]
SECONDS = 90.0
IPV6 = Path("/proc/sys/net/ipv6").exists()


class ManagedNode:
    """An agent with a managed runtime, in a directory of its own."""

    def __init__(self, directory: Path, name: str, server: ApiProcess) -> None:
        self.name, self.root = name, directory / name
        self.root.mkdir()
        config = self.root / "config.json"
        config.write_text(
            json.dumps(
                {
                    "apiVersion": "kubelet.config.k8s.io/v1beta1",
                    "kind": "KubeletConfiguration",
                    "cgroupRoot": f"/{directory.name}-{name}",
                    "podLogsDir": str(self.root / "logs"),
                    "failCgroupV1": False,
                    "failSwapOn": False,
                    "makeIPTablesUtilChains": False,
                    "healthzPort": free_port(),
                    "port": free_port(),
                    "nodeStatusUpdateFrequency": "1s",
                    "clusterDNS": ["10.96.0.10"],
                }
            )
        )
        flags = [
            f"--config={config}", f"--root-dir={self.root}", "--container-runtime-endpoint=managed",
            f"--hostname-override={name}", f"--kubeconfig={server.node_kubeconfig(name)}",
            "--set-kernel-tunables=false",
        ]  # fmt: skip
        self.agent = AgentCommand([*START, *flags], self.root)

    def says(self, *words: str) -> str:
        command = [sys.executable, "-m", "actors.agent.command", *words, f"--root-dir={self.root}"]
        done = subprocess.run(command, cwd=SOURCES, capture_output=True, text=True, timeout=120, check=False)
        return done.stdout + done.stderr

    def remove(self) -> None:
        self.agent.__exit__(None, None, None)
        said = self.says("reset", "--yes")
        assert not list((self.root / "pods").glob("*")), said


class TwoNodes:
    """`n1` and `n2`, and what an administrator sees of them."""

    def __init__(self, api: ApiConnection, nodes: dict[str, ManagedNode]) -> None:
        self.api, self.of = api, nodes
        self.nodes, self.pods = api.watch(NODES), api.watch("/api/v1/pods")

    def node(self, name: str) -> Obj:
        return self.nodes.now.get(f"/{name}", {})

    def give(self, name: str, *networks: str) -> None:
        """As kube-controller-manager does, once for a Node."""
        self.api.merge(f"{NODES}/{name}", {"spec": {"podCIDR": networks[0], "podCIDRs": list(networks)}})

    def wait_not_ready(self, name: str, why: str) -> None:
        def said() -> bool:
            found = condition(self.node(name), "Ready")
            return found.get("status") == "False" and why in str(found.get("message"))

        self.nodes.until(said, f"{name} not Ready: {why}", SECONDS)
        found = self.of[name].agent
        found.until(lambda: f"podCIDR: {why}" in self.of[name].says("status"), "status says so, too")
        assert f"FAIL  pod network: {why}" in self.of[name].says("doctor")

    def wait_ready(self, name: str) -> None:
        self.nodes.until(lambda: is_ready(self.node(name)), f"{name} Ready", SECONDS)

    def create(self, name: str, node: str) -> None:
        made = pod(name, container("main", "sleep", "9999"))
        self.api.call("POST", PODS, {**made, "spec": {**made["spec"], "nodeName": node}})

    def addresses(self, name: str) -> list[str]:
        """Of a pod, once it runs."""

        def runs() -> bool:
            return status(self.pods.now.get(f"default/{name}")).get("phase") == "Running"

        self.pods.until(runs, f"{name} runs", SECONDS)
        return [one["ip"] for one in status(self.pods.now[f"default/{name}"])["podIPs"]]


@pytest.fixture
def two() -> Iterator[TwoNodes]:
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pod-networks-")))
        server = stack.enter_context(ApiProcess(directory / "api", "n1", "n2"))
        api = stack.enter_context(ApiConnection(server.admin))
        nodes: dict[str, ManagedNode] = {}
        for name in ("n1", "n2"):
            nodes[name] = ManagedNode(directory, name, server)
            stack.callback(nodes[name].remove)
        for node in nodes.values():
            node.agent.wait_ready(SECONDS)
        made = TwoNodes(api, nodes)
        try:
            yield made
        except AssertionError as error:
            for node in nodes.values():
                error.add_note(f"{node.name}:\n{node.says('status')}\n{node.agent.log[-3000:]}")
            raise


def within(address: str, network: str) -> bool:
    return ipaddress.ip_address(address) in ipaddress.ip_network(network)


def test_pods_have_addresses_of_their_nodes_network_or_the_node_reports_why_not(two: TwoNodes) -> None:
    for name in ("n1", "n2"):
        two.wait_not_ready(name, "the cluster has given this node no podCIDR")
    two.give("n1", "10.201.1.0/24")
    two.wait_ready("n1")
    assert not is_ready(two.node("n2")), "its network is still to come"
    second = ["10.201.2.0/24", *(["fd00:201:2::/64"] if IPV6 else [])]
    two.give("n2", *second)
    two.wait_ready("n2")
    for at in range(3):
        two.create(f"one-{at}", "n1")
        two.create(f"two-{at}", "n2")
    ones = [address for at in range(3) for address in two.addresses(f"one-{at}")]
    twos = [two.addresses(f"two-{at}") for at in range(3)]
    assert len(set(ones)) == 3
    assert all(within(address, "10.201.1.0/24") for address in ones)
    for addresses in twos:
        assert len(addresses) == len(second), "one of each network"
        assert all(within(address, network) for address, network in zip(addresses, second, strict=True))
    assert not set(ones) & {address for addresses in twos for address in addresses}
    before = {name: status(found)["containerStatuses"][0]["containerID"] for name, found in two.pods.now.items()}
    # the Node is deleted and made again, with another network, as when somebody joins the node again
    made = two.node("n1")
    two.api.call("DELETE", f"{NODES}/n1", {})
    fresh = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": made["metadata"]["labels"]}}
    two.api.call("POST", NODES, {**fresh, "spec": {"podCIDR": "10.201.3.0/24", "podCIDRs": ["10.201.3.0/24"]}})
    two.wait_not_ready(
        "n1", "the managed container runtime gives pods addresses of 10.201.1.0/24, and the node's podCIDR is"
    )
    after = {name: status(found)["containerStatuses"][0]["containerID"] for name, found in two.pods.now.items()}
    assert after == before, "what runs goes on"
    assert is_ready(two.node("n2"))
