"""A control plane that begins: the agent runs kubeadm's static pods before there is a server, then joins through it."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.api_connection import ApiConnection
from tests.support.api_process import ApiProcess
from tests.support.control_plane import manifests
from tests.support.joined import NODE, Joined, JoinedNode, condition, status
from tests.support.runtime import RealRuntime
from tests.support.tcp_ports import free_port

NAMES = ("kube-apiserver", "etcd", "kube-controller-manager", "kube-scheduler")
KUBE_SYSTEM = "kube-system"


@pytest.fixture
def server(real_runtime: RealRuntime) -> Iterator[ApiProcess]:
    """One that has made its files and is away."""
    with ApiProcess(real_runtime.base / "control-plane-api", NODE) as found:
        found.signal(signal.SIGKILL)
        yield found


@pytest.mark.slow
def test_kubeadms_static_pods_run_before_the_server_and_are_shown_to_it(
    real_runtime: RealRuntime, server: ApiProcess
) -> None:
    node = JoinedNode(real_runtime, server, "control-plane")
    host = Path(node.home, "host")
    host.mkdir()
    of_server = int(server.url.rpartition(":")[2])  # which is away, so its port seems to be free
    etcd, manager, scheduler = other_ports(3, {of_server, node.port, node.healthz_port})
    made = manifests(of_server, (etcd, manager, scheduler), str(host))
    try:
        for name, text in made.items():
            node.write(name, text)
        node.start()
        node.wait_running(*NAMES)
        ids = {name: node.running()[name] for name in NAMES}
        assert (host / "component.conf").is_file(), "FileOrCreate"
        ids["etcd"] = edited(node, made["etcd"], ids["etcd"], "while the agent runs")
        node.stop()
        ids["etcd"] = edited(node, made["etcd"], ids["etcd"], "while no agent runs", start=True)
        server.start()
        with ApiConnection(server.admin) as api:
            joined = Joined(server, node, api)
            joined.wait_ready(60)
            wait_mirrors(joined)
            found = {name: mirror(joined, name) for name in NAMES}
            for name, shown in found.items():
                assert_shown(name, shown)
            assert {name: node.running()[name] for name in NAMES} == ids, "no container was started again"
            withdraw(joined)
    except AssertionError as error:
        error.add_note(f"the agent's last words:\n{node.last_words()}")
        raise
    finally:
        node.remove()


def edited(
    node: JoinedNode, manifest: str, before: tuple[str, int], comment: str, *, start: bool = False
) -> tuple[str, int]:
    """The container of etcd after an edit, as of one that does not start: no server has answered this agent."""
    pod = json.loads(manifest)
    pod["metadata"]["annotations"]["comment"] = comment
    node.write("etcd", json.dumps(pod))
    if start:
        node.start()
    node.until(lambda: node.running().get("etcd", before) != before, f"etcd as edited {comment}", 60)
    return node.running()["etcd"]


def other_ports(number: int, taken: set[int]) -> set[int]:
    found = set[int]()
    while len(found) < number:
        found |= {free_port()} - taken
    return found


def mirror(joined: Joined, name: str) -> dict[str, object]:
    return joined.pods.now.get(f"{KUBE_SYSTEM}/{name}-{NODE}", {})


def wait_mirrors(joined: Joined) -> None:
    def ready() -> bool:
        return all(condition(mirror(joined, name), "Ready").get("status") == "True" for name in NAMES)

    joined.pods.until(ready, "mirrors of the four, Ready", 60)


def assert_shown(name: str, shown: dict[str, object]) -> None:
    """As `kubectl get pod -o yaml` shows a control plane's pod."""
    metadata, spec = shown["metadata"], shown["spec"]
    assert isinstance(metadata, dict)
    assert isinstance(spec, dict)
    annotations, (owner,) = metadata["annotations"], metadata["ownerReferences"]
    assert annotations["kubernetes.io/config.source"] == "file"
    assert annotations["kubernetes.io/config.mirror"] == annotations["kubernetes.io/config.hash"]
    assert "kubernetes.io/config.seen" in annotations
    assert (owner["apiVersion"], owner["kind"], owner["name"], owner["controller"]) == ("v1", "Node", NODE, True)
    assert metadata["labels"] == {"component": name, "tier": "control-plane"}
    assert (spec["nodeName"], spec["priority"], spec["hostNetwork"]) == (NODE, 2000001000, True)
    assert spec["tolerations"] == [{"operator": "Exists", "effect": "NoExecute"}]
    (container,) = spec["containers"]
    assert container["ports"][0] == {
        "containerPort": container["ports"][0]["containerPort"],
        "hostPort": container["ports"][0]["containerPort"],
        "name": "probe-port",
        "protocol": "TCP",
    }
    seen = status(shown)
    assert (seen["phase"], seen["qosClass"]) == ("Running", "Burstable")
    assert seen["podIPs"] == seen["hostIPs"]
    assert seen["containerStatuses"][0]["restartCount"] == 0


def withdraw(joined: Joined) -> None:
    for name in NAMES:
        joined.node.withdraw(name)
    joined.pods.until(lambda: not any(mirror(joined, name) for name in NAMES), "no mirrors", 60)
