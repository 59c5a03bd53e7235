"""A node joins before it has a network: it says so, runs what needs none, and is Ready once a pod has installed one."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.api_connection import ApiConnection, Obj
from tests.support.api_process import ApiProcess
from tests.support.cluster_pods import NAMESPACE, coredns, kube_proxy, network_agent
from tests.support.joined import NODE, Joined, JoinedNode, condition, is_ready, status
from tests.support.runtime import RealRuntime

BASE = f"/api/v1/namespaces/{NAMESPACE}"
NOT_READY = (
    "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin "
    "returns error: cni plugin not initialized"
)
TOKEN_DIR = "/var/run/secrets/kubernetes.io/serviceaccount"


@pytest.fixture
def conflist(real_runtime: RealRuntime) -> Iterator[str]:
    """The network's configuration, which the runtime has no more."""
    file = Path(real_runtime.instance.network_file)
    text = file.read_text()
    file.unlink()
    real_runtime.restart()
    yield text
    file.write_text(text)
    real_runtime.restart()
    asyncio.run(real_runtime.ready())


@pytest.fixture
def shared(real_runtime: RealRuntime) -> Iterator[Path]:
    """A directory whose mounts are seen on both sides."""
    made = real_runtime.base / "shared"
    (made / "made").mkdir(parents=True)
    subprocess.run(["mount", "--bind", made, made], check=True)
    subprocess.run(["mount", "--make-shared", made], check=True)
    yield made
    for place in (made / "made", made):
        subprocess.run(["umount", "-l", place], check=False, capture_output=True)


def test_pods_of_the_hosts_network_run_first_and_bring_the_network_that_others_wait_for(
    real_runtime: RealRuntime, conflist: str, shared: Path
) -> None:
    with ApiProcess(real_runtime.base / "late-network-api", NODE) as server, ApiConnection(server.admin) as api:
        node = JoinedNode(real_runtime, server, "late-network")
        try:
            node.start()
            joined = Joined(server, node, api)
            joined.nodes.until(lambda: NOT_READY in ready_message(joined), "the kubelet's words", 60)
            assert not is_ready(joined.nodes.now[f"/{NODE}"])
            give(api, "kube-proxy", {"config.conf": "mode: iptables\n"})
            give(api, "network", {"conflist": conflist})
            give(api, "coredns", {"Corefile": ".:53 {\n}\n"})
            for made in (coredns(), kube_proxy(str(node.home))):
                api.call("POST", f"{BASE}/pods", made)
            joined.pods.until(lambda: pod_ready(joined, "kube-proxy"), "kube-proxy", 60)
            node.until(node.serves, "the node's own server")
            assert_kube_proxy(joined)
            assert_waits(joined, "coredns")
            file = Path(real_runtime.instance.network_file)
            api.call("POST", f"{BASE}/pods", network_agent(str(file.parent), file.name, str(shared)))
            joined.pods.until(lambda: pod_ready(joined, "network-agent"), "the network's agent", 60)
            joined.wait_ready(60)
            joined.pods.until(lambda: pod_ready(joined, "coredns"), "coredns, with a network", 90)
            assert status(pod(joined, "coredns"))["podIP"] != status(pod(joined, "coredns"))["hostIP"]
            assert is_mounted(shared / "made"), "what a pod mounts is seen on the host"
            joined.clear()
        except AssertionError as error:
            error.add_note(f"the agent's last words:\n{node.last_words()}")
            raise
        finally:
            with suppress(OSError):
                node.remove()


def give(api: ApiConnection, name: str, data: dict[str, str]) -> None:
    api.call("POST", f"{BASE}/configmaps", {"metadata": {"name": name}, "data": data})


def pod(joined: Joined, name: str) -> Obj:
    return joined.pods.now.get(f"{NAMESPACE}/{name}", {})


def pod_ready(joined: Joined, name: str) -> bool:
    return condition(pod(joined, name), "Ready").get("status") == "True"


def ready_message(joined: Joined) -> str:
    found = condition(joined.nodes.now.get(f"/{NODE}"), "Ready")
    return str(found.get("message", "")) if found.get("reason") == "KubeletNotReady" else ""


def assert_kube_proxy(joined: Joined) -> None:
    found = pod(joined, "kube-proxy")
    assert status(found)["podIP"] == status(found)["hostIP"]
    assert found["spec"]["priority"] == 2000001000

    def run(*command: str) -> str:
        return joined.kubectl("exec", "-n", NAMESPACE, "kube-proxy", "--", *command)

    assert run("cat", "/var/lib/kube-proxy/config.conf") == "mode: iptables\n"
    assert sorted(run("ls", TOKEN_DIR).split()) == ["ca.crt", "namespace", "token"]
    assert run("cat", f"{TOKEN_DIR}/namespace") == NAMESPACE
    assert run("sh", "-c", "echo $NODE_NAME").strip() == NODE
    assert capabilities(run("cat", "/proc/1/status")) == capabilities(Path("/proc/self/status").read_text())


def capabilities(text: str) -> str:
    """Effective ones, of /proc/<pid>/status."""
    return next(line for line in text.splitlines() if line.startswith("CapEff:"))


def assert_waits(joined: Joined, name: str) -> None:
    """It is there, has not failed, and its events say why it waits."""

    def reasons() -> set[str]:
        listed = joined.api.call("GET", f"{BASE}/events")["items"]
        return {one["reason"] for one in listed if one["involvedObject"]["name"] == name}

    joined.node.until(lambda: "NetworkNotReady" in reasons(), "NetworkNotReady")
    assert status(pod(joined, name)).get("phase") == "Pending"
    assert condition(pod(joined, name), "Ready").get("status") != "True"


def is_mounted(place: Path) -> bool:
    return any(line.split()[4] == str(place) for line in Path("/proc/self/mountinfo").read_text().splitlines())
