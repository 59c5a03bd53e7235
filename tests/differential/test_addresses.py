"""Addresses of nodes and pods, of one and of two families; probes of pods on the host's network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from .row import Row, Situation, asked, at_once, c, holds, made, not_said, pod, said, shows, waits
from .table import documented

ORDER = "kubelet sortPodIPs: the family of --node-ip first, IPv4 without one"
HOSTS = "KEP-563, KEP-2681; node helpers GetNodeHostIPs"
PROBES = "subsystems 7; API, Probe"
SIX = "fd00:1::7"
LOOPBACK = {"node_ip": "127.0.0.1"}
CLOSED = 9
REFUSED = "dial tcp 127.0.0.1:9: connect: connection refused"


def field(path: str) -> dict[str, Any]:
    return c("a", env=[{"name": "X", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}])


def dual(on: Situation) -> None:
    """Each sandbox has an address of each family, and a second one of IPv6."""
    on.fake.world.more_ips = (SIX, "fd00:1::8")


def addressed(*pairs: tuple[str, str]) -> Any:
    """The Node object has these addresses."""

    def change(on: Situation) -> None:
        addresses = [{"type": kind, "address": ip} for kind, ip in pairs]
        on.store.node = {"metadata": {"name": "node-1", "uid": "n"}, "status": {"addresses": addresses}}

    return at_once(change)


def hosts_has(*lines: str) -> Any:
    """The pod's /etc/hosts has these lines, in this order."""

    def check(on: Situation) -> bool:
        (mount,) = [one for one in on.container("a").config.mounts if one.container_path == "/etc/hosts"]
        found = Path(mount.host_path).read_text().splitlines()
        return [line for line in found if line in lines] == list(lines)

    return holds(f"/etc/hosts has {lines}", check)


def host_pod(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return pod(*containers, hostNetwork=True, **spec)


def probe(**action: Any) -> dict[str, Any]:
    return {"periodSeconds": 1, "timeoutSeconds": 1, **action}


def ips(*texts: str) -> list[dict[str, str]]:
    return [{"ip": text} for text in texts]


FOUR_FIRST, SIX_FIRST = ips("10.88.0.3", SIX), ips(SIX, "10.88.0.3")
BOTH = {"node_ip": "192.0.2.1,fd00::1"}
TURNED = {"node_ip": "fd00::1,192.0.2.1"}
ROWS = [
    Row(
        "one address of each family, IPv4 first",
        ORDER,
        pod(),
        (shows({"podIP": "10.88.0.3", "podIPs": FOUR_FIRST}),),
        before=(at_once(dual),),
    ),
    Row(
        "the family of --node-ip is the first",
        ORDER,
        pod(),
        (shows({"podIP": SIX, "podIPs": SIX_FIRST, "hostIP": "fd00::1", "hostIPs": ips("fd00::1", "192.0.2.1")}),),
        before=(at_once(dual),),
        config=TURNED,
    ),
    Row(
        "a node of both families, IPv4 first",
        HOSTS,
        pod(),
        (shows({"hostIP": "192.0.2.1", "hostIPs": ips("192.0.2.1", "fd00::1"), "podIPs": FOUR_FIRST}),),
        before=(at_once(dual),),
        config=BOTH,
    ),
    Row(
        "downward API: podIPs in the order of the status",
        ORDER,
        pod(field("status.podIPs")),
        (made("a", {"envs:X": f"{SIX},10.88.0.3".encode()}),),
        before=(at_once(dual),),
        config=TURNED,
    ),
    Row(
        "downward API: podIP is the first of them",
        ORDER,
        pod(field("status.podIP")),
        (made("a", {"envs:X": SIX.encode()}),),
        before=(at_once(dual),),
        config=TURNED,
    ),
    Row(
        "downward API: hostIPs in the order of the Node object, its inner ones first",
        HOSTS,
        pod(field("status.hostIPs")),
        (made("a", {"envs:X": b"fd00::5,192.0.2.5"}),),
        before=(
            addressed(("ExternalIP", "203.0.113.1"), ("InternalIP", "fd00::5"), ("InternalIP", "192.0.2.5")),
            at_once(dual),
        ),
    ),
    Row(
        "addresses of the Node object do not turn those of its pods",
        ORDER,
        pod(field("status.podIPs")),
        (made("a", {"envs:X": f"10.88.0.3,{SIX}".encode()}),),
        before=(addressed(("InternalIP", "fd00::5"), ("InternalIP", "192.0.2.5")), at_once(dual)),
    ),
    Row(
        "/etc/hosts has the pod's addresses of both families",
        ORDER,
        pod(),
        (hosts_has(f"{SIX}\tp", "10.88.0.3\tp"),),
        before=(at_once(dual),),
        config=TURNED,
    ),
    Row(
        "a pod on the host's network has the node's addresses",
        HOSTS,
        host_pod(),
        (shows({"podIP": "192.0.2.1", "podIPs": ips("192.0.2.1", "fd00::1")}),),
        config=BOTH,
    ),
    Row(
        "a pod on the host's network: its variables have the node's addresses",
        HOSTS,
        host_pod(field("status.podIPs")),
        (made("a", {"envs:X": b"192.0.2.1,fd00::1"}),),
        config=BOTH,
    ),
    Row(
        "a tcpSocket probe of a pod on the host's network goes to the node",
        PROBES,
        host_pod(c("a", readinessProbe=probe(tcpSocket={"port": CLOSED}))),
        (said(f"Warning Unhealthy a: Readiness probe failed: {REFUSED}"), shows({"conditions.Ready": "False"})),
        config=LOOPBACK,
    ),
    Row(
        "an httpGet probe of a pod on the host's network goes to the node",
        PROBES,
        host_pod(c("a", readinessProbe=probe(httpGet={"port": CLOSED, "path": "/x"}))),
        (said(f'Warning Unhealthy a: Readiness probe failed: Get "http://127.0.0.1:9/x": {REFUSED}'),),
        config=LOOPBACK,
    ),
    Row(
        "a grpc probe whose port is closed fails once its timeout is over",
        PROBES,
        host_pod(c("a", readinessProbe=probe(grpc={"port": CLOSED}))),
        (
            said(
                'Warning Unhealthy a: Readiness probe failed: timeout: failed to connect service "127.0.0.1:9" within 1s: '
                "context deadline exceeded"
            ),
            shows({"containers.a.ready": False}),
        ),
        config=LOOPBACK,
    ),
    Row(
        "a liveness probe by grpc that fails has the container restarted",
        PROBES,
        host_pod(c("a", livenessProbe=probe(grpc={"port": CLOSED}, failureThreshold=1))),
        (
            waits(3),
            said(
                "Warning Unhealthy a",
                "Normal Killing a: Container a failed liveness probe, will be restarted",
            ),
            asked("StopContainer a 30"),
        ),
        config=LOOPBACK,
    ),
    Row(
        "a startup probe by grpc holds back the liveness probe",
        PROBES,
        host_pod(
            c(
                "a",
                startupProbe=probe(grpc={"port": CLOSED}, failureThreshold=9),
                livenessProbe=probe(tcpSocket={"port": CLOSED}, failureThreshold=1),
            )
        ),
        (
            shows({"containers.a.started": False, "containers.a.restartCount": 0}),
            said(re.compile(r"Warning Unhealthy a: Startup probe failed: timeout: .*")),
            not_said("Killing"),
        ),
        config=LOOPBACK,
    ),
]

test_the_agent_does_what_the_kubelet_documents = documented(ROWS)
