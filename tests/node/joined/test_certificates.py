"""A node that has nothing but a bootstrap kubeconfig, and one whose certificates last for seconds."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from actors.cert_manager.certificate import read
from tests.support.api_connection import ApiConnection
from tests.support.api_process import ApiProcess
from tests.support.joined import NODE, Joined, JoinedNode, is_ready
from tests.support.runtime import RealRuntime

CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
USER = "system:node:bench"


class NewNode(JoinedNode):
    """As kubeadm leaves it: a bootstrap kubeconfig, and the name of one that is not there yet."""

    cluster: ApiProcess

    def _flags(self) -> list[str]:
        flags = [flag for flag in super()._flags() if not flag.startswith("--kubeconfig=")]
        bootstrap = self.cluster.ready["bootstrap"]
        return [*flags, f"--kubeconfig={self.written}", f"--bootstrap-kubeconfig={bootstrap}", f"--cert-dir={self.pki}"]

    @property
    def written(self) -> Path:
        return Path(self.home, "kubelet.conf")

    @property
    def pki(self) -> Path:
        return Path(self.home, "pki")

    @property
    def current(self) -> Path:
        return self.pki / "kubelet-client-current.pem"

    def kill(self, name: str) -> None:
        incarnation = self.actors()[name].incarnation
        os.kill(self.actors()[name].pid, signal.SIGKILL)
        self.wait_replaced(name, incarnation)


@contextmanager
def joining(
    runtime: RealRuntime, name: str, options: dict[str, Any], **config: Any
) -> Iterator[tuple[Joined, NewNode]]:
    """A node that was started, and perhaps is not joined yet."""
    with ApiProcess(runtime.base / f"{name}-api", NODE, **options) as cluster, ApiConnection(cluster.admin) as api:
        node = NewNode(runtime, cluster, name, rotateCertificates=True, **config)
        try:
            found = Joined(cluster, node, api)
            node.start()
            yield found, node
            assert [one for one in node.incidents() if one.cause == "exception"] == []
        except AssertionError as error:
            error.add_note(f"the agent's last words:\n{node.last_words()}")
            raise
        finally:
            node.remove()


def requests(site: Joined) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = site.api.call("GET", CSRS)["items"]
    return items


def approve(site: Joined, name: str) -> None:
    """As kubectl certificate approve."""
    path = f"{CSRS}/{name}"
    found = site.api.call("GET", path)
    made = {"type": "Approved", "status": "True", "reason": "KubectlApprove", "message": "by the test"}
    status = {**(found.get("status") or {}), "conditions": [made]}
    site.api.call("PUT", f"{path}/approval", {**found, "status": status})


@pytest.fixture(autouse=True)
def _no_real_cluster() -> None:
    if "TROUPELET_TEST_KUBECONFIG" in os.environ:
        pytest.skip("NOT TESTED: a real cluster's certificates are its own affair")


def test_a_node_joins_by_its_bootstrap_kubeconfig_alone(real_runtime: RealRuntime) -> None:
    with joining(real_runtime, "boot", {}) as (site, node):
        site.wait_ready()
        (request,) = requests(site)
        assert request["spec"]["username"] == "system:bootstrap:abcdef"
        assert read(node.current.read_bytes()).common_name == USER
        assert str(node.current) in node.written.read_text()
        seen = site.cluster.order("GET", "requests?since=0")  # type: ignore[attr-defined]
        assert {one["user"] for one in seen if one["resource"] == "leases" and one["agent"].startswith("kubelet/")} == {
            USER
        }


def test_a_node_killed_while_joining_resumes_the_same_request(real_runtime: RealRuntime) -> None:
    with joining(real_runtime, "mid", {"auto_approve": False}) as (site, node):
        node.until(lambda: len(requests(site)) == 1, "a request")
        node.kill("cert_manager")
        node.kill_fork_server_and_start()
        node.wait_whole()
        time.sleep(1)
        (request,) = requests(site)
        approve(site, request["metadata"]["name"])
        site.wait_ready()
        assert len(requests(site)) == 1


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_certificates_of_seconds_are_rotated_and_the_node_stays_ready(real_runtime: RealRuntime) -> None:
    with joining(real_runtime, "rot", {"certificate_seconds": 45}, serverTLSBootstrap=True) as (site, node):
        site.wait_ready()
        node.until(lambda: _port_is_open(node.port), "the node server")
        seen = {read(node.current.read_bytes()).fingerprint}
        serving = {_served_by(site)}
        end = time.monotonic() + 150
        while (len(seen) < 4 or len(serving) < 3) and time.monotonic() < end:
            time.sleep(1)
            seen.add(read(node.current.read_bytes()).fingerprint)
            serving.add(_served_by(site))
            assert is_ready(site.nodes.now["/bench"])
        assert len(seen) >= 4
        assert len(serving) >= 3
        assert [one for one in site.transitions() if one.startswith("True")] == ["True KubeletReady"]
        node.until(lambda: len(list(node.pki.glob("kubelet-client-2*"))) <= 3, "older ones are removed")


def test_a_serving_certificate_is_signed_by_the_cluster_and_names_the_node(real_runtime: RealRuntime) -> None:
    with joining(real_runtime, "serve", {"approve_serving": False}, serverTLSBootstrap=True) as (site, node):
        site.wait_ready()

        def pending() -> list[str]:
            signer = "kubernetes.io/kubelet-serving"
            return [one["metadata"]["name"] for one in requests(site) if one["spec"]["signerName"] == signer]

        node.until(lambda: len(pending()) == 1, "a request for a serving certificate")
        with pytest.raises(OSError):
            _served_by(site)
        approve(site, pending()[0])
        node.until(lambda: _port_is_open(node.port), "the node server")
        _served_by(site)


def _port_is_open(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


def _served_by(site: Joined) -> str:
    """The serving certificate, which a client that trusts the cluster accepts under the node's own address."""
    addresses = {one["type"]: one["address"] for one in site.nodes.now["/bench"]["status"]["addresses"]}
    context = ssl.create_default_context(cafile=site.cluster.ca)
    address = addresses["InternalIP"]
    with (
        socket.create_connection((address, site.node.port), 5) as raw,
        context.wrap_socket(raw, server_hostname=address) as sock,
    ):
        found = sock.getpeercert()
    assert found is not None
    return str(found["serialNumber"])
